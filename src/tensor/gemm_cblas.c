/**
 * @file gemm_cblas.c
 * @brief Matrix products by OpenBLAS through the CBLAS interface.
 */
#include "tensor/gemm.h"

#include <limits.h>

#include "base/error.h"

#if defined(HKI_HAVE_CBLAS)
#    include <cblas.h>

static void product(const hki_gemm_t *g)
{
    if (g->m == 0 || g->n == 0) {
        return;
    }
    HKI_ASSERT(g->k <= INT_MAX && g->a_stride <= INT_MAX && g->b_stride <= INT_MAX &&
               g->c_stride <= INT_MAX && g->m <= INT_MAX && g->n <= INT_MAX);
    cblas_sgemm(CblasRowMajor, g->is_a_transposed ? CblasTrans : CblasNoTrans,
                g->is_b_transposed ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k,
                1.0F, g->a, (int)g->a_stride, g->b, (int)g->b_stride, g->is_added ? 1.0F : 0.0F,
                g->c, (int)g->c_stride);
}

hki_gemm_fn hki_gemm_cblas(void)
{
    openblas_set_num_threads(1); // a block is one thread's work
    return product;
}

#else

hki_gemm_fn hki_gemm_cblas(void)
{
    return NULL;
}

#endif
