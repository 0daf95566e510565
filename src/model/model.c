/**
 * @file model.c
 * @brief A model's layout for one model rank, and the calls that reach its blocks.
 */
#include "model/model.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "model/block.h"
#include "model/model_internal.h"
#include "tensor/gemm.h"

#define MODEL_SIZE_MAX (1 << 24) // of every number in a configuration: keeps products in 64 bits

struct hki_layout {
    hki_model_t *model;
    int block;
    const char *prefix; // of the names of the block's parameters
};

static const char *kind_name(hki_model_kind_t kind)
{
    return kind == HKI_MODEL_GPT ? "gpt" : "mlp";
}

static hk_status_t check_range(const char *name, int value, int low)
{
    if (value < low || value > MODEL_SIZE_MAX) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s %d: must be %d to %d", name, value, low,
                        MODEL_SIZE_MAX);
    }
    return HK_OK;
}

static hk_status_t check_divides(const char *name, int value, const char *by_name, int by)
{
    if (value % by != 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "%s %d is not a multiple of %s %d: change one of the two", name, value,
                        by_name, by);
    }
    return HK_OK;
}

static hk_status_t gpt_check(const hki_model_config_t *c, int nranks)
{
    hk_status_t status;

    HKI_TRY(status = check_range("heads", c->num_heads, 1), fail);
    HKI_TRY(status = check_range("hidden", c->num_hidden, 1), fail);
    HKI_TRY(status = check_range("vocabulary", c->num_vocab, 2), fail);
    HKI_TRY(status = check_range("context", c->num_context, 1), fail);
    HKI_TRY(status = check_divides("dim", c->num_dim, "heads", c->num_heads), fail);
    HKI_TRY(status = check_divides("heads", c->num_heads, "model ranks", nranks), fail);
    HKI_TRY(status = check_divides("hidden", c->num_hidden, "model ranks", nranks), fail);
    return HK_OK;
fail:
    return status;
}

static hk_status_t config_check(const hki_model_config_t *c, int rank, int nranks)
{
    hk_status_t status;

    if (c->kind != HKI_MODEL_GPT && c->kind != HKI_MODEL_MLP) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "model kind %d: must be gpt or mlp", (int)c->kind);
    }
    if (nranks < 1 || rank < 0 || rank >= nranks) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "model rank %d of %d: must be 0 to %d", rank, nranks,
                        nranks - 1);
    }
    HKI_TRY(status = check_range("layers", c->num_layers, 1), fail);
    HKI_TRY(status = check_range("dim", c->num_dim, 1), fail);
    if (c->kind == HKI_MODEL_GPT) {
        return gpt_check(c, nranks);
    }
    return check_divides("dim", c->num_dim, "model ranks", nranks);
fail:
    return status;
}

static const hki_block_kind_t *kind_of_block(const hki_model_config_t *c, int block)
{
    const bool is_gpt = c->kind == HKI_MODEL_GPT;

    if (block == 0) {
        return is_gpt ? &hki_block_embedding : &hki_block_mlp_first;
    }
    if (block == c->num_layers + (is_gpt ? 1 : 0)) {
        return is_gpt ? &hki_block_head : &hki_block_mlp_head;
    }
    return is_gpt ? &hki_block_transformer : &hki_block_mlp;
}

/** Name of a block, and whether its parameters' names begin with it. */
static bool block_name(const hki_model_config_t *c, int block, char name[HKI_PARAM_NAME_MAX])
{
    const bool is_gpt = c->kind == HKI_MODEL_GPT;

    if (block == 0 && is_gpt) {
        (void)snprintf(name, HKI_PARAM_NAME_MAX, "embedding");
        return false;
    }
    if (block == c->num_layers + (is_gpt ? 1 : 0)) {
        (void)snprintf(name, HKI_PARAM_NAME_MAX, "head");
        return false;
    }
    (void)snprintf(name, HKI_PARAM_NAME_MAX, is_gpt ? "h.%d" : "layers.%d",
                   is_gpt ? block - 1 : block);
    return true;
}

void hki_layout_add(hki_layout_t *layout, const hki_param_spec_t *spec)
{
    hki_model_t *model = layout->model;
    hki_param_info_t *param = &model->params[model->num_params];

    HKI_ASSERT(model->num_params - model->blocks[layout->block].first_param < HKI_BLOCK_PARAMS_MAX);
    *param = (hki_param_info_t){
        .block = layout->block,
        .ndim = spec->shape[1] == 0 ? 1 : 2,
        .global_count = 1,
        .count = 1,
        .offset = model->count,
        .split_dim = model->nranks == 1 ? -1 : spec->split_dim,
        .split_groups = spec->split_groups == 0 ? 1 : spec->split_groups,
        .init = spec->init,
        .init_std = spec->init_std,
        .has_decay = spec->shape[1] != 0,
        .tie = spec->is_tied ? 0 : -1,
    };
    (void)snprintf(param->name, sizeof(param->name), "%s%s", layout->prefix, spec->name);
    for (int dim = 0; dim < HKI_PARAM_NDIM_MAX; dim++) {
        param->shape[dim] = dim < param->ndim ? spec->shape[dim] : 1;
        param->local_shape[dim] = param->shape[dim];
        param->axes[dim] = spec->axes[dim];
        if (dim == param->split_dim) {
            param->local_shape[dim] /= (size_t)model->nranks;
        }
        param->global_count *= param->shape[dim];
        param->count *= param->local_shape[dim];
    }
    model->num_params++;
    model->count += param->count;
}

static void block_add(hki_model_t *model, int index)
{
    hki_block_info_t *block = &model->blocks[index];
    const hki_block_kind_t *kind = kind_of_block(&model->config, index);
    const bool has_sums = model->nranks > 1;
    char prefix[HKI_PARAM_NAME_MAX + 1] = "";

    *block = (hki_block_info_t){
        .first_param = model->num_params,
        .param_offset = model->count,
        .num_sums_forward = has_sums ? kind->num_sums_forward : 0,
        .num_sums_backward = has_sums ? kind->num_sums_backward : 0,
    };
    if (block_name(&model->config, index, block->name)) {
        (void)snprintf(prefix, sizeof(prefix), "%s.", block->name);
    }
    hki_layout_t layout = {.model = model, .block = index, .prefix = prefix};
    kind->declare(&layout, &model->config);
    block->num_params = model->num_params - block->first_param;
    block->param_count = model->count - block->param_offset;
}

hk_status_t hki_model_create(const hki_model_config_t *config, int model_rank, int model_nranks,
                             hki_model_t **model_out)
{
    hki_model_t *model = NULL;
    hki_model_config_t c = *config;
    hk_status_t status;

    if (c.num_hidden == 0 && c.num_dim <= MODEL_SIZE_MAX / 4) {
        c.num_hidden = 4 * c.num_dim;
    }
    HKI_TRY(status = config_check(&c, model_rank, model_nranks), fail);
    HKI_TRY(status = hki_gemm_select(NULL), fail);

    const size_t num_blocks = (size_t)c.num_layers + (c.kind == HKI_MODEL_GPT ? 2 : 1);
    model = hki_calloc(1, sizeof(*model));
    if (model == NULL) {
        goto no_memory;
    }
    model->config = c;
    model->rank = model_rank;
    model->nranks = model_nranks;
    model->num_blocks = (int)num_blocks;
    model->blocks = hki_calloc(num_blocks, sizeof(*model->blocks));
    model->params = hki_calloc(num_blocks * HKI_BLOCK_PARAMS_MAX, sizeof(*model->params));
    if (model->blocks == NULL || model->params == NULL) {
        goto no_memory;
    }
    for (int i = 0; i < model->num_blocks; i++) {
        block_add(model, i);
    }
    *model_out = model;
    return HK_OK;
no_memory:
    status =
        HKI_FAIL(HK_ERR_NO_MEMORY, "layout of a %s of %zu blocks", kind_name(c.kind), num_blocks);
fail:
    hki_model_destroy(&model);
    return status;
}

void hki_model_destroy(hki_model_t **model)
{
    if (*model != NULL) {
        hki_free((*model)->blocks);
        hki_free((*model)->params);
        hki_free(*model);
    }
    *model = NULL;
}

const hki_model_config_t *hki_model_config(const hki_model_t *model)
{
    return &model->config;
}

int hki_model_num_blocks(const hki_model_t *model)
{
    return model->num_blocks;
}

int hki_model_num_params(const hki_model_t *model)
{
    return model->num_params;
}

size_t hki_model_count(const hki_model_t *model)
{
    return model->count;
}

const hki_block_info_t *hki_model_block(const hki_model_t *model, int block)
{
    HKI_ASSERT(block >= 0 && block < model->num_blocks);
    return &model->blocks[block];
}

const hki_param_info_t *hki_model_param(const hki_model_t *model, int param)
{
    HKI_ASSERT(param >= 0 && param < model->num_params);
    return &model->params[param];
}

static hki_block_dims_t dims_of(const hki_model_t *model, int num_sequences, int num_tokens)
{
    const hki_model_config_t *c = &model->config;
    const size_t nranks = (size_t)model->nranks;
    hki_block_dims_t d = {
        .sequences = (size_t)num_sequences,
        .tokens = (size_t)num_tokens,
        .rows = (size_t)num_sequences * (size_t)num_tokens,
        .dim = (size_t)c->num_dim,
    };

    if (c->kind == HKI_MODEL_GPT) {
        d.heads = (size_t)c->num_heads / nranks;
        d.head_dim = d.dim / (size_t)c->num_heads;
        d.attn = d.heads * d.head_dim;
        d.hidden = (size_t)c->num_hidden / nranks;
        d.vocab = (size_t)c->num_vocab;
        d.context = (size_t)c->num_context;
    } else {
        d.part = d.dim / nranks;
        d.part_first = (size_t)model->rank * d.part;
    }
    return d;
}

size_t hki_block_saved_count(const hki_model_t *model, int block, int num_sequences, int num_tokens)
{
    const hki_block_dims_t d = dims_of(model, num_sequences, num_tokens);
    const hki_block_kind_t *kind = kind_of_block(&model->config, block);

    return kind->saved_count == NULL ? 0 : kind->saved_count(&d);
}

size_t hki_model_scratch_count(const hki_model_t *model, int num_sequences, int num_tokens)
{
    const hki_block_dims_t d = dims_of(model, num_sequences, num_tokens);
    size_t most = 0;

    for (int i = 0; i < model->num_blocks; i++) {
        const hki_block_kind_t *kind = kind_of_block(&model->config, i);
        const size_t count = kind->scratch_count == NULL ? 0 : kind->scratch_count(&d);

        most = count > most ? count : most;
    }
    return most;
}

size_t hki_model_activation_count(const hki_model_t *model, int num_sequences, int num_tokens)
{
    return (size_t)num_sequences * (size_t)num_tokens * (size_t)model->config.num_dim;
}

static hk_status_t call_check(const hki_model_t *model, int block, const hki_block_io_t *io)
{
    const hki_unit_t *unit = io->unit;
    const bool is_gpt = model->config.kind == HKI_MODEL_GPT;
    const int most = is_gpt ? model->config.num_context : 1;

    HKI_ASSERT(block >= 0 && block < model->num_blocks);
    if (unit->num_sequences < 1 || unit->num_tokens < 1 || unit->num_tokens > most) {
        return HKI_FAIL(
            HK_ERR_INVALID_ARG,
            "unit of %d sequences of %d tokens: at least 1, at most %d tokens are possible",
            unit->num_sequences, unit->num_tokens, most);
    }
    if ((model->nranks > 1) != (io->sum != NULL)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "the sum over the model axis must be given if it has more than 1 rank, and "
                        "only then; it has %d",
                        model->nranks);
    }
    return HK_OK;
}

hk_status_t hki_block_forward(const hki_model_t *model, int block, const hki_block_io_t *io)
{
    const hk_status_t status = call_check(model, block, io);

    if (status != HK_OK) {
        return status;
    }
    const hki_block_dims_t d = dims_of(model, io->unit->num_sequences, io->unit->num_tokens);
    return kind_of_block(&model->config, block)->forward(&d, io);
}

hk_status_t hki_block_backward(const hki_model_t *model, int block, const hki_block_io_t *io)
{
    const hk_status_t status = call_check(model, block, io);

    if (status != HK_OK) {
        return status;
    }
    const hki_block_dims_t d = dims_of(model, io->unit->num_sequences, io->unit->num_tokens);
    return kind_of_block(&model->config, block)->backward(&d, io);
}

hk_status_t hki_head_logits(const hki_model_t *model, const hki_block_io_t *io, float *logits)
{
    hk_status_t status;

    if (model->config.kind != HKI_MODEL_GPT) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED, "logits of an mlp: only a gpt has them");
    }
    HKI_TRY(status = call_check(model, model->num_blocks - 1, io), fail);
    const hki_block_dims_t d = dims_of(model, io->unit->num_sequences, io->unit->num_tokens);
    hki_block_head_logits(&d, io, logits);
    return HK_OK;
fail:
    return status;
}
