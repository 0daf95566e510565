/**
 * @file run.h
 * @brief One run of a schedule on one lane: the interpreter of steps.
 */
#ifndef HKI_EXEC_RUN_H
#define HKI_EXEC_RUN_H

#include "exec/exec.h"

enum {
    HKI_BOUNCE_BYTES = 128 << 10, /**< stays in the second-level cache, with what it is added to */
    HKI_BOUNCE_ALIGNMENT = 64,
};

_Static_assert(HKI_BOUNCE_BYTES / HKI_RANKS_MAX >= 2 * HKI_BOUNCE_ALIGNMENT, "room for all ranks");

/** A send whose source the receiver may still be reading. */
typedef struct hki_pending {
    uint64_t ticket;
    uint32_t step;
    int peer;
} hki_pending_t;

/** A lane: its stream number, the run it is at, and room for it. */
typedef struct hki_lane {
    hki_op_t *op;                  /**< NULL: waiting for an operation that has run `run` */
    const hk_schedule_t *schedule; /**< of the run */
    uint64_t run;                  /**< number of the run it does, or will do next */
    size_t first;                  /**< first element of the tile in every block */
    uint32_t pc;                   /**< next step */
    uint32_t operands_here;        /**< operands of the current reduce step that have arrived */
    uint32_t operands_remote;      /**< those of them that must be fetched */
    bool is_begun;                 /**< begin_run() has succeeded */
    int home;                      /**< lane number of the endpoint */
    int stream;                    /**< lane number that the run's messages come by: home, or where
                                        casts come */
    uint32_t pending_first;        /**< oldest send not known to be read */
    uint32_t pending_count;        /**< sends of this run that went direct */
    uint32_t step_max;             /**< most steps a run may have */
    uint32_t operand_max;          /**< most operands a reduce step may have */
    const char *sent;              /**< source of the step before `pc`, if it was a send, or NULL */
    size_t sent_bytes;             /**< of it */
    hki_pending_t *pending;        /**< (step_max,) */
    hki_source_t *sources;         /**< (operand_max,) of the current reduce step */
    hki_source_t *pieces;          /**< (operand_max,) the same, of one piece */
    uint8_t *shifts;               /**< (operand_max,) see hki_message_t */
    unsigned char (*inbox)[HKI_INLINE_BYTES_MAX]; /**< (operand_max,) operands of brief runs */
    hki_few_t *few; /**< (few_max,) messages that a brief run sends or takes */
    uint32_t few_max;
    char *bounce; /**< (HKI_BOUNCE_BYTES,) borrowed from the engine, or NULL */
    char *tmp;    /**< (scratch_bytes,) or NULL while no schedule needs it */
    char *acc;    /**< (scratch_bytes,) or NULL */
} hki_lane_t;

/**
 * Go on with the lane's run as far as it goes.
 *
 * @param[out] moved  set to true if a step was done; else left alone
 * @return HK_OK: the run is complete, all its sources may be reused; HK_IN_PROGRESS; or the
 *         group's failure
 */
hk_status_t hki_run_steps(hki_endpoint_t *ep, hki_lane_t *lane, bool *moved);

/** What goes with every message of an operation. */
static inline hki_envelope_t hki_run_envelope(const hki_op_t *op)
{
    return (hki_envelope_t){.op_number = op->op_number, .check = op->announcement.check, .kind = 0};
}

/** The next message of the run from `peer`, which must be of this operation and `bytes` long.
 *  @return HK_OK, HK_IN_PROGRESS, HK_ERR_MISMATCH, or the group's failure */
hk_status_t hki_run_expect(hki_endpoint_t *ep, const hki_lane_t *lane, int peer, size_t bytes,
                           hki_message_t *message);

/** The rank the lane's run waits for a message from, and for nothing else, or -1. */
int hki_run_awaits(const hki_lane_t *lane);

/** The rank the lane's run waits for, or -1. */
int hki_run_waits_for(const hki_endpoint_t *ep, const hki_lane_t *lane);

#endif /* HKI_EXEC_RUN_H */
