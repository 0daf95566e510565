/**
 * @file gemm_cblas.c
 * @brief Matrix products by OpenBLAS through the CBLAS interface.
 */
#include "tensor/gemm.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "base/error.h"
#include "base/library.h"
#include "base/log.h"

#if defined(HKI_CBLAS_FILE)
#    include <cblas.h>
#    include <sys/resource.h>

#    include <unistd.h>

typedef void (*sgemm_t)(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, blasint, blasint, blasint,
                        float, const float *, blasint, const float *, blasint, float, float *,
                        blasint);
typedef void (*set_threads_t)(int);

static sgemm_t g_sgemm; // NULL: not there
static pthread_once_t g_once = PTHREAD_ONCE_INIT;

/** OpenBLAS takes buffers for every core while it loads, and tries for ever if it gets none.
 *  @return address space it may need [bytes], generously */
static uint64_t space_needed(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return (uint64_t)(4 + (cores < 1 ? 1 : cores)) << 27;
}

static void load(void)
{
    sgemm_t sgemm = NULL;
    set_threads_t set_threads = NULL;
    const hki_symbol_t symbols[] = {{"cblas_sgemm", &sgemm},
                                    {"openblas_set_num_threads", &set_threads}};
    char reason[HKI_LIBRARY_REASON_BYTES];
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < space_needed()) {
        hki_log(HKI_LOG_WARN, "tensor",
                "no matrix products by OpenBLAS: it may need %llu bytes of address space, there "
                "are %llu; see ulimit -v",
                (unsigned long long)space_needed(), (unsigned long long)limit.rlim_cur);
        return;
    }
    if (!hki_library_load(HKI_CBLAS_FILE, symbols, sizeof(symbols) / sizeof(symbols[0]), reason)) {
        hki_log(HKI_LOG_WARN, "tensor", "no matrix products by OpenBLAS: %s", reason);
        return;
    }
    set_threads(1); // a block is one thread's work
    g_sgemm = sgemm;
}

static void product(const hki_gemm_t *g)
{
    if (g->m == 0 || g->n == 0) {
        return;
    }
    HKI_ASSERT(g->k <= INT_MAX && g->a_stride <= INT_MAX && g->b_stride <= INT_MAX &&
               g->c_stride <= INT_MAX && g->m <= INT_MAX && g->n <= INT_MAX);
    g_sgemm(CblasRowMajor, g->is_a_transposed ? CblasTrans : CblasNoTrans,
            g->is_b_transposed ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k, 1.0F,
            g->a, (int)g->a_stride, g->b, (int)g->b_stride, g->is_added ? 1.0F : 0.0F, g->c,
            (int)g->c_stride);
}

hki_gemm_fn hki_gemm_cblas(void)
{
    (void)pthread_once(&g_once, load);
    return g_sgemm == NULL ? NULL : product;
}

#else

hki_gemm_fn hki_gemm_cblas(void)
{
    return NULL;
}

#endif
