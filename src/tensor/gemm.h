/**
 * @file gemm.h
 * @brief Matrix products, f32, row-major, with bits that do not depend on the number of threads.
 *
 * A product is cut into blocks of outputs of a fixed size; each block is one call of a
 * single-threaded library, so every sum stays whole inside one call. Libraries: oneDNN, CBLAS, and
 * plain C, chosen by HOCKET_GEMM=onednn|cblas|plain; default: the first one that was compiled in
 * and can be loaded, which happens with the first product (base/library.h). Different libraries,
 * and one library on different processors, give different last bits.
 */
#ifndef HKI_TENSOR_GEMM_H
#define HKI_TENSOR_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include <hocket/base.h>

/** c (m, n) = op(a) (m, k) @ op(b) (k, n), added to c if is_added. Strides in elements. c must not
 *  overlap a or b. With k == 0 the product is zero. */
typedef struct hki_gemm {
    bool is_a_transposed; /**< a is stored as (k, m) */
    bool is_b_transposed; /**< b is stored as (n, k) */
    bool is_added;        /**< c += product; false: c = product, and c is not read */
    size_t m;
    size_t n;
    size_t k;
    const float *a;
    size_t a_stride; /**< from row to row as stored */
    const float *b;
    size_t b_stride;
    float *c;
    size_t c_stride;
} hki_gemm_t;

typedef void (*hki_gemm_fn)(const hki_gemm_t *g);

/**
 * Choose the library by name, or by HOCKET_GEMM if `name` is NULL and the variable is set.
 * Not while a product runs in another thread.
 *
 * @return HK_OK, HK_ERR_INVALID_ARG (unknown name), HK_ERR_UNSUPPORTED (not compiled in, or not
 *         to be loaded here)
 */
HK_NODISCARD hk_status_t hki_gemm_select(const char *name);

/** Name of the library in use. */
const char *hki_gemm_name(void);

/** The product, on the threads of tensor/threads.h. */
void hki_gemm(const hki_gemm_t *g);

/** The product by one call in this thread; for use inside parallel loops. */
void hki_gemm_one(const hki_gemm_t *g);

/* --- the libraries: NULL if not compiled in, or if loading them fails --- */

hki_gemm_fn hki_gemm_onednn(void);
hki_gemm_fn hki_gemm_cblas(void);
hki_gemm_fn hki_gemm_plain(void);

#endif /* HKI_TENSOR_GEMM_H */
