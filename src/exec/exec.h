/**
 * @file exec.h
 * @brief Runs schedules on an endpoint. Knows no collective.
 *
 * An engine belongs to one endpoint. Operations are posted in the same order on all ranks. An
 * operation is cut into tiles, each a complete run of the same schedule; runs are numbered through
 * over all operations, and run k uses lane k mod nlanes, so that several are in flight and every
 * stream sees its messages in a known order. In one run, steps are executed in program order; a
 * step that cannot go on (no message yet, no room yet, a source not yet read) is tried again.
 *
 * Nothing allocates between hki_engine_post() and completion.
 */
#ifndef HKI_EXEC_EXEC_H
#define HKI_EXEC_EXEC_H

#include "dtype/reduce.h"
#include "sched/schedule.h"
#include "transport/transport.h"

typedef struct hki_engine hki_engine_t;

/** Where the blocks of IN or OUT lie. */
typedef struct hki_blocks {
    char *base;             /**< block b starts at base + bytes of offset(b) elements */
    size_t stride;          /**< offset(b) = b * stride [elements], where offsets is NULL */
    size_t count;           /**< elements of every block, where counts is NULL */
    const size_t *offsets;  /**< (nblocks,) [elements] or NULL; owned by the operation */
    const size_t *counts;   /**< (nblocks,) [elements] or NULL */
} hki_blocks_t;

/** One operation. The caller allocates it (with the request) and keeps it until it is done. */
typedef struct hki_op {
    struct hki_op *next;           /**< the engine's queue */
    const hk_schedule_t *schedule; /**< borrowed; built for `tile_count` elements a block */
    hki_blocks_t in;
    hki_blocks_t out;
    hki_reduction_t reduction; /**< dtype always; op and the rest where the schedule reduces */
    size_t tile_count;         /**< elements of a block in one tile, >= 1 */
    size_t ntiles;             /**< >= 1 */
    uint32_t op_number;
    uint32_t check;
    bool needs_agreement;      /**< before it ends, see every rank announce it and compare */
    uint64_t deadline_ns;      /**< UINT64_MAX: none */
    hki_announcement_t announcement;
    /* The engine's own: */
    size_t tiles_started;
    size_t tiles_done;
    int agreed;                /**< ranks whose announcement has been compared */
    bool is_done;
    hk_status_t status;        /**< once is_done */
} hki_op_t;

typedef struct hki_engine_opts {
    int lane_first;      /**< lanes [lane_first, lane_first + lane_count) belong to this engine */
    int lane_count;
    size_t scratch_bytes; /**< TMP and ACC of one run, each; a schedule must fit (caller checks) */
} hki_engine_opts_t;

hk_status_t hki_engine_create(hki_endpoint_t *ep, const hki_engine_opts_t *opts,
                              hki_engine_t **engine_out);
void hki_engine_destroy(hki_engine_t **engine);

/** Start an operation: announce it and run as far as it goes without waiting. */
void hki_engine_post(hki_engine_t *engine, hki_op_t *op);

/** Run everything as far as it goes without waiting. @return true if anything moved */
bool hki_engine_progress(hki_engine_t *engine);

/** True if no operation is under way. */
bool hki_engine_is_idle(const hki_engine_t *engine);

/** The rank that the oldest operation waits for, or -1. */
int hki_engine_waits_for(const hki_engine_t *engine);

/** End every operation with this status (the group has failed, or is closing). */
void hki_engine_cancel(hki_engine_t *engine, hk_status_t status);

#endif /* HKI_EXEC_EXEC_H */
