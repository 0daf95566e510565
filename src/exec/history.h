/**
 * @file history.h
 * @brief What a rank has called so far, as one hash, and how far all ranks are known to agree.
 *
 * The hash after operation k covers the calls 0 to k, so comparing it once compares them all.
 */
#ifndef HKI_EXEC_HISTORY_H
#define HKI_EXEC_HISTORY_H

#include "exec/exec.h"

/** Zero it. */
typedef struct hki_history {
    uint32_t chain;    /**< hash of all calls */
    uint32_t compared; /**< operations below this number are the same on all ranks */
    uint32_t next;     /**< number after that of the newest call */
    uint32_t target;   /**< operation that is being compared to make room */
    int target_ranks;  /**< how many ranks have been compared with for it */
} hki_history_t;

/** Add an operation, in the order of the numbers, and complete its announcement. */
void hki_history_add(hki_history_t *history, hki_op_t *op);

/** All ranks are known to have called the same up to operation `number`. */
void hki_history_agree(hki_history_t *history, uint32_t number);

/**
 * Compare with all ranks up to operation `number`, which this rank has announced.
 *
 * @param[in,out] ranks_done  how many ranks have been compared with, from 0 on; kept by the caller
 * @return HK_OK; HK_IN_PROGRESS: rank *ranks_done has not come so far; HK_ERR_MISMATCH, which has
 *         broken the group; or the group's failure
 */
hk_status_t hki_history_compare(hki_history_t *history, hki_endpoint_t *ep, uint32_t number,
                                int *ranks_done);

/**
 * May operation `number` start, or has too little been compared? Then some is.
 *
 * @return as hki_history_compare()
 */
hk_status_t hki_history_make_room(hki_history_t *history, hki_endpoint_t *ep, uint32_t number);

/**
 * Compare with what all ranks have announced so far as operation `op`, or as the newest one if it
 * is NULL.
 *
 * @return HK_OK, or HK_ERR_MISMATCH, which has broken the group
 */
hk_status_t hki_history_look(const hki_history_t *history, hki_endpoint_t *ep, const hki_op_t *op);

/** Must others that may sleep learn at once that this operation has started here? */
static inline bool hki_history_is_awaited(const hki_op_t *op)
{
    return op->needs_agreement || op->op_number % HKI_COMPARE_EVERY == 0;
}

/**
 * Break the group because `peer` has sent a message of its operation `sent_number` that is no part
 * of operation `number` here. The text names both ranks' calls where they part; the blame goes to
 * the one that fewer ranks agree with.
 *
 * @return HK_ERR_MISMATCH
 */
hk_status_t hki_history_fail_message(hki_endpoint_t *ep, uint32_t number, int peer,
                                     uint32_t sent_number);

#endif /* HKI_EXEC_HISTORY_H */
