/**
 * @file hocket/comm.h
 * @brief Communicators: a group of ranks, how it is opened, split, and closed.
 *
 * A communicator belongs to one rank. Ranks are processes of one host (hk_comm_open) or threads of
 * one process (hk_comm_open_threads). Every wait has a deadline; when a rank dies, stops, leaves or
 * calls something else than its peers, all ranks get an error that says which one and what.
 * After such an error the communicator is broken: every further call returns the same error, and
 * only hk_comm_close() remains to be done.
 *
 * Threads: one call at a time per communicator; different communicators are independent.
 *
 * Progress: operations move while the rank is inside a call (a wait on one communicator moves the
 * others of the process, too), and with opts.progress also while it computes, by a thread of the
 * library's own: one for all communicators of a process (of a rank of hk_comm_open_threads()). It
 * starts with the first request that is not done when it is handed out, sleeps while none is under
 * way, takes no signals, and ends with the last communicator. HK_USER functions may run on it.
 */
#ifndef HK_COMM_H
#define HK_COMM_H

#include <hocket/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_comm hk_comm_t; /**< one rank's view of a group of ranks */

/** How much a caller wants of the order of reductions. */
typedef enum hk_order {
    HK_ORDER_TREE = 0, /**< the canonical tree of hocket/types.h, always the same bits. Default */
    HK_ORDER_ANY = 1,  /**< any order; still the same bits on all ranks. Allows ring algorithms */
} hk_order_t;

/** Who moves operations whose requests were handed out, while their caller computes. */
typedef enum hk_progress {
    HK_PROGRESS_NONE = 0,   /**< nobody: they move during calls (hk_request_test() too). Default */
    HK_PROGRESS_THREAD = 1, /**< a thread */
    HK_PROGRESS_AUTO = 2,   /**< a thread, if the ranks of this host leave cores free */
} hk_progress_t;

/** Called for each line of the library's log. `line` has no line end. Must not call hocket. */
typedef void (*hk_log_fn)(const char *line, void *cookie);

/** Send the log of the whole process somewhere else than stderr; NULL restores stderr. */
HK_API void hk_log_set(hk_log_fn fn, void *cookie);

/** Options of hk_comm_open(). Start from hk_comm_opts_default(), then set fields. */
typedef struct hk_comm_opts {
    size_t struct_size;  /**< set by the default; tells the library which fields you know */
    int rank;            /**< this rank; -1 (default): from the environment */
    int nranks;          /**< ranks in the job; -1 (default): from the environment */
    const char *job;     /**< name all ranks of the job share, unique on this host; borrowed during
                               the call; NULL (default): from the environment */
    int timeout_ms;      /**< deadline of every wait [ms]; default 1800000 (half an hour), -1: none.
                               Environment: HOCKET_TIMEOUT (seconds) */
    int open_timeout_ms; /**< deadline of opening and closing [ms]; default 60000 */
    hk_order_t order;    /**< default HK_ORDER_TREE */
    const char *algo;    /**< forced algorithms, "all_reduce:0-8K=direct,8K-=halving"; borrowed;
                               NULL (default): HOCKET_ALGO, else chosen by cost */
    size_t segment_bytes; /**< staging memory per rank [bytes]; 0 (default): 2 MiB, 896 KiB for more
                               than 64 ranks */
    int spin;             /**< waiting: -1 (default): spin only while ranks here <= cores;
                               0: never; 1: always; 2: only yields; 3: only sleeps */
    hk_progress_t progress; /**< default HK_PROGRESS_NONE. Environment: HOCKET_PROGRESS */
} hk_comm_opts_t;

static inline hk_comm_opts_t hk_comm_opts_default(void)
{
    const hk_comm_opts_t opts = {sizeof(opts),  -1,   -1, NULL, 1800000,         60000,
                                 HK_ORDER_TREE, NULL, 0,  -1,   HK_PROGRESS_NONE};
    return opts;
}

/**
 * Join a job and wait until all its ranks have joined.
 *
 * @param[in]  opts      NULL: hk_comm_opts_default(). Rank, nranks and job come from, in this
 *                       order: the fields, HOCKET_RANK/HOCKET_NRANKS/HOCKET_JOB (set by `hocket
 *                       run`), torchrun's RANK/WORLD_SIZE/MASTER_PORT, Slurm, Open MPI, MPICH
 *                       (PMI); else a job of one rank
 * @param[out] comm_out  set on success only; end it with hk_comm_close()
 * @return HK_OK, HK_ERR_INVALID_ARG, HK_ERR_NO_MEMORY (names needed and available bytes),
 *         HK_ERR_TIMED_OUT (names the ranks that have arrived and that have not),
 *         HK_ERR_PEER_FAILED, HK_ERR_SYSTEM
 */
HK_API HK_NODISCARD hk_status_t hk_comm_open(const hk_comm_opts_t *opts, hk_comm_t **comm_out);

/**
 * Make `nranks` ranks of this process, to be used by one thread each.
 *
 * @param[in]  opts       NULL: defaults; rank and job are ignored
 * @param[in]  nranks     1 <= nranks <= 1024
 * @param[out] comms_out  (nranks,) set on success only; each is closed by its own thread
 * @return HK_OK, HK_ERR_INVALID_ARG, HK_ERR_NO_MEMORY
 */
HK_API HK_NODISCARD hk_status_t hk_comm_open_threads(const hk_comm_opts_t *opts, int nranks,
                                                     hk_comm_t **comms_out);

/**
 * Leave the group, free everything and set *comm to NULL. Accepts NULL and broken communicators.
 * Data already sent still arrives at the peers. Bounded by open_timeout_ms; requests that are still
 * outstanding are abandoned and end with HK_ERR_ABORTED.
 */
HK_API void hk_comm_close(hk_comm_t **comm);

/** This rank, 0 <= rank < hk_comm_size(comm). -1 if comm is NULL. */
HK_API int hk_comm_rank(const hk_comm_t *comm);
/** Number of ranks. -1 if comm is NULL. */
HK_API int hk_comm_size(const hk_comm_t *comm);
/** HK_OK, or the error that broke the communicator; the text is in hk_last_error(). */
HK_API hk_status_t hk_comm_status(const hk_comm_t *comm);
/** Rank that broke the communicator (died, stopped, left, aborted, differed), or -1. */
HK_API int hk_comm_failed_rank(const hk_comm_t *comm);

/**
 * Divide the group: ranks that pass the same `color` form a new one, ordered by (key, old rank).
 * Collective over `comm`. The new communicator inherits the options.
 *
 * @param[in]  color     >= 0; -1: this rank joins none and gets NULL
 * @param[out] comm_out  set on success only
 */
HK_API HK_NODISCARD hk_status_t hk_comm_split(hk_comm_t *comm, int color, int key,
                                              hk_comm_t **comm_out);

/**
 * Make a group of the listed ranks of `comm`; only these call, in any order relative to other
 * groups. All pass the same list. New rank i is old rank ranks[i].
 *
 * @param[in]  ranks  (nranks,) distinct ranks of comm, this one among them
 * @param[in]  tag    >= 0; tells groups of the same members apart when threads make several at once
 */
HK_API HK_NODISCARD hk_status_t hk_comm_group(hk_comm_t *comm, const int *ranks, int nranks,
                                              int tag, hk_comm_t **comm_out);

/**
 * Break the communicator on purpose: returns at once; every other rank's pending and later calls
 * return HK_ERR_ABORTED with `reason` and this rank. Any thread may call it.
 */
HK_API void hk_comm_abort(hk_comm_t *comm, const char *reason);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HK_COMM_H */
