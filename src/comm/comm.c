/*
 * Life of a communicator: made around an endpoint, joined to a domain, broken by a failure, closed.
 */
#include "comm/comm.h"

#include <stdio.h>
#include <string.h>

#include <hocket/memory.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "comm/domain.h"
#include "comm/env.h"
#include "comm/memory.h"
#include "transport/open.h"
#include "transport/segment/world.h"

enum { TIMEOUT_MS_MIN = -1 };

hk_status_t hki_comm_check(const hk_comm_t *comm)
{
    if (comm == NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "the communicator is NULL");
    }
    if (comm->birth != hki_fork_count()) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "this communicator belongs to the parent process; a forked child must open "
                        "its own");
    }
    return HK_OK;
}

hk_status_t hki_comm_enter(hk_comm_t *comm)
{
    const hk_status_t status = hki_comm_check(comm);

    if (status != HK_OK) {
        return status;
    }
    hki_lock_take(&comm->lock);
    if (comm->is_broken) {
        const hk_status_t broken = hki_comm_break(comm);

        hki_lock_give(&comm->lock);
        return broken;
    }
    return HK_OK;
}

hk_status_t hki_comm_break(hk_comm_t *comm)
{
    if (!comm->is_broken) {
        comm->ep->ops->failure(comm->ep, &comm->failure);
        if (comm->failure.status == HK_OK) { // an error of this rank alone: the others must know
            comm->ep->ops->fail(comm->ep, HK_ERR_INTERNAL, comm->rank, hk_last_error());
            comm->ep->ops->failure(comm->ep, &comm->failure);
        }
        comm->is_broken = true;
        hki_engine_cancel(comm->engine, comm->failure.status);
        hki_p2p_cancel(comm->p2p, comm->failure.status);
    }
    return hki_fail_again(comm->failure.status, comm->failure.text);
}

void hki_comm_tell(hk_comm_t *comm, hk_status_t status)
{
    char text[HKI_FAILURE_TEXT_BYTES];

    if (status == HK_ERR_NO_MEMORY && !comm->is_broken && comm->nranks > 1) {
        (void)snprintf(text, sizeof(text), "rank %d: %s", comm->rank, hk_last_error());
        comm->ep->ops->fail(comm->ep, status, comm->rank, text);
    }
}

void hki_comm_leave_with(hk_comm_t *comm, hk_status_t status)
{
    hki_comm_tell(comm, status);
    hki_comm_leave(comm);
}

hk_status_t hki_comm_costs(hk_comm_t *comm, hki_coll_t coll, const hki_costs_t **costs_out)
{
    const hk_status_t status = hki_parts_cross(&comm->parts, coll, &comm->costs);

    if (status == HK_OK) {
        *costs_out = &comm->costs;
    }
    return status;
}

static void comm_destroy(hk_comm_t **comm)
{
    hk_comm_t *c = *comm;

    if (c == NULL) {
        return;
    }
    hki_repeats_fini(c);
    hki_requests_orphan(c);
    while (c->free_requests != NULL) {
        hk_request_t *request = c->free_requests;

        c->free_requests = request->next;
        hki_free(request->vectors);
        hki_free(request);
    }
    hki_engine_destroy(&c->engine);
    hki_p2p_destroy(&c->p2p);
    hki_plans_fini(&c->plans);
    hki_choice_destroy(&c->choice);
    hki_parts_fini(&c->parts);
    hki_free(c);
    *comm = NULL;
}

hk_status_t hki_comm_create(hki_endpoint_t *ep, const hk_comm_opts_t *opts,
                            const hki_costs_t *costs, const hk_comm_t *parent, hki_domain_t *domain,
                            hk_comm_t **comm_out)
{
    const hki_engine_opts_t engine_opts = {.lane_first = 0,
                                           .lane_count = HKI_LANES_COLLECTIVE,
                                           .scratch_bytes =
                                               hki_comm_scratch_bytes(ep->staging_bytes)};
    hk_comm_t *comm = hki_calloc(1, sizeof(*comm));
    const char *algo = opts->algo != NULL ? opts->algo : hki_env_value(HKI_ENV_ALGO);
    hk_status_t status;

    if (comm == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "communicator, %zu bytes", sizeof(*comm));
    }
    comm->ep = ep;
    comm->rank = ep->rank;
    comm->nranks = ep->nranks;
    comm->timeout_ms = opts->timeout_ms;
    comm->open_timeout_ms = opts->open_timeout_ms;
    comm->order = opts->order;
    comm->progress = opts->progress;
    atomic_init(&comm->is_unwatched, 1);
    comm->birth = hki_fork_count();
    comm->failure.rank = -1;
    comm->costs = *costs;
    HKI_TRY(status = hki_parts_init(&comm->parts, ep), fail);
    comm->costs.near_ranks = comm->parts.near_ranks;
    if (parent != NULL) {
        HKI_TRY(status = hki_choice_copy(parent->choice, &comm->choice), fail);
    } else {
        HKI_TRY(status = hki_choice_create(opts->algo != NULL ? "opts.algo" : "HOCKET_ALGO", algo,
                                           &comm->choice),
                fail);
    }
    HKI_TRY(status = hki_engine_create(ep, &engine_opts, &comm->engine), fail);
    HKI_TRY(status = hki_p2p_create(ep, HKI_LANE_CONTROL, HKI_LANE_DATA, &comm->p2p), fail);
    hki_domain_join(domain, comm);
    *comm_out = comm;
    return HK_OK;
fail:
    comm_destroy(&comm);
    return status;
}

_Static_assert(sizeof(hki_costs_t) <= HKI_NOTE_BYTES, "rank 0 tells all ranks its costs");

/** Copy the options over the defaults, then look at the environment and check them. */
static hk_status_t complete_opts(const hk_comm_opts_t *opts, hk_comm_opts_t *store)
{
    *store = hk_comm_opts_default();
    if (opts != NULL) {
        if (opts->struct_size == 0) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "opts.struct_size is 0; start from hk_comm_opts_default()");
        }
        memcpy(store, opts,
               opts->struct_size < sizeof(*store) ? opts->struct_size : sizeof(*store));
        store->struct_size = sizeof(*store);
    }
    const hk_status_t status = hki_env_options(store);
    if (status != HK_OK) {
        return status;
    }
    if (store->timeout_ms < TIMEOUT_MS_MIN || store->open_timeout_ms < TIMEOUT_MS_MIN) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "a timeout of %d ms; -1 means none",
                        store->timeout_ms < TIMEOUT_MS_MIN ? store->timeout_ms
                                                           : store->open_timeout_ms);
    }
    if (store->spin < HKI_SPIN_AUTO || store->spin > HKI_SPIN_SLEEPS) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "opts.spin is %d; it is %d to %d", store->spin,
                        HKI_SPIN_AUTO, HKI_SPIN_SLEEPS);
    }
    if ((int)store->order < (int)HK_ORDER_TREE || (int)store->order > (int)HK_ORDER_ANY) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "opts.order is %d; it is HK_ORDER_TREE or HK_ORDER_ANY",
                        (int)store->order);
    }
    if ((int)store->progress < (int)HK_PROGRESS_NONE ||
        (int)store->progress > (int)HK_PROGRESS_AUTO) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "opts.progress is %d; it is one of hk_progress_t",
                        (int)store->progress);
    }
    return HK_OK;
}

static hki_transport_opts_t transport_opts(const hk_comm_opts_t *opts, int nranks)
{
    const size_t lane_bytes = hki_comm_lane_bytes(opts->segment_bytes, nranks);
    const hki_transport_opts_t transport = {.nlanes = HKI_LANES,
                                            .staging_bytes = lane_bytes,
                                            .spin = opts->spin,
                                            .open_timeout_ms = opts->open_timeout_ms};

    return transport;
}

hk_status_t hk_comm_open(const hk_comm_opts_t *opts, hk_comm_t **comm_out)
{
    hk_comm_opts_t store;
    hki_identity_t identity;
    hki_costs_t costs;
    hki_endpoint_t *ep = NULL;
    hki_domain_t *domain = NULL;
    hk_status_t status;

    if (comm_out == NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "comm_out is NULL");
    }
    HKI_TRY(status = complete_opts(opts, &store), fail);
    HKI_TRY(status = hki_env_identity(&store, &identity), fail);
    hki_log_set_rank(identity.rank, identity.nranks);
    hki_transport_opts_t transport = transport_opts(&store, identity.nranks);
    HKI_TRY(status = hki_env_single_copy(&transport.single_copy), fail);
    hki_fit_load(identity.nranks == 1 ? "local" : "shm", identity.nranks, &costs);
    transport.note = &costs;
    transport.note_bytes = sizeof(costs);
    if (identity.nranks == 1) {
        HKI_TRY(status = hki_local_open(&transport, 1, &ep), fail);
    } else {
        HKI_TRY(status =
                    hki_shm_open(&transport, identity.job, identity.rank, identity.nranks, &ep),
                fail);
    }
    if (identity.nranks > 1) { // those of rank 0, should the file have been replaced meanwhile
        memcpy(&costs, ep->note, sizeof(costs));
    }
    domain = hki_domain_process();
    HKI_TRY(status = hki_comm_create(ep, &store, &costs, NULL, domain, comm_out), fail);
    hki_log(HKI_LOG_INFO, "comm", "rank %d of %d (%s), transport %s", identity.rank,
            identity.nranks, identity.source, ep->ops->name);
    return HK_OK;
fail:
    if (ep != NULL) {
        ep->ops->fail(ep, status, identity.rank, hk_last_error());
        ep->ops->close(ep);
    }
    return status;
}

hk_status_t hk_comm_open_threads(const hk_comm_opts_t *opts, int nranks, hk_comm_t **comms_out)
{
    hk_comm_opts_t store;
    hki_costs_t costs;
    hki_endpoint_t **eps = NULL;
    hk_comm_t **comms = NULL;
    hk_status_t status;
    int made = 0;

    if (comms_out == NULL || nranks < 1 || nranks > HKI_RANKS_MAX) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%d ranks into %s; there may be 1 to %d", nranks,
                        comms_out == NULL ? "NULL" : "an array", HKI_RANKS_MAX);
    }
    HKI_TRY(status = complete_opts(opts, &store), fail);
    const hki_transport_opts_t transport = transport_opts(&store, nranks);
    eps = hki_calloc((size_t)nranks, sizeof(*eps));
    comms = hki_calloc((size_t)nranks, sizeof(*comms));
    if (eps == NULL || comms == NULL) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "%d ranks", nranks);
        goto fail;
    }
    HKI_TRY(status = hki_local_open(&transport, nranks, eps), fail);
    hki_fit_load("local", nranks, &costs);
    for (; made < nranks; made++) {
        hki_domain_t *domain = NULL;

        HKI_TRY(status = hki_domain_create(&domain), fail);
        status = hki_comm_create(eps[made], &store, &costs, NULL, domain, &comms[made]);
        if (status != HK_OK) {
            hki_domain_destroy(&domain);
            goto fail;
        }
    }
    memcpy(comms_out, comms, (size_t)nranks * sizeof(*comms));
fail:
    for (int r = 0; status != HK_OK && eps != NULL && comms != NULL && r < nranks; r++) {
        if (comms[r] != NULL) {
            hk_comm_close(&comms[r]);
        } else if (eps[r] != NULL) {
            eps[r]->ops->close(eps[r]);
        }
    }
    hki_free(comms);
    hki_free(eps);
    return status;
}

/** Peers that wait for what is under way here, or read data that the caller may now overwrite, get
 *  an error at once. */
static void fail_unfinished(hk_comm_t *comm)
{
    const hki_op_t *op = hki_engine_oldest(comm->engine);
    const hki_p2p_op_t *send = hki_p2p_landing(comm->p2p);
    char what[HKI_FAILURE_TEXT_BYTES / 2];
    char text[HKI_FAILURE_TEXT_BYTES];

    if ((op == NULL && send == NULL) || comm->ep->ops->is_failed(comm->ep)) {
        return;
    }
    if (op != NULL) {
        (void)snprintf(what, sizeof(what), "operation %u, %s,", (unsigned)op->op_number,
                       op->announcement.signature);
    } else {
        hki_p2p_describe(send, what, sizeof(what));
    }
    (void)snprintf(text, sizeof(text), "rank %d closed the communicator while its %s was under way",
                   comm->rank, what);
    comm->ep->ops->fail(comm->ep, HK_ERR_PEER_FAILED, comm->rank, text);
}

/** The last calls may not have been compared with all ranks, and nobody will call again to learn
 *  of a difference: no call has told this rank so far. */
static void tell_differences(hk_comm_t *comm)
{
    hki_failure_t failure;

    hki_engine_watch(comm->engine);
    comm->ep->ops->failure(comm->ep, &failure);
    if (failure.status == HK_ERR_MISMATCH) {
        hki_log(HKI_LOG_ERROR, "comm", "seen only when the communicator was closed: %s",
                failure.text);
    }
}

void hk_comm_close(hk_comm_t **comm)
{
    hk_comm_t *c = comm == NULL ? NULL : *comm;

    if (c == NULL) {
        return;
    }
    *comm = NULL;
    if (c->birth != hki_fork_count()) {
        return; // the parent's; it stays untouched, and so does the memory they share
    }
    hki_domain_leave(c);
    hki_lock_take(&c->lock);
    if (!c->is_broken) {
        (void)hki_comm_progress(c, true);
        tell_differences(c);
    }
    fail_unfinished(c);
    hki_engine_cancel(c->engine, HK_ERR_ABORTED);
    hki_p2p_cancel(c->p2p, HK_ERR_ABORTED);
    hki_lock_give(&c->lock);

    hki_endpoint_t *ep = c->ep;
    comm_destroy(&c);
    ep->ops->close(ep);
}

int hk_comm_rank(const hk_comm_t *comm)
{
    return comm == NULL ? -1 : comm->rank;
}

int hk_comm_size(const hk_comm_t *comm)
{
    return comm == NULL ? -1 : comm->nranks;
}

hk_status_t hk_comm_status(const hk_comm_t *comm)
{
    hki_failure_t failure;
    const hk_status_t status = hki_comm_check(comm);

    if (status != HK_OK) {
        return status;
    }
    comm->ep->ops->failure(comm->ep, &failure);
    return failure.status == HK_OK ? HK_OK : hki_fail_again(failure.status, failure.text);
}

int hk_comm_failed_rank(const hk_comm_t *comm)
{
    hki_failure_t failure;

    if (hki_comm_check(comm) != HK_OK) {
        return -1;
    }
    comm->ep->ops->failure(comm->ep, &failure);
    return failure.status == HK_OK ? -1 : failure.rank;
}

void hk_comm_abort(hk_comm_t *comm, const char *reason)
{
    char text[HKI_FAILURE_TEXT_BYTES];

    if (hki_comm_check(comm) != HK_OK) {
        return;
    }
    (void)snprintf(text, sizeof(text), "rank %d aborted: %s", comm->rank,
                   reason == NULL ? "no reason given" : reason);
    comm->ep->ops->fail(comm->ep, HK_ERR_ABORTED, comm->rank, text);
}

hk_status_t hk_mem_alloc(hk_comm_t *comm, size_t bytes, void **ptr_out)
{
    hk_status_t status;

    if (ptr_out == NULL || bytes == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%zu bytes of memory into %s", bytes,
                        ptr_out == NULL ? "NULL" : "a pointer; ask for 1 or more");
    }
    status = hki_comm_enter(comm);
    if (status == HK_OK) {
        status = comm->ep->ops->mem_alloc(comm->ep, bytes, ptr_out);
        hki_comm_leave(comm);
    }
    return status;
}

void hk_mem_free(hk_comm_t *comm, void *ptr)
{
    if (ptr == NULL || hki_comm_check(comm) != HK_OK) {
        return;
    }
    hki_lock_take(&comm->lock);
    comm->ep->ops->mem_free(comm->ep, ptr);
    hki_comm_leave(comm);
}
