/*
 * `hocket train`: refuse bad input before any rank starts, explain, or start the ranks.
 */
#include <stdio.h>

#include "base/error.h"
#include "launch.h"
#include "parallel/layout.h"
#include "tool.h"
#include "train/journal.h"
#include "train_options.h"
#include "train_run.h"

/** Print the line of the error that was just returned. */
static int refuse(void)
{
    (void)hki_tool_failed(&hki_train_command);
    return HKI_EXIT_USAGE;
}

/** Everything that can be known to be wrong before there are ranks. */
static hk_status_t inputs_check(const hki_train_values_t *values, const hki_train_config_t *config)
{
    hki_corpus_t *corpus = NULL;
    hk_status_t status = HK_OK;

    if (values->data.count > 0) {
        HKI_TRY(status = hki_corpus_open(values->data.value, (int)values->data.count,
                                         hki_train_vocab(values), &corpus),
                done);
        HKI_TRY(status = hki_corpus_fits(corpus, hki_train_tokens(config)), done);
        HKI_TRY(status = hki_corpus_check(corpus), done);
    }
    if (values->log != NULL) {
        status = hki_journal_check(values->log);
    }
done:
    hki_corpus_close(&corpus);
    return status;
}

static int explain(const hki_train_config_t *config)
{
    const int nstages = config->shape.sizes[HKI_AXIS_PIPE];
    hki_layout_t layout = {
        .shape = config->shape,
        .units = hki_train_units(config),
        .num_sequences = config->unit,
        .num_tokens = hki_train_tokens(config),
    };
    hki_model_t *model = NULL;
    hki_pipe_schedule_t *schedule = NULL;
    hki_text_t text = {0};
    hk_status_t status;

    HKI_TRY(status =
                hki_model_create(&config->model, 0, config->shape.sizes[HKI_AXIS_MODEL], &model),
            done);
    HKI_TRY(status = hki_pipe_schedule_create(config->pipeline, nstages,
                                              hki_train_rank_units(config), &schedule),
            done);
    layout.model = model;
    layout.schedule = schedule;
    HKI_TRY(status = hki_layout_explain(&layout, &text), done);
    (void)fputs(text.data, stdout);
done:
    hki_text_fini(&text);
    hki_pipe_schedule_destroy(&schedule);
    hki_model_destroy(&model);
    return status == HK_OK ? 0 : hki_tool_failed(&hki_train_command);
}

/** Start the ranks with this command line, and see them through. */
static int launch(const hki_train_values_t *values, int nranks, int argc, char **argv)
{
    const hki_launch_opts_t opts = {
        .command = "train",
        .nranks = nranks,
        .bind = (hki_bind_t)values->bind,
        .timeout_s = values->timeout_s,
        .grace_s = 2,
    };

    return hki_launch_self(&opts, argc, argv);
}

static int train_main(int argc, char **argv)
{
    static hki_train_values_t values; // large: lists of files
    hki_train_config_t config;
    hki_parsed_t parsed;
    const int usage = hki_tool_parse(&hki_train_command, argc, argv, &values, &parsed);

    if (usage >= 0) {
        return usage;
    }
    if (hki_launch_is_rank() && !values.is_explaining) {
        return hki_train_run(&values);
    }
    if (hki_train_configure(&values, values.nranks, &config) != HK_OK ||
        inputs_check(&values, &config) != HK_OK) {
        return refuse();
    }
    if (values.is_explaining) {
        return explain(&config);
    }
    const int nranks = hki_mesh_shape_ranks(&config.shape);
    return nranks > 1 ? launch(&values, nranks, argc, argv) : hki_train_run(&values);
}

const hki_subcommand_t hki_subcommand_train = {&hki_train_command, train_main};
