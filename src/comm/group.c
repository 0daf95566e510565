/*
 * Split and group. Method: all members know the list of members (split: by an all-gather of color
 * and key). The leader, new rank 0, makes the group's memory and sends its handle to the others;
 * each joins and reports to the leader; the leader's answer says whether all have. Only members
 * take part, over internal tags, so groups may be made in any order relative to others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/comm.h"
#include "comm/domain.h"

enum { SPLIT_TAG = 0x7fffffff };

/** A group in the making. */
typedef struct group {
    hk_comm_t *comm;
    const int *ranks; /**< (nranks,) old ranks in new order */
    int nranks;
    int new_rank;
    uint32_t tag;
} group_t;

/** From the leader: the handle and whether it could be made. To it: whether the join went well. */
typedef struct note {
    uint64_t handle;
    int64_t status;
    hki_costs_t costs; /**< the leader's: all must choose by the same */
} note_t;

static hk_status_t pass(const group_t *group, bool is_send, int new_rank, note_t *note)
{
    const hki_transfer_t transfer = {.is_send = is_send,
                                     .data = note,
                                     .count = sizeof(*note),
                                     .dtype = HK_U8,
                                     .peer = group->ranks[new_rank],
                                     .tag = HKI_TAG_INTERNAL | group->tag};

    const hk_status_t status = hki_transfer_do(group->comm, &transfer);
    hki_comm_tell(group->comm, status);
    return status;
}

/** The leader sends the same note to all other members. */
static hk_status_t tell_all(const group_t *group, note_t *note)
{
    for (int r = 1; r < group->nranks; r++) {
        const hk_status_t status = pass(group, true, r, note);

        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

/** The leader hears from all: the first error, or HK_OK. */
static hk_status_t hear_all(const group_t *group, note_t *verdict)
{
    for (int r = 1; r < group->nranks; r++) {
        note_t note = {.status = HK_OK};
        const hk_status_t status = pass(group, false, r, &note);

        if (status != HK_OK) {
            return status;
        }
        if (verdict->status == HK_OK) {
            verdict->status = note.status;
        }
    }
    return HK_OK;
}

/** Own side of the group: endpoint and communicator. */
static hk_status_t join(const group_t *group, const note_t *note, hk_comm_t **comm_out)
{
    hk_comm_t *comm = group->comm;
    hk_comm_opts_t opts = hk_comm_opts_default();
    hki_endpoint_t *ep = NULL;
    hk_status_t status = comm->ep->ops->group_join(comm->ep, group->ranks, group->nranks,
                                                   group->new_rank, note->handle, &ep);

    if (status != HK_OK) {
        return status;
    }
    opts.timeout_ms = comm->timeout_ms;
    opts.open_timeout_ms = comm->open_timeout_ms;
    opts.order = comm->order;
    opts.progress = comm->progress;
    status = hki_comm_create(ep, &opts, &note->costs, comm, comm->domain, comm_out);
    if (status != HK_OK) {
        ep->ops->close(ep);
    }
    return status;
}

/** All members call. On an error of one of them none gets a communicator. */
static hk_status_t form(const group_t *group, hk_comm_t **comm_out)
{
    hki_endpoint_t *ep = group->comm->ep;
    const bool is_leader = group->new_rank == 0;
    hk_comm_t *made = NULL;
    note_t note = {.status = HK_OK};
    hk_status_t status;

    if (is_leader) {
        hki_fit_load(ep->ops->name, group->nranks, &note.costs);
        note.status = ep->ops->group_offer(ep, group->nranks, &note.handle);
        HKI_TRY(status = tell_all(group, &note), fail);
    } else {
        HKI_TRY(status = pass(group, false, 0, &note), fail);
    }
    if (note.status != HK_OK) {
        status = is_leader ? (hk_status_t)note.status
                           : HKI_FAIL((hk_status_t)note.status, "rank %d could not make the group",
                                      group->ranks[0]);
        goto fail;
    }
    note.status = join(group, &note, &made);
    const hk_status_t own = (hk_status_t)note.status;
    if (is_leader) {
        HKI_TRY(status = hear_all(group, &note), fail);
        HKI_TRY(status = tell_all(group, &note), fail);
    } else {
        HKI_TRY(status = pass(group, true, 0, &note), fail);
        HKI_TRY(status = pass(group, false, 0, &note), fail);
    }
    status = own;
    if (own == HK_OK && note.status != HK_OK) {
        status = HKI_FAIL((hk_status_t)note.status, "another member could not join the group");
    }
    if (status == HK_OK) {
        *comm_out = made;
        return HK_OK;
    }
fail:
    hk_comm_close(&made);
    return status;
}

static hk_status_t check_group(const hk_comm_t *comm, const int *ranks, int nranks, int tag,
                               int *new_rank_out)
{
    int new_rank = -1;

    if (ranks == NULL || nranks < 1 || nranks > comm->nranks || tag < 0 || tag >= SPLIT_TAG) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "group of %d ranks at %s with tag %d; 1 to %d ranks, tag 0 to %d", nranks,
                        ranks == NULL ? "NULL" : "an array", tag, comm->nranks, SPLIT_TAG - 1);
    }
    for (int i = 0; i < nranks; i++) {
        if (ranks[i] < 0 || ranks[i] >= comm->nranks) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "group: ranks[%d] is %d; it must be 0 to %d", i,
                            ranks[i], comm->nranks - 1);
        }
        for (int j = 0; j < i; j++) {
            if (ranks[i] == ranks[j]) {
                return HKI_FAIL(HK_ERR_INVALID_ARG, "group: rank %d stands in the list twice",
                                ranks[i]);
            }
        }
        new_rank = ranks[i] == comm->rank ? i : new_rank;
    }
    if (new_rank < 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "group: rank %d calls, but is not in the list",
                        comm->rank);
    }
    *new_rank_out = new_rank;
    return HK_OK;
}

hk_status_t hk_comm_group(hk_comm_t *comm, const int *ranks, int nranks, int tag,
                          hk_comm_t **comm_out)
{
    hk_status_t status = hki_comm_enter(comm);
    group_t group = {.comm = comm, .ranks = ranks, .nranks = nranks};

    if (status != HK_OK) {
        return status;
    }
    if (comm_out == NULL) {
        status = HKI_FAIL(HK_ERR_INVALID_ARG, "comm_out is NULL");
        goto leave;
    }
    HKI_TRY(status = check_group(comm, ranks, nranks, tag, &group.new_rank), leave);
    group.tag = 0x40000000u | (uint32_t)tag;
    status = form(&group, comm_out);
leave:
    hki_comm_leave(comm);
    return status;
}

/** What a rank says at a split, with its old rank, so that sorting is total. */
typedef struct split {
    int32_t color;
    int32_t key;
    int32_t rank;
} split_t;

static int by_key(const void *a, const void *b)
{
    const split_t *x = a;
    const split_t *y = b;

    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : 1;
}

/** Old ranks of this rank's color in new order. */
static void members(split_t *all, int nall, const split_t *own, int *ranks, group_t *group)
{
    qsort(all, (size_t)nall, sizeof(*all), by_key);
    for (int i = 0; i < nall; i++) {
        if (all[i].color == own->color) {
            group->new_rank = all[i].rank == own->rank ? group->nranks : group->new_rank;
            ranks[group->nranks] = all[i].rank;
            group->nranks++;
        }
    }
}

hk_status_t hk_comm_split(hk_comm_t *comm, int color, int key, hk_comm_t **comm_out)
{
    split_t *all = NULL;
    int *ranks = NULL;
    bool is_gathered = false;
    hk_status_t status = hki_comm_enter(comm);

    if (status != HK_OK) {
        return status;
    }
    if (comm_out == NULL || color < -1) {
        status = HKI_FAIL(HK_ERR_INVALID_ARG, "split with color %d into %s; color is -1 or more",
                          color, comm_out == NULL ? "NULL" : "a handle");
        goto leave;
    }
    all = hki_calloc((size_t)comm->nranks, sizeof(*all));
    ranks = hki_calloc((size_t)comm->nranks, sizeof(*ranks));
    if (all == NULL || ranks == NULL) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "split of %d ranks", comm->nranks);
        goto leave;
    }
    const split_t own = {.color = color, .key = key, .rank = comm->rank};
    const hki_call_t gather = {
        .coll = HKI_COLL_ALL_GATHER, .in = &own, .out = all, .count = sizeof(own), .dtype = HK_U8};
    HKI_TRY(status = hki_call_run(comm, &gather, NULL), leave);
    is_gathered = true; // from here on, members agree on how it ends
    if (color == -1) {
        *comm_out = NULL;
        goto leave;
    }
    group_t group = {.comm = comm, .ranks = ranks, .nranks = 0, .new_rank = 0, .tag = SPLIT_TAG};
    members(all, comm->nranks, &own, ranks, &group);
    status = form(&group, comm_out);
leave:
    hki_free(all);
    hki_free(ranks);
    if (!is_gathered) {
        hki_comm_tell(comm, status);
    }
    hki_comm_leave(comm);
    return status;
}
