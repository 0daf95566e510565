/**
 * @file stage.c
 * @brief The blocks of one pipeline stage.
 *
 * Memory, with n blocks: a slot has n + 1 activations (activation b goes into block b, b + 1 comes
 * out) and what each block saves. Gradients of activations inside the stage need two buffers only,
 * used in turn; those on the borders belong to the slot, because they travel.
 */
#include "parallel/stage.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/chunk.h"
#include "base/error.h"
#include "parallel/buffer.h"

enum { ALIGNMENT = 64, ALIGNED_FLOATS = ALIGNMENT / 4 };

struct hki_stage {
    hki_stage_opts_t opts;
    size_t param_count;
    size_t param_offset;
    size_t activation_count; // rounded up to whole cache lines
    size_t slot_count;       // floats of one slot
    size_t *saved_offsets;   // (blocks.count,) in the slot, after the activations
    float *params;           // (param_count,)
    float *slots;            // (nslots, slot_count)
    float *borders;          // (nslots, 2, activation_count): dout, din
    float *turns;            // (2, activation_count)
    float *scratch;
    int32_t *ids;    // (nslots, 2, num_sequences * num_tokens): ids, targets
    float *features; // (nslots, num_sequences * num_dim)
};

static size_t round_up(size_t count)
{
    return (count + ALIGNED_FLOATS - 1) / ALIGNED_FLOATS * ALIGNED_FLOATS;
}

static bool is_gpt(const hki_stage_t *stage)
{
    return hki_model_config(stage->opts.model)->kind == HKI_MODEL_GPT;
}

static size_t rows_of(const hki_stage_t *stage)
{
    return (size_t)stage->opts.num_sequences * (size_t)stage->opts.num_tokens;
}

hk_status_t hki_stage_blocks(const hki_model_t *model, int nstages, int stage,
                             hki_stage_blocks_t *blocks_out)
{
    const int layers = hki_model_config(model)->num_layers;
    const int before = hki_model_num_blocks(model) - layers - 1; // embedding
    const hki_chunk_t chunk = hki_chunk((size_t)layers, nstages, stage);
    hki_stage_blocks_t blocks = {before + (int)chunk.offset, (int)chunk.length};

    if (layers < nstages) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "pipe=%d needs at least %d layers, the model has %d; use pipe=%d or more "
                        "layers",
                        nstages, nstages, layers, layers);
    }
    if (stage == 0) {
        blocks.first -= before;
        blocks.count += before;
    }
    if (stage == nstages - 1) {
        blocks.count++;
    }
    *blocks_out = blocks;
    return HK_OK;
}

/** Sizes and offsets; *saved_offsets is allocated already. */
static void measure(hki_stage_t *stage)
{
    const hki_stage_opts_t *opts = &stage->opts;
    const hki_block_info_t *first = hki_model_block(opts->model, opts->blocks.first);

    stage->param_offset = first->param_offset;
    stage->activation_count =
        round_up(hki_model_activation_count(opts->model, opts->num_sequences, opts->num_tokens));
    stage->slot_count = ((size_t)opts->blocks.count + 1) * stage->activation_count;
    for (int b = 0; b < opts->blocks.count; b++) {
        const int block = opts->blocks.first + b;
        stage->param_count += hki_model_block(opts->model, block)->param_count;
        stage->saved_offsets[b] = stage->slot_count;
        stage->slot_count += round_up(
            hki_block_saved_count(opts->model, block, opts->num_sequences, opts->num_tokens));
    }
}

static bool buffers_allocate(hki_stage_t *stage)
{
    const hki_stage_opts_t *opts = &stage->opts;
    const size_t nslots = (size_t)opts->nslots;
    const size_t scratch =
        hki_model_scratch_count(opts->model, opts->num_sequences, opts->num_tokens);
    bool is_complete = true;

    stage->params = hki_buffer_create(opts->comm, stage->param_count);
    stage->slots = hki_buffer_create(opts->comm, nslots * stage->slot_count);
    stage->borders = hki_buffer_create(opts->comm, nslots * 2 * stage->activation_count);
    stage->turns = hki_calloc_aligned(2 * stage->activation_count, sizeof(float), ALIGNMENT);
    stage->scratch = hki_calloc_aligned(scratch, sizeof(float), ALIGNMENT);
    if (is_gpt(stage)) {
        stage->ids = hki_calloc(nslots * 2 * rows_of(stage), sizeof(*stage->ids));
        is_complete = stage->ids != NULL;
    } else {
        stage->features =
            hki_calloc_aligned(nslots * stage->activation_count, sizeof(float), ALIGNMENT);
        is_complete = stage->features != NULL;
    }
    return is_complete && stage->params != NULL && stage->slots != NULL && stage->borders != NULL &&
           stage->turns != NULL && stage->scratch != NULL;
}

hk_status_t hki_stage_create(const hki_stage_opts_t *opts, hki_stage_t **stage_out)
{
    hki_stage_t *stage = hki_calloc(1, sizeof(*stage));

    if (stage != NULL) {
        stage->opts = *opts;
        stage->saved_offsets =
            hki_calloc((size_t)opts->blocks.count, sizeof(*stage->saved_offsets));
    }
    if (stage == NULL || stage->saved_offsets == NULL) {
        hki_stage_destroy(&stage);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "stage of %d blocks", opts->blocks.count);
    }
    measure(stage);
    if (!buffers_allocate(stage)) {
        const double need =
            (double)(stage->param_count + (size_t)opts->nslots * stage->slot_count) * 4 / 1e6;
        hki_stage_destroy(&stage);
        return HKI_FAIL(HK_ERR_NO_MEMORY,
                        "stage of %d blocks and %d units in flight needs about %.0f MB; use a "
                        "smaller --unit, 1f1b, or more stages",
                        opts->blocks.count, opts->nslots, need);
    }
    *stage_out = stage;
    return HK_OK;
}

void hki_stage_destroy(hki_stage_t **stage)
{
    if (*stage == NULL) {
        return;
    }
    hki_free((*stage)->saved_offsets);
    hki_buffer_destroy((*stage)->opts.comm, (*stage)->params);
    hki_buffer_destroy((*stage)->opts.comm, (*stage)->slots);
    hki_buffer_destroy((*stage)->opts.comm, (*stage)->borders);
    hki_free((*stage)->turns);
    hki_free((*stage)->scratch);
    hki_free((*stage)->ids);
    hki_free((*stage)->features);
    hki_free(*stage);
    *stage = NULL;
}

float *hki_stage_params(hki_stage_t *stage)
{
    return stage->params;
}

size_t hki_stage_param_count(const hki_stage_t *stage)
{
    return stage->param_count;
}

size_t hki_stage_param_offset(const hki_stage_t *stage)
{
    return stage->param_offset;
}

int hki_stage_first_param(const hki_stage_t *stage)
{
    return hki_model_block(stage->opts.model, stage->opts.blocks.first)->first_param;
}

int hki_stage_num_params(const hki_stage_t *stage)
{
    int n = 0;

    for (int b = 0; b < stage->opts.blocks.count; b++) {
        n += hki_model_block(stage->opts.model, stage->opts.blocks.first + b)->num_params;
    }
    return n;
}

size_t hki_stage_activation_count(const hki_stage_t *stage, int num_sequences, int num_tokens)
{
    return hki_model_activation_count(stage->opts.model, num_sequences, num_tokens);
}

/** Activation `index` of a slot: 0 goes into the first block. */
static float *activation(const hki_stage_t *stage, int slot, int index)
{
    return stage->slots + (size_t)slot * stage->slot_count +
           (size_t)index * stage->activation_count;
}

hki_stage_port_t hki_stage_port(hki_stage_t *stage, int slot)
{
    float *border = stage->borders + (size_t)slot * 2 * stage->activation_count;

    return (hki_stage_port_t){
        .in = activation(stage, slot, 0),
        .out = activation(stage, slot, stage->opts.blocks.count),
        .dout = border,
        .din = border + stage->activation_count,
    };
}

hki_stage_data_t hki_stage_data(hki_stage_t *stage, int slot)
{
    const size_t rows = rows_of(stage);
    hki_stage_data_t data = {0};

    if (stage->ids != NULL) {
        data.ids = stage->ids + (size_t)slot * 2 * rows;
        data.targets = data.ids + rows;
    } else {
        data.features = stage->features + (size_t)slot * stage->activation_count;
    }
    return data;
}

void hki_stage_init(hki_stage_t *stage, uint64_t seed)
{
    const int first = hki_stage_first_param(stage);

    for (int p = first; p < first + hki_stage_num_params(stage); p++) {
        const hki_param_info_t *info = hki_model_param(stage->opts.model, p);
        hki_param_init(stage->opts.model, p, seed, 0, info->count,
                       stage->params + (info->offset - stage->param_offset));
    }
}

/** What block b (counted in the stage) of a slot's unit reads and writes in both directions. */
static hki_block_io_t io_of(hki_stage_t *stage, int slot, int b, const hki_unit_t *unit)
{
    const hki_block_info_t *info = hki_model_block(stage->opts.model, stage->opts.blocks.first + b);

    return (hki_block_io_t){
        .unit = unit,
        .params = stage->params + (info->param_offset - stage->param_offset),
        .in = activation(stage, slot, b),
        .out = activation(stage, slot, b + 1),
        .saved = stage->slots + (size_t)slot * stage->slot_count + stage->saved_offsets[b],
        .scratch = stage->scratch,
        .sum = stage->opts.sum,
        .sum_cookie = stage->opts.sum_cookie,
    };
}

static hki_unit_t unit_of(hki_stage_t *stage, int slot)
{
    const hki_stage_data_t data = hki_stage_data(stage, slot);

    return (hki_unit_t){
        .num_sequences = stage->opts.num_sequences,
        .num_tokens = stage->opts.num_tokens,
        .ids = data.ids,
        .targets = data.targets,
        .features = data.features,
    };
}

hk_status_t hki_stage_forward(hki_stage_t *stage, int slot, double *loss)
{
    const hki_unit_t unit = unit_of(stage, slot);

    for (int b = 0; b < stage->opts.blocks.count; b++) {
        hki_block_io_t io = io_of(stage, slot, b, &unit);
        io.loss = loss;
        const hk_status_t status =
            hki_block_forward(stage->opts.model, stage->opts.blocks.first + b, &io);
        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

hk_status_t hki_stage_backward(hki_stage_t *stage, int slot, float *grads)
{
    const hki_unit_t unit = unit_of(stage, slot);
    const hki_stage_port_t port = hki_stage_port(stage, slot);
    const float *dout = port.dout;

    for (int b = stage->opts.blocks.count - 1; b >= 0; b--) {
        const int block = stage->opts.blocks.first + b;
        hki_block_io_t io = io_of(stage, slot, b, &unit);
        io.dout = dout;
        io.din = b == 0 ? port.din : stage->turns + (size_t)(b % 2) * stage->activation_count;
        io.dparams =
            grads + (hki_model_block(stage->opts.model, block)->param_offset - stage->param_offset);
        const hk_status_t status = hki_block_backward(stage->opts.model, block, &io);
        if (status != HK_OK) {
            return status;
        }
        dout = io.din;
    }
    return HK_OK;
}

hk_status_t hki_stage_logits(hki_stage_t *stage, int num_tokens, float *logits)
{
    const int last_block = hki_model_num_blocks(stage->opts.model) - 1;
    hki_unit_t unit = unit_of(stage, 0);

    unit.num_sequences = 1;
    unit.num_tokens = num_tokens;
    for (int b = 0; b < stage->opts.blocks.count; b++) {
        const int block = stage->opts.blocks.first + b;
        const hki_block_io_t io = io_of(stage, 0, b, &unit);
        const hk_status_t status = block == last_block
                                       ? hki_head_logits(stage->opts.model, &io, logits)
                                       : hki_block_forward(stage->opts.model, block, &io);
        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}
