/**
 * @file model.h
 * @brief Models as lists of blocks. A block has named parameters, a forward and a backward; it is
 *        the unit of pipeline stages, of recompute and of gathering, and knows no strategy.
 *
 * GPT: blocks 0 "embedding", 1..L "h.0".."h.<L-1>", L+1 "head" (norm, tied projection, loss).
 * MLP: blocks 0..L-1 "layers.<i>" (x = gelu(x @ W)), L "head" (loss = mean of x * x).
 *
 * All numbers are f32, row-major. Between blocks travels one activation (rows, num_dim), with
 * rows = sequences * tokens of the unit (MLP: tokens is 1). All parameters of a model rank lie in
 * one flat buffer in model order without gaps; so do the gradients, with the same offsets. A stage
 * that owns some blocks may keep just their part of it: calls take pointers to the block's part.
 *
 * Tensor parallel (Megatron): with model_nranks > 1 a block holds this rank's part of the
 * parameters with split_dim >= 0 and calls the hook `sum` on partial (rows, num_dim) results.
 * Gradients of replicated parameters come out with equal bits on all model ranks, given that the
 * hook gives equal bits. The vocabulary is replicated.
 *
 * Bits: what a block computes is a function of its arguments alone. It does not depend on the
 * number of threads (tensor/threads.h), and a unit does not see other units.
 *
 * Threads: a model is immutable after its creation; any number of threads may use it, with
 * different buffers. Nothing here allocates except hki_model_create().
 */
#ifndef HKI_MODEL_MODEL_H
#define HKI_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hocket/base.h>

#define HKI_PARAM_NDIM_MAX 2
#define HKI_PARAM_NAME_MAX 48

typedef struct hki_model hki_model_t;

typedef enum hki_model_kind {
    HKI_MODEL_MLP = 0,
    HKI_MODEL_GPT = 1,
} hki_model_kind_t;

/** Sizes of the whole model, the same on all ranks. */
typedef struct hki_model_config {
    hki_model_kind_t kind;
    int num_layers;  /**< >= 1 */
    int num_dim;     /**< width of the activations, >= 1 */
    int num_heads;   /**< GPT: divides num_dim; a multiple of model_nranks */
    int num_hidden;  /**< GPT: width inside the MLP, a multiple of model_nranks; 0: 4 * num_dim */
    int num_vocab;   /**< GPT: number of token ids, >= 2 */
    int num_context; /**< GPT: most tokens in a sequence, >= 1 */
} hki_model_config_t;

typedef enum hki_init {
    HKI_INIT_ZERO = 0,
    HKI_INIT_ONE = 1,
    HKI_INIT_NORMAL = 2, /**< mean 0, standard deviation init_std */
} hki_init_t;

/** One parameter. `local` is what this model rank holds, equal to the whole if split_dim is -1. */
typedef struct hki_param_info {
    char name[HKI_PARAM_NAME_MAX];    /**< as in GPT-2 checkpoints: "h.0.attn.c_attn.weight" */
    int block;                        /**< the block that it belongs to */
    int ndim;                         /**< 1 or 2 */
    size_t shape[HKI_PARAM_NDIM_MAX]; /**< of the whole; 1 beyond ndim */
    size_t local_shape[HKI_PARAM_NDIM_MAX]; /**< of this rank's part */
    const char *axes[HKI_PARAM_NDIM_MAX];   /**< "vocab", "position", "embed", "heads", "mlp" */
    size_t global_count;                    /**< elements of the whole */
    size_t count;                           /**< elements here */
    size_t offset;    /**< of the local part in this rank's flat buffer [elements] */
    int split_dim;    /**< the dimension divided over the model axis, -1: replicated */
    int split_groups; /**< it consists of so many parts that are divided each (qkv: 3, else 1) */
    hki_init_t init;
    double init_std;
    bool has_decay; /**< weight decay applies: matrices yes, biases and norms no */
    int tie;        /**< index of the parameter that this one always equals, -1: none. Both have a
                         slot and a gradient of their own; the trainer adds the two gradients (that
                         of the parameter `tie` first) and steps both with the sum. Digests, norms,
                         checkpoints and parameter counts skip the copy */
} hki_param_info_t;

/** One block: params first_param .. first_param + num_params - 1, together (param_count,). */
typedef struct hki_block_info {
    char name[HKI_PARAM_NAME_MAX];
    int first_param;
    int num_params;
    size_t param_offset;  /**< of the block in this rank's flat buffer [elements] */
    size_t param_count;   /**< [elements] on this rank */
    int num_sums_forward; /**< calls of the hook, each of (rows * num_dim) elements; 0 if the model
                               axis has one rank */
    int num_sums_backward;
} hki_block_info_t;

/** The data of one unit. GPT: ids and targets; MLP: features. All borrowed during a call. */
typedef struct hki_unit {
    int num_sequences;      /**< >= 1. MLP: rows of features */
    int num_tokens;         /**< in each sequence, 1 <= num_tokens <= num_context. MLP: 1 */
    const int32_t *ids;     /**< (num_sequences, num_tokens); read by the embedding only */
    const int32_t *targets; /**< (num_sequences, num_tokens); read by the head only */
    const float *features;  /**< (num_sequences, num_dim); read by the first block of an MLP only */
} hki_unit_t;

/** Replace x (count,) by its sum over the model axis, equal bits on every rank. The blocks pass on
 *  its status. */
typedef hk_status_t (*hki_model_sum_fn)(void *cookie, float *x, size_t count);

/**
 * What one forward or backward of a block reads and writes. No two buffers may overlap. Buffers
 * aligned to 64 bytes are faster; any alignment of float works.
 */
typedef struct hki_block_io {
    const hki_unit_t *unit;
    const float *params; /**< (param_count,) the block's */
    const float *in;     /**< (rows, num_dim); not read by the first block. Backward reads it too */
    float *out;          /**< forward: (rows, num_dim); not written by the head */
    float *saved;        /**< (hki_block_saved_count(),) written by forward; read by backward, which
                              may destroy it */
    float *scratch;      /**< (hki_model_scratch_count(),) undefined before and after */
    double *loss;        /**< forward of the head: mean over the unit's tokens (MLP: elements) */
    const float *dout;   /**< backward: (rows, num_dim); not read by the head (dloss is 1) */
    float *din;     /**< backward: (rows, num_dim), overwritten; not written by the first block */
    float *dparams; /**< backward: (param_count,), all overwritten, never added to */
    hki_model_sum_fn sum; /**< NULL if model_nranks is 1 */
    void *sum_cookie;
} hki_block_io_t;

/**
 * Lay a model out for one rank of the model axis.
 *
 * @param[in]  config       copied
 * @param[in]  model_rank   0 <= model_rank < model_nranks
 * @param[out] model_out    set on success only; end it with hki_model_destroy()
 * @return HK_OK, HK_ERR_INVALID_ARG (the text names the field and what it must be),
 *         HK_ERR_NO_MEMORY
 */
HK_NODISCARD hk_status_t hki_model_create(const hki_model_config_t *config, int model_rank,
                                          int model_nranks, hki_model_t **model_out);

/** Free it and set *model to NULL. Does nothing if it is NULL. */
void hki_model_destroy(hki_model_t **model);

/** The configuration with defaults filled in (num_hidden). */
const hki_model_config_t *hki_model_config(const hki_model_t *model);

int hki_model_num_blocks(const hki_model_t *model);
int hki_model_num_params(const hki_model_t *model);

/** Elements of the flat buffer of this rank: all parameters of all blocks, tied copies included. */
size_t hki_model_count(const hki_model_t *model);

const hki_block_info_t *hki_model_block(const hki_model_t *model, int block);
const hki_param_info_t *hki_model_param(const hki_model_t *model, int param);

/** Elements of `saved` for one unit of the given shape. May be 0. */
size_t hki_block_saved_count(const hki_model_t *model, int block, int num_sequences,
                             int num_tokens);

/** Elements of `scratch` that any block needs for a unit of the given shape. */
size_t hki_model_scratch_count(const hki_model_t *model, int num_sequences, int num_tokens);

/** Elements of the activation between blocks: rows * num_dim. */
size_t hki_model_activation_count(const hki_model_t *model, int num_sequences, int num_tokens);

/**
 * Forward of one block. @return HK_OK, HK_ERR_INVALID_ARG (unit's shape; a token id outside the
 * vocabulary), or what the hook returned
 */
HK_NODISCARD hk_status_t hki_block_forward(const hki_model_t *model, int block,
                                           const hki_block_io_t *io);

/** Backward of one block, after its forward with the same unit, params, in and saved. */
HK_NODISCARD hk_status_t hki_block_backward(const hki_model_t *model, int block,
                                            const hki_block_io_t *io);

/**
 * Instead of the head's forward (GPT): logits of the last position of each sequence. Reads unit
 * (not the targets), params, in, scratch; the block is the last one.
 *
 * @param[out] logits  (num_sequences, num_vocab)
 */
HK_NODISCARD hk_status_t hki_head_logits(const hki_model_t *model, const hki_block_io_t *io,
                                         float *logits);

/* --- parameters: initial values, and the whole from the parts --- */

/**
 * Write initial values of elements first .. first + count - 1 of the local part of a parameter:
 * a function of (seed, name, index in the whole), so that no layout changes them. A tied copy gets
 * the values of the parameter that it is tied to.
 */
void hki_param_init(const hki_model_t *model, int param, uint64_t seed, size_t first, size_t count,
                    float *out);

/** Index in the whole of element `index` of the local part of model rank `model_rank`. */
size_t hki_param_global_index(const hki_model_t *model, int param, int model_rank, size_t index);

/** Copy the part (count,) of model rank `model_rank` to its places in the whole (global_count,). */
void hki_param_put(const hki_model_t *model, int param, int model_rank, const float *part,
                   float *whole);

/** Copy the part of model rank `model_rank` out of the whole. */
void hki_param_get(const hki_model_t *model, int param, int model_rank, const float *whole,
                   float *part);

#endif /* HKI_MODEL_MODEL_H */
