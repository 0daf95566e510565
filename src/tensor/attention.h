/**
 * @file attention.h
 * @brief Causal multi-head attention: forward and backward, from queries, keys and values.
 */
#ifndef HKI_TENSOR_ATTENTION_H
#define HKI_TENSOR_ATTENTION_H

#include <stddef.h>

/** Width of all heads: W = num_heads * head_dim; rows = num_sequences * num_tokens. */
typedef struct hki_attention {
    size_t num_sequences;
    size_t num_tokens;
    size_t num_heads;
    size_t head_dim;
    const float *qkv;  /**< (rows, 3 W): queries, keys, values, each head by head */
    float *out;        /**< (rows, W); written by forward, read by backward */
    float *log_sums;   /**< (num_sequences, num_heads, num_tokens); like out */
    float *scratch;    /**< (hki_attention_scratch_count(),) */
    const float *dout; /**< backward: (rows, W) */
    float *dqkv;       /**< backward: (rows, 3 W) */
} hki_attention_t;

/** Elements of scratch: two blocks of scores for each head of each sequence. */
size_t hki_attention_scratch_count(size_t num_sequences, size_t num_tokens, size_t num_heads);

void hki_attention_forward(const hki_attention_t *t);
void hki_attention_backward(const hki_attention_t *t);

#endif /* HKI_TENSOR_ATTENTION_H */
