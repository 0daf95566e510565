/**
 * @file block.c
 * @brief What the blocks share: buffers, the sum over the model axis, linear maps.
 */
#include "model/block.h"

#include "base/error.h"
#include "tensor/gemm.h"

#define ALIGN_FLOATS 16 // 64 bytes

size_t hki_block_carved(size_t count)
{
    return (count + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

float *hki_block_carve(float **buffer, size_t count)
{
    float *part = *buffer;

    *buffer += hki_block_carved(count);
    return part;
}

hk_status_t hki_block_sum(const hki_block_dims_t *d, const hki_block_io_t *io, float *x)
{
    return io->sum == NULL ? HK_OK : io->sum(io->sum_cookie, x, d->rows * d->dim);
}

hk_status_t hki_block_check_ids(const hki_block_dims_t *d, const int32_t *ids, const char *what)
{
    for (size_t i = 0; i < d->rows; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= d->vocab) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "%s %d at position %zu of a unit: the vocabulary has ids 0 to %zu",
                            what, ids[i], i, d->vocab - 1);
        }
    }
    return HK_OK;
}

void hki_linear_forward(const hki_linear_t *l, const float *x, const float *w, float *y)
{
    const hki_gemm_t product = {
        .is_b_transposed = l->is_w_transposed,
        .m = l->rows,
        .n = l->n,
        .k = l->k,
        .a = x,
        .a_stride = l->k,
        .b = w,
        .b_stride = l->is_w_transposed ? l->k : l->n,
        .c = y,
        .c_stride = l->n,
    };

    hki_gemm(&product);
}

void hki_linear_backward_input(const hki_linear_t *l, const float *dy, const float *w, float *dx)
{
    const hki_gemm_t product = {
        .is_b_transposed = !l->is_w_transposed,
        .m = l->rows,
        .n = l->k,
        .k = l->n,
        .a = dy,
        .a_stride = l->n,
        .b = w,
        .b_stride = l->is_w_transposed ? l->k : l->n,
        .c = dx,
        .c_stride = l->k,
    };

    hki_gemm(&product);
}

void hki_linear_backward_weight(const hki_linear_t *l, const float *x, const float *dy, float *dw)
{
    const float *left = l->is_w_transposed ? dy : x;
    const float *right = l->is_w_transposed ? x : dy;
    const size_t height = l->is_w_transposed ? l->n : l->k;
    const size_t width = l->is_w_transposed ? l->k : l->n;
    const hki_gemm_t product = {
        .is_a_transposed = true,
        .m = height,
        .n = width,
        .k = l->rows,
        .a = left,
        .a_stride = height,
        .b = right,
        .b_stride = width,
        .c = dw,
        .c_stride = width,
    };

    hki_gemm(&product);
}
