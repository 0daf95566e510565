/**
 * @file kernels_body.h
 * @brief The kernels themselves, on vectors of 8 floats that the compiler maps to what the
 *        instruction set has. Included by kernels_<name>.c, which defines KERNELS_NAME and
 *        KERNELS_TABLE first.
 *
 * Method: every loop walks a row in vectors; the last one may be part of one, and is filled up with
 * a neutral value. Sums keep 8 partial sums, added pairwise at the end. So the order of operations
 * is written down here and is the same whatever the compiler makes of it.
 */
#ifndef HKI_TENSOR_KERNELS_BODY_H
#define HKI_TENSOR_KERNELS_BODY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/kernels.h"

#pragma GCC diagnostic ignored "-Wpsabi" // vectors are passed between inlined functions only

#define LANES    8
#define NORM_EPS 1e-5F

typedef float vec_t __attribute__((vector_size(32)));
typedef int32_t vec_mask_t __attribute__((vector_size(32)));
typedef uint32_t vec_bits_t __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec_t vec_all(float x)
{
    return (vec_t){x, x, x, x, x, x, x, x};
}

/** The next `left` floats at p, at most 8; the rest is `fill`. */
INLINE vec_t vec_load(const float *p, size_t left, float fill)
{
    vec_t v = vec_all(fill);

    if (left >= LANES) {
        memcpy(&v, p, sizeof(v));
    } else {
        float part[LANES] = {fill, fill, fill, fill, fill, fill, fill, fill};
        for (size_t i = 0; i < left; i++) {
            part[i] = p[i];
        }
        memcpy(&v, part, sizeof(v));
    }
    return v;
}

INLINE void vec_store(float *p, size_t left, vec_t v)
{
    if (left >= LANES) {
        memcpy(p, &v, sizeof(v));
    } else {
        float part[LANES];
        memcpy(part, &v, sizeof(v));
        for (size_t i = 0; i < left; i++) {
            p[i] = part[i];
        }
    }
}

INLINE vec_t vec_select(vec_mask_t mask, vec_t yes, vec_t no)
{
    return (vec_t)(((vec_mask_t)yes & mask) | ((vec_mask_t)no & ~mask));
}

INLINE float vec_sum(vec_t v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

INLINE vec_t vec_max(vec_t a, vec_t b)
{
    return vec_select(a > b, a, b);
}

/**
 * exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln(2) / 2, exp(r) by its Taylor polynomial of
 * degree 7: relative error below 2e-7. x is clamped to [-87, 88]; NaN stays NaN.
 */
INLINE vec_t vec_exp(vec_t x)
{
    const vec_t magic = vec_all(12582912.0F); // 1.5 * 2^23: adding it rounds to an integer
    const vec_t low = vec_all(-87.0F);
    const vec_t high = vec_all(88.0F);
    const vec_t a = vec_select(x < low, low, x);
    const vec_t b = vec_select(a > high, high, a);
    const vec_t shifted = b * vec_all(1.44269504F) + magic;
    const vec_t n = shifted - magic;
    // ln 2 in two parts; the first has few bits, so that n times it is exact
    const vec_t r = (b - n * vec_all(0.693359375F)) - n * vec_all(-2.12194440e-4F);
    vec_t p = vec_all(1.0F / 5040.0F);

    p = p * r + vec_all(1.0F / 720.0F);
    p = p * r + vec_all(1.0F / 120.0F);
    p = p * r + vec_all(1.0F / 24.0F);
    p = p * r + vec_all(1.0F / 6.0F);
    p = p * r + vec_all(0.5F);
    p = p * r + vec_all(1.0F);
    p = p * r + vec_all(1.0F);
    // the low bits of `shifted` are n; moved into the exponent field they are 2^n
    return p * (vec_t)(((vec_bits_t)shifted << 23) + (uint32_t)0x3F800000);
}

static void norm_forward(const hki_norm_t *t, size_t row)
{
    const size_t n = t->n;
    const float *x = t->x + row * n;
    float *out = t->out + row * n;
    vec_t sum = vec_all(0.0F);
    vec_t squares = vec_all(0.0F);

    for (size_t i = 0; i < n; i += LANES) {
        sum += vec_load(x + i, n - i, 0.0F);
    }
    const float mean = vec_sum(sum) / (float)n;
    for (size_t i = 0; i < n; i += LANES) {
        const vec_t d = vec_load(x + i, n - i, mean) - mean;

        squares += d * d;
    }
    const float rstd = 1.0F / sqrtf(vec_sum(squares) / (float)n + NORM_EPS);
    for (size_t i = 0; i < n; i += LANES) {
        const size_t left = n - i;
        const vec_t normed = (vec_load(x + i, left, 0.0F) - mean) * rstd;

        vec_store(out + i, left,
                  normed * vec_load(t->gamma + i, left, 0.0F) + vec_load(t->beta + i, left, 0.0F));
    }
    t->stats[2 * row] = mean;
    t->stats[2 * row + 1] = rstd;
}

static void norm_backward(const hki_norm_t *t, size_t row)
{
    const size_t n = t->n;
    const float *x = t->x + row * n;
    const float *dout = t->dout + row * n;
    const float *residual = t->residual == NULL ? NULL : t->residual + row * n;
    float *din = t->din + row * n;
    const float mean = t->stats[2 * row];
    const float rstd = t->stats[2 * row + 1];
    vec_t sum = vec_all(0.0F);     // of the gradient of the normed values
    vec_t product = vec_all(0.0F); // of it with the normed values

    for (size_t i = 0; i < n; i += LANES) {
        const size_t left = n - i;
        const vec_t d = vec_load(dout + i, left, 0.0F) * vec_load(t->gamma + i, left, 0.0F);

        sum += d;
        product += d * ((vec_load(x + i, left, mean) - mean) * rstd);
    }
    const float sum_mean = vec_sum(sum) / (float)n;
    const float product_mean = vec_sum(product) / (float)n;
    for (size_t i = 0; i < n; i += LANES) {
        const size_t left = n - i;
        const vec_t d = vec_load(dout + i, left, 0.0F) * vec_load(t->gamma + i, left, 0.0F);
        const vec_t normed = (vec_load(x + i, left, mean) - mean) * rstd;
        vec_t grad = ((d - sum_mean) - normed * product_mean) * rstd;

        if (residual != NULL) {
            grad += vec_load(residual + i, left, 0.0F);
        }
        vec_store(din + i, left, grad);
    }
}

static void norm_columns(const hki_norm_t *t, size_t rows, size_t first, size_t width)
{
    vec_t dgamma[HKI_STRIP_WIDTH / LANES] = {{0}};
    vec_t dbeta[HKI_STRIP_WIDTH / LANES] = {{0}};

    for (size_t row = 0; row < rows; row++) {
        const float *x = t->x + row * t->n + first;
        const float *dout = t->dout + row * t->n + first;
        const float mean = t->stats[2 * row];
        const float rstd = t->stats[2 * row + 1];

        for (size_t i = 0; i < width; i += LANES) {
            const vec_t d = vec_load(dout + i, width - i, 0.0F);

            dgamma[i / LANES] += d * ((vec_load(x + i, width - i, 0.0F) - mean) * rstd);
            dbeta[i / LANES] += d;
        }
    }
    for (size_t i = 0; i < width; i += LANES) {
        vec_store(t->dgamma + first + i, width - i, dgamma[i / LANES]);
        vec_store(t->dbeta + first + i, width - i, dbeta[i / LANES]);
    }
}

static void column_sums(const float *x, size_t stride, size_t rows, size_t width, float *out)
{
    vec_t sums[HKI_STRIP_WIDTH / LANES] = {{0}};

    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < width; i += LANES) {
            sums[i / LANES] += vec_load(x + row * stride + i, width - i, 0.0F);
        }
    }
    for (size_t i = 0; i < width; i += LANES) {
        vec_store(out + i, width - i, sums[i / LANES]);
    }
}

static void add(const float *x, const float *bias, const float *other, size_t n, float *out)
{
    for (size_t i = 0; i < n; i += LANES) {
        vec_t v = vec_load(x + i, n - i, 0.0F);

        if (bias != NULL) {
            v += vec_load(bias + i, n - i, 0.0F);
        }
        if (other != NULL) {
            v += vec_load(other + i, n - i, 0.0F);
        }
        vec_store(out + i, n - i, v);
    }
}

/* gelu(x) = x / 2 * (1 + tanh(u)) = x * s, s = 1 / (1 + exp(-2u)), u = sqrt(2/pi) (x + c x^3):
 * without the cancellation that 1 + tanh(u) suffers below zero. */
#define GELU_TWICE_ROOT 1.5957691216F // 2 sqrt(2/pi)
#define GELU_CUBIC      0.044715F

INLINE vec_t gelu_gate(vec_t x)
{
    const vec_t u2 = (x + x * x * x * GELU_CUBIC) * GELU_TWICE_ROOT;

    return 1.0F / (1.0F + vec_exp(-u2));
}

static void gelu_forward(float *pre, const float *bias, size_t n, float *act)
{
    for (size_t i = 0; i < n; i += LANES) {
        vec_t x = vec_load(pre + i, n - i, 0.0F);

        if (bias != NULL) {
            x += vec_load(bias + i, n - i, 0.0F);
            vec_store(pre + i, n - i, x);
        }
        vec_store(act + i, n - i, x * gelu_gate(x));
    }
}

static void gelu_backward(const float *pre, size_t n, float *grad, float *act)
{
    for (size_t i = 0; i < n; i += LANES) {
        const vec_t x = vec_load(pre + i, n - i, 0.0F);
        const vec_t s = gelu_gate(x);
        const vec_t du2 = (1.0F + x * x * (3.0F * GELU_CUBIC)) * GELU_TWICE_ROOT;
        const vec_t slope = s + x * s * (1.0F - s) * du2;

        vec_store(grad + i, n - i, vec_load(grad + i, n - i, 0.0F) * slope);
        if (act != NULL) {
            vec_store(act + i, n - i, x * s);
        }
    }
}

INLINE float row_max(const float *x, size_t n)
{
    vec_t m = vec_all(-INFINITY);
    float max = -INFINITY;

    for (size_t i = 0; i < n; i += LANES) {
        m = vec_max(vec_load(x + i, n - i, -INFINITY), m);
    }
    for (size_t i = 0; i < LANES; i++) {
        max = m[i] > max ? m[i] : max;
    }
    return max;
}

/** x = exp(x * factor - offset). Returns the sum. */
INLINE float row_exp(float *x, float factor, float offset, size_t n)
{
    vec_t sum = vec_all(0.0F);

    for (size_t i = 0; i < n; i += LANES) {
        const vec_t e = vec_exp(vec_load(x + i, n - i, 0.0F) * factor - offset);

        vec_store(x + i, n - i, e);
        // beyond the row there is nothing to add
        sum += n - i >= LANES ? e : vec_load(x + i, n - i, 0.0F);
    }
    return vec_sum(sum);
}

static void scale(const float *x, float factor, size_t n, float *out)
{
    for (size_t i = 0; i < n; i += LANES) {
        vec_store(out + i, n - i, vec_load(x + i, n - i, 0.0F) * factor);
    }
}

static float softmax(float *x, float factor, size_t n, size_t width)
{
    const float max = row_max(x, n) * factor;
    const float sum = row_exp(x, factor, max, n);

    scale(x, 1.0F / sum, n, x);
    memset(x + n, 0, (width - n) * sizeof(*x));
    return max + (float)log((double)sum);
}

static void softmax_again(float *x, float factor, float log_sum, size_t n, size_t width)
{
    (void)row_exp(x, factor, log_sum, n);
    memset(x + n, 0, (width - n) * sizeof(*x));
}

static void softmax_backward(const float *p, float sum, float factor, size_t n, float *dp)
{
    for (size_t i = 0; i < n; i += LANES) {
        const vec_t d = vec_load(dp + i, n - i, 0.0F) - sum;

        vec_store(dp + i, n - i, vec_load(p + i, n - i, 0.0F) * d * factor);
    }
}

static float dot(const float *x, const float *y, size_t n)
{
    vec_t sum = vec_all(0.0F);

    for (size_t i = 0; i < n; i += LANES) {
        sum += vec_load(x + i, n - i, 0.0F) * vec_load(y + i, n - i, 0.0F);
    }
    return vec_sum(sum);
}

static float exp_sum(float *x, size_t n, float *max_out)
{
    const float max = row_max(x, n);

    *max_out = max;
    return row_exp(x, 1.0F, max, n);
}

const hki_tensor_kernels_t KERNELS_TABLE = {
    .name = KERNELS_NAME,
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .norm_columns = norm_columns,
    .column_sums = column_sums,
    .add = add,
    .gelu_forward = gelu_forward,
    .gelu_backward = gelu_backward,
    .softmax = softmax,
    .softmax_again = softmax_again,
    .softmax_backward = softmax_backward,
    .dot = dot,
    .exp_sum = exp_sum,
    .scale = scale,
};

#endif /* HKI_TENSOR_KERNELS_BODY_H */
