/**
 * @file layers.c
 * @brief Loops of the kernels over rows and strips of columns, shared among threads.
 */
#include "tensor/layers.h"

#include <math.h>
#include <string.h>

#include "tensor/threads.h"

/** Strips of columns that cover n columns. */
static size_t strip_count(size_t n)
{
    return (n + HKI_STRIP_WIDTH - 1) / HKI_STRIP_WIDTH;
}

static size_t strip_width(size_t n, size_t strip)
{
    const size_t left = n - strip * HKI_STRIP_WIDTH;

    return left < HKI_STRIP_WIDTH ? left : HKI_STRIP_WIDTH;
}

void hki_norm_forward(const hki_norm_t *t, size_t rows)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < rows; row++) {
        kernels->norm_forward(t, row);
    }
}

void hki_norm_backward(const hki_norm_t *t, size_t rows)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    const size_t strips = strip_count(t->n);

#pragma omp parallel num_threads(hki_tensor_threads())
    {
#pragma omp for
        for (size_t strip = 0; strip < strips; strip++) {
            kernels->norm_columns(t, rows, strip * HKI_STRIP_WIDTH, strip_width(t->n, strip));
        }
#pragma omp for
        for (size_t row = 0; row < rows; row++) {
            kernels->norm_backward(t, row);
        }
    }
}

void hki_column_sums(const float *x, size_t rows, size_t n, float *out)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    const size_t strips = strip_count(n);

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t strip = 0; strip < strips; strip++) {
        const size_t first = strip * HKI_STRIP_WIDTH;

        kernels->column_sums(x + first, n, rows, strip_width(n, strip), out + first);
    }
}

void hki_bias_add(const float *x, const float *bias, const float *other, size_t rows, size_t n,
                  float *out)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < rows; row++) {
        kernels->add(x + row * n, bias, other == NULL ? NULL : other + row * n, n, out + row * n);
    }
}

void hki_gelu_forward(const hki_gelu_t *t)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < t->rows; row++) {
        kernels->gelu_forward(t->pre + row * t->n, t->bias, t->n, t->act + row * t->act_stride);
    }
}

void hki_gelu_backward(const hki_gelu_t *t)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < t->rows; row++) {
        kernels->gelu_backward(t->pre + row * t->n, t->n, t->grad + row * t->n,
                               t->act == NULL ? NULL : t->act + row * t->act_stride);
    }
}

void hki_embedding_forward(const hki_embedding_t *e, const float *tokens, const float *positions,
                           float *out)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < e->num_sequences * e->num_tokens; row++) {
        const float *token = tokens + (size_t)e->ids[row] * e->n;

        kernels->add(token, positions + row % e->num_tokens * e->n, NULL, e->n, out + row * e->n);
    }
}

void hki_embedding_backward(const hki_embedding_t *e, const float *dout, float *dtokens,
                            float *dpositions)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    const size_t rows = e->num_sequences * e->num_tokens;
    const size_t strips = strip_count(e->n);

    memset(dtokens, 0, e->num_vocab * e->n * sizeof(*dtokens));
    memset(dpositions, 0, e->num_context * e->n * sizeof(*dpositions));
    // a strip of columns belongs to one thread, which walks the rows in order
#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t strip = 0; strip < strips; strip++) {
        const size_t first = strip * HKI_STRIP_WIDTH;
        const size_t width = strip_width(e->n, strip);

        for (size_t row = 0; row < rows; row++) {
            const float *grad = dout + row * e->n + first;
            float *token = dtokens + (size_t)e->ids[row] * e->n + first;
            float *position = dpositions + row % e->num_tokens * e->n + first;

            kernels->add(token, grad, NULL, width, token);
            kernels->add(position, grad, NULL, width, position);
        }
    }
}

double hki_cross_entropy_forward(float *logits, const int32_t *targets, size_t rows, size_t n,
                                 float *sums, float *losses)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    double total = 0.0;

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < rows; row++) {
        float *x = logits + row * n;
        const float at_target = x[targets[row]];
        float max = 0.0F;

        sums[row] = kernels->exp_sum(x, n, &max);
        losses[row] = (float)(log((double)sums[row]) + ((double)max - (double)at_target));
    }
    for (size_t row = 0; row < rows; row++) {
        total += (double)losses[row];
    }
    return total / (double)rows;
}

void hki_cross_entropy_backward(float *logits, const int32_t *targets, size_t rows, size_t n,
                                const float *sums)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    const float share = 1.0F / (float)rows; // of one row in the mean

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < rows; row++) {
        float *x = logits + row * n;

        kernels->scale(x, share / sums[row], n, x);
        x[targets[row]] -= share;
    }
}

double hki_mean_square(const float *x, size_t rows, size_t n, float *row_sums)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    double total = 0.0;

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < rows; row++) {
        row_sums[row] = kernels->dot(x + row * n, x + row * n, n);
    }
    for (size_t row = 0; row < rows; row++) {
        total += (double)row_sums[row];
    }
    return total / ((double)rows * (double)n);
}

void hki_scale(const float *x, float factor, size_t rows, size_t n, float *out)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();

#pragma omp parallel for num_threads(hki_tensor_threads())
    for (size_t row = 0; row < rows; row++) {
        kernels->scale(x + row * n, factor, n, out + row * n);
    }
}
