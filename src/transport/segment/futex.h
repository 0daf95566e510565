/**
 * @file futex.h
 * @brief Sleeping on a 32-bit word or on several, and waking who sleeps there.
 */
#ifndef HKI_TRANSPORT_SEGMENT_FUTEX_H
#define HKI_TRANSPORT_SEGMENT_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

/** Sleep while *word == value, at most `timeout_ns`. May return early for no reason. */
void hki_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool is_private);
/** Wake all sleepers of `word`. */
void hki_futex_wake(_Atomic uint32_t *word, bool is_private);

/**
 * Sleep while all words have their values, at most `timeout_ns` (UINT64_MAX: for ever). May return
 * early for no reason. Words but the first may be unmapped meanwhile.
 *
 * Where the kernel cannot wait for several words (before Linux 5.16, or forbidden), or there are
 * more than HKI_BELLS_MAX, this sleeps on the first alone, in slices of HKI_BELLS_SLICE_NS.
 *
 * @param bells  (count,) count >= 1
 */
void hki_bells_wait(const hki_bell_t *bells, int count, uint64_t timeout_ns);
/** The same where the kernel cannot wait for several. */
void hki_bells_wait_first(const hki_bell_t *bells, int count, uint64_t timeout_ns);

enum { HKI_BELLS_MAX = 128 };
#define HKI_BELLS_SLICE_NS UINT64_C(200000)

#endif /* HKI_TRANSPORT_SEGMENT_FUTEX_H */
