/**
 * @file attention.c
 * @brief Causal multi-head attention, head by head, in blocks of BLOCK_QUERIES rows of the scores.
 *
 * A block of queries r .. r+q-1 meets the keys 0 .. r+q-1 only, which saves nearly half the work.
 *   forward:   S = Q K^T;  P = softmax(scale S), causal;  O = P V
 *   backward:  P again from S and the row's log of the sum;  dP = dO V^T;  D = sum over a row of
 *              dO * O;  dS = P (dP - D) scale;  dQ = dS K;  dK += dS^T Q;  dV += P^T dO
 * The scores of one block are all that is ever stored. A head of a sequence belongs to one thread,
 * which walks the blocks in order, so that the sums for dK and dV keep theirs.
 */
#include "tensor/attention.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/gemm.h"
#include "tensor/kernels.h"
#include "tensor/threads.h"

#define BLOCK_QUERIES 64

/** One block of queries of one head of one sequence. */
typedef struct block {
    size_t first; // query
    size_t rows;  // queries
    size_t width; // keys that the last of the queries sees
} block_t;

/** Pointers into the matrices for one head of one sequence. */
typedef struct head {
    size_t stride; // of q, k, v and their gradients
    size_t out_stride;
    const float *q;
    const float *k;
    const float *v;
    float *out;
    float *log_sums;
    float *scores;
    float *dscores;
    const float *dout;
    float *dq;
    float *dk;
    float *dv;
} head_t;

static head_t head_of(const hki_attention_t *t, size_t index)
{
    const size_t sequence = index / t->num_heads;
    const size_t column = index % t->num_heads * t->head_dim;
    const size_t width = t->num_heads * t->head_dim;
    const size_t row = sequence * t->num_tokens;
    const size_t block = BLOCK_QUERIES * t->num_tokens;
    const float *qkv = t->qkv + row * 3 * width + column;
    head_t head = {
        .stride = 3 * width,
        .out_stride = width,
        .q = qkv,
        .k = qkv + width,
        .v = qkv + 2 * width,
        .out = t->out + row * width + column,
        .log_sums = t->log_sums + index * t->num_tokens,
        .scores = t->scratch + 2 * index * block,
        .dscores = t->scratch + (2 * index + 1) * block,
    };

    if (t->dqkv != NULL) {
        head.dout = t->dout + row * width + column;
        head.dq = t->dqkv + row * 3 * width + column;
        head.dk = head.dq + width;
        head.dv = head.dq + 2 * width;
    }
    return head;
}

static block_t block_at(size_t num_tokens, size_t first)
{
    const size_t left = num_tokens - first;
    const size_t rows = left < BLOCK_QUERIES ? left : BLOCK_QUERIES;

    return (block_t){.first = first, .rows = rows, .width = first + rows};
}

/** c (rows, width) = a (rows, head_dim) @ b (width, head_dim)^T: scores, and their gradient. */
static void scores_product(const hki_attention_t *t, const block_t *b, const float *x,
                           size_t x_stride, const float *y, float *scores)
{
    const hki_gemm_t product = {
        .is_b_transposed = true,
        .m = b->rows,
        .n = b->width,
        .k = t->head_dim,
        .a = x + b->first * x_stride,
        .a_stride = x_stride,
        .b = y,
        .b_stride = 3 * t->num_heads * t->head_dim,
        .c = scores,
        .c_stride = b->width,
    };

    hki_gemm_one(&product);
}

/** out (rows, head_dim) = scores (rows, width) @ y (width, head_dim). */
static void scores_apply(const hki_attention_t *t, const block_t *b, const float *scores,
                         const float *y, float *out, size_t out_stride)
{
    const hki_gemm_t product = {
        .m = b->rows,
        .n = t->head_dim,
        .k = b->width,
        .a = scores,
        .a_stride = b->width,
        .b = y,
        .b_stride = 3 * t->num_heads * t->head_dim,
        .c = out + b->first * out_stride,
        .c_stride = out_stride,
    };

    hki_gemm_one(&product);
}

/** out (width, head_dim) += scores (rows, width)^T @ x (rows, head_dim). */
static void scores_transposed_add(const hki_attention_t *t, const block_t *b, const float *scores,
                                  const float *x, size_t x_stride, float *out)
{
    const hki_gemm_t product = {
        .is_a_transposed = true,
        .is_added = true,
        .m = b->width,
        .n = t->head_dim,
        .k = b->rows,
        .a = scores,
        .a_stride = b->width,
        .b = x + b->first * x_stride,
        .b_stride = x_stride,
        .c = out,
        .c_stride = 3 * t->num_heads * t->head_dim,
    };

    hki_gemm_one(&product);
}

static void head_forward(const hki_attention_t *t, const head_t *head)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    const float scale = 1.0F / sqrtf((float)t->head_dim);

    for (size_t first = 0; first < t->num_tokens; first += BLOCK_QUERIES) {
        const block_t b = block_at(t->num_tokens, first);

        scores_product(t, &b, head->q, head->stride, head->k, head->scores);
        for (size_t i = 0; i < b.rows; i++) {
            head->log_sums[first + i] =
                kernels->softmax(head->scores + i * b.width, scale, first + i + 1, b.width);
        }
        scores_apply(t, &b, head->scores, head->v, head->out, head->out_stride);
    }
}

/** From scores S and dP: P in their place, and dS in the place of dP. */
static void scores_backward(const hki_attention_t *t, const head_t *head, const block_t *b)
{
    const hki_tensor_kernels_t *kernels = hki_tensor_kernels();
    const float scale = 1.0F / sqrtf((float)t->head_dim);

    for (size_t i = 0; i < b->rows; i++) {
        const size_t query = b->first + i;
        const size_t row = query * head->out_stride;
        const float sum = kernels->dot(head->dout + row, head->out + row, t->head_dim);
        float *p = head->scores + i * b->width;
        float *ds = head->dscores + i * b->width;

        kernels->softmax_again(p, scale, head->log_sums[query], query + 1, b->width);
        kernels->softmax_backward(p, sum, scale, query + 1, ds);
        memset(ds + query + 1, 0, (b->width - query - 1) * sizeof(*ds));
    }
}

static void head_backward(const hki_attention_t *t, const head_t *head)
{
    for (size_t token = 0; token < t->num_tokens; token++) {
        memset(head->dk + token * head->stride, 0, t->head_dim * sizeof(*head->dk));
        memset(head->dv + token * head->stride, 0, t->head_dim * sizeof(*head->dv));
    }
    for (size_t first = 0; first < t->num_tokens; first += BLOCK_QUERIES) {
        const block_t b = block_at(t->num_tokens, first);

        scores_product(t, &b, head->q, head->stride, head->k, head->scores);
        scores_product(t, &b, head->dout, head->out_stride, head->v, head->dscores);
        scores_backward(t, head, &b);
        scores_apply(t, &b, head->dscores, head->k, head->dq, head->stride);
        scores_transposed_add(t, &b, head->dscores, head->q, head->stride, head->dk);
        scores_transposed_add(t, &b, head->scores, head->dout, head->out_stride, head->dv);
    }
}

size_t hki_attention_scratch_count(size_t num_sequences, size_t num_tokens, size_t num_heads)
{
    return 2 * num_sequences * num_heads * BLOCK_QUERIES * num_tokens;
}

void hki_attention_forward(const hki_attention_t *t)
{
#pragma omp parallel for schedule(dynamic) num_threads(hki_tensor_threads())
    for (size_t index = 0; index < t->num_sequences * t->num_heads; index++) {
        const head_t head = head_of(t, index);

        head_forward(t, &head);
    }
}

void hki_attention_backward(const hki_attention_t *t)
{
#pragma omp parallel for schedule(dynamic) num_threads(hki_tensor_threads())
    for (size_t index = 0; index < t->num_sequences * t->num_heads; index++) {
        const head_t head = head_of(t, index);

        head_backward(t, &head);
    }
}
