/**
 * @file block.h
 * @brief What a kind of block is: how it declares its parameters, and its forward and backward.
 *        A new kind is a file with one hki_block_kind_t, and a line in model.c.
 */
#ifndef HKI_MODEL_BLOCK_H
#define HKI_MODEL_BLOCK_H

#include "model/model.h"

#define HKI_BLOCK_PARAMS_MAX 12

/** Collects the parameters of a model in order; model.c */
typedef struct hki_layout hki_layout_t;

/** A parameter as its block declares it. */
typedef struct hki_param_spec {
    const char *name;                 /**< after the block's prefix */
    size_t shape[HKI_PARAM_NDIM_MAX]; /**< of the whole; shape[1] == 0: one dimension */
    const char *axes[HKI_PARAM_NDIM_MAX];
    int split_dim;    /**< over the model axis; -1: replicated */
    int split_groups; /**< 0 means 1 */
    hki_init_t init;
    double init_std;
    bool is_tied; /**< to the first parameter of the model */
} hki_param_spec_t;

/** Sizes that the arithmetic of a block needs, on one model rank. */
typedef struct hki_block_dims {
    size_t sequences;
    size_t tokens;
    size_t rows;  /**< sequences * tokens */
    size_t dim;   /**< num_dim */
    size_t heads; /**< here */
    size_t head_dim;
    size_t attn;   /**< width of the attention here: heads * head_dim */
    size_t hidden; /**< width inside the MLP of a transformer block here */
    size_t vocab;
    size_t context;
    size_t part;       /**< columns of an MLP layer here */
    size_t part_first; /**< the first of them */
} hki_block_dims_t;

typedef struct hki_block_kind {
    void (*declare)(hki_layout_t *layout, const hki_model_config_t *config);
    size_t (*saved_count)(const hki_block_dims_t *d);   /**< NULL: nothing is saved */
    size_t (*scratch_count)(const hki_block_dims_t *d); /**< NULL: none is needed */
    hk_status_t (*forward)(const hki_block_dims_t *d, const hki_block_io_t *io);
    hk_status_t (*backward)(const hki_block_dims_t *d, const hki_block_io_t *io);
    int num_sums_forward;
    int num_sums_backward;
} hki_block_kind_t;

extern const hki_block_kind_t hki_block_embedding;
extern const hki_block_kind_t hki_block_transformer;
extern const hki_block_kind_t hki_block_head;
extern const hki_block_kind_t hki_block_mlp_first;
extern const hki_block_kind_t hki_block_mlp;
extern const hki_block_kind_t hki_block_mlp_head;

void hki_layout_add(hki_layout_t *layout, const hki_param_spec_t *spec);

/** The next `count` floats of a buffer, rounded up so that the one after it is as aligned. */
float *hki_block_carve(float **buffer, size_t count);

/** What hki_block_carve() takes for `count` floats. */
size_t hki_block_carved(size_t count);

/** Sum x (rows, dim) over the model axis, if it has more than one rank. */
hk_status_t hki_block_sum(const hki_block_dims_t *d, const hki_block_io_t *io, float *x);

/** HK_ERR_INVALID_ARG unless all (count,) ids are in the vocabulary. `what` is for the message. */
hk_status_t hki_block_check_ids(const hki_block_dims_t *d, const int32_t *ids, const char *what);

/** Logits of the last position of each sequence, (sequences, vocab). */
void hki_block_head_logits(const hki_block_dims_t *d, const hki_block_io_t *io, float *logits);

/** y (rows, n) = x (rows, k) @ w (k, n). */
typedef struct hki_linear {
    size_t rows;
    size_t k;
    size_t n;
    bool is_w_transposed; /**< w is stored as (n, k) */
} hki_linear_t;

void hki_linear_forward(const hki_linear_t *l, const float *x, const float *w, float *y);

/** dx (rows, k) = dy (rows, n) @ w^T. */
void hki_linear_backward_input(const hki_linear_t *l, const float *dy, const float *w, float *dx);

/** dw, shaped like w, = x^T @ dy. */
void hki_linear_backward_weight(const hki_linear_t *l, const float *x, const float *dy, float *dw);

#endif /* HKI_MODEL_BLOCK_H */
