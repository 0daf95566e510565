/**
 * @file gemm_onednn.c
 * @brief Matrix products by oneDNN, versions 2 and 3: dnnl_sgemm is in both.
 */
#include "tensor/gemm.h"

#include <pthread.h>
#include <stdint.h>

#include "base/error.h"
#include "base/library.h"
#include "base/log.h"

#if defined(HKI_DNNL_FILE)
#    include <oneapi/dnnl/dnnl.h>
#    if defined(_OPENMP)
#        include <omp.h>
#    endif

typedef dnnl_status_t (*sgemm_t)(char, char, dnnl_dim_t, dnnl_dim_t, dnnl_dim_t, float,
                                 const float *, dnnl_dim_t, const float *, dnnl_dim_t, float,
                                 float *, dnnl_dim_t);

static sgemm_t g_sgemm; // NULL: not there
static pthread_once_t g_once = PTHREAD_ONCE_INIT;

static void load(void)
{
    const hki_symbol_t symbol = {"dnnl_sgemm", &g_sgemm};
    char reason[HKI_LIBRARY_REASON_BYTES];

    if (!hki_library_load(HKI_DNNL_FILE, &symbol, 1, reason)) {
        hki_log(HKI_LOG_WARN, "tensor", "no matrix products by oneDNN: %s", reason);
    }
}

static void product(const hki_gemm_t *g)
{
    if (g->m == 0 || g->n == 0) {
        return;
    }
#    if defined(_OPENMP)
    // oneDNN divides sums among threads unless told that there is one
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
#    endif
    const dnnl_status_t status =
        g_sgemm(g->is_a_transposed ? 'T' : 'N', g->is_b_transposed ? 'T' : 'N', (int64_t)g->m,
                (int64_t)g->n, (int64_t)g->k, 1.0F, g->a, (int64_t)g->a_stride, g->b,
                (int64_t)g->b_stride, g->is_added ? 1.0F : 0.0F, g->c, (int64_t)g->c_stride);
#    if defined(_OPENMP)
    omp_set_num_threads(threads);
#    endif
    HKI_ASSERT(status == dnnl_success);
}

hki_gemm_fn hki_gemm_onednn(void)
{
    (void)pthread_once(&g_once, load);
    return g_sgemm == NULL ? NULL : product;
}

#else

hki_gemm_fn hki_gemm_onednn(void)
{
    return NULL;
}

#endif
