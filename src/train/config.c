/**
 * @file config.c
 * @brief What a training run refuses before it starts.
 */
#include "train/config.h"

#include "base/error.h"
#include "parallel/pipe_schedule.h"
#include "parallel/stage.h"

int hki_train_units(const hki_train_config_t *config)
{
    return config->batch / config->unit;
}

int hki_train_rank_units(const hki_train_config_t *config)
{
    return hki_train_units(config) / config->shape.sizes[HKI_AXIS_DATA];
}

int hki_train_tokens(const hki_train_config_t *config)
{
    return config->model.kind == HKI_MODEL_GPT ? config->model.num_context : 1;
}

static bool is_power_of_two(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/** Units of a step or an evaluation over the data ranks: equal shares, and in exact mode complete
 *  subtrees of the tree over all units. */
static hk_status_t units_check(const hki_train_config_t *config, const char *option, int units)
{
    const int ranks = config->shape.sizes[HKI_AXIS_DATA];

    if (units < 1 || units % ranks != 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "%s: %d units do not divide over data=%d; make them a multiple of %d",
                        option, units, ranks, ranks);
    }
    if (config->is_exact && ranks > 1 && !is_power_of_two(units / ranks)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "%s: %d units over data=%d are %d a rank, which is not a power of two, so "
                        "sums would depend on the mesh; use another --batch, --unit or mesh, or "
                        "--exact off",
                        option, units, ranks, units / ranks);
    }
    return HK_OK;
}

static hk_status_t numbers_check(const hki_train_config_t *config)
{
    if (config->batch < 1 || config->unit < 1 || config->batch % config->unit != 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "--batch %d is not a multiple of --unit %d; change one of them",
                        config->batch, config->unit);
    }
    if (config->rate.steps < 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "--steps %d; at least 1 is needed", config->rate.steps);
    }
    if (!(config->optimizer.beta1 >= 0 && config->optimizer.beta1 < 1) ||
        !(config->optimizer.beta2 >= 0 && config->optimizer.beta2 < 1)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "--beta1 %g and --beta2 %g must be at least 0 and "
                        "below 1",
                        config->optimizer.beta1, config->optimizer.beta2);
    }
    return HK_OK;
}

hk_status_t hki_train_config_check(const hki_train_config_t *config)
{
    const int nstages = config->shape.sizes[HKI_AXIS_PIPE];
    hki_model_t *model = NULL;
    hki_pipe_schedule_t *schedule = NULL;
    hki_stage_blocks_t blocks;
    hk_status_t status;

    HKI_TRY(status = numbers_check(config), done);
    HKI_TRY(status = units_check(config, "--batch / --unit", hki_train_units(config)), done);
    HKI_TRY(status = units_check(config, "--eval-units", config->eval_units), done);
    HKI_TRY(status =
                hki_model_create(&config->model, 0, config->shape.sizes[HKI_AXIS_MODEL], &model),
            done);
    HKI_TRY(status = hki_stage_blocks(model, nstages, 0, &blocks), done);
    HKI_TRY(status = hki_pipe_schedule_create(config->pipeline, nstages,
                                              hki_train_rank_units(config), &schedule),
            done);
    status = hki_pipe_schedule_check(schedule, NULL);
done:
    hki_pipe_schedule_destroy(&schedule);
    hki_model_destroy(&model);
    return status;
}
