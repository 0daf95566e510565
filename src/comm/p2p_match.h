/**
 * @file p2p_match.h
 * @brief The state of point-to-point, shared by p2p.c (frames), p2p_slots.c (memory that carries
 *        payloads), p2p_match.c (who meets whom) and p2p_now.c (the short way).
 */
#ifndef HKI_COMM_P2P_MATCH_H
#define HKI_COMM_P2P_MATCH_H

#include "comm/p2p.h"

enum {
    HKI_BUCKETS = 1024, /**< by (peer, tag); a power of two */
    HKI_SMALL_SLOTS = 32,
    HKI_LARGE_SLOTS = 8,
    HKI_SLOTS = HKI_SMALL_SLOTS + HKI_LARGE_SLOTS,
    HKI_SLOT_SHIFTS = 64, /**< addresses in a slot where a payload may begin */
    HKI_SLOTS_BYTES = HKI_SMALL_SLOTS * (HKI_TILE_BYTES + HKI_SLOT_SHIFTS) +
                      HKI_LARGE_SLOTS * (HKI_FRAGMENT_BYTES + HKI_SLOT_SHIFTS),
};

/** Frames: envelope.kind = frame + HKI_FRAMES * dtype. op_number is the tag in first frames, and an
 *  id in answers. */
enum {
    HKI_FRAME_EAGER = 0, /**< first: the whole message */
    HKI_FRAME_PART,      /**< first: its first tile; `check` is the count of the whole */
    HKI_FRAME_MORE,      /**< the next tile of the message under way */
    HKI_FRAME_RTS,       /**< first: the message is at the sender */
    HKI_FRAME_CTS,       /**< answer: its data may go */
    HKI_FRAME_READ,      /**< answer: it has been read where it lay */
    HKI_FRAME_DATA,
    HKI_FRAMES = 8,
};

_Static_assert(HKI_FRAMES *HK_DTYPE_COUNT < 256, "frame and type share one byte");

/** A queue of operations, linked by `link`. */
typedef struct hki_p2p_queue {
    hki_p2p_op_t *first;
    hki_p2p_op_t *last;
} hki_p2p_queue_t;

/** A first frame without a receive yet. */
typedef struct hki_stray {
    struct hki_stray *link;
    int peer;
    uint32_t tag;
    hk_dtype_t dtype;
    bool is_rts;  /**< the data is still at the sender; `id` names it */
    bool is_open; /**< is_rts: the data can be read at `where` */
    uint32_t id;
    uint64_t where;
    size_t count;
    size_t bytes;
    size_t here; /**< bytes that have come */
    char data[]; /**< (bytes,) unless is_rts */
} hki_stray_t;

typedef struct hki_stray_queue {
    hki_stray_t *first;
    hki_stray_t *last;
} hki_stray_queue_t;

/** What is under way with one peer. */
typedef struct hki_p2p_peer {
    hki_p2p_queue_t to_start; /**< sends whose first frame, or a tile, is not out */
    hki_p2p_queue_t to_clear; /**< receives whose CTS or READ is not out */
    hki_p2p_queue_t to_fill;  /**< receives that wait for data, in the order of their CTS */
    hki_p2p_queue_t to_feed;  /**< sends whose data goes out, in the order of their CTS */
    hki_p2p_queue_t to_land;  /**< sends whose data is being read where it lies */
    hki_p2p_op_t *filling;    /**< receive whose tiles are coming, or NULL */
    hki_stray_t *hoarding;    /**< the same without a receive yet, or NULL */
    int pending;              /**< operations not done */
    int slots;                /**< slots not read yet */
    uint32_t vain;            /**< times that lingering was in vain, since it last was not */
} hki_p2p_peer_t;

/** A piece of shared memory that carries a payload. */
typedef struct hki_p2p_slot {
    char *data;
    uint64_t ticket;
    int peer; /**< -1: free */
    int lane;
} hki_p2p_slot_t;

struct hki_p2p {
    hki_endpoint_t *ep;
    int control_lane;
    int data_lane;
    hk_status_t status; /**< HK_OK, or what it was cancelled with */
    hki_p2p_op_t *oldest;
    hki_p2p_op_t *newest;
    size_t pending;
    uint64_t next_deadline_ns; /**< no operation's deadline is before it */
    hki_p2p_peer_t *peers;     /**< (nranks,) owned */
    char *slot_memory;         /**< from the endpoint; NULL until the first send that needs it */
    hki_p2p_slot_t slots[HKI_SLOTS];
    int next_small;     /**< of the small ones, where to look first */
    int next_large;     /**< of the large ones */
    hki_p2p_op_t **ids; /**< (id_capacity,) sends by id, or NULL; owned */
    uint32_t *free_ids; /**< (id_capacity,) stack; owned */
    uint32_t id_capacity;
    uint32_t id_free;
    size_t stray_bytes;
    hki_p2p_queue_t posted[HKI_BUCKETS];
    hki_stray_queue_t strays[HKI_BUCKETS];
};

/* p2p_slots.c */

/** Take the memory of slots, before the first send that needs it. Allocates. */
hk_status_t hki_p2p_slots_open(hki_p2p_t *p2p);
/** Give it back: at once, or when those who have not read yet have left. */
void hki_p2p_slots_close(hki_p2p_t *p2p);
/** Copy `bytes` from op->moved on into a free slot and send it. HK_IN_PROGRESS: no slot or no
 *  room. */
hk_status_t hki_p2p_slot_send(hki_p2p_t *p2p, const hki_p2p_op_t *op, int lane,
                              const hki_envelope_t *envelope, size_t bytes);

/* p2p_now.c */

/** Wait closely for a frame from this rank, and for as long as it takes to copy `bytes`, which is
 *  what happens meanwhile. @return true: it is here */
bool hki_p2p_linger_for(hki_p2p_t *p2p, int rank, int lane, size_t bytes);

/* p2p_match.c */

void hki_p2p_push(hki_p2p_queue_t *queue, hki_p2p_op_t *op);
hki_p2p_op_t *hki_p2p_pop(hki_p2p_queue_t *queue);

/** Take an operation off the list of those not done. */
void hki_p2p_end(hki_p2p_t *p2p, hki_p2p_op_t *op, hk_status_t status);

/** What a first frame says. */
typedef struct hki_first {
    int peer;
    uint32_t tag;
    hk_dtype_t dtype;
    bool is_rts;
    bool is_open;
    uint32_t id;
    uint64_t where;
    size_t count;
    size_t bytes;
    size_t here;      /**< bytes that came with it */
    const char *data; /**< (here,); NULL for RTS */
} hki_first_t;

/**
 * A first frame has come: give it to the oldest matching receive, or keep it.
 *
 * @return HK_OK: it may be released; HK_IN_PROGRESS: no room to keep it, try again; HK_ERR_...: the
 *         group has been failed
 */
hk_status_t hki_p2p_arrive(hki_p2p_t *p2p, const hki_first_t *first);

/** The next tile of the message under way from this peer has come. */
void hki_p2p_continue(hki_p2p_t *p2p, int peer, const void *data, size_t bytes);

/** May this receive be given a frame that was kept, or stand behind another? */
bool hki_p2p_is_preceded(const hki_p2p_t *p2p, int peer, uint32_t tag);

/** A receive is posted: give it the oldest matching frame that was kept, or queue it. */
hk_status_t hki_p2p_expect(hki_p2p_t *p2p, hki_p2p_op_t *op);

/** Free all that was kept. */
void hki_p2p_forget(hki_p2p_t *p2p);

#endif /* HKI_COMM_P2P_MATCH_H */
