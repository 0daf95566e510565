/*
 * Slots: shared memory of the sender that carries payloads which are neither inside a frame nor
 * where all ranks see them. Method: the slots of a kind are taken in turn, so that the next one has
 * usually been read long ago, and the sender need not look at what the receiver tells about the
 * last: that would cost a cache line to and fro for each message.
 *
 * A long payload lies in its slot as its source lies, modulo a cache line: buffers on both sides
 * usually are alike in that, and copies between addresses that are not take up to ten times as long
 * where the destination is a few bytes ahead modulo 4096.
 */
#include <string.h>

#include "comm/p2p_match.h"

enum { SHIFTED_BYTES = 2048 /**< shorter ones would only touch one more line */ };

hk_status_t hki_p2p_slots_open(hki_p2p_t *p2p)
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

        p2p->slots[i].data = p2p->slot_memory + small * (HKI_TILE_BYTES + HKI_SLOT_SHIFTS) +
                             large * (HKI_FRAGMENT_BYTES + HKI_SLOT_SHIFTS);
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

void hki_p2p_slots_close(hki_p2p_t *p2p)
{
    bool is_read = true;

    if (p2p->slot_memory == NULL) {
        return;
    }
    for (int i = 0; i < HKI_SLOTS; i++) {
        is_read &= slot_is_free(p2p, &p2p->slots[i]);
    }
    if (is_read) {
        p2p->ep->ops->mem_free(p2p->ep, p2p->slot_memory);
    } else { // the receivers will read it before they close, or never
        p2p->ep->ops->mem_lend(p2p->ep, p2p->slot_memory);
    }
    p2p->slot_memory = NULL;
}

/** A peer that does not look may hold half of the slots of a kind at most. */
static bool may_have_slot(hki_p2p_t *p2p, int peer)
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

/** One of `count` slots that is free, from *next on; or NULL. */
static hki_p2p_slot_t *find_slot(hki_p2p_t *p2p, hki_p2p_slot_t *slots, int count, int *next)
{
    int at = *next;

    for (int i = 0; i < count; i++) {
        hki_p2p_slot_t *slot = &slots[at];

        at = at + 1 < count ? at + 1 : 0;
        if (slot_is_free(p2p, slot)) {
            *next = at;
            return slot;
        }
    }
    return NULL;
}

hk_status_t hki_p2p_slot_send(hki_p2p_t *p2p, const hki_p2p_op_t *op, int lane,
                              const hki_envelope_t *envelope, size_t bytes)
{
    const bool is_small = lane == p2p->control_lane;
    hki_p2p_slot_t *slot = NULL;

    if (!is_small) {
        slot = find_slot(p2p, &p2p->slots[HKI_SMALL_SLOTS], HKI_LARGE_SLOTS, &p2p->next_large);
    } else if (may_have_slot(p2p, op->peer)) {
        slot = find_slot(p2p, p2p->slots, HKI_SMALL_SLOTS, &p2p->next_small);
    }
    if (slot == NULL) {
        return HK_IN_PROGRESS;
    }
    const char *from = op->data + op->moved;
    char *to = slot->data + (bytes < SHIFTED_BYTES ? 0 : (uintptr_t)from % HKI_SLOT_SHIFTS);

    memcpy(to, from, bytes);
    const hk_status_t status =
        p2p->ep->ops->send(p2p->ep, lane, op->peer, envelope, to, bytes, 0, &slot->ticket);
    if (status == HK_OK) {
        slot->peer = op->peer;
        slot->lane = lane;
        p2p->peers[op->peer].slots++;
    }
    return status;
}
