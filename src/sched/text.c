/**
 * @file text.c
 * @brief Writes a schedule as text, one step a line.
 */
#include "sched/text.h"

static const char *const g_regions[] = {"in", "out", "tmp", "acc"};
static const char *const g_aliases[] = {"none", "same", "own_out", "own_in"};

static void write_span(hki_text_t *text, hk_span_t span)
{
    hki_text_add(text, " %s", g_regions[span.region]);
    if (span.region == HK_REGION_IN || span.region == HK_REGION_OUT) {
        hki_text_add(text, "[%d]", span.block);
    }
    hki_text_add(text, "[%zu:%zu]", span.offset, span.offset + span.length);
}

static void write_reduce(const hk_schedule_t *schedule, const hki_step_t *step, hki_text_t *text)
{
    hki_text_add(text, "reduce");
    write_span(text, step->dst);
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const hk_operand_t *operand = &schedule->operands[step->operand_first + i];

        hki_text_add(text, i == 0 ? " =" : " +");
        if (operand->peer < 0) {
            write_span(text, operand->span);
        } else {
            hki_text_add(text, " %s %d", operand->is_partial ? "partial" : "rank", operand->peer);
        }
    }
}

static void write_step(const hk_schedule_t *schedule, const hki_step_t *step, hki_text_t *text)
{
    switch (step->kind) {
    case HKI_STEP_SEND:
        hki_text_add(text, "%s %d", step->is_token ? "send_token" : "send", step->peer);
        if (!step->is_token) {
            write_span(text, step->src);
            hki_text_add(text, "%s", step->is_copied ? " copied" : "");
        }
        break;
    case HKI_STEP_RECV:
        hki_text_add(text, "%s %d", step->is_token ? "recv_token" : "recv", step->peer);
        if (!step->is_token) {
            write_span(text, step->dst);
        }
        break;
    case HKI_STEP_COPY:
        hki_text_add(text, "copy");
        write_span(text, step->dst);
        write_span(text, step->src);
        break;
    case HKI_STEP_REDUCE:
        write_reduce(schedule, step, text);
        break;
    }
    hki_text_add(text, "\n");
}

void hki_schedule_write(const hk_schedule_t *schedule, hki_text_t *text)
{
    const hk_schedule_opts_t *opts = &schedule->opts;

    hki_text_add(text, "schedule %s\nrank %d of %d root %d alias %s\n", schedule->name, opts->rank,
                 opts->nranks, opts->root, g_aliases[opts->alias]);
    hki_text_add(text, "count %zu in %d out %d tmp %zu acc %zu\n", opts->count, opts->in_blocks,
                 opts->out_blocks, opts->tmp_count, opts->acc_count);
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        write_step(schedule, &schedule->steps[i], text);
    }
}
