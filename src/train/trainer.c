/**
 * @file trainer.c
 * @brief Making a trainer, and its units: data in, pipeline, losses.
 *
 * Sequence i of unit u of data rank d in step t has the global number
 *     t * batch + (d * units + u) * unit + i,      units = units of a rank
 * and what it holds is a function of that number and the seed: no layout changes the data.
 */
#include "train/trainer.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "train/trainer_state.h"

enum { CAUSE_BYTES = 1024 };

static int eval_rank_units(const hki_train_config_t *config)
{
    return config->eval_units / config->shape.sizes[HKI_AXIS_DATA];
}

hk_status_t hki_trainer_sum(hki_trainer_t *trainer, hki_axis_t axis, void *x, size_t count,
                            hk_dtype_t dtype)
{
    hk_comm_t *line = trainer->lines[axis];

    if (trainer->config.shape.sizes[axis] == 1) {
        return HK_OK;
    }
    const uint64_t start = hki_clock_ns();
    const hk_status_t status = hk_all_reduce(line, x, x, count, dtype, HK_SUM, NULL, NULL);
    trainer->comm_ns += hki_clock_ns() - start;
    return status;
}

/** The hook of tensor-parallel blocks. */
static hk_status_t model_sum(void *cookie, float *x, size_t count)
{
    return hki_trainer_sum(cookie, HKI_AXIS_MODEL, x, count, HK_F32);
}

/** Rank of the job that stands at `index` on this rank's line along `axis`. */
static int job_rank(const hki_trainer_t *trainer, hki_axis_t axis, int index)
{
    int at[HKI_AXIS_COUNT];

    memcpy(at, trainer->at, sizeof(at));
    at[axis] = index;
    return hki_mesh_rank(&trainer->config.shape, at);
}

hk_status_t hki_trainer_end(hki_trainer_t *trainer, hk_status_t status)
{
    static const char by_other[] = " aborted: "; // what hk_comm_abort() puts before a reason
    const int nranks = hki_mesh_shape_ranks(&trainer->config.shape);
    char cause[CAUSE_BYTES];

    if (status == HK_OK || trainer->is_ended) {
        return status;
    }
    trainer->is_ended = true;
    const char *reason = strstr(hk_last_error(), by_other);
    const bool is_told = status == HK_ERR_ABORTED && reason != NULL; // by a rank that knew more
    (void)snprintf(cause, sizeof(cause), "%s",
                   is_told ? reason + sizeof(by_other) - 1 : hk_last_error());
    for (int a = 0; !is_told && a < HKI_AXIS_COUNT; a++) {
        const int failed = hk_comm_failed_rank(trainer->lines[a]);
        if (failed >= 0 && trainer->config.shape.sizes[a] < nranks) {
            (void)snprintf(cause, sizeof(cause), "rank %d failed; along axis %s: %s",
                           job_rank(trainer, (hki_axis_t)a, failed), hki_axis_name((hki_axis_t)a),
                           hk_last_error());
        }
    }
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        hk_comm_abort(trainer->lines[a], cause);
    }
    return hki_fail_again(status, cause);
}

int hki_trainer_stage_of(const hki_trainer_t *trainer, int param)
{
    const int nstages = trainer->config.shape.sizes[HKI_AXIS_PIPE];
    const int block = hki_model_param(trainer->model, param)->block;
    hki_stage_blocks_t blocks = {0};
    int stage = -1;

    do {
        const hk_status_t status = hki_stage_blocks(trainer->model, nstages, ++stage, &blocks);
        HKI_ASSERT(status == HK_OK); // it was checked with the configuration
    } while (block >= blocks.first + blocks.count);
    return stage;
}

/* --- units
 *  -------------------------------------------------------------------------------------- */

static hk_status_t sequence_read(hki_trainer_t *trainer, int sequence, int32_t *ids,
                                 int32_t *targets)
{
    const hki_train_config_t *config = &trainer->config;
    const int tokens = hki_train_tokens(config);

    if (trainer->is_evaluating) {
        return hki_corpus_held_window(trainer->corpus, sequence, config->eval_units * config->unit,
                                      tokens, ids, targets);
    }
    const uint64_t index = (uint64_t)trainer->step * (uint64_t)config->batch + (uint64_t)sequence;
    return hki_corpus_train_window(trainer->corpus, config->seed, index, tokens, ids, targets);
}

static void features_make(const hki_trainer_t *trainer, int sequence, float *features)
{
    const hki_train_config_t *config = &trainer->config;
    const hki_random_key_t key = hki_random_key(
        config->seed, trainer->is_evaluating ? "features.held_out" : "features.train");
    const uint64_t step = trainer->is_evaluating ? 0 : (uint64_t)trainer->step;
    const uint64_t dim = (uint64_t)config->model.num_dim;
    const uint64_t row = step * (uint64_t)config->batch + (uint64_t)sequence;

    for (uint64_t i = 0; i < dim; i++) {
        features[i] = (float)hki_random_normal(key, row * dim + i);
    }
}

/** Fill a slot with the data of a unit; stages in the middle need none. */
static hk_status_t unit_read(hki_trainer_t *trainer, int unit, int slot)
{
    const hki_train_config_t *config = &trainer->config;
    const hki_stage_data_t data = hki_stage_data(trainer->stage, slot);
    const int units =
        trainer->is_evaluating ? eval_rank_units(config) : hki_train_rank_units(config);
    const int first = (trainer->at[HKI_AXIS_DATA] * units + unit) * config->unit;
    const int tokens = hki_train_tokens(config);
    hk_status_t status = HK_OK;

    for (int i = 0; status == HK_OK && i < config->unit; i++) {
        if (data.ids != NULL) {
            const size_t at = (size_t)i * (size_t)tokens;
            status = sequence_read(trainer, first + i, data.ids + at, data.targets + at);
        } else {
            features_make(trainer, first + i,
                          data.features + (size_t)i * (size_t)config->model.num_dim);
        }
    }
    return status;
}

static hk_status_t unit_forward(void *cookie, int unit, int slot)
{
    hki_trainer_t *trainer = cookie;
    const int stage = trainer->at[HKI_AXIS_PIPE];
    hk_status_t status = HK_OK;

    if (stage == 0 || stage == trainer->config.shape.sizes[HKI_AXIS_PIPE] - 1) {
        status = unit_read(trainer, unit, slot);
    }
    if (status == HK_OK) {
        status = hki_stage_forward(trainer->stage, slot, &trainer->losses[unit]);
    }
    return status;
}

static hk_status_t unit_backward(void *cookie, int unit, int slot)
{
    hki_trainer_t *trainer = cookie;
    const hk_status_t status =
        hki_stage_backward(trainer->stage, slot, hki_grad_tree_leaf(trainer->grads));

    (void)unit; // backwards come in unit order: the schedule's checker proved it
    if (status == HK_OK) {
        hki_grad_tree_push(trainer->grads);
    }
    return status;
}

/* --- making
 *  ------------------------------------------------------------------------------------- */

static hk_status_t unit_failed(void *cookie, hk_status_t status)
{
    return hki_trainer_end(cookie, status);
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static hk_status_t pipeline_open(hki_trainer_t *trainer, const hki_pipe_schedule_t *schedule,
                                 const hki_stage_port_t *ports, hki_pipeline_t **pipeline_out)
{
    const hki_pipeline_opts_t opts = {
        .schedule = schedule,
        .comm = trainer->lines[HKI_AXIS_PIPE],
        .border_count = hki_stage_activation_count(trainer->stage, trainer->config.unit,
                                                   hki_train_tokens(&trainer->config)),
        .ports = ports,
        .forward = unit_forward,
        .backward = unit_backward,
        .failed = unit_failed,
        .cookie = trainer,
        .waited_ns = &trainer->comm_ns,
    };

    return hki_pipeline_create(&opts, pipeline_out);
}

/** The stage's blocks, and the pipelines of training and evaluation over its slots. */
static hk_status_t stage_open(hki_trainer_t *trainer)
{
    const hki_train_config_t *config = &trainer->config;
    const int nstages = config->shape.sizes[HKI_AXIS_PIPE];
    const int stage = trainer->at[HKI_AXIS_PIPE];
    hki_stage_opts_t opts = {
        .model = trainer->model,
        .num_sequences = config->unit,
        .num_tokens = hki_train_tokens(config),
        .sum = config->shape.sizes[HKI_AXIS_MODEL] > 1 ? model_sum : NULL,
        .sum_cookie = trainer,
        .comm = trainer->comm,
    };
    hki_stage_port_t *ports = NULL;
    hk_status_t status;

    HKI_TRY(status = hki_pipe_schedule_create(config->pipeline, nstages,
                                              hki_train_rank_units(config), &trainer->schedule),
            done);
    // evaluation runs forwards only; the order of 1F1B holds the fewest units
    HKI_TRY(status = hki_pipe_schedule_create("1f1b", nstages, eval_rank_units(config),
                                              &trainer->eval_schedule),
            done);
    opts.nslots = max_int(hki_pipe_in_flight_max(trainer->schedule, stage),
                          hki_pipe_in_flight_max(trainer->eval_schedule, stage));
    HKI_TRY(status = hki_stage_blocks(trainer->model, nstages, stage, &opts.blocks), done);
    HKI_TRY(status = hki_stage_create(&opts, &trainer->stage), done);
    hki_stage_init(trainer->stage, config->seed);
    ports = hki_calloc((size_t)opts.nslots, sizeof(*ports));
    if (ports == NULL) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "borders of %d units", opts.nslots);
        goto done;
    }
    for (int slot = 0; slot < opts.nslots; slot++) {
        ports[slot] = hki_stage_port(trainer->stage, slot);
    }
    HKI_TRY(status = pipeline_open(trainer, trainer->schedule, ports, &trainer->pipeline), done);
    status = pipeline_open(trainer, trainer->eval_schedule, ports, &trainer->eval_pipeline);
done:
    hki_free(ports);
    return status;
}

static hk_status_t mesh_open(hki_trainer_t *trainer, hk_comm_t *comm)
{
    const hki_mesh_shape_t *shape = &trainer->config.shape;
    char axes[64];
    hk_status_t status;

    (void)snprintf(axes, sizeof(axes), "pipe=%d,data=%d,model=%d", shape->sizes[HKI_AXIS_PIPE],
                   shape->sizes[HKI_AXIS_DATA], shape->sizes[HKI_AXIS_MODEL]);
    status = hk_mesh_open(comm, axes, &trainer->mesh);
    if (status != HK_OK) {
        return status;
    }
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        trainer->lines[a] = hk_mesh_axis_comm(trainer->mesh, hki_axis_name((hki_axis_t)a));
        trainer->at[a] = hk_mesh_axis_rank(trainer->mesh, hki_axis_name((hki_axis_t)a));
    }
    return HK_OK;
}

/** Everything that is as large as the parameters or the number of units. */
static hk_status_t state_allocate(hki_trainer_t *trainer)
{
    const hki_train_config_t *config = &trainer->config;
    const size_t count = hki_stage_param_count(trainer->stage);
    const size_t units = (size_t)max_int(hki_train_rank_units(config), eval_rank_units(config));
    const bool is_gpt = config->model.kind == HKI_MODEL_GPT;
    const bool has_moments = config->optimizer.kind == HKI_OPTIMIZER_ADAMW;
    const bool is_passing = trainer->at[HKI_AXIS_DATA] == 0 && trainer->at[HKI_AXIS_MODEL] == 0;
    size_t largest = 0;

    for (int p = 0; p < hki_model_num_params(trainer->model); p++) {
        const size_t global = hki_model_param(trainer->model, p)->global_count;
        largest = global > largest ? global : largest;
    }
    trainer->losses = hki_calloc(units, sizeof(double));
    trainer->sums = hki_calloc((size_t)hki_model_num_params(trainer->model) + 1, sizeof(double));
    if (has_moments) {
        trainer->first = hki_calloc_aligned(count, sizeof(float), 64);
        trainer->second = hki_calloc_aligned(count, sizeof(float), 64);
    }
    if (is_passing) {
        trainer->whole = hki_buffer_create(trainer->comm, largest);
        trainer->parts = hki_buffer_create(trainer->comm, largest);
    }
    if (is_gpt) {
        trainer->logits = hki_calloc((size_t)config->model.num_vocab, sizeof(float));
    }
    if (trainer->losses == NULL || trainer->sums == NULL ||
        (has_moments && (trainer->first == NULL || trainer->second == NULL)) ||
        (is_passing && (trainer->whole == NULL || trainer->parts == NULL)) ||
        (is_gpt && trainer->logits == NULL)) {
        return HKI_FAIL(HK_ERR_NO_MEMORY,
                        "state of %zu parameters; use more pipe or model ranks, or a smaller model",
                        count);
    }
    return hki_grad_tree_create(trainer->comm, count, hki_train_rank_units(config),
                                &trainer->grads);
}

hk_status_t hki_trainer_create(const hki_train_config_t *config, hki_corpus_t *corpus,
                               hk_comm_t *comm, hki_trainer_t **trainer_out)
{
    hki_trainer_t *trainer = hki_calloc(1, sizeof(*trainer));
    hk_status_t status;

    if (trainer == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "trainer, %zu bytes", sizeof(*trainer));
    }
    trainer->config = *config;
    trainer->corpus = corpus;
    trainer->comm = hk_comm_size(comm) > 1 ? comm : NULL;
    HKI_TRY(status = mesh_open(trainer, comm), fail);
    HKI_TRY(status = hki_model_create(&config->model, trainer->at[HKI_AXIS_MODEL],
                                      config->shape.sizes[HKI_AXIS_MODEL], &trainer->model),
            fail);
    HKI_TRY(status = stage_open(trainer), fail);
    HKI_TRY(status = state_allocate(trainer), fail);
    *trainer_out = trainer;
    return HK_OK;
fail:
    hki_trainer_destroy(&trainer);
    return status;
}

void hki_trainer_destroy(hki_trainer_t **trainer)
{
    if (*trainer == NULL) {
        return;
    }
    hki_pipeline_destroy(&(*trainer)->pipeline);
    hki_pipeline_destroy(&(*trainer)->eval_pipeline);
    hki_pipe_schedule_destroy(&(*trainer)->schedule);
    hki_pipe_schedule_destroy(&(*trainer)->eval_schedule);
    hki_grad_tree_destroy(&(*trainer)->grads);
    hki_stage_destroy(&(*trainer)->stage);
    hki_model_destroy(&(*trainer)->model);
    hk_mesh_close(&(*trainer)->mesh);
    hki_free((*trainer)->first);
    hki_free((*trainer)->second);
    hki_free((*trainer)->losses);
    hki_free((*trainer)->sums);
    hki_buffer_destroy((*trainer)->comm, (*trainer)->whole);
    hki_buffer_destroy((*trainer)->comm, (*trainer)->parts);
    hki_free((*trainer)->logits);
    hki_free(*trainer);
    *trainer = NULL;
}
