/**
 * @file kernels.h
 * @brief Layer kernels for one row or one strip of columns: all that is not a matrix product.
 *
 * kernels_body.h is compiled once for any processor and once for each instruction set worth it; all
 * versions do the same operations in the same order, without fused multiply-add, and so give the
 * same bits. The best one is chosen at run time; HOCKET_SIMD=none asks for the former.
 */
#ifndef HKI_TENSOR_KERNELS_H
#define HKI_TENSOR_KERNELS_H

#include <stddef.h>

/** Columns that one call of a column kernel sums, at most. */
#define HKI_STRIP_WIDTH 32

/** Row layer norm: out = (x - mean) / sqrt(var + 1e-5) * gamma + beta. All matrices (rows, n). */
typedef struct hki_norm {
    size_t n;
    const float *x;
    const float *gamma;    /**< (n,) */
    const float *beta;     /**< (n,) */
    float *out;            /**< forward */
    float *stats;          /**< forward: (rows, 2) mean and 1 / sqrt(var + 1e-5) */
    const float *dout;     /**< backward */
    const float *residual; /**< backward: added to din; NULL: nothing */
    float *din;            /**< backward */
    float *dgamma;         /**< backward: (n,) */
    float *dbeta;          /**< backward: (n,) */
} hki_norm_t;

typedef struct hki_tensor_kernels {
    const char *name;
    /** out[row] and stats[row] from x[row]. */
    void (*norm_forward)(const hki_norm_t *t, size_t row);
    /** din[row] from x, stats, gamma, dout. */
    void (*norm_backward)(const hki_norm_t *t, size_t row);
    /** dgamma, dbeta of columns first .. first + width - 1: sums in the order of the rows. */
    void (*norm_columns)(const hki_norm_t *t, size_t rows, size_t first, size_t width);
    /** out[j] = sum of x[row * stride + j] in the order of the rows, j < width. */
    void (*column_sums)(const float *x, size_t stride, size_t rows, size_t width, float *out);
    /** out = x + bias + other; each of bias and other may be NULL. out may be x. */
    void (*add)(const float *x, const float *bias, const float *other, size_t n, float *out);
    /** pre += bias (if not NULL); act = gelu(pre), tanh form. */
    void (*gelu_forward)(float *pre, const float *bias, size_t n, float *act);
    /** grad *= gelu'(pre); act = gelu(pre) if act is not NULL. */
    void (*gelu_backward)(const float *pre, size_t n, float *grad, float *act);
    /** x = softmax(scale * x[0..n-1]), zeros up to width. Returns max + log(sum of exp). */
    float (*softmax)(float *x, float scale, size_t n, size_t width);
    /** The same from the value that softmax returned. */
    void (*softmax_again)(float *x, float scale, float log_sum, size_t n, size_t width);
    /** dp = p * (dp - sum) * scale. */
    void (*softmax_backward)(const float *p, float sum, float scale, size_t n, float *dp);
    float (*dot)(const float *x, const float *y, size_t n);
    /** x = exp(x - max(x)); *max_out = max(x). Returns the sum. */
    float (*exp_sum)(float *x, size_t n, float *max_out);
    /** out = x * factor. out may be x. */
    void (*scale)(const float *x, float factor, size_t n, float *out);
} hki_tensor_kernels_t;

/** The kernels for this processor. */
const hki_tensor_kernels_t *hki_tensor_kernels(void);

/** Kernels by name, or NULL if this build or this processor has none: for tests. */
const hki_tensor_kernels_t *hki_tensor_kernels_find(const char *name);

extern const hki_tensor_kernels_t hki_tensor_kernels_plain;
extern const hki_tensor_kernels_t hki_tensor_kernels_avx2;

#endif /* HKI_TENSOR_KERNELS_H */
