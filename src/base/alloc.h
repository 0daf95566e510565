/**
 * @file alloc.h
 * @brief The only way to get heap memory in this project. Tests can make it fail.
 */
#ifndef HKI_BASE_ALLOC_H
#define HKI_BASE_ALLOC_H

#include <stddef.h>

/** Zeroed memory for n objects of `bytes` bytes, or NULL (also if n * bytes overflows). */
void *hki_calloc(size_t n, size_t bytes);

/** The same, aligned to `alignment` (a power of two, >= 64). Free with hki_free(). */
void *hki_calloc_aligned(size_t n, size_t bytes, size_t alignment);

/** Free memory from the calls above. Does nothing if p is NULL. */
void hki_free(void *p);

/** Test hook: make allocation number `n` of this process from now fail, once. 0 switches it off. */
void hki_alloc_fail_at(size_t n);

/** Test hook: blocks handed out and not yet freed, in this process. */
size_t hki_alloc_live(void);

#endif /* HKI_BASE_ALLOC_H */
