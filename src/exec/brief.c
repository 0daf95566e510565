/*
 * Brief schedules: making them, and running them. Method: the same clipping as that of the
 * interpreter (run.c), once, for a single tile whose blocks are all alike. A run moves the messages
 * of sends in a row, and of the operands of a reduction, by one call of the transport each.
 */
#include "exec/brief.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/** Where a span lies in a call of so many elements a block. */
static hki_place_t place_of(const hk_schedule_t *schedule, const hki_brief_shape_t *shape,
                            const hk_span_t *span)
{
    const bool is_block = span->region == HK_REGION_IN || span->region == HK_REGION_OUT;
    const size_t unit = span->region == HK_REGION_ACC ? shape->acc_bytes : shape->elem_bytes;
    const size_t length = hki_span_length(&schedule->opts, *span, shape->count);
    const size_t block = is_block ? (size_t)span->block * shape->count : 0;

    return (hki_place_t){.region = (uint32_t)span->region,
                         .bytes = (uint32_t)(length * unit),
                         .offset = (block + span->offset) * unit};
}

/** What a step moves, and whether that is few enough. */
static bool step_make(const hk_schedule_t *schedule, const hki_brief_shape_t *shape, uint32_t k,
                      hki_brief_step_t *out)
{
    const hki_step_t *step = &schedule->steps[k];
    const bool is_send = step->kind == HKI_STEP_SEND;

    *out = (hki_brief_step_t){.kind = step->kind,
                              .peer = step->peer,
                              .is_partial = step->dst.region == HK_REGION_ACC,
                              .operand_first = step->operand_first,
                              .operand_count = step->operand_count};
    if (!step->is_token) {
        out->place = place_of(schedule, shape, is_send ? &step->src : &step->dst);
    }
    if (step->kind == HKI_STEP_COPY) {
        out->from = place_of(schedule, shape, &step->src);
    }
    out->length = out->place.bytes / (out->is_partial ? shape->acc_bytes : shape->elem_bytes);
    return step->kind == HKI_STEP_COPY || out->place.bytes <= shape->most_bytes;
}

/** @param length  elements of the reduction it belongs to */
static bool operand_make(const hk_schedule_t *schedule, const hki_brief_shape_t *shape,
                         size_t length, uint32_t k, hki_brief_operand_t *out)
{
    const hk_operand_t *operand = &schedule->operands[k];
    const bool is_local = operand->peer < 0;

    *out = (hki_brief_operand_t){.peer = operand->peer};
    if (is_local) {
        out->is_partial = operand->span.region == HK_REGION_ACC;
        out->place = place_of(schedule, shape, &operand->span);
    } else {
        out->is_partial = operand->is_partial != 0;
        out->place.bytes =
            (uint32_t)(length * (out->is_partial ? shape->acc_bytes : shape->elem_bytes));
    }
    return is_local || out->place.bytes <= shape->most_bytes;
}

/** Which steps are done at once. */
static hk_status_t set_rows(const hk_schedule_t *schedule, hki_brief_t *brief)
{
    for (uint32_t k = schedule->step_count; k > 0; k--) {
        hki_brief_step_t *step = &brief->steps[k - 1];
        const bool is_followed = k < schedule->step_count && step[1].kind == step->kind;

        step->row = 1 + (is_followed ? step[1].row : 0);
    }
    for (uint32_t k = 0; brief->is_cast && k < schedule->step_count; k++) {
        if (brief->steps[k].kind == HKI_STEP_SEND) {
            const uint32_t row = hki_schedule_cast_at(schedule, k);

            if (row == 0) {
                return HKI_FAIL(HK_ERR_INTERNAL, "step %u of %s is no cast", (unsigned)k,
                                schedule->name);
            }
            brief->steps[k].row = row;
            k += row - 1;
        }
    }
    return HK_OK;
}

void hki_brief_destroy(hki_brief_t **brief)
{
    hki_brief_t *b = *brief;

    if (b != NULL) {
        hki_free(b->steps);
        hki_free(b->operands);
        hki_free(b);
        *brief = NULL;
    }
}

hk_status_t hki_brief_create(const hk_schedule_t *schedule, const hki_brief_shape_t *shape,
                             hki_brief_t **brief_out)
{
    hki_brief_t *brief = NULL;

    *brief_out = NULL;
    if (shape->count > shape->most_bytes) {
        return HK_OK; // before anything is multiplied
    }
    brief = hki_calloc(1, sizeof(*brief));
    if (brief != NULL) {
        brief->step_count = schedule->step_count;
        brief->steps = hki_calloc(schedule->step_count + 1, sizeof(*brief->steps));
        brief->operands = hki_calloc(schedule->operand_count + 1, sizeof(*brief->operands));
    }
    if (brief == NULL || brief->steps == NULL || brief->operands == NULL) {
        hki_brief_destroy(&brief);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "executor, %u steps", (unsigned)schedule->step_count);
    }
    for (uint32_t k = 0; k < schedule->step_count; k++) {
        hki_brief_step_t *step = &brief->steps[k];
        bool is_brief = step_make(schedule, shape, k, step);

        for (uint32_t i = 0; is_brief && i < step->operand_count; i++) {
            const uint32_t at = step->operand_first + i;

            is_brief = operand_make(schedule, shape, step->length, at, &brief->operands[at]);
        }
        if (!is_brief) {
            hki_brief_destroy(&brief);
            return HK_OK;
        }
    }
    brief->is_cast = shape->is_cast;
    const hk_status_t status = set_rows(schedule, brief);
    if (status != HK_OK) {
        hki_brief_destroy(&brief);
    }
    *brief_out = brief;
    return status;
}

/** Where a place of a brief run lies. */
static inline char *at_place(const hki_lane_t *lane, const hki_place_t *place)
{
    const hki_op_t *op = lane->op;
    char *base = place->region == HK_REGION_IN    ? op->in.base
                 : place->region == HK_REGION_OUT ? op->out.base
                 : place->region == HK_REGION_TMP ? lane->tmp
                                                  : lane->acc;

    return place->bytes == 0 ? base : base + place->offset; // of nothing, base may be NULL
}

/** Take messages that lie in their lines. @return how many; HK_OK, or HK_IN_PROGRESS, or why the
 *  first of the others is wrong */
static inline hk_status_t take(hki_endpoint_t *ep, const hki_lane_t *lane, int count, int *taken)
{
    const hki_envelope_t expected = hki_run_envelope(lane->op);
    hki_message_t message;

    *taken = ep->ops->take_few(ep, lane->stream, &expected, lane->few, count);
    if (*taken == count) {
        return HK_OK;
    }
    const hki_few_t *missing = &lane->few[*taken];
    const hk_status_t status = hki_run_expect(ep, lane, missing->peer, missing->bytes, &message);
    return status == HK_OK ? HK_IN_PROGRESS : status; // it has come in between
}

static hk_status_t brief_reduce(hki_endpoint_t *ep, hki_lane_t *lane, const hki_brief_step_t *step)
{
    const hki_brief_operand_t *operands = &lane->op->brief->operands[step->operand_first];
    int wanted = 0;
    int taken = 0;

    for (uint32_t i = 0; i < step->operand_count; i++) { // the inbox may have moved
        const hki_brief_operand_t *operand = &operands[i];
        void *data = lane->inbox[i];

        if (operand->peer < 0) {
            data = at_place(lane, &operand->place);
        } else if (i >= lane->operands_here) {
            lane->few[wanted++] = (hki_few_t){operand->peer, operand->place.bytes, data};
        }
        lane->sources[i] = (hki_source_t){.data = data, .is_partial = operand->is_partial};
    }
    const hk_status_t status = take(ep, lane, wanted, &taken);
    if (status != HK_OK) {
        for (; taken > 0 || operands[lane->operands_here].peer < 0; lane->operands_here++) {
            taken -= operands[lane->operands_here].peer < 0 ? 0 : 1;
        }
        return status;
    }
    lane->operands_here = 0;
    if (step->length != 0) {
        hki_reduce(&lane->op->reduction, at_place(lane, &step->place), step->is_partial,
                   lane->sources, (int)step->operand_count, step->length);
    }
    return HK_OK;
}

/** Describe the messages of a row of steps. */
static inline void row_few(hki_lane_t *lane, const hki_brief_step_t *step, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        lane->few[i] =
            (hki_few_t){step[i].peer, step[i].place.bytes, at_place(lane, &step[i].place)};
    }
}

/** The row of sends from this step on; all but the last are stepped over. */
static hk_status_t brief_sends(hki_endpoint_t *ep, hki_lane_t *lane, const hki_brief_step_t *step)
{
    const hki_envelope_t envelope = hki_run_envelope(lane->op);
    hk_status_t status = HK_OK;
    int sent = (int)step->row;

    if (lane->op->brief->is_cast) {
        row_few(lane, step, 1);
        status = ep->ops->cast(ep, lane->stream - ep->nlanes, &envelope, lane->few);
        if (status != HK_OK) {
            return status;
        }
    } else {
        row_few(lane, step, step->row);
        status = ep->ops->send_few(ep, lane->stream, &envelope, lane->few, (int)step->row, &sent);
    }
    if (status == HK_OK && sent == (int)step->row) {
        lane->pc += step->row - 1;
        return HK_OK;
    }
    lane->pc += (uint32_t)sent;
    return status != HK_OK ? status : HK_IN_PROGRESS;
}

/** The row of receives from this step on; all but the last are stepped over. */
static hk_status_t brief_recvs(hki_endpoint_t *ep, hki_lane_t *lane, const hki_brief_step_t *step)
{
    int taken = 0;

    row_few(lane, step, step->row);
    const hk_status_t status = take(ep, lane, (int)step->row, &taken);
    lane->pc += status == HK_OK ? step->row - 1 : (uint32_t)taken;
    return status;
}

static inline hk_status_t brief_step(hki_endpoint_t *ep, hki_lane_t *lane,
                                     const hki_brief_step_t *step)
{
    switch (step->kind) {
    case HKI_STEP_SEND:
        return brief_sends(ep, lane, step);
    case HKI_STEP_RECV:
        return brief_recvs(ep, lane, step);
    case HKI_STEP_REDUCE:
        return brief_reduce(ep, lane, step);
    case HKI_STEP_COPY:
    default:
        break;
    }
    char *at = at_place(lane, &step->place);
    const char *from = at_place(lane, &step->from);
    if (step->place.bytes != 0 && from != at) {
        memmove(at, from, step->place.bytes);
    }
    return HK_OK;
}

hk_status_t hki_brief_run(hki_endpoint_t *ep, hki_lane_t *lane, bool *moved)
{
    const hki_brief_t *brief = lane->op->brief;

    while (lane->pc < brief->step_count) {
        const hk_status_t status = brief_step(ep, lane, &brief->steps[lane->pc]);

        if (status != HK_OK) {
            return status;
        }
        lane->pc++;
        *moved = true;
    }
    return HK_OK;
}
