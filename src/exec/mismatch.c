/*
 * Texts for ranks that call different things. Method: every rank announces number, hash and
 * readable signature of what it starts; both sides' announcements are looked up by number. A
 * message may belong to another operation than the one that is run here (the peer's operation of
 * this number sends nothing here): then the announcements of the number run here still tell the
 * difference.
 */
#include "exec/mismatch.h"

#include <stdio.h>

/** How many ranks announced the same as `check` as operation `op_number`. */
static int supporters(hki_endpoint_t *ep, uint32_t op_number, uint32_t check)
{
    int n = 0;

    for (int r = 0; r < ep->nranks; r++) {
        hki_announcement_t other;

        if (ep->ops->announced(ep, r, op_number, &other) == HK_OK && other.check == check) {
            n++;
        }
    }
    return n;
}

hk_status_t hki_mismatch_fail(hki_endpoint_t *ep, const hki_op_t *op, int peer)
{
    char text[HKI_FAILURE_TEXT_BYTES];
    hki_announcement_t other;
    const hki_announcement_t *own = &op->announcement;
    int blamed = peer;

    if (ep->ops->announced(ep, peer, op->op_number, &other) == HK_OK && other.check != own->check) {
        (void)snprintf(text, sizeof(text),
                       "rank %d called %s as operation %u, rank %d called %s; all ranks of a "
                       "communicator must call the same in the same order",
                       peer, other.signature, (unsigned)op->op_number, ep->rank, own->signature);
        if (supporters(ep, op->op_number, own->check) <
            supporters(ep, op->op_number, other.check)) {
            blamed = ep->rank;
        }
    } else {
        (void)snprintf(
            text, sizeof(text),
            "rank %d sent a message that is no part of operation %u, %s, on rank %d; all "
            "ranks of a communicator must call the same in the same order",
            peer, (unsigned)op->op_number, own->signature, ep->rank);
    }
    ep->ops->fail(ep, HK_ERR_MISMATCH, blamed, text);
    return HK_ERR_MISMATCH;
}
