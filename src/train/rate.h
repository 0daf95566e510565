/**
 * @file rate.h
 * @brief The learning rate as a function of the step.
 */
#ifndef HKI_TRAIN_RATE_H
#define HKI_TRAIN_RATE_H

typedef enum hki_rate_kind {
    HKI_RATE_COSINE = 0,
    HKI_RATE_CONSTANT = 1,
} hki_rate_kind_t;

typedef struct hki_rate {
    hki_rate_kind_t kind;
    double peak;  /**< rate after the warm-up */
    double floor; /**< cosine: rate at the last step */
    int warmup;   /**< steps of linear rise, 0: none */
    int steps;    /**< of the whole run */
} hki_rate_t;

/** The rate of `step`, 0 <= step < steps. */
double hki_rate_at(const hki_rate_t *rate, int step);

#endif /* HKI_TRAIN_RATE_H */
