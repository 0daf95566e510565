/*
 * Heap memory: the C library's, counted, and failable in tests by a countdown.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Atomic size_t g_fail_at;
static _Atomic size_t g_live;

/** Counts down to the failure that a test asked for. */
static int must_fail(void)
{
    size_t left = atomic_load(&g_fail_at);

    while (left != 0) {
        if (atomic_compare_exchange_weak(&g_fail_at, &left, left - 1)) {
            return left == 1;
        }
    }
    return 0;
}

void *hki_calloc(size_t n, size_t bytes)
{
    void *p;

    if (bytes != 0 && n > SIZE_MAX / bytes) {
        return NULL;
    }
    p = must_fail() ? NULL : calloc(n == 0 ? 1 : n, bytes == 0 ? 1 : bytes);
    if (p != NULL) {
        atomic_fetch_add(&g_live, 1);
    }
    return p;
}

void *hki_calloc_aligned(size_t n, size_t bytes, size_t alignment)
{
    void *p;

    if (bytes != 0 && n > (SIZE_MAX - alignment) / bytes) {
        return NULL;
    }
    const size_t total = (n * bytes + alignment - 1) & ~(alignment - 1);
    p = must_fail() ? NULL : aligned_alloc(alignment, total == 0 ? alignment : total);
    if (p != NULL) {
        memset(p, 0, total);
        atomic_fetch_add(&g_live, 1);
    }
    return p;
}

void hki_free(void *p)
{
    if (p != NULL) {
        atomic_fetch_sub(&g_live, 1);
    }
    free(p);
}

void hki_alloc_fail_at(size_t n)
{
    atomic_store(&g_fail_at, n);
}

size_t hki_alloc_live(void)
{
    return atomic_load(&g_live);
}
