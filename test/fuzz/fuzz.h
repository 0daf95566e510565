/**
 * @file fuzz.h
 * @brief What every fuzz target shares: the entry point, and a check that stays on in release.
 */
#ifndef HK_FUZZ_FUZZ_H
#define HK_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Parse `data`; must return 0, whatever the bytes are, and leave nothing allocated. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Stop with the place, so that the fuzzer keeps the input. */
#define FUZZ_CHECK(condition)                                                       \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/** The input as a C string on the heap; freed by the caller. Ends at the first zero byte, if
 *  any. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL) {
        abort();
    }
    if (size != 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

#endif /* HK_FUZZ_FUZZ_H */
