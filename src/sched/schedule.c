/**
 * @file schedule.c
 * @brief A finished schedule: which places are the same, which steps must keep their order, and
 *        its end.
 *
 * Method: where IN and OUT share memory, a span is renamed to one of its two names before it is
 * compared (hki_span_canonical).
 */
#include "sched/schedule.h"

#include "base/alloc.h"

hk_span_t hki_span_canonical(const hk_schedule_opts_t *opts, hk_span_t span)
{
    switch (opts->alias) {
    case HK_ALIAS_NONE:
        break;
    case HK_ALIAS_SAME:
        if (span.region == HK_REGION_IN) {
            span.region = HK_REGION_OUT;
        }
        break;
    case HK_ALIAS_OWN_OUT:
        if (span.region == HK_REGION_IN) {
            span.region = HK_REGION_OUT;
            span.block = opts->rank;
        }
        break;
    case HK_ALIAS_OWN_IN:
        if (span.region == HK_REGION_OUT) {
            span.region = HK_REGION_IN;
            span.block = opts->rank;
        }
        break;
    }
    return span;
}

bool hki_span_overlap(const hk_schedule_opts_t *opts, hk_span_t a, hk_span_t b)
{
    if (a.length == 0 || b.length == 0 || a.offset >= b.offset + b.length ||
        b.offset >= a.offset + a.length) {
        return false;
    }
    a = hki_span_canonical(opts, a);
    b = hki_span_canonical(opts, b);
    return a.region == b.region && a.block == b.block;
}

/** Does the step read any element of `span`? */
static bool step_reads(const hk_schedule_t *schedule, const hki_step_t *step, hk_span_t span)
{
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const hk_operand_t *operand = &schedule->operands[step->operand_first + i];

        if (operand->peer == -1 && hki_span_overlap(&schedule->opts, operand->span, span)) {
            return true;
        }
    }
    return hki_span_overlap(&schedule->opts, step->src, span);
}

/** Does the step take a message from `peer`? */
static bool step_receives(const hk_schedule_t *schedule, const hki_step_t *step, int peer)
{
    for (uint32_t i = 0; i < step->operand_count; i++) {
        if (schedule->operands[step->operand_first + i].peer == peer) {
            return true;
        }
    }
    return step->kind == HKI_STEP_RECV && step->peer == peer;
}

/** Do both steps take messages from one peer, or both send to one? */
static bool share_stream(const hk_schedule_t *schedule, const hki_step_t *a, const hki_step_t *b)
{
    for (uint32_t i = 0; i < a->operand_count; i++) {
        const int peer = schedule->operands[a->operand_first + i].peer;

        if (peer >= 0 && step_receives(schedule, b, peer)) {
            return true;
        }
    }
    return (a->kind == HKI_STEP_RECV && step_receives(schedule, b, a->peer)) ||
           (a->kind == HKI_STEP_SEND && b->kind == HKI_STEP_SEND && a->peer == b->peer);
}

bool hki_step_conflict(const hk_schedule_t *schedule, const hki_step_t *a, const hki_step_t *b)
{
    return a->is_token || b->is_token || hki_span_overlap(&schedule->opts, a->dst, b->dst) ||
           step_reads(schedule, a, b->dst) || step_reads(schedule, b, a->dst) ||
           share_stream(schedule, a, b);
}

/** True if no step after number `index` reads or writes what that step writes to OUT. */
static bool is_final(const hk_schedule_t *schedule, uint32_t index)
{
    const hki_step_t *step = &schedule->steps[index];

    if (step->dst.region != HK_REGION_OUT || step->is_token ||
        (step->kind != HKI_STEP_RECV && step->kind != HKI_STEP_COPY)) {
        return false;
    }
    for (uint32_t i = index + 1; i < schedule->step_count; i++) {
        const hki_step_t *later = &schedule->steps[i];

        if (step_reads(schedule, later, step->dst) ||
            hki_span_overlap(&schedule->opts, later->dst, step->dst)) {
            return false;
        }
    }
    return true;
}

void hki_schedule_mark_final(hk_schedule_t *schedule)
{
    for (uint32_t i = 0; i < schedule->step_count; i++) {
        schedule->steps[i].is_final = is_final(schedule, i);
    }
}

void hk_schedule_destroy(hk_schedule_t **schedule)
{
    if (schedule == NULL || *schedule == NULL) {
        return;
    }
    hki_free((*schedule)->steps);
    hki_free((*schedule)->operands);
    hki_free(*schedule);
    *schedule = NULL;
}

static bool is_same_span(const hk_span_t *a, const hk_span_t *b)
{
    return a->region == b->region && a->block == b->block && a->offset == b->offset &&
           a->length == b->length;
}

/** Does a step of [first, last) send to this peer? */
static bool has_peer(const hk_schedule_t *schedule, uint32_t first, uint32_t last, int peer)
{
    for (uint32_t i = first; i < last; i++) {
        if (schedule->steps[i].peer == peer) {
            return true;
        }
    }
    return false;
}

uint32_t hki_schedule_cast_at(const hk_schedule_t *schedule, uint32_t k)
{
    const uint32_t others = (uint32_t)schedule->opts.nranks - 1;
    const hki_step_t *first = &schedule->steps[k];

    if (others == 0 || others > schedule->step_count - k) {
        return 0;
    }
    for (uint32_t i = 0; i < others; i++) {
        const hki_step_t *step = &first[i];

        if (step->kind != HKI_STEP_SEND || step->is_token != first->is_token ||
            !is_same_span(&step->src, &first->src) || has_peer(schedule, k, k + i, step->peer)) {
            return 0;
        }
    }
    return others;
}

bool hki_schedule_is_cast(const hk_schedule_t *schedule)
{
    uint32_t k = 0;

    while (k < schedule->step_count) {
        const bool is_send = schedule->steps[k].kind == HKI_STEP_SEND;
        const uint32_t row = is_send ? hki_schedule_cast_at(schedule, k) : 1;

        if (row == 0) {
            return false;
        }
        k += row;
    }
    return true;
}
