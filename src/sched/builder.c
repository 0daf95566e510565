/**
 * @file builder.c
 * @brief Writes a schedule step by step, checks each step, and finds what each must wait for.
 *
 * Method: errors are sticky; the first one wins and hk_builder_finish() reports it. A step is
 * checked against the regions' sizes when it is appended. For a step that writes, the builder looks
 * back for the last uncopied send whose source it overwrites: that is its fence (sends_before).
 */
#include "sched/schedule.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { CAPACITY_FIRST = 16 };

struct hk_builder {
    hk_schedule_t *schedule;   /* owned */
    uint32_t step_capacity;    /* steps that fit in schedule->steps */
    uint32_t operand_capacity; /* operands that fit in schedule->operands */
    unsigned sent_regions;     /* bit r: an uncopied send so far has its source in region r */
    hk_status_t status;        /* first error; sticky */
};

static const char *region_name(hk_region_t region)
{
    static const char *const names[] = {"in", "out", "tmp", "acc"};

    return (unsigned)region < 4 ? names[region] : "?";
}

static bool is_scratch(hk_region_t region)
{
    return region == HK_REGION_TMP || region == HK_REGION_ACC;
}

/** Room for one more: doubles *capacity where `used` has reached it. */
static hk_status_t grow(void **array, uint32_t *capacity, uint32_t used, size_t bytes)
{
    if (used < *capacity) {
        return HK_OK;
    }
    if (*capacity > UINT32_MAX / 2) {
        return HKI_FAIL(HK_ERR_LIMIT, "schedule of more than %u entries", *capacity);
    }
    const uint32_t wanted = *capacity == 0 ? CAPACITY_FIRST : 2 * *capacity;
    void *bigger = hki_calloc(wanted, bytes);

    if (bigger == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "schedule, %u entries of %zu bytes", wanted, bytes);
    }
    if (used != 0) {
        memcpy(bigger, *array, used * bytes);
    }
    hki_free(*array);
    *array = bigger;
    *capacity = wanted;
    return HK_OK;
}

static hk_status_t check_span(const hk_schedule_opts_t *opts, hk_span_t span)
{
    size_t region_count = opts->count;
    int blocks = 1;

    switch (span.region) {
    case HK_REGION_IN:
        blocks = opts->in_blocks;
        break;
    case HK_REGION_OUT:
        blocks = opts->out_blocks;
        break;
    case HK_REGION_TMP:
        region_count = opts->tmp_count;
        break;
    case HK_REGION_ACC:
        region_count = opts->acc_count;
        break;
    default:
        return HKI_FAIL(HK_ERR_INVALID_ARG, "region %d is none of IN, OUT, TMP, ACC",
                        (int)span.region);
    }
    if (span.block < 0 || span.block >= blocks || span.offset > region_count ||
        span.length > region_count - span.offset) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "span %s[%d] offset %zu length %zu leaves the region: %d blocks of %zu",
                        region_name(span.region), span.block, span.offset, span.length, blocks,
                        region_count);
    }
    if (is_scratch(span.region) && opts->count != 0) {
        const size_t start = span.offset % opts->count;
        const bool is_whole = start == 0 && span.length % opts->count == 0;

        if (!is_whole && span.length > opts->count - start) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "span %s offset %zu length %zu crosses a slot of %zu elements; use "
                            "spans inside one slot, or of whole slots",
                            region_name(span.region), span.offset, span.length, opts->count);
        }
    }
    return HK_OK;
}

static hk_status_t check_peer(const hk_schedule_opts_t *opts, int peer)
{
    if (peer < 0 || peer >= opts->nranks || peer == opts->rank) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "peer %d: must be 0 to %d and not this rank, %d", peer,
                        opts->nranks - 1, opts->rank);
    }
    return HK_OK;
}

static hk_status_t check_dst(const hk_schedule_opts_t *opts, hk_span_t dst)
{
    if (dst.region == HK_REGION_IN) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "a step writes to IN, which is read only");
    }
    return check_span(opts, dst);
}

/** A source may be the destination itself, but not lie across its border. */
static hk_status_t check_overlap(const hk_schedule_opts_t *opts, hk_span_t dst, hk_span_t src)
{
    const hk_span_t a = hki_span_canonical(opts, dst);
    const hk_span_t b = hki_span_canonical(opts, src);

    if (hki_span_overlap(opts, a, b) && (a.offset != b.offset || a.length != b.length)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "source %s offset %zu overlaps destination %s offset "
                        "%zu in part",
                        region_name(src.region), src.offset, region_name(dst.region), dst.offset);
    }
    return HK_OK;
}

/** Index + 1 of the last uncopied send whose source `dst` overlaps; 0 if there is none. */
static uint32_t find_fence(const hk_builder_t *builder, hk_span_t dst)
{
    const hk_schedule_t *schedule = builder->schedule;
    const hk_region_t region = hki_span_canonical(&schedule->opts, dst).region;

    if (dst.length == 0 || (builder->sent_regions >> region & 1) == 0) {
        return 0;
    }
    for (uint32_t i = schedule->step_count; i > 0; i--) {
        const hki_step_t *step = &schedule->steps[i - 1];

        if (step->kind == HKI_STEP_SEND && !step->is_copied &&
            hki_span_overlap(&schedule->opts, step->src, dst)) {
            return i;
        }
    }
    return 0;
}

/** Append a checked step. */
static void append(hk_builder_t *builder, hki_step_t step)
{
    hk_schedule_t *schedule = builder->schedule;
    void *steps = schedule->steps;

    builder->status = grow(&steps, &builder->step_capacity, schedule->step_count, sizeof(step));
    schedule->steps = steps;
    if (builder->status != HK_OK) {
        return;
    }
    step.sends_before = find_fence(builder, step.dst);
    if (step.kind == HKI_STEP_SEND && !step.is_copied) {
        builder->sent_regions |= 1U << hki_span_canonical(&schedule->opts, step.src).region;
    }
    schedule->steps[schedule->step_count++] = step;
}

static hk_status_t check_opts(const hk_schedule_opts_t *opts)
{
    const bool has_in = opts->in_blocks == 1 || opts->in_blocks == opts->nranks;
    const bool has_out = opts->out_blocks == 1 || opts->out_blocks == opts->nranks;
    bool has_alias = false;

    if (opts->nranks < 1 || opts->rank < 0 || opts->rank >= opts->nranks || opts->root < 0 ||
        opts->root >= opts->nranks) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d and root %d must be 0 to %d", opts->rank,
                        opts->root, opts->nranks - 1);
    }
    if (!has_in || !has_out) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%d blocks in, %d out: each must be 1 or %d",
                        opts->in_blocks, opts->out_blocks, opts->nranks);
    }
    switch (opts->alias) {
    case HK_ALIAS_NONE:
        has_alias = true;
        break;
    case HK_ALIAS_SAME:
        has_alias = opts->in_blocks == opts->out_blocks;
        break;
    case HK_ALIAS_OWN_OUT:
        has_alias = opts->in_blocks == 1 && opts->out_blocks == opts->nranks;
        break;
    case HK_ALIAS_OWN_IN:
        has_alias = opts->out_blocks == 1 && opts->in_blocks == opts->nranks;
        break;
    }
    if (opts->near_ranks < 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "groups of %d near ranks; 1 or more", opts->near_ranks);
    }
    if (!has_alias) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "alias %d does not fit %d blocks in and %d out",
                        (int)opts->alias, opts->in_blocks, opts->out_blocks);
    }
    return HK_OK;
}

hk_status_t hk_builder_open(const hk_schedule_opts_t *opts, hk_builder_t **builder_out)
{
    hk_schedule_opts_t known = hk_schedule_opts_default();

    if (opts == NULL || builder_out == NULL || opts->struct_size == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "NULL, or options without hk_schedule_opts_default()");
    }
    // take the fields the caller knows; the rest keep their defaults
    memcpy(&known, opts, opts->struct_size < sizeof(known) ? opts->struct_size : sizeof(known));
    known.struct_size = sizeof(known);
    const hk_status_t status = check_opts(&known);

    if (status != HK_OK) {
        return status;
    }
    hk_builder_t *builder = hki_calloc(1, sizeof(*builder));
    hk_schedule_t *schedule = hki_calloc(1, sizeof(*schedule));

    if (builder == NULL || schedule == NULL) {
        hki_free(schedule);
        hki_free(builder);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "schedule builder, %zu bytes",
                        sizeof(*builder) + sizeof(*schedule));
    }
    (void)snprintf(schedule->name, sizeof(schedule->name), "%s",
                   known.name != NULL ? known.name : "unnamed");
    known.name = NULL;
    schedule->opts = known;
    builder->schedule = schedule;
    builder->status = HK_OK;
    *builder_out = builder;
    return HK_OK;
}

hk_status_t hki_builder_status(const hk_builder_t *builder)
{
    return builder->status;
}

void hki_builder_fail(hk_builder_t *builder, hk_status_t status)
{
    if (builder->status == HK_OK) {
        builder->status = status;
    }
}

static void append_send(hk_builder_t *builder, int peer, hk_span_t src, bool is_copied)
{
    const hk_schedule_opts_t *opts = &builder->schedule->opts;
    hk_status_t status;

    if (builder->status != HK_OK) {
        return;
    }
    HKI_TRY(status = check_peer(opts, peer), fail);
    HKI_TRY(status = check_span(opts, src), fail);
    if (src.length != 0) {
        append(
            builder,
            (hki_step_t){.kind = HKI_STEP_SEND, .peer = peer, .src = src, .is_copied = is_copied});
    }
    return;
fail:
    builder->status = status;
}

void hk_builder_send(hk_builder_t *builder, int peer, hk_span_t src)
{
    append_send(builder, peer, src, false);
}

void hk_builder_send_copied(hk_builder_t *builder, int peer, hk_span_t src)
{
    append_send(builder, peer, src, true);
}

void hk_builder_recv(hk_builder_t *builder, int peer, hk_span_t dst)
{
    const hk_schedule_opts_t *opts = &builder->schedule->opts;
    hk_status_t status;

    if (builder->status != HK_OK) {
        return;
    }
    HKI_TRY(status = check_peer(opts, peer), fail);
    HKI_TRY(status = check_dst(opts, dst), fail);
    if (dst.length != 0) {
        append(builder, (hki_step_t){.kind = HKI_STEP_RECV, .peer = peer, .dst = dst});
    }
    return;
fail:
    builder->status = status;
}

void hk_builder_copy(hk_builder_t *builder, hk_span_t dst, hk_span_t src)
{
    const hk_schedule_opts_t *opts = &builder->schedule->opts;
    hk_status_t status;

    if (builder->status != HK_OK) {
        return;
    }
    HKI_TRY(status = check_dst(opts, dst), fail);
    HKI_TRY(status = check_span(opts, src), fail);
    HKI_TRY(status = check_overlap(opts, dst, src), fail);
    if (dst.length != src.length ||
        (dst.region == HK_REGION_ACC) != (src.region == HK_REGION_ACC)) {
        status = HKI_FAIL(HK_ERR_INVALID_ARG,
                          "copy of %zu of %s to %zu of %s: lengths and kinds must agree",
                          src.length, region_name(src.region), dst.length, region_name(dst.region));
        goto fail;
    }
    if (dst.length != 0 && !hki_span_overlap(opts, dst, src)) {
        append(builder, (hki_step_t){.kind = HKI_STEP_COPY, .peer = -1, .src = src, .dst = dst});
    }
    return;
fail:
    builder->status = status;
}

static hk_status_t check_operand(const hk_schedule_opts_t *opts, hk_span_t dst,
                                 const hk_operand_t *operand)
{
    hk_status_t status;

    if (operand->peer != -1) {
        return check_peer(opts, operand->peer);
    }
    HKI_TRY(status = check_span(opts, operand->span), fail);
    HKI_TRY(status = check_overlap(opts, dst, operand->span), fail);
    if (operand->span.length != dst.length) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "reduce of %zu elements has an operand of %zu",
                        dst.length, operand->span.length);
    }
    return HK_OK;
fail:
    return status;
}

/** Append the operands of one reduce step. */
static hk_status_t append_operands(hk_builder_t *builder, hk_span_t dst,
                                   const hk_operand_t *operands, int operand_count)
{
    hk_schedule_t *schedule = builder->schedule;

    for (int i = 0; i < operand_count; i++) {
        void *array = schedule->operands;
        hk_status_t status = check_operand(&schedule->opts, dst, &operands[i]);

        for (int k = 0; k < i && operands[i].peer >= 0 && status == HK_OK; k++) {
            if (operands[k].peer == operands[i].peer) { // only the head of a stream can be read
                status = HKI_FAIL(HK_ERR_INVALID_ARG, "two messages of rank %d in one reduce step",
                                  operands[i].peer);
            }
        }

        if (status == HK_OK) {
            status = grow(&array, &builder->operand_capacity, schedule->operand_count,
                          sizeof(operands[i]));
            schedule->operands = array;
        }
        if (status != HK_OK) {
            return status;
        }
        hk_operand_t *copy = &schedule->operands[schedule->operand_count++];
        *copy = operands[i];
        if (copy->peer >= 0) { // what does not apply is zero, so that equal means equal
            copy->span = (hk_span_t){.length = 0};
        } else {
            copy->is_partial = copy->span.region == HK_REGION_ACC;
        }
    }
    return HK_OK;
}

void hk_builder_reduce(hk_builder_t *builder, hk_span_t dst, const hk_operand_t *operands,
                       int operand_count)
{
    hk_schedule_t *schedule = builder->schedule;
    const uint32_t first = schedule->operand_count;
    hk_status_t status;

    if (builder->status != HK_OK) {
        return;
    }
    if (operands == NULL || operand_count < 1) {
        builder->status = HKI_FAIL(HK_ERR_INVALID_ARG, "reduce of %d operands", operand_count);
        return;
    }
    HKI_TRY(status = check_dst(&schedule->opts, dst), fail);
    HKI_TRY(status = append_operands(builder, dst, operands, operand_count), fail);
    if (dst.length == 0) {
        schedule->operand_count = first;
        return;
    }
    append(builder, (hki_step_t){.kind = HKI_STEP_REDUCE,
                                 .peer = -1,
                                 .dst = dst,
                                 .operand_first = first,
                                 .operand_count = (uint32_t)operand_count});
    return;
fail:
    builder->status = status;
}

static void append_token(hk_builder_t *builder, hki_step_kind_t kind, int peer)
{
    if (builder->status != HK_OK) {
        return;
    }
    builder->status = check_peer(&builder->schedule->opts, peer);
    if (builder->status == HK_OK) {
        append(builder,
               (hki_step_t){.kind = kind, .peer = peer, .is_token = true, .is_copied = true});
    }
}

void hk_builder_send_token(hk_builder_t *builder, int peer)
{
    append_token(builder, HKI_STEP_SEND, peer);
}

void hk_builder_recv_token(hk_builder_t *builder, int peer)
{
    append_token(builder, HKI_STEP_RECV, peer);
}

hk_status_t hk_builder_finish(hk_builder_t **builder, hk_schedule_t **schedule_out)
{
    if (builder == NULL || *builder == NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "no builder to finish");
    }
    hk_status_t status = (*builder)->status;

    if (status == HK_OK && schedule_out == NULL) {
        status = HKI_FAIL(HK_ERR_INVALID_ARG, "no place for the schedule");
    }
    if (status == HK_OK) {
        *schedule_out = (*builder)->schedule;
        (*builder)->schedule = NULL; // the caller's now
    }
    hk_schedule_destroy(&(*builder)->schedule);
    hki_free(*builder);
    *builder = NULL;
    return status;
}
