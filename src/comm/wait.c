/*
 * Waiting. Method: progress of everything here; if nothing moved, one step of the transport's wait,
 * which spins, then yields, then sleeps. Clocks are not read in the first rounds, so that a short
 * wait costs nothing. Later, once in a while: deadlines, ranks that call something else, and the
 * other communicators of the domain.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/comm.h"

enum {
    QUIET_ROUNDS = 16, /**< rounds without clock */
    FULL_MASK = 15,    /**< sends of all peers are looked at every 16th round */
};

#define WATCH_NS  UINT64_C(2000000)  /* between looks at what other ranks have announced */
#define SLICE_NS  UINT64_C(50000000) /* longest sleep */
#define SHARED_NS UINT64_C(500000)   /* longest sleep while other communicators have work */

bool hki_comm_progress(hk_comm_t *comm, bool is_full)
{
    bool moved = hki_engine_progress(comm->engine);

    if (is_full || hki_p2p_pending(comm->p2p) != 0) {
        moved |= hki_p2p_progress(comm->p2p, is_full);
    }
    return moved;
}

bool hki_comm_is_busy(const hk_comm_t *comm)
{
    return hki_engine_oldest(comm->engine) != NULL || hki_p2p_pending(comm->p2p) != 0;
}

/** Progress of the domain's other communicators. @return true if one of them has work */
static bool progress_others(hk_comm_t *comm, bool *moved)
{
    hki_domain_t *domain = comm->domain;
    bool has_work = false;

    if (atomic_load_explicit(&domain->count, memory_order_relaxed) < 2 ||
        pthread_mutex_trylock(&domain->mutex) != 0) {
        return false;
    }
    for (hk_comm_t *other = domain->first; other != NULL; other = other->domain_next) {
        if (other == comm || hki_lock_is_wanted(&other->lock) || !hki_lock_try(&other->lock)) {
            continue; // its own thread is in it, or wants to be
        }
        if (!other->is_broken && hki_comm_is_busy(other)) {
            has_work = true;
            *moved |= hki_comm_progress(other, false);
        }
        hki_lock_give(&other->lock);
        hki_progress_missed(other);
    }
    (void)pthread_mutex_unlock(&domain->mutex);
    return has_work;
}

/** Fail the group because a deadline has passed. */
static void fail_late(hk_comm_t *comm, const char *what, int waits_for)
{
    char blame[HKI_FAILURE_TEXT_BYTES / 2] = "";
    char text[HKI_FAILURE_TEXT_BYTES];
    int rank = comm->ep->ops->blame(comm->ep, blame, sizeof(blame));

    if (rank < 0) {
        rank = waits_for;
    }
    if (blame[0] == '\0' && waits_for >= 0) {
        (void)snprintf(blame, sizeof(blame), "rank %d has not done its part", waits_for);
    }
    (void)snprintf(text, sizeof(text), "rank %d: the deadline of %s passed; %s", comm->rank, what,
                   blame[0] == '\0' ? "all ranks seem to wait for one another" : blame);
    comm->ep->ops->fail(comm->ep, HK_ERR_TIMED_OUT, rank, text);
}

/** Ranks that have not announced the operation, "; not yet called by rank 2, 5". */
static void absent_ranks(const hk_comm_t *comm, const hki_op_t *op, char *text, size_t text_bytes)
{
    size_t used = 0;

    for (int r = 0; r < comm->nranks && used + 16 < text_bytes; r++) {
        hki_announcement_t other;

        if (r != comm->rank &&
            comm->ep->ops->announced(comm->ep, r, op->op_number, &other) == HK_IN_PROGRESS) {
            const int n = snprintf(text + used, text_bytes - used, "%s%d",
                                   used == 0 ? ", not called yet by rank " : ", ", r);

            used += n > 0 ? (size_t)n : 0;
        }
    }
}

/** Has a deadline passed? Then the group is failed. */
static void check_deadlines(hk_comm_t *comm, uint64_t now_ns)
{
    const hki_op_t *op = hki_engine_overdue(comm->engine, now_ns);
    const hki_p2p_op_t *p2p = hki_p2p_overdue(comm->p2p, now_ns);
    char what[HKI_FAILURE_TEXT_BYTES / 2];

    if (op != NULL) {
        char absent[64] = "";

        absent_ranks(comm, op, absent, sizeof(absent));
        (void)snprintf(what, sizeof(what), "operation %u, %s (%zu of %zu tiles done%s)",
                       (unsigned)op->op_number, op->announcement.signature, op->tiles_done,
                       op->ntiles, absent);
        fail_late(comm, what, hki_engine_waits_for(comm->engine));
    } else if (p2p != NULL) {
        hki_p2p_describe(p2p, what, sizeof(what));
        fail_late(comm, what, p2p->peer);
    }
}

void hki_comm_look(hk_comm_t *comm, uint64_t now_ns, uint64_t *next_ns)
{
    check_deadlines(comm, now_ns);
    if (now_ns >= *next_ns) {
        if (*next_ns != 0) {
            hki_engine_watch(comm->engine);
        }
        *next_ns = now_ns + WATCH_NS;
    }
}

int hki_comm_waits_for(const hk_comm_t *comm)
{
    return hki_engine_oldest(comm->engine) != NULL ? hki_engine_waits_for(comm->engine)
                                                   : hki_p2p_waits_for(comm->p2p);
}

/** State of one wait. */
typedef struct wait_state {
    hki_waiter_t waiter;
    uint32_t rounds;
    uint64_t watch_ns; /**< next look at announcements */
} wait_state_t;

/** The rank this request waits for, or -1. */
static int waits_for(const hk_comm_t *comm, const hk_request_t *request)
{
    if (request->kind == HKI_REQUEST_P2P) {
        return request->p2p.peer == comm->rank ? -1 : request->p2p.peer;
    }
    return request->op.is_done ? hki_p2p_waits_for(comm->p2p) : hki_engine_waits_for(comm->engine);
}

/** Most waits are short, and for one message: look for that only. @return true: it is here */
static bool linger(const hk_comm_t *comm)
{
    if (hki_p2p_pending(comm->p2p) != 0) {
        return hki_engine_oldest(comm->engine) == NULL && hki_p2p_linger(comm->p2p);
    }
    if (!comm->ep->can_spin) {
        return false;
    }
    int lane = 0;
    const int peer = hki_engine_awaits(comm->engine, &lane);
    return peer >= 0 && comm->ep->ops->linger(comm->ep, lane, peer, 0);
}

/** One round in which nothing moved. */
static hk_status_t wait_round(hk_comm_t *comm, const hk_request_t *request, wait_state_t *state)
{
    bool moved = false;
    uint64_t slice_ns = SLICE_NS;

    state->rounds++;
    if (state->rounds <= QUIET_ROUNDS) {
        if (linger(comm)) {
            return HK_OK;
        }
    } else {
        hki_comm_look(comm, hki_clock_ns(), &state->watch_ns);
        if (progress_others(comm, &moved) || hki_engine_is_comparing(comm->engine)) {
            slice_ns = SHARED_NS;
        }
    }
    const int peer = state->rounds > QUIET_ROUNDS ? waits_for(comm, request) : -1;
    const hk_status_t status = comm->ep->ops->wait(comm->ep, &state->waiter, peer, slice_ns);
    if (moved) {
        state->waiter = (hki_waiter_t){0};
    }
    return status;
}

hk_status_t hki_comm_wait(hk_comm_t *comm, const hk_request_t *request)
{
    wait_state_t state = {.rounds = 0};

    for (;;) {
        if (hki_comm_progress(comm, (state.rounds & FULL_MASK) == FULL_MASK ||
                                        state.rounds > QUIET_ROUNDS)) {
            state.waiter = (hki_waiter_t){0};
            if (hki_request_is_done(request)) {
                return HK_OK;
            }
            continue;
        }
        if (hki_request_is_done(request)) {
            return HK_OK;
        }
        if (wait_round(comm, request, &state) != HK_OK) {
            return hki_comm_break(comm);
        }
    }
}

void hki_comm_test(hk_comm_t *comm, const hk_request_t *request)
{
    hki_waiter_t *waiter = &comm->test_waiter;
    bool moved = hki_comm_progress(comm, true);

    (void)progress_others(comm, &moved);
    if (moved || hki_request_is_done(request)) {
        *waiter = (hki_waiter_t){0};
        return;
    }
    if (waiter->rounds % QUIET_ROUNDS == QUIET_ROUNDS - 1) {
        check_deadlines(comm, hki_clock_ns());
        hki_engine_watch(comm->engine);
    }
    // One step without sleeping: it finds the dead, and tells the others what was read here.
    if (comm->ep->ops->wait(comm->ep, waiter, waits_for(comm, request), 0) != HK_OK) {
        (void)hki_comm_break(comm);
    }
}
