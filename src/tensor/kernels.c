/**
 * @file kernels.c
 * @brief The choice of the layer kernels at run time.
 */
#include "tensor/kernels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(const hki_tensor_kernels_t *) chosen;

static const hki_tensor_kernels_t *kernels_avx2(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? &hki_tensor_kernels_avx2 : NULL;
#else
    return NULL;
#endif
}

static const hki_tensor_kernels_t *kernels_choose(void)
{
    const char *name = getenv("HOCKET_SIMD");
    const hki_tensor_kernels_t *kernels = NULL;

    if (name == NULL || strcmp(name, "none") != 0) {
        kernels = kernels_avx2();
    }
    return kernels == NULL ? &hki_tensor_kernels_plain : kernels;
}

const hki_tensor_kernels_t *hki_tensor_kernels(void)
{
    const hki_tensor_kernels_t *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (kernels == NULL) {
        kernels = kernels_choose();
        atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
    }
    return kernels;
}

const hki_tensor_kernels_t *hki_tensor_kernels_find(const char *name)
{
    if (strcmp(name, "none") == 0) {
        return &hki_tensor_kernels_plain;
    }
    return strcmp(name, "avx2") == 0 ? kernels_avx2() : NULL;
}
