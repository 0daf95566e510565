/*
 * Frames of sends and receives. Method: every operation stands in one queue of its peer and moves
 * to the next as frames come and go; each queue is served in order, and a frame that finds no room
 * leaves its operation where it is.
 *
 *     send:    to_start -> (done, or by id until CTS) -> to_feed -> (done, or to_land) -> done
 *     receive: posted -> (done, or to_clear) -> to_fill -> done
 */
#include "comm/p2p.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/copy.h"
#include "base/error.h"
#include "comm/p2p_match.h"

/** Payload of an RTS. */
typedef struct rts {
    uint64_t count;
    uint64_t where; /**< if is_open */
    uint32_t id;
    uint32_t is_open; /**< all ranks see the data */
} rts_t;

_Static_assert(sizeof(rts_t) <= HKI_INLINE_BYTES_MAX, "an RTS travels inline");
_Static_assert((int)HKI_TILE_BYTES >= (int)HKI_INLINE_BYTES_MAX, "what fits in a line is no tile");

/* Outgoing frames: each tries the first operation of its queue. HK_OK: something was done. */

static uint32_t kind_of(uint32_t frame, hk_dtype_t dtype)
{
    return frame + HKI_FRAMES * (uint32_t)dtype;
}

/** A message that is sent without asking: the next tile, or all of it. */
static hk_status_t send_tile(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    const size_t left = op->bytes - op->moved;
    const size_t bytes = left < HKI_TILE_BYTES ? left : HKI_TILE_BYTES;
    const bool is_part = op->moved == 0 && bytes < left;
    const uint32_t frame = op->moved != 0 ? HKI_FRAME_MORE
                           : is_part      ? HKI_FRAME_PART
                                          : HKI_FRAME_EAGER;
    const hki_envelope_t envelope = {.op_number = op->tag,
                                     .check = is_part ? (uint32_t)op->count : 0,
                                     .kind = kind_of(frame, op->dtype)};
    hk_status_t status;
    uint64_t ticket;

    if (op->bytes <= ep->inline_bytes) {
        status = ep->ops->send(ep, p2p->control_lane, op->peer, &envelope, op->data, bytes,
                               HKI_SEND_COPIED, &ticket);
    } else {
        status = hki_p2p_slot_send(p2p, op, p2p->control_lane, &envelope, bytes);
    }
    if (status == HK_OK) {
        op->moved += bytes;
        if (op->moved == op->bytes) {
            (void)hki_p2p_pop(&p2p->peers[op->peer].to_start);
            hki_p2p_end(p2p, op, HK_OK);
        }
    }
    return status;
}

static hk_status_t send_first(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    const hki_envelope_t envelope = {
        .op_number = op->tag, .check = 0, .kind = kind_of(HKI_FRAME_RTS, op->dtype)};
    uint64_t ticket;

    if (!op->is_open && op->bytes <= HKI_EAGER_BYTES) {
        return send_tile(p2p, op);
    }
    const rts_t rts = {.count = op->count,
                       .where = op->where,
                       .id = p2p->free_ids[p2p->id_free - 1],
                       .is_open = op->is_open};
    const hk_status_t status = ep->ops->send(ep, p2p->control_lane, op->peer, &envelope, &rts,
                                             sizeof(rts), HKI_SEND_COPIED, &ticket);
    if (status == HK_OK) {
        (void)hki_p2p_pop(&p2p->peers[op->peer].to_start);
        p2p->id_free--;
        p2p->ids[rts.id] = op;
        op->id = rts.id;
    }
    return status;
}

static void copy_in(hki_p2p_op_t *op, const void *from, size_t bytes)
{
    if (op->bytes >= HKI_HUGE_BYTES) {
        hki_copy_stream(op->data + op->moved, from, bytes);
    } else {
        hki_copy(op->data + op->moved, from, bytes);
    }
}

/** Read a message where it lies. @return HK_IN_PROGRESS: its owner has left it, and may have
 *  changed it; or the group's failure: the same */
static hk_status_t read_open(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    const void *from = ep->ops->view(ep, op->peer, op->where);

    if (from != NULL) {
        copy_in(op, from, op->bytes);
    }
    if (ep->ops->is_failed(ep)) {
        hki_message_t message;

        return ep->ops->peek(ep, p2p->control_lane, op->peer, &message);
    }
    if (from == NULL || ep->ops->view(ep, op->peer, op->where) == NULL) {
        return HK_IN_PROGRESS;
    }
    op->moved = op->bytes;
    return HK_OK;
}

/** Answer an RTS: CTS, or read it and say so. */
static hk_status_t send_answer(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_p2p_peer_t *peer = &p2p->peers[op->peer];
    const hki_envelope_t envelope = {
        .op_number = op->id, .check = 0, .kind = op->is_open ? HKI_FRAME_READ : HKI_FRAME_CTS};
    hk_status_t status;
    uint64_t ticket;

    if (op->is_open && op->moved == 0) {
        status = read_open(p2p, op);
        if (status == HK_IN_PROGRESS) {
            hki_p2p_push(&peer->to_fill,
                         hki_p2p_pop(&peer->to_clear)); // nothing will come
            return HK_OK;
        }
        if (status != HK_OK) {
            return status;
        }
    }
    status = p2p->ep->ops->send(p2p->ep, p2p->control_lane, op->peer, &envelope, NULL, 0,
                                HKI_SEND_COPIED, &ticket);
    if (status == HK_OK) {
        (void)hki_p2p_pop(&peer->to_clear);
        if (op->is_open) {
            hki_p2p_end(p2p, op, HK_OK);
        } else {
            hki_p2p_push(&peer->to_fill, op);
        }
    }
    return status;
}

static hk_status_t send_data(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    hki_p2p_peer_t *peer = &p2p->peers[op->peer];
    const hki_envelope_t envelope = {.op_number = op->tag, .check = 0, .kind = HKI_FRAME_DATA};
    hk_status_t status;

    if (op->bytes >= ep->unstaged_bytes || ep->ops->is_direct(ep, op->data, op->bytes)) {
        status = ep->ops->send(ep, p2p->data_lane, op->peer, &envelope, op->data, op->bytes, 0,
                               &op->ticket);
        if (status == HK_OK) {
            op->moved = op->bytes;
            hki_p2p_push(&peer->to_land, hki_p2p_pop(&peer->to_feed));
        }
        return status;
    }
    const size_t left = op->bytes - op->moved;
    const size_t bytes = left < HKI_FRAGMENT_BYTES ? left : HKI_FRAGMENT_BYTES;
    status = hki_p2p_slot_send(p2p, op, p2p->data_lane, &envelope, bytes);
    if (status == HK_OK) {
        op->moved += bytes;
        if (op->moved == op->bytes) {
            (void)hki_p2p_pop(&peer->to_feed);
            hki_p2p_end(p2p, op, HK_OK);
        }
    }
    return status;
}

static hk_status_t land_data(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    if (!p2p->ep->ops->is_consumed(p2p->ep, p2p->data_lane, op->peer, op->ticket)) {
        return HK_IN_PROGRESS;
    }
    (void)hki_p2p_pop(&p2p->peers[op->peer].to_land);
    hki_p2p_end(p2p, op, HK_OK);
    return HK_OK;
}

/* Incoming frames */

/** CTS or READ: the data of the send it names may go, or has been read. */
static void answered(hki_p2p_t *p2p, uint32_t id, uint32_t frame)
{
    HKI_ASSERT(id < p2p->id_capacity && p2p->ids[id] != NULL);
    hki_p2p_op_t *op = p2p->ids[id];
    p2p->ids[id] = NULL;
    p2p->free_ids[p2p->id_free] = id;
    p2p->id_free++;
    if (frame == HKI_FRAME_READ) {
        op->moved = op->bytes;
        hki_p2p_end(p2p, op, HK_OK);
    } else {
        hki_p2p_push(&p2p->peers[op->peer].to_feed, op);
    }
}

static hk_status_t take_first(hki_p2p_t *p2p, int peer, const hki_message_t *message)
{
    const uint32_t frame = message->envelope.kind % HKI_FRAMES;
    hki_first_t first = {.peer = peer,
                         .tag = message->envelope.op_number,
                         .dtype = (hk_dtype_t)(message->envelope.kind / HKI_FRAMES),
                         .is_rts = frame == HKI_FRAME_RTS};
    const size_t elem_bytes = hk_dtype_bytes(first.dtype);

    if (first.is_rts) {
        rts_t rts;

        memcpy(&rts, message->payload, sizeof(rts));
        first.id = rts.id;
        first.is_open = rts.is_open != 0;
        first.where = rts.where;
        first.count = (size_t)rts.count;
        first.bytes = first.count * elem_bytes;
    } else {
        const bool is_part = frame == HKI_FRAME_PART;

        first.data = message->payload;
        first.here = message->bytes;
        first.count = is_part ? message->envelope.check : message->bytes / elem_bytes;
        first.bytes = is_part ? first.count * elem_bytes : message->bytes;
    }
    return hki_p2p_arrive(p2p, &first);
}

static hk_status_t take_control(hki_p2p_t *p2p, int peer)
{
    hki_endpoint_t *ep = p2p->ep;
    hki_message_t message;
    hk_status_t status = ep->ops->peek(ep, p2p->control_lane, peer, &message);

    if (status != HK_OK) {
        return status;
    }
    const uint32_t frame = message.envelope.kind % HKI_FRAMES;
    if (frame == HKI_FRAME_CTS || frame == HKI_FRAME_READ) {
        answered(p2p, message.envelope.op_number, frame);
    } else if (frame == HKI_FRAME_MORE) {
        hki_p2p_continue(p2p, peer, message.payload, message.bytes);
    } else {
        status = take_first(p2p, peer, &message);
    }
    if (status == HK_OK) {
        ep->ops->release(ep, p2p->control_lane, peer);
    }
    return status;
}

static hk_status_t take_data(hki_p2p_t *p2p, int peer)
{
    hki_endpoint_t *ep = p2p->ep;
    hki_p2p_op_t *op = p2p->peers[peer].to_fill.first;
    hki_message_t message;
    hk_status_t status = ep->ops->peek(ep, p2p->data_lane, peer, &message);

    if (status != HK_OK) {
        return status;
    }
    HKI_ASSERT(message.bytes <= op->bytes - op->moved);
    if (message.is_remote) {
        status = ep->ops->fetch(ep, p2p->data_lane, peer, 0, op->data + op->moved, message.bytes);
        if (status != HK_OK) {
            return status;
        }
    } else {
        copy_in(op, message.payload, message.bytes);
    }
    if (message.is_direct && ep->ops->is_failed(ep)) { // its owner may have given up, and gone on
        return ep->ops->peek(ep, p2p->data_lane, peer, &message);
    }
    ep->ops->release(ep, p2p->data_lane, peer);
    op->moved += message.bytes;
    if (op->moved == op->bytes) {
        (void)hki_p2p_pop(&p2p->peers[peer].to_fill);
        hki_p2p_end(p2p, op, HK_OK);
    }
    return HK_OK;
}

typedef hk_status_t (*serve_fn)(hki_p2p_t *p2p, hki_p2p_op_t *op);

/** Serve the queue's first operation until one cannot go on. @return true if anything moved */
static bool serve(hki_p2p_t *p2p, hki_p2p_queue_t *queue, serve_fn fn)
{
    bool moved = false;

    while (queue->first != NULL && p2p->status == HK_OK) {
        const hk_status_t status = fn(p2p, queue->first);

        if (status != HK_OK) {
            if (status != HK_IN_PROGRESS) {
                hki_p2p_cancel(p2p, status);
            }
            break;
        }
        moved = true;
    }
    return moved;
}

static bool take_all(hki_p2p_t *p2p, int peer)
{
    bool moved = false;
    hk_status_t status = HK_OK;

    while (p2p->status == HK_OK && (status = take_control(p2p, peer)) == HK_OK) {
        moved = true;
    }
    while (p2p->status == HK_OK && p2p->peers[peer].to_fill.first != NULL &&
           (status == HK_OK || status == HK_IN_PROGRESS) &&
           (status = take_data(p2p, peer)) == HK_OK) {
        moved = true;
    }
    if (status != HK_OK && status != HK_IN_PROGRESS) {
        hki_p2p_cancel(p2p, status);
    }
    return moved;
}

static bool progress_peer(hki_p2p_t *p2p, int rank)
{
    hki_p2p_peer_t *peer = &p2p->peers[rank];
    bool moved = take_all(p2p, rank);

    moved |= serve(p2p, &peer->to_clear, send_answer);
    moved |= serve(p2p, &peer->to_start, send_first);
    moved |= serve(p2p, &peer->to_feed, send_data);
    moved |= serve(p2p, &peer->to_land, land_data);
    return moved;
}

bool hki_p2p_progress(hki_p2p_t *p2p, bool is_full)
{
    bool moved = false;

    if (!is_full && p2p->pending == 0) {
        return false;
    }
    for (int r = 0; r < p2p->ep->nranks; r++) {
        if (r != p2p->ep->rank && (is_full || p2p->peers[r].pending != 0)) {
            moved |= progress_peer(p2p, r);
        }
    }
    return moved;
}

/* Posting */

static hk_status_t grow_ids(hki_p2p_t *p2p)
{
    const uint32_t capacity = p2p->id_capacity == 0 ? 64 : 2 * p2p->id_capacity;
    hki_p2p_op_t **ids = hki_calloc(capacity, sizeof(*ids));
    uint32_t *free_ids = hki_calloc(capacity, sizeof(*free_ids));

    if (ids == NULL || free_ids == NULL) {
        hki_free(ids);
        hki_free(free_ids);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "%u sends under way", (unsigned)capacity);
    }
    for (uint32_t i = 0; i < p2p->id_capacity; i++) {
        ids[i] = p2p->ids[i];
    }
    for (uint32_t i = p2p->id_capacity; i < capacity; i++) {
        free_ids[i - p2p->id_capacity] = i;
    }
    for (uint32_t i = 0; i < p2p->id_free; i++) {
        free_ids[capacity - p2p->id_capacity + i] = p2p->free_ids[i];
    }
    p2p->id_free += capacity - p2p->id_capacity;
    p2p->id_capacity = capacity;
    hki_free(p2p->ids);
    hki_free(p2p->free_ids);
    p2p->ids = ids;
    p2p->free_ids = free_ids;
    return HK_OK;
}

hk_status_t hki_p2p_reserve(hki_p2p_t *p2p, const hki_p2p_op_t *op)
{
    hk_status_t status = HK_OK;

    if (!op->is_send || op->peer == p2p->ep->rank || op->bytes <= p2p->ep->inline_bytes) {
        return HK_OK;
    }
    if (p2p->slot_memory == NULL) {
        HKI_TRY(status = hki_p2p_slots_open(p2p), fail);
    }
    // Every pending operation might be a send that needs an id.
    if (op->bytes > HKI_TILE_BYTES && p2p->pending + 1 > p2p->id_capacity) {
        status = grow_ids(p2p);
    }
fail:
    return status;
}

static void post_send(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_p2p_peer_t *peer = &p2p->peers[op->peer];

    if (op->peer == p2p->ep->rank) {
        const hki_first_t first = {.peer = op->peer,
                                   .tag = op->tag,
                                   .dtype = op->dtype,
                                   .count = op->count,
                                   .bytes = op->bytes,
                                   .here = op->bytes,
                                   .data = op->data};
        const hk_status_t status = hki_p2p_arrive(p2p, &first);

        if (status != HK_OK) {
            hki_p2p_cancel(p2p, status);
        } else {
            op->moved = op->bytes;
            hki_p2p_end(p2p, op, HK_OK);
        }
        return;
    }
    op->is_open =
        op->bytes > HKI_TILE_BYTES && p2p->ep->ops->share(p2p->ep, op->data, op->bytes, &op->where);
    hki_p2p_push(&peer->to_start, op);
    (void)serve(p2p, &peer->to_start, send_first);
}

static void post_recv(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    const hk_status_t status = hki_p2p_expect(p2p, op);

    if (status != HK_OK) {
        hki_p2p_cancel(p2p, status);
    } else if (op->peer != p2p->ep->rank && !op->is_done) {
        (void)progress_peer(p2p, op->peer);
    }
}

void hki_p2p_post(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    op->moved = 0;
    op->is_done = false;
    op->is_open = false;
    op->where = 0;
    op->status = HK_IN_PROGRESS;
    op->deadline_ns = UINT64_MAX;
    op->newer = NULL;
    op->link = NULL;
    op->older = p2p->newest;
    if (p2p->status != HK_OK) {
        op->status = p2p->status;
        op->is_done = true;
        return;
    }
    if (p2p->newest == NULL) {
        p2p->oldest = op;
    } else {
        p2p->newest->newer = op;
    }
    p2p->newest = op;
    p2p->pending++;
    p2p->peers[op->peer].pending++;
    if (op->is_send) {
        post_send(p2p, op);
    } else {
        post_recv(p2p, op);
    }
}

void hki_p2p_limit(hki_p2p_t *p2p, hki_p2p_op_t *op, uint64_t deadline_ns)
{
    op->deadline_ns = deadline_ns;
    if (deadline_ns < p2p->next_deadline_ns) {
        p2p->next_deadline_ns = deadline_ns;
    }
}

/* The rest */

size_t hki_p2p_pending(const hki_p2p_t *p2p)
{
    return p2p->pending;
}

int hki_p2p_waits_for(const hki_p2p_t *p2p)
{
    if (p2p->oldest == NULL || p2p->oldest->peer == p2p->ep->rank) {
        return -1;
    }
    return p2p->oldest->peer;
}

bool hki_p2p_linger(hki_p2p_t *p2p)
{
    const hki_p2p_op_t *op = p2p->oldest;

    if (p2p->pending != 1 || op->peer == p2p->ep->rank || (op->is_send && op->moved != 0)) {
        return false;
    }
    const bool is_data = p2p->peers[op->peer].to_fill.first == op;
    const bool is_coming = is_data || op->is_send || op->moved != 0; // or is being read
    return hki_p2p_linger_for(p2p, op->peer, is_data ? p2p->data_lane : p2p->control_lane,
                              is_coming ? op->bytes : 0);
}

const hki_p2p_op_t *hki_p2p_landing(const hki_p2p_t *p2p)
{
    for (int r = 0; r < p2p->ep->nranks; r++) {
        if (p2p->peers[r].to_land.first != NULL) {
            return p2p->peers[r].to_land.first;
        }
    }
    return NULL;
}

const hki_p2p_op_t *hki_p2p_overdue(hki_p2p_t *p2p, uint64_t now_ns)
{
    uint64_t next = UINT64_MAX;

    if (now_ns < p2p->next_deadline_ns) {
        return NULL;
    }
    for (const hki_p2p_op_t *op = p2p->oldest; op != NULL; op = op->newer) {
        if (op->deadline_ns <= now_ns) {
            return op;
        }
        next = op->deadline_ns < next ? op->deadline_ns : next;
    }
    p2p->next_deadline_ns = next;
    return NULL;
}

void hki_p2p_describe(const hki_p2p_op_t *op, char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes, "%s of %zu %s with tag %u %s rank %d (%zu of %zu bytes done)",
                   op->is_send ? "send" : "receive", op->count, hk_dtype_name(op->dtype),
                   (unsigned)(op->tag & ~HKI_TAG_INTERNAL), op->is_send ? "to" : "from", op->peer,
                   op->moved, op->bytes);
}

void hki_p2p_cancel(hki_p2p_t *p2p, hk_status_t status)
{
    if (p2p->status == HK_OK) {
        p2p->status = status;
    }
    while (p2p->oldest != NULL) {
        hki_p2p_end(p2p, p2p->oldest, p2p->status);
    }
    for (int r = 0; r < p2p->ep->nranks; r++) {
        const int slots = p2p->peers[r].slots;

        memset(&p2p->peers[r], 0, sizeof(p2p->peers[r]));
        p2p->peers[r].slots = slots;
    }
    memset(p2p->posted, 0, sizeof(p2p->posted));
}

hk_status_t hki_p2p_create(hki_endpoint_t *ep, int control_lane, int data_lane, hki_p2p_t **p2p_out)
{
    hki_p2p_t *p2p = hki_calloc(1, sizeof(*p2p));

    if (p2p == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "sends and receives, %zu bytes", sizeof(*p2p));
    }
    p2p->ep = ep;
    p2p->control_lane = control_lane;
    p2p->data_lane = data_lane;
    p2p->next_deadline_ns = UINT64_MAX;
    p2p->peers = hki_calloc((size_t)ep->nranks, sizeof(*p2p->peers));
    if (p2p->peers == NULL) {
        hki_p2p_destroy(&p2p);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "sends and receives of %d ranks", ep->nranks);
    }
    for (int i = 0; i < HKI_SLOTS; i++) {
        p2p->slots[i].peer = -1;
    }
    *p2p_out = p2p;
    return HK_OK;
}

void hki_p2p_destroy(hki_p2p_t **p2p)
{
    hki_p2p_t *p = *p2p;

    if (p == NULL) {
        return;
    }
    hki_p2p_slots_close(p);
    hki_p2p_forget(p);
    hki_free(p->peers);
    hki_free(p->ids);
    hki_free(p->free_ids);
    hki_free(p);
    *p2p = NULL;
}
