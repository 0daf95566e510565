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
    return timeout_ms < 0 ? UINT64_MAX : hki_clock_ns() + (uint64_t)timeout_ms * UINT64_C(1000000);
}
