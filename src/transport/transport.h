/**
 * @file transport.h
 * @brief What moves bytes between the ranks of one group. The executor knows nothing else.
 *
 * An endpoint is one rank's end of a group. Between each ordered pair of ranks there are `nlanes`
 * independent streams of messages, each first in, first out. A message has a small envelope and a
 * payload. The receiver looks at the head of a stream (peek), reads the payload where it lies, and
 * releases it. Nothing blocks except wait(). Nothing allocates except the calls that say so.
 *
 * Payloads travel in one of four ways, chosen by the transport: inside the message's cache line
 * (up to inline_bytes); staged, copied to memory that both ranks see; direct, read by the receiver
 * where the sender has it, in memory that both see (is_direct() says so); or remote, the same in
 * memory that only the sender sees, from where fetch() copies it (single copy; from unstaged_bytes
 * on). HKI_SEND_COPIED asks for one of the first two. Until is_consumed() the source of the last
 * two must stay unchanged.
 *
 * Staging memory is bounded. Each (endpoint, lane) owns `staging_bytes`, in two halves; runs of
 * schedules take turns: begin_run() switches to the other half, after all that was staged there two
 * runs ago has been consumed (else HK_IN_PROGRESS, try again). What one run stages must fit in
 * half of staging_bytes; a payload sent to several peers in a row (HKI_SEND_SAME) is staged once.
 *
 * Failure: the first rank that sees one calls fail(); from then on every call of every rank's
 * endpoint that can return a status returns that failure, and sleepers wake. Death of a peer, and
 * a peer that has closed while we wait for it, are found by wait().
 *
 * Threads: an endpoint is used by one thread at a time; fail() and failure() by any.
 */
#ifndef HKI_TRANSPORT_TRANSPORT_H
#define HKI_TRANSPORT_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hocket/base.h>

#include "topo/home.h"

enum {
    HKI_INLINE_BYTES_MAX = 40,
    HKI_FAILURE_TEXT_BYTES = 512,
    HKI_SIGNATURE_BYTES = 96,
    HKI_RANKS_MAX = 1024,
    HKI_NOTE_BYTES = 4096,
};

/** How the payload of a message travels: see above. */
enum {
    HKI_PAYLOAD_INLINE = 0,
    HKI_PAYLOAD_STAGED,
    HKI_PAYLOAD_DIRECT,
    HKI_PAYLOAD_REMOTE,
    HKI_PAYLOADS,
};

/** Ways of waiting that can be forced: values of hk_comm_opts_t.spin. */
enum {
    HKI_SPIN_AUTO = -1,
    HKI_SPIN_NEVER = 0,
    HKI_SPIN_ALWAYS,
    HKI_SPIN_YIELDS, /**< only yields */
    HKI_SPIN_SLEEPS, /**< only sleeps */
};

/** What an endpoint has done so far. Nothing depends on it: it shows which way was taken. */
typedef struct hki_counts {
    uint64_t sent[HKI_PAYLOADS]; /**< messages; those inside a line are not counted */
    uint64_t pauses;             /**< rounds of wait() that spun */
    uint64_t yields;
    uint64_t sleeps;
    uint64_t arms; /**< calls of arm() */
} hki_counts_t;

/** Rides along with every message, before the payload. */
typedef struct hki_envelope {
    uint32_t op_number; /**< number of the operation on this communicator */
    uint32_t check;     /**< hash of all calls up to this operation; for the user to compare */
    uint32_t kind;      /**< for the user (point-to-point protocol); 0 otherwise; < 256 */
} hki_envelope_t;

/** A message inside its line, at most inline_bytes long: what is sent, or where it is wanted. */
typedef struct hki_few {
    int peer;
    uint32_t bytes;
    void *data; /**< anything if bytes is 0 */
} hki_few_t;

typedef struct hki_message {
    hki_envelope_t envelope;
    size_t bytes;        /**< of payload */
    const void *payload; /**< readable until release(); NULL if bytes is 0, or if is_remote */
    bool is_direct;      /**< the sender waits for release() before it goes on */
    bool is_remote;      /**< the same, and it must be read by fetch() */
    uint8_t shift;       /**< is_remote: fetch() is fastest to addresses that are this modulo 64 */
} hki_message_t;

enum {
    HKI_SEND_COPIED = 1, /**< the source may change as soon as send() returns HK_OK */
    HKI_SEND_SAME = 2,   /**< the same payload as in the last send on this lane, in this run */
    HKI_SEND_SHORT = 4,  /**< within a run: what takes less time to copy than to wait until it is
                              read may be staged */
};

/** One contribution to the group's log of who does what, shown in errors. */
typedef struct hki_announcement {
    uint32_t op_number;
    uint32_t check; /**< hash of all calls up to this one; for the user to compare */
    uint64_t call;  /**< hash of this call: of equal ones in a slot only the head is written */
    char signature[HKI_SIGNATURE_BYTES]; /**< "all_reduce count 5 f32 sum", readable */
} hki_announcement_t;

/** Why a group is broken. */
typedef struct hki_failure {
    hk_status_t status; /**< HK_OK: it is not */
    int rank;           /**< the rank that caused it, or -1 */
    char text[HKI_FAILURE_TEXT_BYTES];
} hki_failure_t;

/** State of one wait loop. Zero it, and zero it again after progress. */
typedef struct hki_waiter {
    uint32_t rounds;
    uint64_t started_ns;
} hki_waiter_t;

/** What a thread that waits for many endpoints sleeps on: see arm(). */
typedef struct hki_bell {
    _Atomic uint32_t *word;
    uint32_t value; /**< *word is something else once there is something to look at */
    bool is_private;
} hki_bell_t;

typedef struct hki_endpoint hki_endpoint_t;

typedef struct hki_endpoint_ops {
    const char *name; /**< "shm", "local" */

    /** Send, or HK_IN_PROGRESS if stream or staging are full (nothing was done; progress something
     *  else, then try again). bytes may be 0.
     *  *ticket_out: for is_consumed(); 0: the payload was copied, its source is free */
    hk_status_t (*send)(hki_endpoint_t *ep, int lane, int peer, const hki_envelope_t *envelope,
                        const void *payload, size_t bytes, unsigned flags, uint64_t *ticket_out);
    /** Head of the stream from peer, or HK_IN_PROGRESS if there is none. */
    hk_status_t (*peek)(hki_endpoint_t *ep, int lane, int peer, hki_message_t *message_out);
    /** send() of several messages inside their lines, in order, at less cost.
     *  *sent_out: how many of them went; fewer than count: a stream is full, or the group failed */
    hk_status_t (*send_few)(hki_endpoint_t *ep, int lane, const hki_envelope_t *envelope,
                            const hki_few_t *few, int count, int *sent_out);
    /** Send one message inside its line to all other ranks, which read it from the same line:
     *  `few->peer` means nothing. What is cast on lane l they receive, from peek() to release(), by
     *  lane nlanes + l. @return as send() */
    hk_status_t (*cast)(hki_endpoint_t *ep, int lane, const hki_envelope_t *envelope,
                        const hki_few_t *few);
    /** The rank whose reading cast() waits for. */
    int (*cast_waits_for)(const hki_endpoint_t *ep, int lane);
    /** peek(), copy and release() of several messages inside their lines, in order, up to the first
     *  that is not there, or has another envelope or size: peek() tells. @return how many */
    int (*take_few)(hki_endpoint_t *ep, int lane, const hki_envelope_t *expected,
                    const hki_few_t *few, int count);
    /** Wait for some hundreds of nanoseconds for a head of the stream from peer, and nothing else,
     *  as closely as can be. Where ranks share cores: for `shared_rounds` looks, some 20 ns each;
     *  0: not at all. @return true: it is there */
    bool (*linger)(hki_endpoint_t *ep, int lane, int peer, uint32_t shared_rounds);
    /** Copy bytes [offset, offset + bytes) of the payload at the head of the stream from peer,
     *  which is_remote. NULL where no message ever is. @return HK_OK, or the group's failure */
    hk_status_t (*fetch)(hki_endpoint_t *ep, int lane, int peer, size_t offset, void *into,
                         size_t bytes);
    /** Drop the head of the stream from peer. Only after a peek that returned HK_OK. */
    void (*release)(hki_endpoint_t *ep, int lane, int peer);
    /** Has peer released the message with this ticket? */
    bool (*is_consumed)(hki_endpoint_t *ep, int lane, int peer, uint64_t ticket);
    /** A new run begins on this lane: see "Staging memory" above. */
    hk_status_t (*begin_run)(hki_endpoint_t *ep, int lane);
    /** The peer whose reading begin_run() waits for, or -1. */
    int (*run_waits_for)(const hki_endpoint_t *ep, int lane);
    /** Would this memory be sent direct, without HKI_SEND_COPIED? */
    bool (*is_direct)(const hki_endpoint_t *ep, const void *memory, size_t bytes);
    /** Where all ranks see this memory, for a message of one's own making that tells of it.
     *  @return false: they do not, or not beyond the life of this rank's heap */
    bool (*share)(const hki_endpoint_t *ep, const void *memory, size_t bytes, uint64_t *where_out);
    /** What peer has shared. To be asked for again after reading: NULL: peer has left, and what was
     *  read may be anything. */
    const void *(*view)(const hki_endpoint_t *ep, int peer, uint64_t where);

    /** Tell all ranks what this rank starts now. Cheap: a few stores into memory of one's own.
     *  @param is_awaited  wake ranks that sleep: they may wait for this, not only for messages */
    void (*announce)(hki_endpoint_t *ep, const hki_announcement_t *announcement, bool is_awaited);
    /** What peer announced as op_number. HK_OK; HK_IN_PROGRESS: not yet; HK_ERR_LIMIT: so long ago
     *  that it is forgotten (the last 256 are kept). */
    hk_status_t (*announced)(hki_endpoint_t *ep, int peer, uint32_t op_number,
                             hki_announcement_t *announcement_out);
    /** The same, of its check alone: for polling. */
    hk_status_t (*announced_check)(hki_endpoint_t *ep, int peer, uint32_t op_number,
                                   uint32_t *check_out);

    /**
     * One step of waiting after a round of polling found nothing: first spins, then yields, then
     * sleeps until a peer sends, releases, announces, fails, or a slice of time is over. Spinning
     * only while the ranks here are not more than the cores.
     *
     * @param peer_mask_peer  the rank that is waited for, or -1: several; its closing is an error
     * @param slice_ns        sleep no longer than this
     * @return HK_OK (poll again), or the group's failure (fail() has been called: peer died, peer
     *         closed)
     */
    hk_status_t (*wait)(hki_endpoint_t *ep, hki_waiter_t *waiter, int peer, uint64_t slice_ns);
    /**
     * Instead of wait(), for a thread that looks after many endpoints while this rank's caller does
     * something else: looks for peers that have gone, as wait() does, and arms the bell. Poll once
     * more after that, and then sleep on the bell (hki_bells_wait()), some 20 ms at most.
     *
     * @param peer  as for wait()
     * @return HK_OK, or the group's failure
     */
    hk_status_t (*arm)(hki_endpoint_t *ep, hki_waiter_t *waiter, int peer, hki_bell_t *bell_out);
    /** Ranks that are to blame when a deadline passes: stopped processes first, then ranks that
     *  are not waiting in this group. Writes a text "rank 2 (pid 77) is stopped". @return a rank
     *  or -1 if all seem to be waiting for one another */
    int (*blame)(hki_endpoint_t *ep, char *text, size_t text_bytes);

    /** Break the group: the first caller's failure stands for all. */
    void (*fail)(hki_endpoint_t *ep, hk_status_t status, int rank, const char *text);
    /** The group's failure; status HK_OK if there is none. The flag alone: is_failed(). */
    void (*failure)(const hki_endpoint_t *ep, hki_failure_t *failure_out);
    bool (*is_failed)(const hki_endpoint_t *ep);

    /** Memory that all ranks of the group see directly. Allocates. Zeroed, page aligned. */
    hk_status_t (*mem_alloc)(hki_endpoint_t *ep, size_t bytes, void **ptr_out);
    void (*mem_free)(hki_endpoint_t *ep, void *ptr);
    /** Free memory that others may still read, once all of them have closed. Once in the life of an
     *  endpoint, before its close. */
    void (*mem_lend)(hki_endpoint_t *ep, void *ptr);

    /**
     * Make an endpoint of a subgroup, in two steps, so that the caller can carry `handle` from the
     * leader (new rank 0) to the other members over the old group. group_offer: leader only.
     * group_join: every member, the leader too. Allocate.
     *
     * @param ranks  (nranks,) old ranks, in new order
     */
    hk_status_t (*group_offer)(hki_endpoint_t *ep, int nranks, uint64_t *handle_out);
    hk_status_t (*group_join)(hki_endpoint_t *ep, const int *ranks, int nranks, int new_rank,
                              uint64_t handle, hki_endpoint_t **ep_out);

    /** Where a rank of the group runs. It never changes, and all ranks see the same. */
    hki_home_t (*home)(const hki_endpoint_t *ep, int rank);

    /** Leave: mark this rank closed (data sent stays readable) and free this rank's end. */
    void (*close)(hki_endpoint_t *ep);
} hki_endpoint_ops_t;

struct hki_endpoint {
    const hki_endpoint_ops_t *ops;
    int rank;
    int nranks;
    int nlanes;           /**< streams per ordered pair */
    size_t inline_bytes;  /**< payloads up to this need no staging */
    size_t staging_bytes; /**< per lane; one run may stage half of it */
    /** Payloads of so many bytes and more are never staged, unless HKI_SEND_COPIED, and smaller
     *  ones only while there is room: nothing depends on staging_bytes but copies. SIZE_MAX: not
     *  so. Whether it is SIZE_MAX is the same on all ranks. */
    size_t unstaged_bytes;
    /** (HKI_NOTE_BYTES,) hki_transport_opts_t.note of rank 0, in a group that hki_shm_open() has
     *  made; zeros in all others. */
    const unsigned char *note;
    bool can_spin;        /**< wait() spins first, and linger() waits: ranks do not share cores */
    int ranks_per_core;   /**< ranks of this host per core they may run on, rounded up, >= 1 */
    bool has_spare_cores; /**< the ranks of this host are fewer than the cores they may run on */
    hki_counts_t counts;
};

#endif /* HKI_TRANSPORT_TRANSPORT_H */
