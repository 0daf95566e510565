/**
 * @file layout.c
 * @brief The rules table, the traffic of a step, and --explain.
 */
#include "parallel/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { DRAWN_UNITS_MAX = 16, DRAWN_STAGES_MAX = 16 };

/** What a model's axes are called, and what cuts them. All others are whole everywhere. */
static const struct {
    const char *name;
    hki_axis_t axis;
} rules[] = {
    {"batch", HKI_AXIS_DATA},
    {"layers", HKI_AXIS_PIPE},
    {"heads", HKI_AXIS_MODEL},
    {"mlp", HKI_AXIS_MODEL},
};

enum { RULE_COUNT = sizeof(rules) / sizeof(rules[0]) };

int hki_layout_rule(const char *name)
{
    for (int r = 0; r < RULE_COUNT; r++) {
        if (strcmp(rules[r].name, name) == 0) {
            return (int)rules[r].axis;
        }
    }
    return -1;
}

static hki_stage_blocks_t blocks_of(const hki_layout_t *layout, int stage)
{
    hki_stage_blocks_t blocks = {0};
    const hk_status_t status =
        hki_stage_blocks(layout->model, layout->shape.sizes[HKI_AXIS_PIPE], stage, &blocks);

    HKI_ASSERT(status == HK_OK); // the configuration was checked
    return blocks;
}

static int stage_of(const hki_layout_t *layout, int block)
{
    int stage = 0;

    for (hki_stage_blocks_t blocks = blocks_of(layout, 0); block >= blocks.first + blocks.count;) {
        blocks = blocks_of(layout, ++stage);
    }
    return stage;
}

/** Elements of a stage's parameters on one rank. */
static size_t stage_count(const hki_layout_t *layout, int stage)
{
    const hki_stage_blocks_t blocks = blocks_of(layout, stage);
    size_t count = 0;

    for (int b = blocks.first; b < blocks.first + blocks.count; b++) {
        count += hki_model_block(layout->model, b)->param_count;
    }
    return count;
}

static size_t activation_bytes(const hki_layout_t *layout)
{
    return sizeof(float) *
           hki_model_activation_count(layout->model, layout->num_sequences, layout->num_tokens);
}

static size_t rank_units(const hki_layout_t *layout)
{
    return (size_t)(layout->units / layout->shape.sizes[HKI_AXIS_DATA]);
}

/** Least bytes that each of P ranks sends in an all-reduce of `bytes`. */
static size_t all_reduce_bytes(const hki_layout_t *layout, hki_axis_t axis, size_t bytes)
{
    const size_t P = (size_t)layout->shape.sizes[axis];

    return 2 * (P - 1) * bytes / P;
}

/** Append an all-reduce along an axis, unless the axis has one rank or nothing is called. */
static int all_reduce_add(const hki_layout_t *layout, hki_layout_move_t move,
                          hki_layout_move_t *moves, int n)
{
    if (layout->shape.sizes[move.axis] == 1 || move.calls == 0) {
        return n;
    }
    move.call = "all_reduce";
    move.sent_bytes = move.calls * all_reduce_bytes(layout, move.axis, move.bytes);
    moves[n] = move;
    return n + 1;
}

/** Activations to the stage after and gradients to the stage before. */
static int borders_add(const hki_layout_t *layout, int stage, hki_layout_move_t *moves, int n)
{
    const size_t bytes = activation_bytes(layout);
    const size_t units = rank_units(layout);

    if (stage < layout->shape.sizes[HKI_AXIS_PIPE] - 1) {
        moves[n++] = (hki_layout_move_t){"activations", "send", HKI_AXIS_PIPE, "after each forward",
                                         stage,         units,  bytes,         units * bytes};
    }
    if (stage > 0) {
        moves[n++] = (hki_layout_move_t){"activation gradients",
                                         "send",
                                         HKI_AXIS_PIPE,
                                         "after each backward",
                                         stage,
                                         units,
                                         bytes,
                                         units * bytes};
    }
    return n;
}

/** Gradients of parameters that two stages hold. */
static int ties_add(const hki_layout_t *layout, int stage, hki_layout_move_t *moves, int n)
{
    for (int p = 0; p < hki_model_num_params(layout->model); p++) {
        const hki_param_info_t *copy = hki_model_param(layout->model, p);
        if (copy->tie < 0) {
            continue;
        }
        const int here = stage_of(layout, copy->block);
        const int there = stage_of(layout, hki_model_param(layout->model, copy->tie)->block);
        if (here != there && (stage == here || stage == there) && n < HKI_LAYOUT_MOVES_MAX) {
            const size_t bytes = copy->count * sizeof(float);
            moves[n++] = (hki_layout_move_t){
                "tied gradient", "send/recv", HKI_AXIS_PIPE, "after the data sum",
                stage,           1,           bytes,         bytes};
        }
    }
    return n;
}

int hki_layout_moves(const hki_layout_t *layout, int stage, hki_layout_move_t *moves)
{
    const hki_stage_blocks_t blocks = blocks_of(layout, stage);
    const size_t sums_bytes = ((size_t)hki_model_num_params(layout->model) + 1) * sizeof(double);
    const bool is_last = stage == layout->shape.sizes[HKI_AXIS_PIPE] - 1;
    size_t sums = 0;
    int n = borders_add(layout, stage, moves, 0);

    for (int b = blocks.first; b < blocks.first + blocks.count; b++) {
        const hki_block_info_t *block = hki_model_block(layout->model, b);
        sums += (size_t)(block->num_sums_forward + block->num_sums_backward);
    }
    n = all_reduce_add(layout,
                       (hki_layout_move_t){.what = "block sums",
                                           .axis = HKI_AXIS_MODEL,
                                           .when = "in each forward and backward",
                                           .stage = stage,
                                           .calls = sums * rank_units(layout),
                                           .bytes = activation_bytes(layout)},
                       moves, n);
    n = all_reduce_add(layout,
                       (hki_layout_move_t){.what = "gradients",
                                           .axis = HKI_AXIS_DATA,
                                           .when = "after the last backward",
                                           .stage = stage,
                                           .calls = 1,
                                           .bytes = stage_count(layout, stage) * sizeof(float)},
                       moves, n);
    n = ties_add(layout, stage, moves, n);
    n = all_reduce_add(layout,
                       (hki_layout_move_t){.what = "loss",
                                           .axis = HKI_AXIS_DATA,
                                           .when = "after the gradients",
                                           .stage = stage,
                                           .calls = is_last ? 1 : 0,
                                           .bytes = sizeof(double)},
                       moves, n);
    static const hki_axis_t shared_over[] = {HKI_AXIS_MODEL, HKI_AXIS_PIPE};
    for (size_t a = 0; a < sizeof(shared_over) / sizeof(shared_over[0]); a++) {
        n = all_reduce_add(layout,
                           (hki_layout_move_t){.what = "norms and loss",
                                               .axis = shared_over[a],
                                               .when = "before the optimizer",
                                               .stage = stage,
                                               .calls = 1,
                                               .bytes = sums_bytes},
                           moves, n);
    }
    return n;
}

/* --- printing
 *  ----------------------------------------------------------------------------------- */

static void mesh_explain(const hki_layout_t *layout, hki_text_t *text)
{
    hki_text_add(text, "mesh   ");
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        hki_text_add(text, " %s=%d", hki_axis_name((hki_axis_t)a), layout->shape.sizes[a]);
    }
    hki_text_add(text, ", %d ranks\nrules  ", hki_mesh_shape_ranks(&layout->shape));
    for (int r = 0; r < RULE_COUNT; r++) {
        hki_text_add(text, " %s=%s", rules[r].name, hki_axis_name(rules[r].axis));
    }
    hki_text_add(text, "; all other axes are whole on every rank\n");
    hki_text_add(text, "units   %d a step, %zu a rank; a unit is %d x %d tokens\n", layout->units,
                 rank_units(layout), layout->num_sequences, layout->num_tokens);
    for (int s = 0; s < layout->shape.sizes[HKI_AXIS_PIPE]; s++) {
        const hki_stage_blocks_t blocks = blocks_of(layout, s);
        const int corner[HKI_AXIS_COUNT] = {s, 0, 0};
        const int first = hki_mesh_rank(&layout->shape, corner);
        const int ranks = hki_mesh_shape_ranks(&layout->shape) / layout->shape.sizes[HKI_AXIS_PIPE];
        hki_text_add(text, "stage %d %s .. %s on ranks %d .. %d, %zu parameters a rank, ", s,
                     hki_model_block(layout->model, blocks.first)->name,
                     hki_model_block(layout->model, blocks.first + blocks.count - 1)->name, first,
                     first + ranks - 1, stage_count(layout, s));
        hki_text_add(text, "at most %d units in flight\n",
                     hki_pipe_in_flight_max(layout->schedule, s));
    }
}

static hk_status_t params_explain(const hki_layout_t *layout, hki_text_t *text)
{
    const bool is_reduced = layout->shape.sizes[HKI_AXIS_DATA] > 1;

    hki_text_add(text, "\n%-28s %-13s %5s  %-19s %12s  %s\n", "parameter", "shape", "stage",
                 "over model", "bytes a rank", "gradient");
    for (int p = 0; p < hki_model_num_params(layout->model); p++) {
        const hki_param_info_t *info = hki_model_param(layout->model, p);
        char shape[32];
        char cut[32] = "replicated";
        if (info->split_dim >= 0) {
            const char *axis = info->axes[info->split_dim];
            if (axis == NULL || hki_layout_rule(axis) != HKI_AXIS_MODEL) {
                return HKI_FAIL(HK_ERR_INTERNAL,
                                "%s is cut along '%s', and no rule maps that to model", info->name,
                                axis != NULL ? axis : "");
            }
            (void)snprintf(cut, sizeof(cut), "sharded(%d, %s)", info->split_dim, axis);
        }
        const int length = snprintf(shape, sizeof(shape), "%zu", info->shape[0]);
        if (info->ndim == 2) {
            (void)snprintf(shape + length, sizeof(shape) - (size_t)length, " x %zu",
                           info->shape[1]);
        }
        hki_text_add(text, "%-28s %-13s %5d  %-19s %12zu  %s%s%s\n", info->name, shape,
                     stage_of(layout, info->block), cut, info->count * sizeof(float),
                     is_reduced ? "all_reduce over data" : "stays here",
                     info->tie >= 0 ? ", tied to " : "",
                     info->tie >= 0 ? hki_model_param(layout->model, info->tie)->name : "");
    }
    return HK_OK;
}

static void activations_explain(const hki_layout_t *layout, hki_text_t *text)
{
    hki_text_add(text, "\n%-28s %-13s %5s  %-19s %12s  %s\n", "activation of a unit", "shape",
                 "stage", "over model", "bytes", "moved by");
    for (int b = 0; b < hki_model_num_blocks(layout->model) - 1; b++) {
        const hki_block_info_t *block = hki_model_block(layout->model, b);
        const int stage = stage_of(layout, b);
        char name[HKI_PARAM_NAME_MAX + 8];
        char shape[32];
        (void)snprintf(name, sizeof(name), "%s out", block->name);
        (void)snprintf(shape, sizeof(shape), "%d x %d", layout->num_sequences * layout->num_tokens,
                       hki_model_config(layout->model)->num_dim);
        hki_text_add(text, "%-28s %-13s %5d  %-19s %12zu  ", name, shape, stage, "replicated",
                     activation_bytes(layout));
        if (stage_of(layout, b + 1) != stage) {
            hki_text_add(text, "send to stage %d", stage + 1);
        } else {
            hki_text_add(text, "stays here");
        }
        if (block->num_sums_forward + block->num_sums_backward > 0) {
            hki_text_add(text, "; %d all_reduce over model forward, %d backward",
                         block->num_sums_forward, block->num_sums_backward);
        }
        hki_text_add(text, "\n");
    }
}

static void traffic_explain(const hki_layout_t *layout, hki_text_t *text)
{
    hki_layout_move_t moves[HKI_LAYOUT_MOVES_MAX];
    size_t total = 0;

    hki_text_add(text, "\n%-21s %5s  %-10s %-6s %-29s %6s %12s %14s\n", "traffic of a step",
                 "stage", "call", "axis", "when", "calls", "bytes each", "sent by a rank");
    for (int s = 0; s < layout->shape.sizes[HKI_AXIS_PIPE]; s++) {
        const int n = hki_layout_moves(layout, s, moves);
        const size_t ranks = (size_t)layout->shape.sizes[HKI_AXIS_DATA] *
                             (size_t)layout->shape.sizes[HKI_AXIS_MODEL];
        for (int m = 0; m < n; m++) {
            hki_text_add(text, "%-21s %5d  %-10s %-6s %-29s %6zu %12zu %14zu\n", moves[m].what, s,
                         moves[m].call, hki_axis_name(moves[m].axis), moves[m].when, moves[m].calls,
                         moves[m].bytes, moves[m].sent_bytes);
            total += ranks * moves[m].sent_bytes;
        }
    }
    hki_text_add(text, "all ranks together send at least %zu bytes a step\n", total);
}

static hk_status_t pipeline_explain(const hki_layout_t *layout, hki_text_t *text)
{
    const hki_pipe_schedule_t *schedule = layout->schedule;
    hki_pipe_facts_t facts;
    char *drawing = NULL;
    hk_status_t status = hki_pipe_schedule_check(schedule, &facts);

    if (status != HK_OK || schedule->nstages == 1) {
        return status;
    }
    hki_text_add(text,
                 "\npipeline %s, %d units: %.0f %% of the time idle if all actions took equal\n",
                 schedule->name, schedule->nunits, 100 * facts.bubble);
    if (schedule->nunits > DRAWN_UNITS_MAX || schedule->nstages > DRAWN_STAGES_MAX) {
        return HK_OK;
    }
    status = hki_pipe_schedule_draw(schedule, &drawing);
    if (status == HK_OK) {
        hki_text_add(text, "%s", drawing);
    }
    hki_free(drawing);
    return status;
}

hk_status_t hki_layout_explain(const hki_layout_t *layout, hki_text_t *text)
{
    hk_status_t status;

    mesh_explain(layout, text);
    HKI_TRY(status = params_explain(layout, text), done);
    activations_explain(layout, text);
    traffic_explain(layout, text);
    HKI_TRY(status = pipeline_explain(layout, text), done);
    if (text->is_failed) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "explanation of a layout");
    }
done:
    return status;
}
