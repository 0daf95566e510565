/**
 * @file exec.h
 * @brief Runs schedules on an endpoint. Knows no collective.
 *
 * An engine belongs to one endpoint. Operations are posted in the same order on all ranks. An
 * operation is cut into tiles, each a complete run of a schedule; runs are numbered through over
 * all operations, and run k uses lane k mod lane_count, so that several are in flight and every
 * stream sees its messages in a known order. In one run, steps are executed in program order; a
 * step that cannot go on (no message yet, no room yet, a source not yet read) is tried again.
 *
 * That all ranks call the same: every message and every announcement carries the hash of all calls
 * so far, so that one comparison stands for the whole history. Where a rank hears from all others
 * that happens by itself; where it does not (the root of a broadcast) it compares announcements,
 * before the operation ends if `needs_agreement`, else some operations later.
 *
 * At most HKI_STARTED_MAX operations are started ahead of the oldest that is not done, or whose
 * history is not yet compared with all ranks; later ones queue. So no rank can be so far ahead that
 * an announcement another rank still has to compare is overwritten.
 *
 * Nothing allocates between hki_engine_post() and completion; hki_engine_reserve() does, before.
 */
#ifndef HKI_EXEC_EXEC_H
#define HKI_EXEC_EXEC_H

#include "dtype/reduce.h"
#include "sched/schedule.h"
#include "transport/transport.h"

typedef struct hki_engine hki_engine_t;

enum {
    HKI_STARTED_MAX = 128,  /**< operations started and not done; half of what announcements keep */
    HKI_COMPARE_EVERY = 64, /**< operations, where nothing needs it earlier */
};

/** Where the blocks of IN or OUT lie. */
typedef struct hki_blocks {
    char *base;            /**< block b starts at base + bytes of offset(b) elements */
    size_t stride;         /**< offset(b) = b * stride [elements], where offsets is NULL */
    size_t count;          /**< elements of every block, where counts is NULL */
    const size_t *offsets; /**< (nblocks,) [elements] or NULL; owned by the operation */
    const size_t *counts;  /**< (nblocks,) [elements] or NULL */
} hki_blocks_t;

/** A schedule of few bytes, for one call: see brief.h. */
typedef struct hki_brief hki_brief_t;

/** The calls a brief schedule is made for: one tile, blocks that follow one another. */
typedef struct hki_brief_shape {
    size_t count; /**< elements of every block of IN and OUT */
    size_t elem_bytes;
    size_t acc_bytes;
    size_t most_bytes; /**< of one message: the endpoint's inline_bytes */
    bool is_cast;      /**< the schedules of all ranks are casts: hki_schedule_is_cast() */
} hki_brief_shape_t;

/**
 * @param[out] brief_out  NULL if the schedule moves more than that at once; else owned
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_INTERNAL (this schedule is no cast)
 */
hk_status_t hki_brief_create(const hk_schedule_t *schedule, const hki_brief_shape_t *shape,
                             hki_brief_t **brief_out);
/** Accepts a pointer to NULL. */
void hki_brief_destroy(hki_brief_t **brief);

/** One operation. The caller allocates it (with the request) and keeps it until it is done. */
typedef struct hki_op {
    struct hki_op *next;                /**< the engine's queue */
    const hk_schedule_t *schedule;      /**< borrowed; built for `tile_count` elements a block */
    const hk_schedule_t *last_schedule; /**< borrowed; of the last tile, which may be shorter */
    const hki_brief_t *brief; /**< borrowed; of `schedule`, which is all there is; or NULL */
    hki_blocks_t in;
    hki_blocks_t out;
    hki_reduction_t reduction; /**< dtype always; op and the rest where the schedule reduces */
    size_t elem_bytes;         /**< of dtype */
    size_t acc_bytes;          /**< hki_acc_bytes(dtype, op) */
    size_t tile_count;         /**< elements of a block in one tile, >= 1 */
    size_t ntiles;             /**< >= 1 */
    uint32_t op_number;
    uint32_t check;       /**< hash of the call */
    bool is_huge;         /**< its output is larger than a cache, so that it is written past it */
    bool hears_all;       /**< its messages tell every rank that all others have called it */
    bool needs_agreement; /**< before it ends, see every rank announce it and compare */
    uint64_t deadline_ns; /**< UINT64_MAX: none */
    hki_announcement_t announcement; /**< the caller's: signature; the rest is the engine's */
    /* The engine's own: */
    uint64_t first_run; /**< number of its first tile among all runs */
    size_t tiles_done;
    int agreed; /**< ranks whose announcement has been compared */
    bool is_done;
    hk_status_t status; /**< once is_done */
} hki_op_t;

typedef struct hki_engine_opts {
    int lane_first;       /**< lanes [lane_first, lane_first + lane_count) belong to this engine */
    int lane_count;       /**< >= 1 */
    size_t scratch_bytes; /**< most that TMP, and most that ACC, of one run may take */
} hki_engine_opts_t;

/** @param[in] ep  borrowed; must outlive the engine */
hk_status_t hki_engine_create(hki_endpoint_t *ep, const hki_engine_opts_t *opts,
                              hki_engine_t **engine_out);

/** Free an engine without operations under way, and set *engine to NULL. Accepts NULL. */
void hki_engine_destroy(hki_engine_t **engine);

/**
 * Make room for runs of this schedule: once, before it is first posted. Allocates.
 *
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_LIMIT (TMP or ACC larger than scratch_bytes)
 */
hk_status_t hki_engine_reserve(hki_engine_t *engine, const hk_schedule_t *schedule,
                               size_t elem_bytes, size_t acc_bytes);

/** Start an operation: announce it and run as far as it goes without waiting. If the engine was
 *  cancelled, the operation ends at once with that status. */
void hki_engine_post(hki_engine_t *engine, hki_op_t *op);

/** Run everything as far as it goes without waiting. @return true if anything moved */
bool hki_engine_progress(hki_engine_t *engine);

/** The oldest operation that is not done, or NULL. */
const hki_op_t *hki_engine_oldest(const hki_engine_t *engine);

/** An operation whose deadline is not after `now_ns`, or NULL. */
const hki_op_t *hki_engine_overdue(const hki_engine_t *engine, uint64_t now_ns);

/** The rank that the oldest operation waits for, or -1. */
int hki_engine_waits_for(const hki_engine_t *engine);

/** Does an operation only wait to see what others have called? They may not wake this rank then. */
bool hki_engine_is_comparing(const hki_engine_t *engine);

/** If all that is under way waits for one message: the rank it comes from, and the lane of the
 *  endpoint. Else -1. */
int hki_engine_awaits(const hki_engine_t *engine, int *lane_out);

/**
 * Compare the oldest operation that is not done, or else the newest, with what all other ranks have
 * announced so far, and break the group if one differs: for differences that no message has shown.
 * For the slow part of a wait, and before closing.
 */
void hki_engine_watch(hki_engine_t *engine);

/** End every operation, also later ones, with this status (the group has failed, or is closing). */
void hki_engine_cancel(hki_engine_t *engine, hk_status_t status);

#endif /* HKI_EXEC_EXEC_H */
