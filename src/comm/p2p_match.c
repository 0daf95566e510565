/*
 * Who meets whom. Method: receives without a frame and frames without a receive wait in hash
 * buckets by (peer, tag), each bucket in order of arrival; the first equal one is the match.
 */
#include "comm/p2p_match.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/copy.h"
#include "base/error.h"

static uint32_t bucket_of(int peer, uint32_t tag)
{
    uint32_t x = tag * UINT32_C(2654435761) + (uint32_t)peer * UINT32_C(0x9E3779B1);

    x ^= x >> 15;
    return x % HKI_BUCKETS;
}

void hki_p2p_push(hki_p2p_queue_t *queue, hki_p2p_op_t *op)
{
    op->link = NULL;
    if (queue->last == NULL) {
        queue->first = op;
    } else {
        queue->last->link = op;
    }
    queue->last = op;
}

hki_p2p_op_t *hki_p2p_pop(hki_p2p_queue_t *queue)
{
    hki_p2p_op_t *op = queue->first;

    queue->first = op->link;
    if (queue->first == NULL) {
        queue->last = NULL;
    }
    op->link = NULL;
    return op;
}

void hki_p2p_end(hki_p2p_t *p2p, hki_p2p_op_t *op, hk_status_t status)
{
    if (op->older == NULL) {
        p2p->oldest = op->newer;
    } else {
        op->older->newer = op->newer;
    }
    if (op->newer == NULL) {
        p2p->newest = op->older;
    } else {
        op->newer->older = op->older;
    }
    p2p->pending--;
    p2p->peers[op->peer].pending--;
    op->status = status;
    op->is_done = true;
}

/** Do both sides speak of the same elements? If not, the group fails. */
static hk_status_t compare(hki_p2p_t *p2p, const hki_p2p_op_t *recv, const hki_first_t *first)
{
    char text[HKI_FAILURE_TEXT_BYTES];
    char what[48];

    if (recv->count == first->count && recv->dtype == first->dtype) {
        return HK_OK;
    }
    (void)snprintf(what, sizeof(what),
                   (first->tag & HKI_TAG_INTERNAL) == 0 ? "with tag %u" : "in operation %u",
                   (unsigned)(first->tag & ~HKI_TAG_INTERNAL));
    (void)snprintf(text, sizeof(text),
                   "rank %d sends count %zu %s %s to rank %d, which receives count %zu %s",
                   first->peer, first->count, hk_dtype_name(first->dtype), what, p2p->ep->rank,
                   recv->count, hk_dtype_name(recv->dtype));
    p2p->ep->ops->fail(p2p->ep, HK_ERR_MISMATCH, first->peer, text);
    return HK_ERR_MISMATCH;
}

/** A receive and a frame have met. */
static hk_status_t meet(hki_p2p_t *p2p, hki_p2p_op_t *recv, const hki_first_t *first)
{
    const hk_status_t status = compare(p2p, recv, first);

    if (status != HK_OK) {
        return status;
    }
    if (first->is_rts) {
        recv->id = first->id;
        recv->is_open = first->is_open;
        recv->where = first->where;
        hki_p2p_push(&p2p->peers[recv->peer].to_clear, recv);
        return HK_OK;
    }
    if (first->here != 0) {
        hki_copy(recv->data, first->data, first->here);
    }
    recv->moved = first->here;
    if (first->here < recv->bytes) {
        p2p->peers[recv->peer].filling = recv;
    } else {
        hki_p2p_end(p2p, recv, HK_OK);
    }
    return HK_OK;
}

/** Take the first receive that matches out of its bucket, or NULL. */
static hki_p2p_op_t *take_posted(hki_p2p_queue_t *bucket, int peer, uint32_t tag)
{
    hki_p2p_op_t *before = NULL;

    for (hki_p2p_op_t *op = bucket->first; op != NULL; op = op->link) {
        if (op->peer != peer || op->tag != tag) {
            before = op;
            continue;
        }
        if (before == NULL) {
            bucket->first = op->link;
        } else {
            before->link = op->link;
        }
        if (bucket->last == op) {
            bucket->last = before;
        }
        return op;
    }
    return NULL;
}

static hki_stray_t *take_stray(hki_stray_queue_t *bucket, int peer, uint32_t tag)
{
    hki_stray_t *before = NULL;

    for (hki_stray_t *stray = bucket->first; stray != NULL; stray = stray->link) {
        if (stray->peer != peer || stray->tag != tag) {
            before = stray;
            continue;
        }
        if (before == NULL) {
            bucket->first = stray->link;
        } else {
            before->link = stray->link;
        }
        if (bucket->last == stray) {
            bucket->last = before;
        }
        return stray;
    }
    return NULL;
}

static hk_status_t keep_stray(hki_p2p_t *p2p, const hki_first_t *first)
{
    const size_t bytes = sizeof(hki_stray_t) + (first->is_rts ? 0 : first->bytes);
    hki_stray_queue_t *bucket = &p2p->strays[bucket_of(first->peer, first->tag)];

    if (first->peer != p2p->ep->rank && p2p->stray_bytes + bytes > HKI_STRAY_BYTES_MAX) {
        return HK_IN_PROGRESS;
    }
    hki_stray_t *stray = hki_calloc(1, bytes);
    if (stray == NULL) {
        char text[HKI_FAILURE_TEXT_BYTES];

        (void)snprintf(text, sizeof(text),
                       "rank %d has no memory to keep a message of %zu bytes from rank %d that "
                       "came before its receive",
                       p2p->ep->rank, first->bytes, first->peer);
        p2p->ep->ops->fail(p2p->ep, HK_ERR_NO_MEMORY, p2p->ep->rank, text);
        return HK_ERR_NO_MEMORY;
    }
    stray->peer = first->peer;
    stray->tag = first->tag;
    stray->dtype = first->dtype;
    stray->is_rts = first->is_rts;
    stray->is_open = first->is_open;
    stray->id = first->id;
    stray->where = first->where;
    stray->count = first->count;
    stray->bytes = first->bytes;
    stray->here = first->here;
    if (first->here != 0) {
        memcpy(stray->data, first->data, first->here);
    }
    if (!first->is_rts && first->here < first->bytes) {
        p2p->peers[first->peer].hoarding = stray;
    }
    if (bucket->last == NULL) {
        bucket->first = stray;
    } else {
        bucket->last->link = stray;
    }
    bucket->last = stray;
    p2p->stray_bytes += bytes;
    return HK_OK;
}

hk_status_t hki_p2p_arrive(hki_p2p_t *p2p, const hki_first_t *first)
{
    hki_p2p_op_t *op =
        take_posted(&p2p->posted[bucket_of(first->peer, first->tag)], first->peer, first->tag);

    return op == NULL ? keep_stray(p2p, first) : meet(p2p, op, first);
}

void hki_p2p_continue(hki_p2p_t *p2p, int peer, const void *data, size_t bytes)
{
    hki_p2p_peer_t *from = &p2p->peers[peer];
    hki_p2p_op_t *op = from->filling;

    if (op != NULL) {
        HKI_ASSERT(bytes <= op->bytes - op->moved);
        hki_copy(op->data + op->moved, data, bytes);
        op->moved += bytes;
        if (op->moved == op->bytes) {
            from->filling = NULL;
            hki_p2p_end(p2p, op, HK_OK);
        }
        return;
    }
    hki_stray_t *stray = from->hoarding;
    HKI_ASSERT(stray != NULL && bytes <= stray->bytes - stray->here);
    memcpy(stray->data + stray->here, data, bytes);
    stray->here += bytes;
    if (stray->here == stray->bytes) {
        from->hoarding = NULL;
    }
}

bool hki_p2p_is_preceded(const hki_p2p_t *p2p, int peer, uint32_t tag)
{
    const uint32_t bucket = bucket_of(peer, tag);

    return p2p->posted[bucket].first != NULL || p2p->strays[bucket].first != NULL;
}

hk_status_t hki_p2p_expect(hki_p2p_t *p2p, hki_p2p_op_t *op)
{
    const uint32_t bucket = bucket_of(op->peer, op->tag);
    hki_stray_t *stray = take_stray(&p2p->strays[bucket], op->peer, op->tag);

    if (stray == NULL) {
        hki_p2p_push(&p2p->posted[bucket], op);
        return HK_OK;
    }
    const hki_first_t first = {.peer = stray->peer,
                               .tag = stray->tag,
                               .dtype = stray->dtype,
                               .is_rts = stray->is_rts,
                               .is_open = stray->is_open,
                               .id = stray->id,
                               .where = stray->where,
                               .count = stray->count,
                               .bytes = stray->bytes,
                               .here = stray->here,
                               .data = stray->data};
    const hk_status_t status = meet(p2p, op, &first);
    if (p2p->peers[op->peer].hoarding == stray) {
        p2p->peers[op->peer].hoarding = NULL; // the receive gets the rest
    }
    p2p->stray_bytes -= sizeof(*stray) + (stray->is_rts ? 0 : stray->bytes);
    hki_free(stray);
    return status;
}

void hki_p2p_forget(hki_p2p_t *p2p)
{
    for (int b = 0; b < HKI_BUCKETS; b++) {
        hki_stray_queue_t *bucket = &p2p->strays[b];

        while (bucket->first != NULL) {
            hki_stray_t *stray = bucket->first;

            bucket->first = stray->link;
            hki_free(stray);
        }
        bucket->last = NULL;
    }
    p2p->stray_bytes = 0;
}
