/*
 * Copies whose time does not depend on where the ranges lie; and non-temporal stores, of whole
 * cache lines, where the processor has them.
 */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

enum {
    PIECE_BYTES = 1024, /**< so short that the C library copies by vectors */
    ALIAS_BYTES = 4096, /**< addresses that are equal modulo this are taken for equal at first */
    BEHIND_BYTES = 64,  /**< so little ahead, a store is taken for that of a byte loaded soon */
    LONG_BYTES = 2048,
};

void hki_copy(void *into, const void *from, size_t bytes)
{
    const uintptr_t ahead = ((uintptr_t)into - (uintptr_t)from) % ALIAS_BYTES;
    size_t done = 0;

    if (bytes >= LONG_BYTES && ahead != 0 && ahead < BEHIND_BYTES) {
        for (; bytes - done > PIECE_BYTES; done += PIECE_BYTES) {
            memcpy((char *)into + done, (const char *)from + done, PIECE_BYTES);
        }
    }
    memcpy((char *)into + done, (const char *)from + done, bytes - done);
}

#if defined(__SSE2__)
#    include <emmintrin.h>

enum { LINE_BYTES = 64 };

static void store_line(char *into, const char *from)
{
    const __m128i a = _mm_loadu_si128((const void *)from);
    const __m128i b = _mm_loadu_si128((const void *)(from + 16));
    const __m128i c = _mm_loadu_si128((const void *)(from + 32));
    const __m128i d = _mm_loadu_si128((const void *)(from + 48));

    _mm_stream_si128((void *)into, a);
    _mm_stream_si128((void *)(into + 16), b);
    _mm_stream_si128((void *)(into + 32), c);
    _mm_stream_si128((void *)(into + 48), d);
}

void hki_copy_stream(void *into, const void *from, size_t bytes)
{
    char *to = into;
    const char *at = from;
    size_t head = (LINE_BYTES - (uintptr_t)into % LINE_BYTES) % LINE_BYTES;

    head = head < bytes ? head : bytes;
    memcpy(to, at, head);
    size_t done = head;
    for (; bytes - done >= LINE_BYTES; done += LINE_BYTES) {
        store_line(to + done, at + done);
    }
    memcpy(to + done, at + done, bytes - done);
    _mm_sfence(); // such stores may pass later ones
}

#else

void hki_copy_stream(void *into, const void *from, size_t bytes)
{
    memcpy(into, from, bytes);
}

#endif
