/*
 * The interpreter. Method: program order, one step at a time; each step is either done or tried
 * again later, and remembers how far it came (a reduce step keeps the messages it has peeked at).
 * Sources of direct sends are fenced by the list `pending`, in program order: a step that
 * overwrites sources of the steps before `sends_before` first sees the tickets of those consumed.
 */
#include "exec/run.h"

#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "exec/history.h"

/** Where a span of the current tile lies, after clipping. */
typedef struct view {
    char *data;
    size_t length; /**< [elements] */
    size_t bytes;
} view_t;

static inline view_t block_view(const hki_lane_t *lane, const hki_blocks_t *blocks,
                                const hk_span_t *span)
{
    const hki_op_t *op = lane->op;
    const size_t count = blocks->counts != NULL ? blocks->counts[span->block] : blocks->count;
    size_t left = count > lane->first ? count - lane->first : 0;
    view_t view;

    if (left > op->tile_count) {
        left = op->tile_count;
    }
    view.length = hki_span_clip(*span, left);
    view.bytes = view.length * op->elem_bytes;
    view.data = blocks->base;
    if (view.length != 0) {
        const size_t start = blocks->offsets != NULL ? blocks->offsets[span->block]
                                                     : (size_t)span->block * blocks->stride;

        view.data += (start + lane->first + span->offset) * op->elem_bytes;
    }
    return view;
}

/** Elements of this tile in blocks of the run; with scratch all blocks are equal
 *  (hki_span_length). */
static inline size_t tile_length(const hki_op_t *op, size_t first)
{
    const size_t count = op->in.count > op->out.count ? op->in.count : op->out.count;
    const size_t left = count > first ? count - first : 0;

    return left < op->tile_count ? left : op->tile_count;
}

static inline view_t scratch_view(const hki_lane_t *lane, char *base, size_t unit_bytes,
                                  const hk_span_t *span)
{
    const size_t length =
        hki_span_length(&lane->schedule->opts, *span, tile_length(lane->op, lane->first));
    const view_t view = {
        .data = base + span->offset * unit_bytes, .length = length, .bytes = length * unit_bytes};

    return view;
}

static inline view_t view_of(const hki_lane_t *lane, const hk_span_t *span)
{
    switch (span->region) {
    case HK_REGION_IN:
        return block_view(lane, &lane->op->in, span);
    case HK_REGION_OUT:
        return block_view(lane, &lane->op->out, span);
    case HK_REGION_TMP:
        return scratch_view(lane, lane->tmp, lane->op->elem_bytes, span);
    case HK_REGION_ACC:
    default:
        return scratch_view(lane, lane->acc, lane->op->acc_bytes, span);
    }
}

/** Have the receivers read all direct sends of the steps before `step`? */
static bool are_sends_read(hki_endpoint_t *ep, hki_lane_t *lane, uint32_t step)
{
    while (lane->pending_first < lane->pending_count) {
        const hki_pending_t *pending = &lane->pending[lane->pending_first];

        if (pending->step >= step) {
            return true;
        }
        if (!ep->ops->is_consumed(ep, lane->stream, pending->peer, pending->ticket)) {
            return false;
        }
        lane->pending_first++;
    }
    return true;
}

static hk_status_t step_send(hki_endpoint_t *ep, hki_lane_t *lane, const hki_step_t *step)
{
    const hki_op_t *op = lane->op;
    const hki_envelope_t envelope = hki_run_envelope(op);
    view_t view = {NULL, 0, 0};
    uint64_t ticket = 0;

    if (!step->is_token) {
        view = view_of(lane, &step->src);
    }
    const bool is_same =
        lane->sent != NULL && lane->sent == view.data && lane->sent_bytes == view.bytes;
    // staging is sized for what lies in the user's memory: scratch is always read where it lies
    const bool is_user = step->src.region == HK_REGION_IN || step->src.region == HK_REGION_OUT;
    const unsigned flags = (is_user ? HKI_SEND_SHORT : 0) |
                           (step->is_copied ? HKI_SEND_COPIED : 0) | (is_same ? HKI_SEND_SAME : 0);
    const hk_status_t status = ep->ops->send(ep, lane->stream, step->peer, &envelope, view.data,
                                             view.bytes, flags, &ticket);
    if (status == HK_OK) {
        lane->sent = view.data;
        lane->sent_bytes = view.bytes;
    }
    if (status == HK_OK && ticket != 0) {
        lane->pending[lane->pending_count] =
            (hki_pending_t){.ticket = ticket, .step = lane->pc, .peer = step->peer};
        lane->pending_count++;
    }
    return status;
}

hk_status_t hki_run_expect(hki_endpoint_t *ep, const hki_lane_t *lane, int peer, size_t bytes,
                           hki_message_t *message)
{
    const hki_op_t *op = lane->op;
    const hk_status_t status = ep->ops->peek(ep, lane->stream, peer, message);

    if (status != HK_OK) {
        return status;
    }
    if (message->envelope.op_number != op->op_number ||
        message->envelope.check != op->announcement.check || message->bytes != bytes) {
        return hki_history_fail_message(ep, op->op_number, peer, message->envelope.op_number);
    }
    return HK_OK;
}

/** Fetch a payload to where it belongs: by way of the bounce buffer if that is much faster. */
static hk_status_t fetch_all(hki_endpoint_t *ep, const hki_lane_t *lane, int peer,
                             const hki_message_t *message, char *into)
{
    const size_t most = HKI_BOUNCE_BYTES - HKI_BOUNCE_ALIGNMENT;

    if (((uintptr_t)into - message->shift) % HKI_BOUNCE_ALIGNMENT == 0 || lane->bounce == NULL) {
        return ep->ops->fetch(ep, lane->stream, peer, 0, into, message->bytes);
    }
    for (size_t first = 0; first < message->bytes; first += most) {
        const size_t left = message->bytes - first;
        const size_t bytes = left < most ? left : most;
        const hk_status_t status =
            ep->ops->fetch(ep, lane->stream, peer, first, lane->bounce + message->shift, bytes);

        if (status != HK_OK) {
            return status;
        }
        hki_copy(into + first, lane->bounce + message->shift, bytes);
    }
    return HK_OK;
}

static hk_status_t step_recv(hki_endpoint_t *ep, hki_lane_t *lane, const hki_step_t *step)
{
    view_t view = {NULL, 0, 0};
    hki_message_t message;

    if (!step->is_token) {
        view = view_of(lane, &step->dst);
    }
    hk_status_t status = hki_run_expect(ep, lane, step->peer, view.bytes, &message);
    if (status != HK_OK) {
        return status;
    }
    if (message.is_remote) {
        status = fetch_all(ep, lane, step->peer, &message, view.data);
    } else if (view.bytes != 0 && lane->op->is_huge && step->is_final) {
        hki_copy_stream(view.data, message.payload, view.bytes);
    } else if (view.bytes != 0) {
        hki_copy(view.data, message.payload, view.bytes);
    }
    if (status == HK_OK) {
        ep->ops->release(ep, lane->stream, step->peer);
    }
    return status;
}

static hk_status_t step_copy(hki_lane_t *lane, const hki_step_t *step)
{
    const view_t dst = view_of(lane, &step->dst);
    const view_t src = view_of(lane, &step->src);

    HKI_DASSERT(dst.bytes == src.bytes);
    if (dst.bytes != 0 && dst.data != src.data && lane->op->is_huge && step->is_final) {
        hki_copy_stream(dst.data, src.data, dst.bytes);
    } else if (dst.bytes != 0 && dst.data != src.data) {
        memmove(dst.data, src.data, dst.bytes);
    }
    return HK_OK;
}

/**
 * Some operands lie in memory that only their senders see (source->data is NULL). Piece by piece:
 * what is remote comes into the bounce buffer, then one pass over the piece, while it is in the
 * cache.
 */
static hk_status_t reduce_pieces(hki_endpoint_t *ep, hki_lane_t *lane, const hki_step_t *step,
                                 const view_t *dst, size_t nremote)
{
    const hki_op_t *op = lane->op;
    const hk_operand_t *operands = &lane->schedule->operands[step->operand_first];
    const bool is_partial = step->dst.region == HK_REGION_ACC;
    const size_t unit_max = op->acc_bytes > op->elem_bytes ? op->acc_bytes : op->elem_bytes;
    // a slot has a line more than it holds, so that a piece can begin where its source does
    const size_t slot_bytes =
        HKI_BOUNCE_BYTES / nremote / HKI_BOUNCE_ALIGNMENT * HKI_BOUNCE_ALIGNMENT;
    const size_t most = (slot_bytes - HKI_BOUNCE_ALIGNMENT) / unit_max;

    for (size_t first = 0; first < dst->length; first += most) {
        const size_t left = dst->length - first;
        const size_t length = left < most ? left : most;
        char *slot = lane->bounce;

        for (uint32_t i = 0; i < step->operand_count; i++) {
            const hki_source_t *source = &lane->sources[i];
            const size_t unit = source->is_partial ? op->acc_bytes : op->elem_bytes;
            hki_source_t *piece = &lane->pieces[i];

            piece->is_partial = source->is_partial;
            if (source->data != NULL) {
                piece->data = (const char *)source->data + first * unit;
                continue;
            }
            char *at = slot + (lane->shifts[i] + first * unit) % HKI_BOUNCE_ALIGNMENT;
            const hk_status_t status =
                ep->ops->fetch(ep, lane->stream, operands[i].peer, first * unit, at, length * unit);
            if (status != HK_OK) {
                return status;
            }
            piece->data = at;
            slot += slot_bytes;
        }
        hki_reduce(&op->reduction,
                   dst->data + first * (is_partial ? op->acc_bytes : op->elem_bytes), is_partial,
                   lane->pieces, (int)step->operand_count, length);
    }
    return HK_OK;
}

/** All operands must be here; then one pass over them where they lie. */
static hk_status_t step_reduce(hki_endpoint_t *ep, hki_lane_t *lane, const hki_step_t *step)
{
    const hki_op_t *op = lane->op;
    const hk_operand_t *operands = &lane->schedule->operands[step->operand_first];
    const view_t dst = view_of(lane, &step->dst);

    while (lane->operands_here < step->operand_count) {
        const hk_operand_t *operand = &operands[lane->operands_here];
        hki_source_t *source = &lane->sources[lane->operands_here];

        if (operand->peer < 0) {
            source->data = view_of(lane, &operand->span).data;
            source->is_partial = operand->span.region == HK_REGION_ACC;
        } else {
            hki_message_t message;
            const size_t unit = operand->is_partial ? op->acc_bytes : op->elem_bytes;
            const hk_status_t status =
                hki_run_expect(ep, lane, operand->peer, dst.length * unit, &message);

            if (status != HK_OK) {
                return status;
            }
            source->data = message.payload;
            source->is_partial = operand->is_partial != 0;
            lane->shifts[lane->operands_here] = message.shift;
            lane->operands_remote += message.is_remote ? 1 : 0;
        }
        lane->operands_here++;
    }
    if (lane->operands_remote != 0) {
        const hk_status_t status = reduce_pieces(ep, lane, step, &dst, lane->operands_remote);

        if (status != HK_OK) {
            return status;
        }
        lane->operands_remote = 0;
    } else if (dst.length != 0) {
        hki_reduce(&op->reduction, dst.data, step->dst.region == HK_REGION_ACC, lane->sources,
                   (int)step->operand_count, dst.length);
    }
    for (uint32_t i = 0; i < step->operand_count; i++) {
        if (operands[i].peer >= 0) {
            ep->ops->release(ep, lane->stream, operands[i].peer);
        }
    }
    lane->operands_here = 0;
    return HK_OK;
}

static hk_status_t step_do(hki_endpoint_t *ep, hki_lane_t *lane, const hki_step_t *step)
{
    if (step->sends_before != 0 && !are_sends_read(ep, lane, step->sends_before)) {
        return HK_IN_PROGRESS;
    }
    switch (step->kind) {
    case HKI_STEP_SEND:
        return step_send(ep, lane, step);
    case HKI_STEP_RECV:
        return step_recv(ep, lane, step);
    case HKI_STEP_COPY:
        return step_copy(lane, step);
    case HKI_STEP_REDUCE:
    default:
        return step_reduce(ep, lane, step);
    }
}

hk_status_t hki_run_steps(hki_endpoint_t *ep, hki_lane_t *lane, bool *moved)
{
    const hk_schedule_t *schedule = lane->schedule;

    if (!lane->is_begun) {
        const hk_status_t status = ep->ops->begin_run(ep, lane->stream);

        if (status != HK_OK) {
            return status;
        }
        lane->is_begun = true;
        *moved = true;
    }
    while (lane->pc < schedule->step_count) {
        const hki_step_t *step = &schedule->steps[lane->pc];
        const hk_status_t status = step_do(ep, lane, step);

        if (status != HK_OK) {
            return status;
        }
        if (step->kind != HKI_STEP_SEND) {
            lane->sent = NULL; // what it wrote may have been that
        }
        lane->pc++;
        *moved = true;
    }
    return are_sends_read(ep, lane, UINT32_MAX) ? HK_OK : HK_IN_PROGRESS;
}

int hki_run_waits_for(const hki_endpoint_t *ep, const hki_lane_t *lane)
{
    const bool is_fenced = lane->pending_first < lane->pending_count;

    if (!lane->is_begun) {
        return ep->ops->run_waits_for(ep, lane->stream);
    }
    if (lane->pc >= lane->schedule->step_count) {
        return is_fenced ? lane->pending[lane->pending_first].peer : -1;
    }
    const hki_step_t *step = &lane->schedule->steps[lane->pc];
    if (is_fenced && lane->pending[lane->pending_first].step < step->sends_before) {
        return lane->pending[lane->pending_first].peer;
    }
    if (step->kind == HKI_STEP_REDUCE) {
        return lane->schedule->operands[step->operand_first + lane->operands_here].peer;
    }
    if (step->kind == HKI_STEP_SEND && lane->stream != lane->home) {
        return ep->ops->cast_waits_for(ep, lane->home);
    }
    return step->peer;
}

int hki_run_awaits(const hki_lane_t *lane)
{
    if (!lane->is_begun || lane->pc >= lane->schedule->step_count) {
        return -1;
    }
    const hki_step_t *step = &lane->schedule->steps[lane->pc];
    const bool is_fenced = lane->pending_first < lane->pending_count &&
                           lane->pending[lane->pending_first].step < step->sends_before;
    if (is_fenced || (step->kind != HKI_STEP_RECV && step->kind != HKI_STEP_REDUCE)) {
        return -1;
    }
    return step->kind == HKI_STEP_RECV
               ? step->peer
               : lane->schedule->operands[step->operand_first + lane->operands_here].peer;
}
