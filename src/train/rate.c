/**
 * @file rate.c
 * @brief Linear warm-up, then constant, or half a cosine down to the floor at the last step.
 */
#include "train/rate.h"

#include <math.h>

double hki_rate_at(const hki_rate_t *rate, int step)
{
    const double pi = 3.14159265358979323846;

    if (step < rate->warmup) {
        return rate->peak * (step + 1) / rate->warmup;
    }
    const int length = rate->steps - 1 - rate->warmup; // steps from the peak to the floor
    if (rate->kind == HKI_RATE_CONSTANT || length <= 0) {
        return rate->peak;
    }
    const double done = (double)(step - rate->warmup) / length;
    return rate->floor + (rate->peak - rate->floor) * 0.5 * (1.0 + cos(pi * done));
}
