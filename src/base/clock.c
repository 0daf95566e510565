/*
 * Monotonic time from the kernel.
 */
#include "base/clock.h"

#include <time.h>

uint64_t hki_clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t hki_deadline_ns(int timeout_ms)
{
    const uint64_t tick_ns =
        UINT64_C(10000000); // of the slowest kernel; the coarse clock lags by it
    struct timespec now;

    if (timeout_ms < 0) {
        return UINT64_MAX;
    }
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now); // does not read the processor's counter
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec + tick_ns +
           (uint64_t)timeout_ms * UINT64_C(1000000);
}
