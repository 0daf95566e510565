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

/** envelope.kind = frame + FRAMES * dtype. */
enum { FRAME_EAGER = 0, FRAME_RTS = 1, FRAME_CTS = 2, FRAME_DATA = 3, FRAMES = 4 };

/** Payload of an RTS. */
typedef struct rts {
    uint64_t count;
    uint32_t id;
    uint32_t unused;
} rts_t;

_Static_assert(sizeof(rts_t) <= HKI_INLINE_BYTES_MAX, "an RTS travels inline");
_Static_assert(FRAMES *HK_DTYPE_COUNT < 256, "frame and type share one byte");

/* Slots */

static hk_status_t slots_open(hki_p2p_t *p2p)
{
    void *memory = NULL;
    const hk_status_t status = p2p->ep->ops->mem_alloc(p2p->ep, HKI_SLOTS_BYTES, &memory);

    if (status != HK_OK) {
        return status;
    }
    p2p->slot_memory = memory;
    for (int i = 0; i < HKI_SLOTS; i++) {
        const size_t small = (size_t)(i < HKI_SMALL_SLOTS ? i : HKI_SMALL_SLOTS);
        const size_t large = (size_t)(i < HKI_SMALL_SLOTS ? 0 : i - HKI_SMALL_SLOTS);

        p2p->slots[i].data =
            p2p->slot_memory + small * HKI_EAGER_BYTES + large * HKI_FRAGMENT_BYTES;
    }
    return HK_OK;
}

static bool slot_is_free(hki_p2p_t *p2p, hki_p2p_slot_t *slot)
{
    if (slot->peer >= 0 &&
        p2p->ep->ops->is_consumed(p2p->ep, slot->lane, slot->peer, slot->ticket)) {
        p2p->peers[slot->peer].slots--;
        slot->peer = -1;
    }
    return slot->peer < 0;
}

/** Copy `bytes` into a free slot and send it. HK_IN_PROGRESS: no slot or no room. */
static hk_status_t slot_send(hki_p2p_t *p2p, const hki_p2p_op_t *op, int lane,
                             const hki_envelope_t *envelope, size_t bytes)
{
    const bool is_large = lane == p2p->data_lane;
    const int first = is_large ? HKI_SMALL_SLOTS : 0;
    const int end = is_large ? HKI_SLOTS : HKI_SMALL_SLOTS;

    for (int i = first; i < end; i++) {
        hki_p2p_slot_t *slot = &p2p->slots[i];

        if (!slot_is_free(p2p, slot)) {
            continue;
        }
        memcpy(slot->data, op->data + op->moved, bytes);
        const hk_status_t status = p2p->ep->ops->send(p2p->ep, lane, op->peer, envelope, slot->data,
                                                      bytes, 0, &slot->ticket);
        if (status == HK_OK) {
            slot->peer = op->peer;
            slot->lane = lane;
            p2p->peers[op->peer].slots++;
        }
        return status;
    }
    return HK_IN_PROGRESS;
}

/** A peer that does not look may hold half of the slots of a kind at most. */
static bool has_slots(hki_p2p_t *p2p, int peer)
{
    const int limit = HKI_SMALL_SLOTS / 2;

    if (p2p->ep->nranks == 2 || p2p->peers[peer].slots < limit) {
        return true;
    }
    for (int i = 0; i < HKI_SLOTS; i++) { // only looking tells which ones the peer has read
        if (p2p->slots[i].peer == peer) {
            (void)slot_is_free(p2p, &p2p->slots[i]);
        }
    }
    return p2p->peers[peer].slots < limit;
}

/* Outgoing frames: each tries the first operation of its queue. HK_OK: something was done. */

static hk_status_t send_first(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    hki_envelope_t envelope = {
        .op_number = op->tag, .check = 0, .kind = FRAME_EAGER + FRAMES * (uint32_t)op->dtype};
    hk_status_t status;
    uint64_t ticket;

    if (op->bytes <= ep->inline_bytes || op->bytes <= HKI_EAGER_BYTES) {
        if (op->bytes <= ep->inline_bytes) {
            status = ep->ops->send(ep, p2p->control_lane, op->peer, &envelope, op->data, op->bytes,
                                   HKI_SEND_COPIED, &ticket);
        } else if (has_slots(p2p, op->peer)) {
            status = slot_send(p2p, op, p2p->control_lane, &envelope, op->bytes);
        } else {
            status = HK_IN_PROGRESS;
        }
        if (status == HK_OK) {
            op->moved = op->bytes;
            (void)hki_p2p_pop(&p2p->peers[op->peer].to_start);
            hki_p2p_end(p2p, op, HK_OK);
        }
        return status;
    }
    const rts_t rts = {.count = op->count, .id = p2p->free_ids[p2p->id_free - 1], .unused = 0};
    envelope.kind = FRAME_RTS + FRAMES * (uint32_t)op->dtype;
    status = ep->ops->send(ep, p2p->control_lane, op->peer, &envelope, &rts, sizeof(rts),
                           HKI_SEND_COPIED, &ticket);
    if (status == HK_OK) {
        (void)hki_p2p_pop(&p2p->peers[op->peer].to_start);
        p2p->id_free--;
        p2p->ids[rts.id] = op;
        op->id = rts.id;
    }
    return status;
}

static hk_status_t send_clear(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    const hki_envelope_t envelope = {.op_number = op->id, .check = 0, .kind = FRAME_CTS};
    uint64_t ticket;
    const hk_status_t status = p2p->ep->ops->send(p2p->ep, p2p->control_lane, op->peer, &envelope,
                                                  NULL, 0, HKI_SEND_COPIED, &ticket);

    if (status == HK_OK) {
        hki_p2p_peer_t *peer = &p2p->peers[op->peer];

        hki_p2p_push(&peer->to_fill, hki_p2p_pop(&peer->to_clear));
    }
    return status;
}

static hk_status_t send_data(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    hki_p2p_peer_t *peer = &p2p->peers[op->peer];
    const hki_envelope_t envelope = {.op_number = op->tag, .check = 0, .kind = FRAME_DATA};
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
    status = slot_send(p2p, op, p2p->data_lane, &envelope, bytes);
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

/** CTS: the data of the send it names may go. */
static void cleared(hki_p2p_t *p2p, uint32_t id)
{
    HKI_ASSERT(id < p2p->id_capacity && p2p->ids[id] != NULL);
    hki_p2p_op_t *op = p2p->ids[id];
    p2p->ids[id] = NULL;
    p2p->free_ids[p2p->id_free] = id;
    p2p->id_free++;
    hki_p2p_push(&p2p->peers[op->peer].to_feed, op);
}

static hk_status_t take_control(hki_p2p_t *p2p, int peer)
{
    hki_endpoint_t *ep = p2p->ep;
    hki_message_t message;
    hk_status_t status = ep->ops->peek(ep, p2p->control_lane, peer, &message);

    if (status != HK_OK) {
        return status;
    }
    const uint32_t frame = message.envelope.kind % FRAMES;
    if (frame == FRAME_CTS) {
        cleared(p2p, message.envelope.op_number);
    } else {
        hki_first_t first = {.peer = peer,
                             .tag = message.envelope.op_number,
                             .dtype = (hk_dtype_t)(message.envelope.kind / FRAMES),
                             .is_rts = frame == FRAME_RTS,
                             .id = 0,
                             .count = 0,
                             .bytes = message.bytes,
                             .data = message.payload};
        const size_t elem_bytes = hk_dtype_bytes(first.dtype);

        if (first.is_rts) {
            rts_t rts;

            memcpy(&rts, message.payload, sizeof(rts));
            first.id = rts.id;
            first.count = (size_t)rts.count;
            first.bytes = first.count * elem_bytes;
            first.data = NULL;
        } else {
            first.count = first.bytes / elem_bytes;
        }
        status = hki_p2p_arrive(p2p, &first);
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
    } else if (op->bytes >= HKI_HUGE_BYTES) {
        hki_copy_stream(op->data + op->moved, message.payload, message.bytes);
    } else {
        memcpy(op->data + op->moved, message.payload, message.bytes);
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

    moved |= serve(p2p, &peer->to_clear, send_clear);
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
        HKI_TRY(status = slots_open(p2p), fail);
    }
    // Every pending operation might be a send that needs an id.
    if (op->bytes > HKI_EAGER_BYTES && p2p->pending + 1 > p2p->id_capacity) {
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

int hki_p2p_awaits(const hki_p2p_t *p2p, int *lane_out)
{
    const hki_p2p_op_t *op = p2p->oldest;

    if (p2p->pending != 1 || op->peer == p2p->ep->rank || (op->is_send && op->moved != 0)) {
        return -1;
    }
    *lane_out = p2p->peers[op->peer].to_fill.first == op ? p2p->data_lane : p2p->control_lane;
    return op->peer;
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
    bool is_read = true;

    if (p == NULL) {
        return;
    }
    for (int i = 0; i < HKI_SLOTS && p->slot_memory != NULL; i++) {
        is_read &= slot_is_free(p, &p->slots[i]);
    }
    if (p->slot_memory != NULL && is_read) {
        p->ep->ops->mem_free(p->ep, p->slot_memory);
    } else if (p->slot_memory != NULL) { // the receivers will read it before they close, or never
        p->ep->ops->mem_lend(p->ep, p->slot_memory);
    }
    hki_p2p_forget(p);
    hki_free(p->peers);
    hki_free(p->ids);
    hki_free(p->free_ids);
    hki_free(p);
    *p2p = NULL;
}
