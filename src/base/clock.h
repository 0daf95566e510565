/**
 * @file clock.h
 * @brief Monotonic time.
 */
#ifndef HKI_BASE_CLOCK_H
#define HKI_BASE_CLOCK_H

#include <stdint.h>

/** Monotonic time of this host [ns]. The same for all processes. */
uint64_t hki_clock_ns(void);

/** The deadline `timeout_ms` from now, and at most 10 ms more [ns]: cheaper than looking at the
 *  exact time; UINT64_MAX for a negative timeout (none). */
uint64_t hki_deadline_ns(int timeout_ms);

#endif /* HKI_BASE_CLOCK_H */
