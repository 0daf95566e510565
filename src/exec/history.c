/*
 * Ranks that call different things. Method: every rank announces number, readable signature and the
 * hash of its history for what it starts; the announcements of all ranks are looked up by number. A
 * difference that is found late began earlier: the first number at which two histories differ is
 * the call to show. A message may belong to another operation than the one that is run here (the
 * peer's operation of this number sends nothing here): then the announcements still tell.
 */
#include "exec/history.h"

#include <stdio.h>

/** Numbers wrap. */
static bool is_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

void hki_history_add(hki_history_t *history, hki_op_t *op)
{
    const uint32_t turned = history->chain << 5 | history->chain >> 27; // order counts

    history->chain = (turned ^ op->check) * UINT32_C(0x9E3779B1);
    op->announcement.op_number = op->op_number;
    op->announcement.check = history->chain;
    op->announcement.call = op->check;
    history->next = op->op_number + 1;
}

void hki_history_agree(hki_history_t *history, uint32_t number)
{
    if (is_before(history->compared, number + 1)) {
        history->compared = number + 1;
    }
}

/** How many ranks have announced the same history as `check` up to operation `number`. */
static int supporters(hki_endpoint_t *ep, uint32_t number, uint32_t check)
{
    int n = 0;

    for (int r = 0; r < ep->nranks; r++) {
        uint32_t other = 0;

        if (ep->ops->announced_check(ep, r, number, &other) == HK_OK && other == check) {
            n++;
        }
    }
    return n;
}

/** Where the histories of two ranks part, from operation `number` backwards. @return false: they
 *  do not differ at `number` */
static bool find_first(hki_endpoint_t *ep, uint32_t number, int peer, hki_announcement_t *own,
                       hki_announcement_t *other)
{
    bool is_found = false;

    for (uint32_t back = 0; back <= number; back++) {
        hki_announcement_t a;
        hki_announcement_t b;

        if (ep->ops->announced(ep, ep->rank, number - back, &a) != HK_OK ||
            ep->ops->announced(ep, peer, number - back, &b) != HK_OK || a.check == b.check) {
            break;
        }
        *own = a;
        *other = b;
        is_found = true;
    }
    return is_found;
}

/** Say that two ranks called different things: what is announced by both tells it. */
static hk_status_t fail_calls(hki_endpoint_t *ep, int peer, const hki_announcement_t *own,
                              const hki_announcement_t *other)
{
    char text[HKI_FAILURE_TEXT_BYTES];
    const bool is_odd =
        supporters(ep, own->op_number, own->check) < supporters(ep, own->op_number, other->check);

    (void)snprintf(text, sizeof(text),
                   "rank %d called %s as operation %u, rank %d called %s; all ranks of a "
                   "communicator must call the same in the same order",
                   peer, other->signature, (unsigned)own->op_number, ep->rank, own->signature);
    ep->ops->fail(ep, HK_ERR_MISMATCH, is_odd ? ep->rank : peer, text);
    return HK_ERR_MISMATCH;
}

/** Break the group because the histories of `peer` and this rank differ at operation `number`. */
static hk_status_t fail_history(hki_endpoint_t *ep, uint32_t number, int peer)
{
    hki_announcement_t own = {.op_number = number, .signature = "a call that is forgotten"};
    hki_announcement_t other = own;

    (void)find_first(ep, number, peer, &own, &other);
    return fail_calls(ep, peer, &own, &other);
}

hk_status_t hki_history_compare(hki_history_t *history, hki_endpoint_t *ep, uint32_t number,
                                int *ranks_done)
{
    uint32_t own = 0;
    uint32_t other = 0;

    if (is_before(number, history->compared)) {
        *ranks_done = ep->nranks;
        return HK_OK;
    }
    hk_status_t status = ep->ops->announced_check(ep, ep->rank, number, &own);
    if (status != HK_OK) {
        return status;
    }
    for (; *ranks_done < ep->nranks; (*ranks_done)++) {
        status = ep->ops->announced_check(ep, *ranks_done, number, &other);
        if (status == HK_OK && other != own) {
            return fail_history(ep, number, *ranks_done);
        }
        if (status != HK_OK) {
            return status;
        }
    }
    hki_history_agree(history, number);
    return HK_OK;
}

hk_status_t hki_history_make_room(hki_history_t *history, hki_endpoint_t *ep, uint32_t number)
{
    if (is_before(number, history->compared + HKI_STARTED_MAX)) {
        return HK_OK;
    }
    // the newest of those that others are woken for, and that slow ranks have had time to reach
    const uint32_t target = (number - HKI_COMPARE_EVERY) / HKI_COMPARE_EVERY * HKI_COMPARE_EVERY;
    if (target != history->target) {
        history->target = target;
        history->target_ranks = 0;
    }
    return hki_history_compare(history, ep, target, &history->target_ranks);
}

hk_status_t hki_history_look(const hki_history_t *history, hki_endpoint_t *ep, const hki_op_t *op)
{
    const uint32_t number = op != NULL ? op->op_number : history->next - 1;
    uint32_t own = 0;
    uint32_t other = 0;

    if (ep->ops->announced_check(ep, ep->rank, number, &own) != HK_OK) {
        return HK_OK; // none so far
    }
    for (int r = 0; r < ep->nranks; r++) {
        if (ep->ops->announced_check(ep, r, number, &other) == HK_OK && other != own) {
            return fail_history(ep, number, r);
        }
    }
    return HK_OK;
}

hk_status_t hki_history_fail_message(hki_endpoint_t *ep, uint32_t number, int peer,
                                     uint32_t sent_number)
{
    char text[HKI_FAILURE_TEXT_BYTES];
    hki_announcement_t own = {.signature = "a call that is forgotten"};
    hki_announcement_t other;

    // the peer has announced what it sends; but it need not have come as far as this rank
    if (find_first(ep, is_before(sent_number, number) ? sent_number : number, peer, &own, &other)) {
        return fail_calls(ep, peer, &own, &other);
    }
    (void)ep->ops->announced(ep, ep->rank, number, &own);
    (void)snprintf(text, sizeof(text),
                   "rank %d sent a message that is no part of operation %u, %s, on rank %d; all "
                   "ranks of a communicator must call the same in the same order",
                   peer, (unsigned)number, own.signature, ep->rank);
    ep->ops->fail(ep, HK_ERR_MISMATCH, peer, text);
    return HK_ERR_MISMATCH;
}
