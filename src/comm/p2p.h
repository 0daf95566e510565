/**
 * @file p2p.h
 * @brief Sends and receives, matched by (peer, tag) in order.
 *
 * The protocol, on two lanes of the endpoint, control and data:
 *   - up to inline_bytes: one control frame with the data in it;
 *   - up to HKI_TILE_BYTES: one control frame, data in a slot of shared memory of the sender;
 *   - more, in memory that all ranks see: RTS, which says where; the receiver, once it has a
 *     matching receive, copies from there and answers READ;
 *   - up to HKI_EAGER_BYTES: several control frames, a tile in each, so that the sender fills one
 *     while the receiver empties another;
 *   - more: RTS; the receiver, once it has a matching receive, answers CTS; then the data, either
 *     where it lies (memory the receiver can read) or in fragments through slots, in the order of
 *     the CTS frames, so that data needs no names.
 * First frames that match no receive yet are taken off the stream into a list, so that a stream
 * never blocks another tag; the list may hold HKI_STRAY_BYTES_MAX, then streams wait. The tiles of
 * a message follow one another: between them only answers (CTS, READ) travel on their stream.
 *
 * Threads: the communicator's lock is held.
 */
#ifndef HKI_COMM_P2P_H
#define HKI_COMM_P2P_H

#include <hocket/types.h>

#include "transport/transport.h"

#define HKI_TAG_INTERNAL    (UINT32_C(1) << 31) /* tags of the library itself */
#define HKI_STRAY_BYTES_MAX ((size_t)256 << 20)

enum {
    HKI_TILE_BYTES = 8192,
    HKI_EAGER_BYTES = 65536,
    HKI_FRAGMENT_BYTES = 65536,
};

typedef struct hki_p2p hki_p2p_t;

/** A send or receive. The caller allocates it and keeps it until it is done. */
typedef struct hki_p2p_op {
    bool is_send;
    int peer;
    uint32_t tag;
    hk_dtype_t dtype;
    size_t count;
    size_t bytes;
    char *data; /**< a send only reads it */
    /* p2p's own: */
    uint64_t deadline_ns;
    bool is_done;
    bool is_open;                     /**< all ranks see the sender's data, at `where` */
    hk_status_t status;               /**< once is_done */
    size_t moved;                     /**< bytes that have gone or come */
    uint32_t id;                      /**< sends that wait for an answer; receives: to answer */
    uint64_t ticket;                  /**< sends that went direct */
    uint64_t where;                   /**< see is_open */
    struct hki_p2p_op *link;          /**< in one queue at a time */
    struct hki_p2p_op *older, *newer; /**< list of all that are not done */
} hki_p2p_op_t;

/** @param[in] ep  borrowed, must outlive it */
hk_status_t hki_p2p_create(hki_endpoint_t *ep, int control_lane, int data_lane,
                           hki_p2p_t **p2p_out);
/** Free everything and set *p2p to NULL; operations not done are forgotten. Accepts NULL. */
void hki_p2p_destroy(hki_p2p_t **p2p);

/** Do it at once, without a place among the others, if it is short and nothing is in its way.
 *  Only the caller's fields of `op` are read, and `moved`, which is 0; nothing is kept.
 *  @return HK_OK: it is done; HK_IN_PROGRESS: nothing was done, post it; or the group's failure */
hk_status_t hki_p2p_now(hki_p2p_t *p2p, const hki_p2p_op_t *op);

/** Room for one more operation of any kind: before each hki_p2p_post(). Allocates. */
hk_status_t hki_p2p_reserve(hki_p2p_t *p2p, const hki_p2p_op_t *op);
/** Start it, and take it as far as it goes. It has no deadline yet. */
void hki_p2p_post(hki_p2p_t *p2p, hki_p2p_op_t *op);

/** Give a posted operation that is not done its deadline. */
void hki_p2p_limit(hki_p2p_t *p2p, hki_p2p_op_t *op, uint64_t deadline_ns);

/** @param is_full  look at all peers, not only at those that something is expected of
 *  @return true if anything moved */
bool hki_p2p_progress(hki_p2p_t *p2p, bool is_full);

/** Operations that are not done. */
size_t hki_p2p_pending(const hki_p2p_t *p2p);
/** The peer of the oldest one that is not done, or -1. */
int hki_p2p_waits_for(const hki_p2p_t *p2p);
/** If the only one under way waits for a frame: wait for it closely for a short while; also where
 *  ranks share cores, as long as that helps. @return true: it is here */
bool hki_p2p_linger(hki_p2p_t *p2p);
/** One whose deadline is not after `now_ns`, or NULL. */
const hki_p2p_op_t *hki_p2p_overdue(hki_p2p_t *p2p, uint64_t now_ns);
/** A send whose data a peer may be reading where it lies, or NULL. */
const hki_p2p_op_t *hki_p2p_landing(const hki_p2p_t *p2p);
/** "receive of 4 f32 with tag 7 from rank 2 (0 of 16 bytes done)" */
void hki_p2p_describe(const hki_p2p_op_t *op, char *text, size_t text_bytes);

/** End all with this status, also later ones. */
void hki_p2p_cancel(hki_p2p_t *p2p, hk_status_t status);

#endif /* HKI_COMM_P2P_H */
