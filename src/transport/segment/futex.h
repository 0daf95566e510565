/**
 * @file futex.h
 * @brief Sleeping on a 32-bit word, and waking who sleeps there.
 */
#ifndef HKI_TRANSPORT_SEGMENT_FUTEX_H
#define HKI_TRANSPORT_SEGMENT_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Sleep while *word == value, at most `timeout_ns`. May return early for no reason. */
void hki_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool is_private);
/** Wake all sleepers of `word`. */
void hki_futex_wake(_Atomic uint32_t *word, bool is_private);

#endif /* HKI_TRANSPORT_SEGMENT_FUTEX_H */
