/*
 * Non-temporal stores, of whole cache lines, where the processor has them.
 */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

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
