/**
 * @file layers.h
 * @brief Layers on whole matrices (rows, n), row-major, without the matrix products: tensor/gemm.h.
 *
 * Rows or strips of columns are divided among the threads of tensor/threads.h; sums stay whole.
 */
#ifndef HKI_TENSOR_LAYERS_H
#define HKI_TENSOR_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/kernels.h"

/** t->out and t->stats from t->x, gamma, beta. */
void hki_norm_forward(const hki_norm_t *t, size_t rows);

/** t->din (plus t->residual), dgamma and dbeta from t->x, stats, gamma and dout. */
void hki_norm_backward(const hki_norm_t *t, size_t rows);

/** out[j] = sum over the rows of x[row][j]. */
void hki_column_sums(const float *x, size_t rows, size_t n, float *out);

/** out = x + bias (n,) + other (rows, n); bias and other may be NULL, out may be x. */
void hki_bias_add(const float *x, const float *bias, const float *other, size_t rows, size_t n,
                  float *out);

/** A matrix of activations before a gelu, and where the results go. */
typedef struct hki_gelu {
    size_t rows;
    size_t n;
    float *pre;        /**< (rows, n); forward adds the bias to it */
    const float *bias; /**< forward: (n,) or NULL */
    float *act;        /**< gelu(pre); backward: NULL if not wanted */
    size_t act_stride; /**< of act from row to row */
    float *grad;       /**< backward: (rows, n), multiplied by gelu'(pre) */
} hki_gelu_t;

void hki_gelu_forward(const hki_gelu_t *t);
void hki_gelu_backward(const hki_gelu_t *t);

/** Sequences of token ids and the two tables of an embedding. */
typedef struct hki_embedding {
    size_t num_sequences;
    size_t num_tokens;
    size_t n; /**< width */
    size_t num_vocab;
    size_t num_context;
    const int32_t *ids; /**< (num_sequences, num_tokens), each below num_vocab */
} hki_embedding_t;

/** out (rows, n) = tokens[id] + positions[t]. */
void hki_embedding_forward(const hki_embedding_t *e, const float *tokens, const float *positions,
                           float *out);

/** dtokens (num_vocab, n), dpositions (num_context, n), both overwritten, from dout (rows, n). */
void hki_embedding_backward(const hki_embedding_t *e, const float *dout, float *dtokens,
                            float *dpositions);

/** Softmax and cross-entropy. Overwrites logits (rows, n) by exp(logits - max), writes their sums
 *  (rows,) and losses (rows,). Returns the mean loss, summed in f64 in the order of the rows. */
double hki_cross_entropy_forward(float *logits, const int32_t *targets, size_t rows, size_t n,
                                 float *sums, float *losses);

/** Overwrites what forward left in logits by the gradient of the mean loss. */
void hki_cross_entropy_backward(float *logits, const int32_t *targets, size_t rows, size_t n,
                                const float *sums);

/** Mean of x * x over (rows, n): rows in f32, their sums in f64 in order. row_sums (rows,). */
double hki_mean_square(const float *x, size_t rows, size_t n, float *row_sums);

/** out = x * factor, (rows, n). */
void hki_scale(const float *x, float factor, size_t rows, size_t n, float *out);

#endif /* HKI_TENSOR_LAYERS_H */
