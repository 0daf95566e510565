/**
 * @file stage.h
 * @brief The blocks of one pipeline stage: their parameters, and the memory of the units in flight.
 *
 * A slot holds everything of one unit between its forward and its backward: ids, activations, what
 * the blocks save. Does not communicate; the one collective inside blocks (tensor parallel) is the
 * hook of model/model.h.
 *
 * Threads: one at a time per stage. Nothing is allocated after create.
 */
#ifndef HKI_PARALLEL_STAGE_H
#define HKI_PARALLEL_STAGE_H

#include <hocket/comm.h>

#include "model/model.h"

/** A run of blocks of a model. */
typedef struct hki_stage_blocks {
    int first;
    int count;
} hki_stage_blocks_t;

/**
 * The blocks of stage `stage` of `nstages`: equal numbers of layers (the first stages one more),
 * the embedding with the first, the head with the last.
 *
 * @return HK_OK, HK_ERR_INVALID_ARG (more stages than layers)
 */
hk_status_t hki_stage_blocks(const hki_model_t *model, int nstages, int stage,
                             hki_stage_blocks_t *blocks_out);

typedef struct hki_stage_opts {
    const hki_model_t *model; /**< borrowed; must outlive the stage */
    hki_stage_blocks_t blocks;
    int nslots;           /**< units in flight, >= 1 */
    int num_sequences;    /**< of a unit */
    int num_tokens;       /**< of a sequence, the most */
    hki_model_sum_fn sum; /**< NULL without tensor parallel */
    void *sum_cookie;
    hk_comm_t *comm; /**< borrowed: parameters and activations lie in its shared memory; or NULL */
} hki_stage_opts_t;

/** The borders of a slot, each (activation_count,). */
typedef struct hki_stage_port {
    float *in;   /**< what the stage before sends: input of the first block */
    float *out;  /**< output of the last block; not written by the head */
    float *dout; /**< gradient of `out`, what the stage after sends */
    float *din;  /**< gradient of `in`; not written by the model's first block */
} hki_stage_port_t;

/** The ids and features of a slot's unit; the caller fills them before forward. */
typedef struct hki_stage_data {
    int32_t *ids;     /**< (num_sequences, num_tokens); NULL for an MLP */
    int32_t *targets; /**< the same */
    float *features;  /**< (num_sequences, num_dim); NULL for a GPT */
} hki_stage_data_t;

typedef struct hki_stage hki_stage_t;

/** @param[out] stage_out  set on success only; end it with hki_stage_destroy()
 *  @return HK_OK, HK_ERR_NO_MEMORY */
hk_status_t hki_stage_create(const hki_stage_opts_t *opts, hki_stage_t **stage_out);
void hki_stage_destroy(hki_stage_t **stage);

/** Parameters of all blocks of the stage, in model order: (hki_stage_param_count(),). */
float *hki_stage_params(hki_stage_t *stage);
size_t hki_stage_param_count(const hki_stage_t *stage);
/** Offset of the stage's parameters in the flat buffer of the whole model [elements]. */
size_t hki_stage_param_offset(const hki_stage_t *stage);
/** First parameter of the stage, and how many. */
int hki_stage_first_param(const hki_stage_t *stage);
int hki_stage_num_params(const hki_stage_t *stage);

/** Elements of an activation of `num_tokens` tokens, num_tokens <= that of the options. */
size_t hki_stage_activation_count(const hki_stage_t *stage, int num_sequences, int num_tokens);

hki_stage_port_t hki_stage_port(hki_stage_t *stage, int slot);
hki_stage_data_t hki_stage_data(hki_stage_t *stage, int slot);

/** Initial values: a function of (seed, name, index), the same for every layout. */
void hki_stage_init(hki_stage_t *stage, uint64_t seed);

/** Forward of all blocks. @param[out] loss  written if the stage has the head */
hk_status_t hki_stage_forward(hki_stage_t *stage, int slot, double *loss);

/** Backward of all blocks. @param[out] grads  (hki_stage_param_count(),) all written */
hk_status_t hki_stage_backward(hki_stage_t *stage, int slot, float *grads);

/**
 * Forward of one sequence of `num_tokens` tokens in slot 0, without loss.
 *
 * @param[out] logits  (num_vocab,) of the last position, written if the stage has the head
 */
hk_status_t hki_stage_logits(hki_stage_t *stage, int num_tokens, float *logits);

#endif /* HKI_PARALLEL_STAGE_H */
