/**
 * @file copy.h
 * @brief Copying past the caches.
 */
#ifndef HKI_BASE_COPY_H
#define HKI_BASE_COPY_H

#include <stddef.h>

/** Outputs of so many bytes and more do not stay in a cache: they are written past it. */
#define HKI_HUGE_BYTES ((size_t)4 << 20)

/**
 * Copy to memory that is not looked at again soon. The destination is neither read first nor kept
 * in a cache: a third less traffic where the whole does not fit into one. Slower than memcpy where
 * it does. The ranges may not overlap.
 */
void hki_copy_stream(void *into, const void *from, size_t bytes);

#endif /* HKI_BASE_COPY_H */
