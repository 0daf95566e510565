/*
 * The short way of sends and receives: what a call can do at once, it does without a request, a
 * queue or a deadline. A short message into a stream that has room; a receive whose frame is the
 * next to come while nothing else is under way. That is half of the instructions of the long way.
 * Also how long such a frame is waited for.
 *
 * Where ranks share cores, a rank that waits gives way to the others: its message is then seen only
 * when it has its next turn, after 2 us and more. But if the peer runs on another core and does the
 * same, both find each other's messages at once as long as neither gives way. So each looks for
 * about as long as a turn of another rank takes, and as long as the copying of what is under way;
 * and where that was in vain many times, as it must be if both share one core, only once in a
 * while.
 */
#include "base/copy.h"
#include "comm/p2p_match.h"

enum {
    SHARED_ROUNDS = 128, /**< somewhat more than the turn of another rank */
    ROUND_BYTES = 256,   /**< copied in the time of a round, at least */
    ROUNDS_MAX = 256,    /**< more: a fragment of a large message takes no longer */
    VAIN_MANY = 32,
    VAIN_PERIOD = 64, /**< of the attempts after so many in vain */
};

bool hki_p2p_linger_for(hki_p2p_t *p2p, int rank, int lane, size_t bytes)
{
    hki_p2p_peer_t *peer = &p2p->peers[rank];
    const size_t copying = bytes / ROUND_BYTES;
    uint32_t rounds = SHARED_ROUNDS + (uint32_t)(copying < ROUNDS_MAX ? copying : ROUNDS_MAX);

    if (peer->vain >= VAIN_MANY && peer->vain % VAIN_PERIOD != 0) {
        rounds = 0;
    }
    const bool is_here = p2p->ep->ops->linger(p2p->ep, lane, rank, rounds);
    peer->vain = is_here ? 0 : peer->vain + 1;
    return is_here;
}

/** The frame this receive is for is the next, and all of it? Then take it. */
static hk_status_t take_now(hki_p2p_t *p2p, const hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    hki_message_t message;
    const hk_status_t status = ep->ops->peek(ep, p2p->control_lane, op->peer, &message);

    if (status != HK_OK) {
        return status;
    }
    if (message.envelope.kind != HKI_FRAME_EAGER + HKI_FRAMES * (uint32_t)op->dtype ||
        message.envelope.op_number != op->tag || message.bytes != op->bytes) {
        return HK_IN_PROGRESS;
    }
    if (message.bytes <= HKI_INLINE_BYTES_MAX) {
        hki_copy_few(op->data, message.payload, message.bytes);
    } else {
        hki_copy(op->data, message.payload, message.bytes);
    }
    ep->ops->release(ep, p2p->control_lane, op->peer);
    return HK_OK;
}

static hk_status_t recv_now(hki_p2p_t *p2p, const hki_p2p_op_t *op)
{
    if (p2p->pending != 0 || hki_p2p_is_preceded(p2p, op->peer, op->tag)) {
        return HK_IN_PROGRESS;
    }
    const hk_status_t status = take_now(p2p, op);
    if (status != HK_IN_PROGRESS || !hki_p2p_linger_for(p2p, op->peer, p2p->control_lane, 0)) {
        return status;
    }
    return take_now(p2p, op);
}

static hk_status_t send_now(hki_p2p_t *p2p, const hki_p2p_op_t *op)
{
    hki_endpoint_t *ep = p2p->ep;
    const hki_envelope_t envelope = {.op_number = op->tag,
                                     .check = 0,
                                     .kind = HKI_FRAME_EAGER + HKI_FRAMES * (uint32_t)op->dtype};
    uint64_t ticket;

    if (p2p->peers[op->peer].to_start.first != NULL) {
        return HK_IN_PROGRESS;
    }
    if (op->bytes <= ep->inline_bytes) {
        return ep->ops->send(ep, p2p->control_lane, op->peer, &envelope, op->data, op->bytes,
                             HKI_SEND_COPIED, &ticket);
    }
    return p2p->slot_memory == NULL
               ? HK_IN_PROGRESS
               : hki_p2p_slot_send(p2p, op, p2p->control_lane, &envelope, op->bytes);
}

hk_status_t hki_p2p_now(hki_p2p_t *p2p, const hki_p2p_op_t *op)
{
    if (p2p->status != HK_OK || op->peer == p2p->ep->rank || op->bytes > HKI_TILE_BYTES) {
        return HK_IN_PROGRESS;
    }
    return op->is_send ? send_now(p2p, op) : recv_now(p2p, op);
}
