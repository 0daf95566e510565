/**
 * @file copy.h
 * @brief Copying: wherever it is to, past the caches, and very little.
 */
#ifndef HKI_BASE_COPY_H
#define HKI_BASE_COPY_H

#include <stddef.h>
#include <string.h>

/** Outputs of so many bytes and more do not stay in a cache: they are written past it. */
#define HKI_HUGE_BYTES ((size_t)4 << 20)

/**
 * memcpy() that is not slow anywhere. Where the C library uses the processor's string instruction
 * and the destination is a few bytes ahead of the source modulo 4096 (malloc() hands out blocks
 * that begin 16 bytes behind a page), that takes 10 times as long. The ranges may not overlap.
 */
void hki_copy(void *into, const void *from, size_t bytes);

/**
 * Copy to memory that is not looked at again soon. The destination is neither read first nor kept
 * in a cache: a third less traffic where the whole does not fit into one. Slower than memcpy where
 * it does. The ranges may not overlap.
 */
void hki_copy_stream(void *into, const void *from, size_t bytes);

/** memcpy() of few bytes, 64 or so, without a call and without a loop over bytes. */
static inline void hki_copy_few(void *into, const void *from, size_t bytes)
{
    char *to = into;
    const char *at = from;

    if (bytes == 8) {
        memcpy(to, at, 8);
    } else if (bytes >= 16) { // the last two may share bytes
        for (size_t i = 0; i + 16 < bytes; i += 16) {
            memcpy(to + i, at + i, 16);
        }
        memcpy(to + bytes - 16, at + bytes - 16, 16);
    } else if (bytes > 8) {
        memcpy(to, at, 8);
        memcpy(to + bytes - 8, at + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, at, 4);
        memcpy(to + bytes - 4, at + bytes - 4, 4);
    } else if (bytes != 0) {
        to[0] = at[0];
        to[bytes / 2] = at[bytes / 2];
        to[bytes - 1] = at[bytes - 1];
    }
}

#endif /* HKI_BASE_COPY_H */
