/**
 * @file optimizer.c
 * @brief AdamW, SGD, and the parts of clipping.
 */
#include "train/optimizer.h"

#include <math.h>

enum { LANES = 8 };

static void sgd_step(float rate, float keep, const hki_optimizer_range_t *range)
{
    float *restrict w = range->weights;
    const float *restrict g = range->grads;

    for (size_t i = 0; i < range->count; i++) {
        w[i] = w[i] * keep - rate * g[i];
    }
}

/** The constants of one AdamW step. */
typedef struct adamw {
    float beta1, beta2;
    float rate;   // over the bias correction of the first moment
    float scale2; // 1 / sqrt of the bias correction of the second moment
    float epsilon;
    float keep; // what weight decay leaves
} adamw_t;

static void adamw_step(const adamw_t *a, const hki_optimizer_range_t *range)
{
    const float beta1 = a->beta1;
    const float beta2 = a->beta2;
    const float rest1 = 1.0f - beta1;
    const float rest2 = 1.0f - beta2;
    const float rate = a->rate;
    const float scale2 = a->scale2;
    const float epsilon = a->epsilon;
    const float keep = a->keep;
    float *restrict w = range->weights;
    const float *restrict g = range->grads;
    float *restrict m = range->first;
    float *restrict v = range->second;

    for (size_t i = 0; i < range->count; i++) {
        m[i] = beta1 * m[i] + rest1 * g[i];
        v[i] = beta2 * v[i] + rest2 * (g[i] * g[i]);
        w[i] = w[i] * keep - rate * m[i] / (sqrtf(v[i]) * scale2 + epsilon);
    }
}

void hki_optimizer_step(const hki_optimizer_t *optimizer, double rate, int step,
                        const hki_optimizer_range_t *range)
{
    const double decay = range->has_decay ? rate * optimizer->weight_decay : 0;

    if (optimizer->kind == HKI_OPTIMIZER_SGD) {
        sgd_step((float)rate, (float)(1 - decay), range);
        return;
    }
    const adamw_t adamw = {
        .beta1 = (float)optimizer->beta1,
        .beta2 = (float)optimizer->beta2,
        .rate = (float)(rate / (1 - pow(optimizer->beta1, step + 1))),
        .scale2 = (float)(1 / sqrt(1 - pow(optimizer->beta2, step + 1))),
        .epsilon = (float)optimizer->epsilon,
        .keep = (float)(1 - decay),
    };
    adamw_step(&adamw, range);
}

double hki_sum_of_squares(const float *x, size_t count)
{
    double lanes[LANES] = {
        0}; // element i goes to lane i % LANES, whatever the compiler makes of it
    const size_t whole = count - count % LANES;

    for (size_t i = 0; i < whole; i += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            lanes[l] += (double)x[i + l] * (double)x[i + l];
        }
    }
    for (size_t i = whole; i < count; i++) {
        lanes[i - whole] += (double)x[i] * (double)x[i];
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
           ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

double hki_clip_factor(double norm, double clip)
{
    return clip > 0 && norm > clip ? clip / norm : 1.0;
}
