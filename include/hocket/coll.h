/**
 * @file hocket/coll.h
 * @brief Collectives, sends and receives, requests.
 *
 * Common to all calls:
 *   - `count` counts elements of `dtype`; 0 is valid and still synchronises.
 *   - All ranks of a communicator call the same collectives in the same order with the same count,
 *     dtype, op and root. A difference is HK_ERR_MISMATCH on every rank, with both signatures: from
 *     this call; or, on a rank that hears nothing from others in it (the root of a broadcast) and
 *     if all ranks have made the call before, from one of the next calls, or as a log line when the
 *     communicator is closed.
 *   - in == out is always allowed, and so is this rank's part of the larger buffer (in == out +
 *     rank * count for gathers, out == in + rank * count for scatters); any other overlap of in and
 *     out is HK_ERR_INVALID_ARG. Buffers need no alignment. Inputs are never written.
 *     In place costs nothing for broadcast, reduce, all_reduce, and where one buffer is this rank's
 *     part of the other; in all other cases of in == out (gathers and scatters on ranks other than
 *     0, all_to_all) the input is first copied to the heap.
 *   - `opts` NULL means the communicator's defaults.
 *   - `request_out` NULL: the call returns when its part is done. Otherwise the operation is only
 *     started; buffers stay borrowed until hk_request_wait() or hk_request_test() ends it. Any
 *     number may be outstanding up to the memory there is. On an error *request_out is untouched.
 *     Who moves it meanwhile: see "Progress" in hocket/comm.h.
 *   - Errors: HK_ERR_INVALID_ARG (this call only; nothing was sent), HK_ERR_TIMED_OUT,
 *     HK_ERR_PEER_FAILED, HK_ERR_MISMATCH, HK_ERR_ABORTED, HK_ERR_NO_MEMORY (these break the
 *     communicator, and all ranks learn why).
 */
#ifndef HK_COLL_H
#define HK_COLL_H

#include <hocket/comm.h>
#include <hocket/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hk_request hk_request_t; /**< an operation under way */

/** Options of one call. Start from hk_coll_opts_default(), then set fields. */
typedef struct hk_coll_opts {
    size_t struct_size; /**< set by the default */
    int timeout_ms;     /**< deadline of this operation [ms]; 0 (default): the communicator's; -1:
                             none */
    int order;          /**< hk_order_t, or -1 (default): the communicator's */
    const char *algo;   /**< name of an algorithm; borrowed during the call; NULL (default):
                             chosen */
    int tag;            /**< send and recv: matches equal tags only, >= 0, default 0 */
    double scalar;      /**< HK_PREMULSUM: the factor, the same on all ranks; default 1 */
    hk_reduce_fn reduce_fn; /**< HK_USER: the function; default NULL */
    void *reduce_cookie;    /**< HK_USER: passed to reduce_fn; default NULL */
} hk_coll_opts_t;

static inline hk_coll_opts_t hk_coll_opts_default(void)
{
    const hk_coll_opts_t opts = {sizeof(opts), 0, -1, NULL, 0, 1.0, NULL, NULL};
    return opts;
}

/** in (count,) on root is copied to out (count,) on all ranks. `in` may be NULL elsewhere. */
HK_API HK_NODISCARD hk_status_t hk_broadcast(hk_comm_t *comm, const void *in, void *out,
                                             size_t count, hk_dtype_t dtype, int root,
                                             const hk_coll_opts_t *opts,
                                             hk_request_t **request_out);

/** out (count,) on root = reduction of all in (count,). `out` is not touched elsewhere. */
HK_API HK_NODISCARD hk_status_t hk_reduce(hk_comm_t *comm, const void *in, void *out, size_t count,
                                          hk_dtype_t dtype, hk_op_t op, int root,
                                          const hk_coll_opts_t *opts, hk_request_t **request_out);

/** out (count,) on every rank = reduction of all in (count,). */
HK_API HK_NODISCARD hk_status_t hk_all_reduce(hk_comm_t *comm, const void *in, void *out,
                                              size_t count, hk_dtype_t dtype, hk_op_t op,
                                              const hk_coll_opts_t *opts,
                                              hk_request_t **request_out);

/** out (count,) on rank r = reduction of all in[r * count ..]; in is (P * count,). */
HK_API HK_NODISCARD hk_status_t hk_reduce_scatter(hk_comm_t *comm, const void *in, void *out,
                                                  size_t count, hk_dtype_t dtype, hk_op_t op,
                                                  const hk_coll_opts_t *opts,
                                                  hk_request_t **request_out);

/** out (P * count,): rank r's in (count,) stands at r * count, on every rank. */
HK_API HK_NODISCARD hk_status_t hk_all_gather(hk_comm_t *comm, const void *in, void *out,
                                              size_t count, hk_dtype_t dtype,
                                              const hk_coll_opts_t *opts,
                                              hk_request_t **request_out);

/** Like hk_all_gather(), on root only; `out` is not touched elsewhere. */
HK_API HK_NODISCARD hk_status_t hk_gather(hk_comm_t *comm, const void *in, void *out, size_t count,
                                          hk_dtype_t dtype, int root, const hk_coll_opts_t *opts,
                                          hk_request_t **request_out);

/** out (count,) on rank r = root's in[r * count ..]. `in` may be NULL elsewhere. */
HK_API HK_NODISCARD hk_status_t hk_scatter(hk_comm_t *comm, const void *in, void *out, size_t count,
                                           hk_dtype_t dtype, int root, const hk_coll_opts_t *opts,
                                           hk_request_t **request_out);

/** out[s * count ..] on rank r = in[r * count ..] of rank s; both are (P * count,). */
HK_API HK_NODISCARD hk_status_t hk_all_to_all(hk_comm_t *comm, const void *in, void *out,
                                              size_t count, hk_dtype_t dtype,
                                              const hk_coll_opts_t *opts,
                                              hk_request_t **request_out);

/** Returns when every rank has called it. */
HK_API HK_NODISCARD hk_status_t hk_barrier(hk_comm_t *comm, const hk_coll_opts_t *opts,
                                           hk_request_t **request_out);

/**
 * The forms with a count for each rank.
 *
 * @param counts   (P,) [elements], borrowed during the call only
 * @param offsets  (P,) [elements] from the start of the large buffer; NULL: one after the other.
 *                 Parts of an output must not overlap.
 * Which ranks must pass counts: gatherv, scatterv: all, with equal values; all_gatherv,
 * reduce_scatterv: all, with equal values; all_to_allv: this rank's own, and in_counts[d] here must
 * equal out_counts[s] there (else HK_ERR_MISMATCH).
 */
HK_API HK_NODISCARD hk_status_t hk_gatherv(hk_comm_t *comm, const void *in, void *out,
                                           const size_t *counts, const size_t *offsets,
                                           hk_dtype_t dtype, int root, const hk_coll_opts_t *opts,
                                           hk_request_t **request_out);
HK_API HK_NODISCARD hk_status_t hk_scatterv(hk_comm_t *comm, const void *in, void *out,
                                            const size_t *counts, const size_t *offsets,
                                            hk_dtype_t dtype, int root, const hk_coll_opts_t *opts,
                                            hk_request_t **request_out);
HK_API HK_NODISCARD hk_status_t hk_all_gatherv(hk_comm_t *comm, const void *in, void *out,
                                               const size_t *counts, const size_t *offsets,
                                               hk_dtype_t dtype, const hk_coll_opts_t *opts,
                                               hk_request_t **request_out);
HK_API HK_NODISCARD hk_status_t hk_reduce_scatterv(hk_comm_t *comm, const void *in, void *out,
                                                   const size_t *counts, hk_dtype_t dtype,
                                                   hk_op_t op, const hk_coll_opts_t *opts,
                                                   hk_request_t **request_out);
HK_API HK_NODISCARD hk_status_t hk_all_to_allv(hk_comm_t *comm, const void *in,
                                               const size_t *in_counts, const size_t *in_offsets,
                                               void *out, const size_t *out_counts,
                                               const size_t *out_offsets, hk_dtype_t dtype,
                                               const hk_coll_opts_t *opts,
                                               hk_request_t **request_out);

/**
 * Point to point. The k-th send from a to b with a tag pairs with the k-th receive on b from a with
 * that tag; both must have the same count and dtype (else HK_ERR_MISMATCH on both, and no data is
 * delivered; a short send may be done already, then the next call on its communicator says so). A
 * send is done when `in` may be reused, which may be before it is received. Sending to oneself
 * works. Sends and receives never wait for collectives, nor for each other. Messages that come
 * before their receive are kept, up to 256 MiB a rank; beyond that their senders wait.
 */
HK_API HK_NODISCARD hk_status_t hk_send(hk_comm_t *comm, const void *in, size_t count,
                                        hk_dtype_t dtype, int peer, const hk_coll_opts_t *opts,
                                        hk_request_t **request_out);
HK_API HK_NODISCARD hk_status_t hk_recv(hk_comm_t *comm, void *out, size_t count, hk_dtype_t dtype,
                                        int peer, const hk_coll_opts_t *opts,
                                        hk_request_t **request_out);

/**
 * Wait until the operation ends, free the request and set *request to NULL, whatever the result.
 * A NULL request gives HK_OK.
 */
HK_API HK_NODISCARD hk_status_t hk_request_wait(hk_request_t **request);

/**
 * Make progress, also of the process's other communicators, without waiting. HK_IN_PROGRESS: not
 * done, *request stays. Otherwise like hk_request_wait().
 */
HK_API HK_NODISCARD hk_status_t hk_request_test(hk_request_t **request);

/** Wait for all of (count,) requests; NULL entries are skipped. Returns the first error. */
HK_API HK_NODISCARD hk_status_t hk_request_wait_all(hk_request_t **requests, size_t count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HK_COLL_H */
