/**
 * @file trainer_step.c
 * @brief A training step and an evaluation, once the units have run.
 *
 * Every sum has one order for all layouts: gradients and losses in the canonical tree over units;
 * tied gradients embedding first; squares inside a parameter by hki_sum_of_squares(), over the
 * parameters in model order.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "train/trainer_state.h"

/** This stage's part of a flat buffer that belongs to parameter p. */
static float *part_of(const hki_trainer_t *trainer, float *flat, int p)
{
    return flat +
           (hki_model_param(trainer->model, p)->offset - hki_stage_param_offset(trainer->stage));
}

static bool is_here(const hki_trainer_t *trainer, int p)
{
    const int first = hki_stage_first_param(trainer->stage);

    return p >= first && p < first + hki_stage_num_params(trainer->stage);
}

static void add_to_both(float *first, float *second, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        first[i] = first[i] + second[i];
        second[i] = first[i];
    }
}

/**
 * The gradient of a parameter that another stage also holds: exchange, and add in the same order on
 * both. The stage with the tied-to parameter (`is_first`) has the left operand.
 */
static hk_status_t tied_exchange(hki_trainer_t *trainer, float *mine, size_t count, int peer,
                                 bool is_first)
{
    hk_comm_t *line = trainer->lines[HKI_AXIS_PIPE];
    float *theirs = hki_grad_tree_leaf(trainer->grads); // free between steps, and large enough
    hk_request_t *requests[2] = {NULL, NULL};
    const uint64_t start = hki_clock_ns();
    hk_status_t status;

    HKI_ASSERT(theirs != NULL);
    status = hk_recv(line, theirs, count, HK_F32, peer, NULL, &requests[0]);
    if (status == HK_OK) {
        status = hk_send(line, mine, count, HK_F32, peer, NULL, &requests[1]);
    }
    const hk_status_t ended = hk_request_wait_all(requests, 2);
    status = status == HK_OK ? ended : status;
    trainer->comm_ns += hki_clock_ns() - start;
    if (status != HK_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        mine[i] = is_first ? mine[i] + theirs[i] : theirs[i] + mine[i];
    }
    return HK_OK;
}

/** Add the gradients of tied parameters, wherever they live. */
static hk_status_t tied_add(hki_trainer_t *trainer, float *grads)
{
    for (int copy = 0; copy < hki_model_num_params(trainer->model); copy++) {
        const hki_param_info_t *info = hki_model_param(trainer->model, copy);
        hk_status_t status = HK_OK;

        if (info->tie < 0 || (!is_here(trainer, copy) && !is_here(trainer, info->tie))) {
            continue;
        }
        if (is_here(trainer, copy) && is_here(trainer, info->tie)) {
            add_to_both(part_of(trainer, grads, info->tie), part_of(trainer, grads, copy),
                        info->count);
        } else if (is_here(trainer, copy)) {
            status = tied_exchange(trainer, part_of(trainer, grads, copy), info->count,
                                   hki_trainer_stage_of(trainer, info->tie), false);
        } else {
            status = tied_exchange(trainer, part_of(trainer, grads, info->tie), info->count,
                                   hki_trainer_stage_of(trainer, copy), true);
        }
        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

/** Squares of this rank's parameters into sums; what several ranks hold is counted once. */
static void squares_note(hki_trainer_t *trainer, float *grads)
{
    const int first = hki_stage_first_param(trainer->stage);

    for (int p = first; p < first + hki_stage_num_params(trainer->stage); p++) {
        const hki_param_info_t *info = hki_model_param(trainer->model, p);
        const bool is_mine = info->split_dim >= 0 || trainer->at[HKI_AXIS_MODEL] == 0;
        if (is_mine && info->tie < 0) {
            trainer->sums[p] = hki_sum_of_squares(part_of(trainer, grads, p), info->count);
        }
    }
}

/** Mean of the units' losses into sums[last], on the ranks that have the head. */
static hk_status_t loss_note(hki_trainer_t *trainer, int rank_units, int units)
{
    const int last_stage = trainer->config.shape.sizes[HKI_AXIS_PIPE] - 1;
    hk_status_t status = HK_OK;

    if (trainer->at[HKI_AXIS_PIPE] == last_stage) {
        double sum = hki_tree_sum(trainer->losses, rank_units);
        status = hki_trainer_sum(trainer, HKI_AXIS_DATA, &sum, 1, HK_F64);
        if (trainer->at[HKI_AXIS_MODEL] == 0) {
            trainer->sums[hki_model_num_params(trainer->model)] = sum / units;
        }
    }
    return status;
}

/** sums from all stages and model ranks; each entry is zero where it is not known. */
static hk_status_t sums_share(hki_trainer_t *trainer)
{
    const size_t count = (size_t)hki_model_num_params(trainer->model) + 1;
    hk_status_t status = hki_trainer_sum(trainer, HKI_AXIS_MODEL, trainer->sums, count, HK_F64);

    if (status == HK_OK) {
        status = hki_trainer_sum(trainer, HKI_AXIS_PIPE, trainer->sums, count, HK_F64);
    }
    return status;
}

static void sums_clear(hki_trainer_t *trainer)
{
    memset(trainer->sums, 0,
           ((size_t)hki_model_num_params(trainer->model) + 1) * sizeof(*trainer->sums));
}

/** Norm of the gradient of the whole model, from sums. */
static double norm_of(const hki_trainer_t *trainer)
{
    double squares = 0;

    for (int p = 0; p < hki_model_num_params(trainer->model); p++) {
        squares += trainer->sums[p];
    }
    return sqrt(squares);
}

static void optimizer_run(hki_trainer_t *trainer, const float *grads, double rate)
{
    const int first = hki_stage_first_param(trainer->stage);
    const size_t base = hki_stage_param_offset(trainer->stage);

    for (int p = first; p < first + hki_stage_num_params(trainer->stage); p++) {
        const hki_param_info_t *info = hki_model_param(trainer->model, p);
        const size_t at = info->offset - base;
        const hki_optimizer_range_t range = {
            .count = info->count,
            .weights = hki_stage_params(trainer->stage) + at,
            .grads = grads + at,
            .first = trainer->first != NULL ? trainer->first + at : NULL,
            .second = trainer->second != NULL ? trainer->second + at : NULL,
            .has_decay = info->has_decay,
        };
        hki_optimizer_step(&trainer->config.optimizer, rate, trainer->step, &range);
    }
}

static void scale(float *x, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++) {
        x[i] *= factor;
    }
}

hk_status_t hki_trainer_step(hki_trainer_t *trainer, hki_step_report_t *report_out)
{
    const hki_train_config_t *config = &trainer->config;
    const size_t count = hki_stage_param_count(trainer->stage);
    const int units = hki_train_units(config);
    const uint64_t start = hki_clock_ns();
    const uint64_t comm_start = trainer->comm_ns;
    hki_step_report_t report = {.rate = hki_rate_at(&config->rate, trainer->step)};
    hk_status_t status;

    HKI_TRY(status = hki_pipeline_run(trainer->pipeline, false), fail);
    float *grads = hki_grad_tree_finish(trainer->grads);
    HKI_TRY(status = hki_trainer_sum(trainer, HKI_AXIS_DATA, grads, count, HK_F32), fail);
    HKI_TRY(status = tied_add(trainer, grads), fail);
    for (size_t i = 0; i < count; i++) {
        grads[i] = grads[i] / (float)units;
    }
    sums_clear(trainer);
    squares_note(trainer, grads);
    HKI_TRY(status = loss_note(trainer, hki_train_rank_units(config), units), fail);
    HKI_TRY(status = sums_share(trainer), fail);
    report.loss = trainer->sums[hki_model_num_params(trainer->model)];
    report.grad_norm = norm_of(trainer);
    const double factor = hki_clip_factor(report.grad_norm, config->clip);
    if (factor != 1.0) {
        scale(grads, count, (float)factor);
    }
    optimizer_run(trainer, grads, report.rate);
    trainer->step++;
    report.step_ns = hki_clock_ns() - start;
    report.comm_ns = trainer->comm_ns - comm_start;
    *report_out = report;
fail:
    return hki_trainer_end(trainer, status);
}

hk_status_t hki_trainer_evaluate(hki_trainer_t *trainer, double *loss_out)
{
    const hki_train_config_t *config = &trainer->config;
    const int rank_units = config->eval_units / config->shape.sizes[HKI_AXIS_DATA];
    hk_status_t status;

    trainer->is_evaluating = true;
    status = hki_pipeline_run(trainer->eval_pipeline, true);
    trainer->is_evaluating = false;
    HKI_TRY(status, fail);
    sums_clear(trainer);
    HKI_TRY(status = loss_note(trainer, rank_units, config->eval_units), fail);
    HKI_TRY(status = sums_share(trainer), fail);
    *loss_out = trainer->sums[hki_model_num_params(trainer->model)];
fail:
    return hki_trainer_end(trainer, status);
}
