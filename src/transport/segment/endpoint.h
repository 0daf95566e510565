/**
 * @file endpoint.h
 * @brief One rank's end of a group whose memory all its ranks see. Private to the transports.
 *
 * local/ and shm/ make the world; everything that happens in it stands here:
 *   stream.c  messages, staging        notice.c   announcements, blame
 *   wait.c    spinning, sleeping       failure.c  the group's failure
 *   group.c   life of an endpoint and of a group's memory
 */
#ifndef HKI_TRANSPORT_SEGMENT_ENDPOINT_H
#define HKI_TRANSPORT_SEGMENT_ENDPOINT_H

#include "transport/segment/layout.h"
#include "transport/segment/world.h"
#include "transport/transport.h"

/** Sender's end of a stream. */
typedef struct hki_stream_out {
    hki_line_t *ring;
    const _Atomic uint64_t *consumed; /**< NULL: a cast, which has several receivers */
    size_t stride;                    /**< lines from one message to the next */
    uint64_t sent;                    /**< messages so far */
    uint64_t consumed_seen; /**< old value of *consumed: looked at again when the ring seems full */
} hki_stream_out_t;

/** Receiver's end. */
typedef struct hki_stream_in {
    const hki_line_t *ring;
    _Atomic uint64_t *consumed;
    size_t stride;      /**< lines from one message to the next */
    uint64_t released;  /**< messages so far */
    uint64_t published; /**< what *consumed says; behind only by messages inside their line */
} hki_stream_in_t;

/** One half of a lane's staging memory, and who has yet to read from it. */
typedef struct hki_staging_half {
    uint64_t *tickets; /**< (nranks,) last message staged here for this peer; 0: none */
    int *readers;      /**< (nranks,) peers with a ticket */
    int nreaders;
} hki_staging_half_t;

typedef struct hki_staging {
    char *base;        /**< of the first half */
    size_t used;       /**< bytes of the current half */
    size_t last_at;    /**< where the last payload lies in the current half */
    size_t last_bytes; /**< 0: none */
    int current;       /**< half */
    hki_staging_half_t halves[2];
} hki_staging_t;

typedef struct hki_segment {
    hki_endpoint_t base; /**< first: an endpoint is one of these */
    hki_world_t *world;
    hki_head_t *head;
    hki_block_t *blocks;                   /**< (nranks,) */
    _Atomic uint32_t *bells;               /**< (nranks,) */
    const _Atomic uint64_t *cast_consumed; /**< see hki_layout_t */
    hki_block_t *mine;
    hki_stream_out_t *out; /**< (nlanes * nranks + nlanes,) the last are casts */
    hki_stream_in_t *in;   /**< (2 * nlanes * nranks,) the second half are casts */
    uint32_t nlines;
    hki_staging_t *staging; /**< (nlanes,) */
    uint64_t *tickets;      /**< backing of all halves */
    int *readers;           /**< backing of all halves */
    int *world_ranks;       /**< (nranks,) rank r of the group is this rank of the world */
    bool *is_asked;         /**< (nranks,) scratch of the search for the dead */
    uint64_t group_offset;
    const char *lent;      /**< memory that goes when the others have left, or NULL */
    bool is_shown_waiting; /**< mine->waits_for says so */
    uint64_t checked_ns;   /**< when the peers were last looked at */
    uint64_t cores_checked_ns;
    int suspect; /**< peer that has gone, but may have left messages; -1: none */
    uint32_t suspect_rounds;
    struct hki_segment *next; /**< list of this process's endpoints: see group.c */
} hki_segment_t;

/* The calls of hki_endpoint_ops_t. */
hk_status_t hki_segment_send(hki_endpoint_t *ep, int lane, int peer, const hki_envelope_t *envelope,
                             const void *payload, size_t bytes, unsigned flags,
                             uint64_t *ticket_out);
hk_status_t hki_segment_peek(hki_endpoint_t *ep, int lane, int peer, hki_message_t *message_out);
// NOLINTNEXTLINE(readability-function-size): the form of hki_endpoint_ops_t
hk_status_t hki_segment_send_few(hki_endpoint_t *ep, int lane, const hki_envelope_t *envelope,
                                 const hki_few_t *few, int count, int *sent_out);
hk_status_t hki_segment_cast(hki_endpoint_t *ep, int lane, const hki_envelope_t *envelope,
                             const hki_few_t *few);
int hki_segment_cast_waits_for(const hki_endpoint_t *ep, int lane);
int hki_segment_take_few(hki_endpoint_t *ep, int lane, const hki_envelope_t *expected,
                         const hki_few_t *few, int count);
bool hki_segment_linger(hki_endpoint_t *ep, int lane, int peer, uint32_t shared_rounds);
// NOLINTNEXTLINE(readability-function-size): the form of hki_endpoint_ops_t
hk_status_t hki_segment_fetch(hki_endpoint_t *ep, int lane, int peer, size_t offset, void *into,
                              size_t bytes);
void hki_segment_release(hki_endpoint_t *ep, int lane, int peer);
bool hki_segment_is_consumed(hki_endpoint_t *ep, int lane, int peer, uint64_t ticket);
hk_status_t hki_segment_begin_run(hki_endpoint_t *ep, int lane);
int hki_segment_run_waits_for(const hki_endpoint_t *ep, int lane);
bool hki_segment_is_direct(const hki_endpoint_t *ep, const void *memory, size_t bytes);
bool hki_segment_share(const hki_endpoint_t *ep, const void *memory, size_t bytes,
                       uint64_t *where_out);
const void *hki_segment_view(const hki_endpoint_t *ep, int peer, uint64_t where);
void hki_segment_announce(hki_endpoint_t *ep, const hki_announcement_t *announcement,
                          bool is_awaited);
hk_status_t hki_segment_announced(hki_endpoint_t *ep, int peer, uint32_t op_number,
                                  hki_announcement_t *announcement_out);
hk_status_t hki_segment_announced_check(hki_endpoint_t *ep, int peer, uint32_t op_number,
                                        uint32_t *check_out);
hk_status_t hki_segment_wait(hki_endpoint_t *ep, hki_waiter_t *waiter, int peer, uint64_t slice_ns);
hk_status_t hki_segment_arm(hki_endpoint_t *ep, hki_waiter_t *waiter, int peer,
                            hki_bell_t *bell_out);
int hki_segment_blame(hki_endpoint_t *ep, char *text, size_t text_bytes);
void hki_segment_fail(hki_endpoint_t *ep, hk_status_t status, int rank, const char *text);
void hki_segment_failure(const hki_endpoint_t *ep, hki_failure_t *failure_out);
bool hki_segment_is_failed(const hki_endpoint_t *ep);
hk_status_t hki_segment_mem_alloc(hki_endpoint_t *ep, size_t bytes, void **ptr_out);
void hki_segment_mem_free(hki_endpoint_t *ep, void *ptr);
void hki_segment_mem_lend(hki_endpoint_t *ep, void *ptr);
hk_status_t hki_segment_group_offer(hki_endpoint_t *ep, int nranks, uint64_t *handle_out);
hk_status_t hki_segment_group_join(hki_endpoint_t *ep, const int *ranks, int nranks, int new_rank,
                                   uint64_t handle, hki_endpoint_t **ep_out);
hki_home_t hki_segment_home(const hki_endpoint_t *ep, int rank);
void hki_segment_close(hki_endpoint_t *ep);

/** The table of a transport whose groups lie in a world. */
#define HKI_SEGMENT_OPS(transport_name)                                                           \
    {                                                                                             \
        .name = (transport_name), .send = hki_segment_send, .send_few = hki_segment_send_few,     \
        .take_few = hki_segment_take_few, .cast = hki_segment_cast,                               \
        .cast_waits_for = hki_segment_cast_waits_for, .peek = hki_segment_peek,                   \
        .linger = hki_segment_linger, .fetch = hki_segment_fetch, .release = hki_segment_release, \
        .is_consumed = hki_segment_is_consumed, .begin_run = hki_segment_begin_run,               \
        .run_waits_for = hki_segment_run_waits_for, .is_direct = hki_segment_is_direct,           \
        .share = hki_segment_share, .view = hki_segment_view, .announce = hki_segment_announce,   \
        .announced = hki_segment_announced, .announced_check = hki_segment_announced_check,       \
        .wait = hki_segment_wait, .arm = hki_segment_arm, .blame = hki_segment_blame,             \
        .fail = hki_segment_fail, .failure = hki_segment_failure,                                 \
        .is_failed = hki_segment_is_failed, .mem_alloc = hki_segment_mem_alloc,                   \
        .mem_free = hki_segment_mem_free, .mem_lend = hki_segment_mem_lend,                       \
        .group_offer = hki_segment_group_offer, .group_join = hki_segment_group_join,             \
        .home = hki_segment_home, .close = hki_segment_close,                                     \
    }

/* Making the first group of a world. */

/** What a group is made of. */
typedef struct hki_group_shape {
    int nranks;
    int nlanes;
    size_t staging_bytes; /**< for each rank and lane; a multiple of two pages */
    const void *note;     /**< see hki_transport_opts_t */
    size_t note_bytes;
} hki_group_shape_t;

/** Write the head of a group into its zeroed memory, of which all but the staging is real. */
void hki_group_init(void *memory, const hki_group_shape_t *shape);

/** Make a group's memory in this process's arena. @param[out] offset_out  in the world */
hk_status_t hki_group_create(hki_world_t *world, const hki_group_shape_t *shape,
                             uint64_t *offset_out);

/** One rank's place in a group. */
typedef struct hki_group_seat {
    uint64_t offset;        /**< of the group's memory, in the world */
    const int *world_ranks; /**< (nranks,) rank r of the group is this rank of the world; copied */
    int nranks;
    int rank;
} hki_group_seat_t;

/**
 * Join a group.
 *
 * @param ops          table of the transport
 * @param[out] ep_out  set on success only; holds a reference to the world
 */
hk_status_t hki_group_open(hki_world_t *world, const hki_endpoint_ops_t *ops,
                           const hki_group_seat_t *seat, hki_endpoint_t **ep_out);

/** Shape from the options of open: rounds staging up. */
hki_group_shape_t hki_group_shape(int nranks, int nlanes, size_t staging_bytes);

/* Shared by the files of this folder. */

static inline hki_segment_t *hki_segment_of(hki_endpoint_t *ep)
{
    return (hki_segment_t *)ep;
}

static inline const hki_segment_t *hki_segment_of_const(const hki_endpoint_t *ep)
{
    return (const hki_segment_t *)ep;
}

/** Is this a copy in a forked child? It must leave the parent's group alone. */
static inline bool hki_segment_is_forked(const hki_segment_t *seg)
{
    return seg->world->birth != hki_fork_count();
}

/** May nothing be done any more: the group has failed, or this is a forked child? */
static inline bool hki_segment_is_broken(const hki_segment_t *seg)
{
    return atomic_load_explicit(&seg->head->failure, memory_order_acquire) != 0 ||
           hki_segment_is_forked(seg);
}

/** For the processor, in a loop that waits for another core. */
static inline void hki_segment_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/** Report why hki_segment_is_broken(). @return never HK_OK */
hk_status_t hki_segment_report(const hki_segment_t *seg);

/** Wake `peer` if it sleeps or is about to. To be called after what it may wait for was stored. */
void hki_segment_ring(const hki_segment_t *seg, int peer);
/** The same for all ranks of the group. */
void hki_segment_ring_all(const hki_segment_t *seg);
/** The same for the receivers of these messages. */
void hki_segment_ring_few(const hki_segment_t *seg, const hki_few_t *few, int count);

/** Break the group because the memory of `peer` could not be read (errno `error`): usually it died.
 *  May wait a second to find out. @return never HK_OK */
hk_status_t hki_segment_fail_read(hki_segment_t *seg, int peer, int error);

/** Look at the cores this rank and the others may use, and decide whether to spin. */
void hki_segment_look_at_cores(hki_segment_t *seg);

/** This rank goes on: it no longer waits. */
static inline void hki_segment_show_busy(hki_segment_t *seg)
{
    if (seg->is_shown_waiting) {
        seg->is_shown_waiting = false;
        atomic_store_explicit(&seg->mine->waits_for, HKI_WAITS_NOT, memory_order_relaxed);
    }
}

/**
 * A rank of the job that is no member of this group and was killed, failed, or is stopped: what
 * members of the group do may follow from that. Writes "rank 3 of the job (pid 4711) is stopped".
 *
 * @return false: there is none, or it is not known
 */
bool hki_segment_outsider(const hki_segment_t *seg, char *text, size_t text_bytes);

/** "rank 3 (pid 4711)"; "rank 1 (rank 3 of the job, pid 4711)"; or "rank 3" for a thread. `rank` is
 *  of the group. */
void hki_segment_describe(const hki_segment_t *seg, int rank, char *text, size_t text_bytes);

#endif /* HKI_TRANSPORT_SEGMENT_ENDPOINT_H */
