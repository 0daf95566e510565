/**
 * @file checker.h
 * @brief Proves that the schedules of all ranks together do what a collective promises.
 *
 * It proves: every send has its receive, of equal length and kind; no order that hocket/schedule.h
 * allows deadlocks; no source of an uncopied send is overwritten unfenced; nothing undefined is
 * used; every element of OUT ends as the expression it must be, and all else in OUT is untouched,
 * in place too. It counts messages, elements and the time of the busiest chain.
 */
#ifndef HKI_SCHED_CHECKER_H
#define HKI_SCHED_CHECKER_H

#include <stdbool.h>

#include "sched/schedule.h"

typedef enum hki_expect_kind {
    HKI_EXPECT_UNTOUCHED, /**< the block holds what it held before */
    HKI_EXPECT_COPY,      /**< IN[block] of `rank`, as it is */
    HKI_EXPECT_SUM,       /**< the sum of IN[block] over all ranks */
} hki_expect_kind_t;

/** What a block of OUT must hold at the end; element e of it comes from elements e. */
typedef struct hki_expect {
    hki_expect_kind_t kind;
    int rank;
    int block;
} hki_expect_t;

/** What is to be proven. */
typedef struct hki_check {
    const hk_schedule_t *const *schedules; /**< (nranks,), of ranks 0, 1, ..; borrowed */
    int nranks;
    size_t run_count;  /**< elements of every block in this run: <= the schedules' count */
    bool is_any_order; /**< sums may be in any order, if it is the same on all ranks */
    bool is_barrier;   /**< every rank must hear of all before it ends; expect is not called */
    /** Block `out_block` of `rank`'s OUT. */
    hki_expect_t (*expect)(const void *cookie, int rank, int out_block);
    /** Elements of a block in this run, <= the schedules' count, or NULL: run_count. The schedules
     *  may then have no scratch. */
    size_t (*block_count)(const void *cookie, int rank, hk_region_t region, int block);
    const void *cookie;
} hki_check_t;

/** What was counted. */
typedef struct hki_check_counts {
    size_t messages;          /**< all ranks together */
    size_t elements;          /**< sent, all ranks together */
    size_t rank_messages_max; /**< sent by one rank */
    size_t rank_elements_max; /**< [elements] sent by one rank */
    int capacity;             /**< messages on the way between two ranks that in-order runs need */
    /* The busiest chain, where a rank sends and receives one message at a time (both at once): */
    double chain_messages; /**< if only messages took time */
    double chain_elements; /**< if only their elements did [elements] */
    double chain_reduced;  /**< if only sums did: (operands - 1) * elements [elements] */
} hki_check_counts_t;

/**
 * @param[out] counts_out  may be NULL; set on success only
 * @return HK_OK: proven. HK_ERR_INVALID_ARG: wrong, hk_last_error() says where ("rank 2 step 5:
 *         ..."). HK_ERR_NO_MEMORY, HK_ERR_LIMIT (too big to check), HK_ERR_UNSUPPORTED (scratch
 *         with unequal blocks)
 */
hk_status_t hki_schedules_check(const hki_check_t *check, hki_check_counts_t *counts_out);

#endif /* HKI_SCHED_CHECKER_H */
