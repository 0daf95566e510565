/**
 * @file run.h
 * @brief One unit through a whole model, forward and backward, with buffers of its own.
 */
#ifndef HK_TEST_UNIT_MODEL_RUN_H
#define HK_TEST_UNIT_MODEL_RUN_H

#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "model/model.h"

typedef struct run {
    hki_model_t *model;
    hki_unit_t unit;
    int rank; // on the model axis
    float *params;
    float *grads;
    float *acts;  // (num_blocks, activation): input of each block
    float *saved; // of all blocks, one after the other
    float *dacts; // (2, activation)
    float *scratch;
    hki_model_sum_fn sum;
    void *sum_cookie;
    double loss;
} run_t;

static inline float *run_floats(size_t count)
{
    return hki_calloc_aligned(count + 16, sizeof(float), 64);
}

static inline void run_close(run_t *run)
{
    hki_model_destroy(&run->model);
    hki_free(run->params);
    hki_free(run->grads);
    hki_free(run->acts);
    hki_free(run->saved);
    hki_free(run->dacts);
    hki_free(run->scratch);
    memset(run, 0, sizeof(*run));
}

/** Set the model up for units of unit's shape. Parameters are the initial ones of `seed`. */
static inline hk_status_t run_open(run_t *run, const hki_model_config_t *config, int rank,
                                   int nranks, const hki_unit_t *unit)
{
    size_t saved = 0;

    memset(run, 0, sizeof(*run));
    const hk_status_t status = hki_model_create(config, rank, nranks, &run->model);
    if (status != HK_OK) {
        return status;
    }
    const int blocks = hki_model_num_blocks(run->model);
    const size_t act =
        hki_model_activation_count(run->model, unit->num_sequences, unit->num_tokens);
    for (int i = 0; i < blocks; i++) {
        saved += hki_block_saved_count(run->model, i, unit->num_sequences, unit->num_tokens) + 16;
    }
    run->unit = *unit;
    run->rank = rank;
    run->params = run_floats(hki_model_count(run->model));
    run->grads = run_floats(hki_model_count(run->model));
    run->acts = run_floats((size_t)blocks * act);
    run->saved = run_floats(saved);
    run->dacts = run_floats(2 * act);
    run->scratch =
        run_floats(hki_model_scratch_count(run->model, unit->num_sequences, unit->num_tokens));
    for (int i = 0; i < hki_model_num_params(run->model); i++) {
        const hki_param_info_t *p = hki_model_param(run->model, i);

        hki_param_init(run->model, i, 1, 0, p->count, run->params + p->offset);
    }
    return HK_OK;
}

/** What block `index` reads and writes. */
static inline hki_block_io_t run_io(run_t *run, int index)
{
    const hki_block_info_t *block = hki_model_block(run->model, index);
    const int sequences = run->unit.num_sequences;
    const int tokens = run->unit.num_tokens;
    const size_t act = hki_model_activation_count(run->model, sequences, tokens);
    float *saved = run->saved;

    for (int i = 0; i < index; i++) {
        const size_t count = hki_block_saved_count(run->model, i, sequences, tokens);

        saved += (count + 15) / 16 * 16;
    }
    return (hki_block_io_t){
        .unit = &run->unit,
        .params = run->params + block->param_offset,
        .in = run->acts + (size_t)index * act,
        .out = run->acts + (size_t)(index + 1) * act, // of the head: never written
        .saved = saved,
        .scratch = run->scratch,
        .loss = &run->loss,
        .dout = run->dacts + (size_t)((index + 1) % 2) * act,
        .din = run->dacts + (size_t)(index % 2) * act,
        .dparams = run->grads + block->param_offset,
        .sum = run->sum,
        .sum_cookie = run->sum_cookie,
    };
}

static inline hk_status_t run_forward(run_t *run)
{
    hk_status_t status = HK_OK;

    for (int i = 0; i < hki_model_num_blocks(run->model) && status == HK_OK; i++) {
        const hki_block_io_t io = run_io(run, i);

        status = hki_block_forward(run->model, i, &io);
    }
    return status;
}

static inline hk_status_t run_backward(run_t *run)
{
    hk_status_t status = HK_OK;

    for (int i = hki_model_num_blocks(run->model) - 1; i >= 0 && status == HK_OK; i--) {
        const hki_block_io_t io = run_io(run, i);

        status = hki_block_backward(run->model, i, &io);
    }
    return status;
}

/** Normal numbers, the same for the same name. */
static inline void run_normal(const char *name, double deviation, size_t count, float *out)
{
    const hki_random_key_t key = hki_random_key(7, name);

    for (size_t i = 0; i < count; i++) {
        out[i] = (float)(deviation * hki_random_normal(key, i));
    }
}

static inline void run_ids(const char *name, int num_vocab, size_t count, int32_t *out)
{
    const hki_random_key_t key = hki_random_key(7, name);

    for (size_t i = 0; i < count; i++) {
        out[i] = (int32_t)hki_random_below(key, i, (uint64_t)num_vocab);
    }
}

/** Parameters that leave nothing at zero or one: biases and norms matter to every gradient. */
static inline void run_disturb(run_t *run)
{
    for (int i = 0; i < hki_model_num_params(run->model); i++) {
        const hki_param_info_t *p = hki_model_param(run->model, i);
        const hki_random_key_t key = hki_random_key(11, p->tie < 0 ? p->name : "wte.weight");
        float *x = run->params + p->offset;

        for (size_t j = 0; j < p->count; j++) {
            const size_t at = hki_param_global_index(run->model, i, run->rank, j);

            x[j] += (float)(0.3 * hki_random_normal(key, at));
        }
    }
}

#endif /* HK_TEST_UNIT_MODEL_RUN_H */
