/**
 * @file comm.h
 * @brief What a communicator is made of. Shared by the files of this layer only.
 *
 * A call goes: check arguments (collective.c, vector.c) -> plan (plan.c: algorithm, tiles,
 * schedule, cached) -> request (request.c) -> executor -> wait (wait.c). The same call again goes
 * from repeat.c to the executor. Sends and receives go through p2p.c, next to the executor, on
 * lanes of their own.
 *
 * Locks: a communicator's own lock is held while a call is inside it, so that a thread that waits
 * on another communicator of the same domain can make progress here in between. A domain's mutex
 * guards its list; under it communicators are only tried, never waited for. The domain's progress
 * thread (progress.c) does the same.
 */
#ifndef HKI_COMM_COMM_H
#define HKI_COMM_COMM_H

#include <pthread.h>
#include <stdatomic.h>

#include <hocket/coll.h>
#include <hocket/comm.h>

#include "base/lock.h"
#include "comm/choice.h"
#include "comm/fit.h"
#include "comm/p2p.h"
#include "comm/parts.h"
#include "comm/plan.h"
#include "comm/progress.h"
#include "exec/exec.h"
#include "transport/transport.h"

/** Lanes of an endpoint: the executor's, then one for first frames of sends, one for their data. */
enum {
    HKI_LANES_COLLECTIVE = 4,
    HKI_LANE_CONTROL = HKI_LANES_COLLECTIVE,
    HKI_LANE_DATA,
    HKI_LANES,
};

/** Communicators that make progress for one another: those of a process, or of one rank-thread. */
typedef struct hki_domain {
    pthread_mutex_t mutex; /**< guards the list */
    _Atomic int count;     /**< communicators in it */
    struct hk_comm *first;
    bool is_static; /**< the process's own: never freed */
    hki_progress_t progress;
} hki_domain_t;

/** One call of a collective, as the caller made it. */
typedef struct hki_call {
    hki_coll_t coll;
    const void *in;
    void *out;
    size_t count;
    hk_dtype_t dtype;
    hk_op_t op;
    int root;
    const hk_coll_opts_t *opts; /**< or NULL */
} hki_call_t;

/** A blocking call that was made before, with everything ready to make it again. */
typedef struct hki_repeat {
    hk_request_t *request; /**< done, and kept from the pool; NULL: none */
    hki_call_t call;       /**< its addresses mean nothing */
    size_t in_bytes;       /**< 0: not used on this rank */
    size_t out_bytes;      /**< 0: not used on this rank */
    hk_alias_t alias;
    uintptr_t distance; /**< from in to out, where they share memory */
} hki_repeat_t;

/** State of looking after operations for long. */
typedef struct hki_watch {
    hki_waiter_t waiter;
    uint64_t next_ns; /**< next look at announcements */
} hki_watch_t;

struct hk_comm {
    hki_endpoint_t *ep; /**< owned */
    int rank;
    int nranks;
    int timeout_ms;
    int open_timeout_ms;
    hk_order_t order;
    hki_choice_t *choice; /**< owned; forced algorithms, or NULL */
    hki_costs_t costs;    /**< what the others are chosen by; see hki_comm_costs() */
    hki_parts_t parts;    /**< what costs.far are of */
    hki_engine_t *engine; /**< owned */
    hki_p2p_t *p2p;       /**< owned */
    hki_plans_t plans;
    uint32_t next_op; /**< number of the next collective */
    unsigned birth;   /**< hki_fork_count() at the opening */
    bool is_broken;   /**< `failure` holds why */
    hki_failure_t failure;
    hk_request_t *free_requests;
    hk_request_t *live_requests;
    hki_repeat_t repeats[HKI_COLL_COUNT];
    hki_waiter_t test_waiter; /**< of hk_request_test() calls in a row that moved nothing */
    hki_lock_t lock;
    hki_domain_t *domain;
    struct hk_comm *domain_next;
    hk_progress_t progress;        /**< whether the domain's thread may move operations */
    _Atomic bool is_async;         /**< some may be under way whose caller does something else */
    _Atomic uint32_t is_unwatched; /**< see progress.h */
    hki_watch_t watch;             /**< the thread's */
};

/** What became of a request. */
typedef enum hki_request_kind {
    HKI_REQUEST_COLLECTIVE, /**< op, and children if it also sends and receives */
    HKI_REQUEST_P2P,        /**< p2p */
    HKI_REQUEST_ORPHAN,     /**< its communicator was closed */
    HKI_REQUEST_VECTOR,     /**< for hki_request_get(): a collective with counts of its own */
} hki_request_kind_t;

struct hk_request {
    hk_comm_t *comm;
    hki_request_kind_t kind;
    hk_request_t *next; /**< in the communicator's live or free list */
    hk_request_t *prev; /**< live list */
    hki_op_t op;
    hki_plan_t *plan; /**< collectives; in use until the request ends */
    hki_p2p_op_t p2p;
    hk_request_t *children; /**< sends and receives of a collective, by `sibling`; owned */
    hk_request_t *sibling;
    void *bounce;    /**< copy of an input that the output overwrites; or NULL; owned */
    size_t *vectors; /**< (vector_count,) copies of counts and offsets; kept in the pool */
    size_t vector_count;
};

/* comm.c */

/** Start of every call: refuses NULL, forked and broken ones; locks. hki_comm_leave() unlocks. */
hk_status_t hki_comm_enter(hk_comm_t *comm);
static inline void hki_comm_leave(hk_comm_t *comm)
{
    if (atomic_load_explicit(&comm->is_async, memory_order_relaxed)) {
        hki_progress_leave(comm);
    } else {
        hki_lock_give(&comm->lock);
    }
}

/** A request is handed out: the thread, if there may be one, looks after it. comm is locked. */
static inline void hki_progress_note(hk_comm_t *comm)
{
    if (comm->progress == HK_PROGRESS_THREAD ||
        (comm->progress == HK_PROGRESS_AUTO && comm->ep->has_spare_cores)) {
        atomic_store_explicit(&comm->is_async, true, memory_order_relaxed);
    }
}

/** This rank cannot take part in what the others have begun: want of memory (other statuses are
 *  known to all already) ends the communicator, or they would wait in vain. They learn why. */
void hki_comm_tell(hk_comm_t *comm, hk_status_t status);
/** Leave after a call that ended with `status`; tell the others. */
void hki_comm_leave_with(hk_comm_t *comm, hk_status_t status);

/** Is the communicator usable in this process (not NULL, not inherited by fork)? */
hk_status_t hki_comm_check(const hk_comm_t *comm);

/** Note the group's failure and end everything with it. Idempotent. @return the failure's status */
hk_status_t hki_comm_break(hk_comm_t *comm);

/** Everything a communicator has besides its endpoint. `ep` is owned on success only.
 *  @param costs   what algorithms are chosen by: equal on all ranks; copied
 *  @param parent  inherit options from it; NULL: from opts (complete, not NULL) */
hk_status_t hki_comm_create(hki_endpoint_t *ep, const hk_comm_opts_t *opts,
                            const hki_costs_t *costs, const hk_comm_t *parent, hki_domain_t *domain,
                            hk_comm_t **comm_out);

/** What the algorithms of a collective cost here: comm->costs, which from now on knows what they
 *  cross. @return HK_OK, HK_ERR_NO_MEMORY */
HK_NODISCARD hk_status_t hki_comm_costs(hk_comm_t *comm, hki_coll_t coll,
                                        const hki_costs_t **costs_out);

/** What one run may stage. In all it is best no more than the second-level cache of a core holds;
 *  but parts for many ranks should not become small. */
static inline size_t hki_comm_staging_room(const hki_endpoint_t *ep)
{
    const size_t best = (size_t)(ep->nranks > 8 ? ep->nranks : 8) * 16384;

    return ep->staging_bytes / 2 < best ? ep->staging_bytes / 2 : best;
}

/* request.c */

/** A request from the pool, in the live list. NULL: no memory (the error is set). */
hk_request_t *hki_request_get(hk_comm_t *comm, hki_request_kind_t kind);
/** Back to the pool, with its children, bounce buffer and plan. Must be done, or never started. */
void hki_request_put(hk_request_t *request);
bool hki_request_is_done(const hk_request_t *request);
/** Status of a request that is done. */
hk_status_t hki_request_status(const hk_request_t *request);
/** End of a call that started `request`: wait and put it, or hand it out. comm is locked. */
hk_status_t hki_request_finish(hk_request_t *request, hk_request_t **request_out);
/** Wait until it is done. comm is locked. @return its status, or why the communicator is broken */
hk_status_t hki_request_complete(hk_request_t *request);
/** All of the communicator's requests become orphans. */
void hki_requests_orphan(hk_comm_t *comm);

/* wait.c */

/** Progress of this communicator, without waiting. @param is_full  look at all peers' sends too */
bool hki_comm_progress(hk_comm_t *comm, bool is_full);
/** Wait until the request is done, its deadline passes, or the group fails. comm is locked. */
hk_status_t hki_comm_wait(hk_comm_t *comm, const hk_request_t *request);
/** Everything one hk_request_test() does, without waiting. comm is locked. */
void hki_comm_test(hk_comm_t *comm, const hk_request_t *request);
/** Has it anything that progress here could help? comm is locked. */
bool hki_comm_is_busy(const hk_comm_t *comm);
/** The rank that the oldest operation waits for, or -1. comm is locked. */
int hki_comm_waits_for(const hk_comm_t *comm);
/** Once in a while: deadlines, and ranks that call something else, from the second call on; the
 *  group is failed then. comm is locked. @param next_ns  0 before the first call */
void hki_comm_look(hk_comm_t *comm, uint64_t now_ns, uint64_t *next_ns);

/* collective.c: for group.c. comm is locked. */

/** Deadline of one call. */
uint64_t hki_call_deadline(const hk_comm_t *comm, const hk_coll_opts_t *opts);
/** Options of one call, checked: NULL or of a size that is known. */
hk_status_t hki_call_check_opts(const hk_coll_opts_t *opts, hk_coll_opts_t *store,
                                const hk_coll_opts_t **opts_out);
/** Do the call, or start it if request_out is not NULL. */
hk_status_t hki_call_run(hk_comm_t *comm, const hki_call_t *call, hk_request_t **request_out);

/** Copy the input to request->bounce. */
hk_status_t hki_request_bounce(hk_request_t *request, const void *in, size_t bytes);
/** Start request->op by request->plan; in, out, reduction, check and signature are set. */
void hki_request_post(hk_request_t *request, const hk_coll_opts_t *opts);

/** What the two buffers of one call share. */
typedef struct hki_overlap {
    hk_alias_t alias;
    bool needs_copy; /**< in == out, but not in a natural way: the input must be copied first */
} hki_overlap_t;

/** The ranges a call uses on this rank, and where the own part of the larger one lies. */
typedef struct hki_ranges {
    const char *in;
    size_t in_bytes; /**< 0: not used here */
    char *out;
    size_t out_bytes; /**< 0: not used here */
    size_t own_bytes; /**< offset of this rank's part in the larger buffer */
    bool is_gather;   /**< out is the larger one */
    bool is_scatter;  /**< in is the larger one */
    bool is_exchange; /**< both are (all_to_all): nothing is natural */
} hki_ranges_t;

/** @return HK_OK, HK_ERR_INVALID_ARG (NULL where used; an overlap that is not allowed) */
hk_status_t hki_ranges_overlap(const hki_ranges_t *ranges, hki_overlap_t *overlap_out);

/* repeat.c. comm is locked. */

/** The request of the same call, made before, with the new addresses in it; or NULL. */
hk_request_t *hki_repeat_find(hk_comm_t *comm, const hki_call_t *call);
/** Keep the request of a blocking call that went well. @param ranges  what it used on this rank */
void hki_repeat_keep(hk_request_t *request, const hki_call_t *call, const hki_ranges_t *ranges,
                     hk_alias_t alias);
/** Let go of the one of a collective: its request goes back to the pool. */
void hki_repeat_drop(hk_comm_t *comm, hki_coll_t coll);
/** Let go of all. */
void hki_repeats_fini(hk_comm_t *comm);

/* transfer.c. comm is locked. */

/** A send or receive, as the caller asks for it. */
typedef struct hki_transfer {
    bool is_send;
    void *data;
    size_t count;
    hk_dtype_t dtype;
    int peer;
    uint32_t tag;               /**< or HKI_TAG_INTERNAL | a tag of the library */
    const hk_coll_opts_t *opts; /**< or NULL; for the deadline */
} hki_transfer_t;

/** Start it. @param[out] request_out  live; end it with hki_request_finish() or let it be a
 *  child */
hk_status_t hki_transfer_start(hk_comm_t *comm, const hki_transfer_t *transfer,
                               hk_request_t **request_out);
/** Start it and wait. */
hk_status_t hki_transfer_do(hk_comm_t *comm, const hki_transfer_t *transfer);

#endif /* HKI_COMM_COMM_H */
