/**
 * @file simd.c
 * @brief Which kernels this processor runs, decided once: the best there are, or HOCKET_SIMD.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "dtype/kernels.h"

#if defined(__x86_64__)
#    include <cpuid.h>
#endif

static const char *const level_names[] = {"none", "neon", "avx2", "avx512"};

enum { LEVELS = sizeof(level_names) / sizeof(level_names[0]) };

static _Atomic(const hki_kernels_t *) g_kernels; // NULL: not decided yet
static _Atomic int g_level;

#if defined(__x86_64__)

static bool has_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

static const hki_kernels_t *kernels_of_processor(hki_simd_t level)
{
    __builtin_cpu_init();
    if (level == HKI_SIMD_AVX2 && __builtin_cpu_supports("avx2") && has_f16c()) {
        return &hki_kernels_avx2;
    }
    if (level == HKI_SIMD_AVX512 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        return &hki_kernels_avx512;
    }
    return NULL;
}

#elif defined(__aarch64__)

static const hki_kernels_t *kernels_of_processor(hki_simd_t level)
{
    return level == HKI_SIMD_NEON ? &hki_kernels_neon : NULL;
}

#else

static const hki_kernels_t *kernels_of_processor(hki_simd_t level)
{
    (void)level;
    return NULL;
}

#endif

const hki_kernels_t *hki_kernels_of(hki_simd_t level)
{
    return level == HKI_SIMD_NONE ? &hki_kernels_plain : kernels_of_processor(level);
}

const char *hki_simd_name(hki_simd_t level)
{
    return (unsigned)level < LEVELS ? level_names[level] : "?";
}

bool hki_simd_force(hki_simd_t level)
{
    const hki_kernels_t *kernels = hki_kernels_of(level);

    if (kernels == NULL) {
        return false;
    }
    atomic_store(&g_level, (int)level);
    atomic_store(&g_kernels, kernels);
    return true;
}

/** What HOCKET_SIMD asks for, if this machine has it. */
static bool environment_use(void)
{
    const char *wanted = getenv("HOCKET_SIMD");

    if (wanted == NULL || wanted[0] == '\0') {
        return false;
    }
    for (int level = 0; level < LEVELS; level++) {
        if (strcmp(wanted, level_names[level]) != 0) {
            continue;
        }
        if (hki_simd_force((hki_simd_t)level)) {
            return true;
        }
        hki_log(HKI_LOG_WARN, "dtype",
                "HOCKET_SIMD=%s is ignored: this processor or build does not have it; unset it, or "
                "use none",
                wanted);
        return false;
    }
    hki_log(HKI_LOG_WARN, "dtype",
            "HOCKET_SIMD=\"%s\" is ignored: allowed are none, neon, avx2, avx512", wanted);
    return false;
}

void hki_simd_choose(void)
{
    int level = LEVELS - 1;

    if (environment_use()) {
        return;
    }
    while (!hki_simd_force((hki_simd_t)level)) {
        level--; // ends at HKI_SIMD_NONE, which is always there
    }
}

const hki_kernels_t *hki_kernels(void)
{
    const hki_kernels_t *kernels = atomic_load_explicit(&g_kernels, memory_order_acquire);

    if (kernels == NULL) {
        hki_simd_choose();
        kernels = atomic_load(&g_kernels);
    }
    return kernels;
}

hki_simd_t hki_simd_level(void)
{
    (void)hki_kernels();
    return (hki_simd_t)atomic_load(&g_level);
}
