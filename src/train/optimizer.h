/**
 * @file optimizer.h
 * @brief AdamW and SGD on flat f32 buffers. Each element on its own: any cut of the buffers gives
 *        the same bits.
 */
#ifndef HKI_TRAIN_OPTIMIZER_H
#define HKI_TRAIN_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hki_optimizer_kind {
    HKI_OPTIMIZER_ADAMW = 0,
    HKI_OPTIMIZER_SGD = 1,
} hki_optimizer_kind_t;

typedef struct hki_optimizer {
    hki_optimizer_kind_t kind;
    double beta1, beta2; /**< AdamW: decay of the moments, 0 <= beta < 1 */
    double epsilon;      /**< AdamW */
    double weight_decay; /**< decoupled: w -= rate * weight_decay * w */
} hki_optimizer_t;

/** One range of parameters and its state. */
typedef struct hki_optimizer_range {
    size_t count;
    float *weights;     /**< (count,) */
    const float *grads; /**< (count,) */
    float *first;       /**< (count,) AdamW: first moment, zero before step 0; SGD: NULL */
    float *second;      /**< (count,) AdamW: second moment; SGD: NULL */
    bool has_decay;
} hki_optimizer_range_t;

/**
 * Update a range. @param step  0 at the first update: for the bias correction
 * Source: Loshchilov and Hutter 2019, arXiv:1711.05101.
 */
void hki_optimizer_step(const hki_optimizer_t *optimizer, double rate, int step,
                        const hki_optimizer_range_t *range);

/** Sum of squares of x (count,) in f64, always in the same order. */
double hki_sum_of_squares(const float *x, size_t count);

/** Factor that brings a gradient of this norm down to `clip`; 1 if it is below, or clip is 0. */
double hki_clip_factor(double norm, double clip);

#endif /* HKI_TRAIN_OPTIMIZER_H */
