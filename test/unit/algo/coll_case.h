/**
 * @file coll_case.h
 * @brief One call of one collective, as tests of algorithms see it: build the schedules of all
 *        ranks, have the checker prove them, compare what it counts with the cost function.
 */
#ifndef HK_TEST_COLL_CASE_H
#define HK_TEST_COLL_CASE_H

#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include "algo/algo.h"
#include "base/alloc.h"
#include "sched/checker.h"
#include "sched/text.h"

enum { CASE_RANKS_MAX = 64 };

/** Which ranks give the same buffer as input and output. */
typedef enum case_place { CASE_APART, CASE_IN_PLACE, CASE_MIXED } case_place_t;

typedef struct coll_case {
    hki_coll_t coll;
    const char *algo;
    int nranks;
    int root;
    int near;         /**< near_ranks; 0: 1 */
    size_t count;     /**< elements of a block, as built */
    size_t run_count; /**< as run; blocks of unequal lengths up to this, if is_unequal */
    case_place_t place;
    bool is_unequal;
} coll_case_t;

/** The schedules of a case. */
typedef struct case_schedules {
    hk_schedule_t *rank[CASE_RANKS_MAX];
} case_schedules_t;

static inline hk_alias_t case_alias(const coll_case_t *c, int rank)
{
    if (c->place == CASE_APART || (c->place == CASE_MIXED && rank % 2 == 0)) {
        return HK_ALIAS_NONE;
    }
    switch (c->coll) {
    case HKI_COLL_GATHER:
    case HKI_COLL_ALL_GATHER:
        return HK_ALIAS_OWN_OUT;
    case HKI_COLL_SCATTER:
    case HKI_COLL_REDUCE_SCATTER:
        return HK_ALIAS_OWN_IN;
    default:
        return HK_ALIAS_SAME;
    }
}

static inline hk_schedule_opts_t case_opts(const coll_case_t *c, int rank)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();

    opts.rank = rank;
    opts.nranks = c->nranks;
    opts.root = c->root;
    opts.near_ranks = c->near > 0 ? c->near : 1;
    opts.count = c->count;
    opts.alias = case_alias(c, rank);
    return opts;
}

/** What the collective promises of OUT[block] on a rank. */
static inline hki_expect_t case_expect(const void *cookie, int rank, int block)
{
    const coll_case_t *c = (const coll_case_t *)cookie;
    const hki_expect_t untouched = {HKI_EXPECT_UNTOUCHED, 0, 0};

    switch (c->coll) {
    case HKI_COLL_BROADCAST:
        return (hki_expect_t){HKI_EXPECT_COPY, c->root, 0};
    case HKI_COLL_REDUCE:
        return rank == c->root ? (hki_expect_t){HKI_EXPECT_SUM, 0, 0} : untouched;
    case HKI_COLL_SCATTER:
        return (hki_expect_t){HKI_EXPECT_COPY, c->root, rank};
    case HKI_COLL_GATHER:
        return rank == c->root ? (hki_expect_t){HKI_EXPECT_COPY, block, 0} : untouched;
    case HKI_COLL_ALL_GATHER:
        return (hki_expect_t){HKI_EXPECT_COPY, block, 0};
    case HKI_COLL_REDUCE_SCATTER:
        return (hki_expect_t){HKI_EXPECT_SUM, 0, rank};
    case HKI_COLL_ALL_REDUCE:
        return (hki_expect_t){HKI_EXPECT_SUM, 0, 0};
    case HKI_COLL_ALL_TO_ALL:
        return (hki_expect_t){HKI_EXPECT_COPY, block, rank};
    case HKI_COLL_BARRIER:
    case HKI_COLL_COUNT:
        break;
    }
    return untouched;
}

/** Elements of a block in a v form: some full, some empty, the same on both ends. */
static inline size_t case_block_count(const void *cookie, int rank, hk_region_t region, int block)
{
    const coll_case_t *c = (const coll_case_t *)cookie;
    const hk_region_t split = // the buffer that has a block a rank
        c->coll == HKI_COLL_GATHER || c->coll == HKI_COLL_ALL_GATHER ? HK_REGION_OUT : HK_REGION_IN;
    size_t part = (size_t)(region == split ? block : rank);

    if (c->coll == HKI_COLL_ALL_TO_ALL) {
        part = (size_t)(rank + block);
    } else if (c->coll == HKI_COLL_BROADCAST || c->coll == HKI_COLL_REDUCE ||
               c->coll == HKI_COLL_ALL_REDUCE) {
        part = 0;
    }
    return (5 * part + 2) % (c->run_count + 1);
}

static inline void case_fail(const coll_case_t *c, const char *what)
{
    fail_msg("%s %s: %d ranks, near %d, root %d, count %zu run with %zu, place %d, unequal %d: %s",
             hki_coll_name(c->coll), c->algo, c->nranks, c->near, c->root, c->count, c->run_count,
             (int)c->place, (int)c->is_unequal, what);
}

static inline void case_destroy(const coll_case_t *c, case_schedules_t *schedules)
{
    for (int rank = 0; rank < c->nranks; rank++) {
        hk_schedule_destroy(&schedules->rank[rank]);
    }
}

/** Build for every rank. Fails the test on an error. */
static inline void case_build(const coll_case_t *c, case_schedules_t *schedules)
{
    const hki_algo_t *algo = hki_algo_find(c->coll, c->algo);

    *schedules = (case_schedules_t){{NULL}};
    for (int rank = 0; rank < c->nranks; rank++) {
        const hk_schedule_opts_t opts = case_opts(c, rank);

        if (algo->build(&opts, &schedules->rank[rank]) != HK_OK) {
            case_fail(c, hk_last_error());
        }
    }
}

/** What the checker says of these schedules. */
static inline hk_status_t case_prove(const coll_case_t *c, const case_schedules_t *schedules,
                                     hki_check_counts_t *counts)
{
    const hki_check_t check = {
        .schedules = (const hk_schedule_t *const *)schedules->rank,
        .nranks = c->nranks,
        .run_count = c->run_count,
        .is_any_order = !hki_algo_find(c->coll, c->algo)->is_tree_order,
        .is_barrier = c->coll == HKI_COLL_BARRIER,
        .expect = case_expect,
        .block_count = c->is_unequal ? case_block_count : NULL,
        .cookie = c,
    };

    return hki_schedules_check(&check, counts);
}

/** Build, prove, free. */
static inline hki_check_counts_t case_check(const coll_case_t *c)
{
    case_schedules_t schedules;
    hki_check_counts_t counts = {0};

    case_build(c, &schedules);
    if (case_prove(c, &schedules, &counts) != HK_OK) {
        case_fail(c, hk_last_error());
    }
    case_destroy(c, &schedules);
    return counts;
}

/** Is `said` what was counted, or, if an estimate will do, at least half and at most twice that? */
static inline bool case_agrees(double said, double counted, bool is_exact)
{
    const double slack = 1e-9 * (counted + 1);

    return is_exact ? said - counted <= slack && counted - said <= slack
                    : said <= 2 * counted && counted <= 2 * said;
}

/** The cost function must say what the checker counts, for elements of 1 byte. Doubling and halving
 *  need extra steps where P is no power of two; there an estimate will do. */
static inline void case_check_cost(const coll_case_t *c)
{
    const hki_check_counts_t counts = case_check(c);
    const hki_cost_t cost = hki_algo_find(c->coll, c->algo)->cost(c->nranks, (double)c->count);
    const bool is_power = (c->nranks & (c->nranks - 1)) == 0;
    const bool is_exact =
        is_power || (strcmp(c->algo, "doubling") != 0 && strcmp(c->algo, "halving") != 0);

    if (!case_agrees(cost.messages, counts.chain_messages, is_exact) ||
        !case_agrees(cost.sent_bytes, counts.chain_elements, is_exact) ||
        !case_agrees(cost.reduced_bytes, counts.chain_reduced, is_exact)) {
        char text[200];

        (void)snprintf(text, sizeof(text),
                       "cost says %g messages, %g elements, %g reduced; counted %g, %g, %g",
                       cost.messages, cost.sent_bytes, cost.reduced_bytes, counts.chain_messages,
                       counts.chain_elements, counts.chain_reduced);
        case_fail(c, text);
    }
}

/** One rank's schedule of a worked example, after the three lines of its head, must be `steps`. */
static inline void case_check_steps(const coll_case_t *c, int rank, const char *steps)
{
    case_schedules_t schedules;
    hki_text_t text = {0};
    const char *got;

    case_build(c, &schedules);
    hki_schedule_write(schedules.rank[rank], &text);
    case_destroy(c, &schedules);
    got = text.data;
    for (int line = 0; line < 3; line++) {
        got = strchr(got, '\n') + 1;
    }
    assert_string_equal(got, steps);
    hki_text_fini(&text);
}

/** Build, prove without counting, free. */
static inline void case_check_result(const coll_case_t *c)
{
    case_schedules_t schedules;

    case_build(c, &schedules);
    if (case_prove(c, &schedules, NULL) != HK_OK) {
        case_fail(c, hk_last_error());
    }
    case_destroy(c, &schedules);
}

/** The cost function on many group sizes, with chunks of equal length. */
static inline void case_check_costs(hki_coll_t coll, const char *algo)
{
    for (int nranks = 1; nranks <= CASE_RANKS_MAX; nranks += 1 + nranks / 9) {
        const coll_case_t c = {.coll = coll,
                               .algo = algo,
                               .nranks = nranks,
                               .root = nranks - 1,
                               .count = (size_t)nranks * 64,
                               .run_count = (size_t)nranks * 64};

        case_check_cost(&c);
    }
}

/** Any single allocation may fail: HK_ERR_NO_MEMORY, nothing left behind. */
static inline void case_survives_allocation_failures(const coll_case_t *c, int rank)
{
    const hk_schedule_opts_t opts = case_opts(c, rank);
    const hki_algo_t *algo = hki_algo_find(c->coll, c->algo);
    const size_t live = hki_alloc_live();
    hk_schedule_t *schedule = NULL;
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;

    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = algo->build(&opts, &schedule);
        hki_alloc_fail_at(0);
        if (status != HK_OK) {
            assert_int_equal(status, HK_ERR_NO_MEMORY);
            assert_null(schedule);
            assert_int_equal(hki_alloc_live(), live);
        }
    }
    assert_true(n > 3); // builder, schedule and at least one growth were made to fail
    hk_schedule_destroy(&schedule);
    assert_int_equal(hki_alloc_live(), live);
}

#endif /* HK_TEST_COLL_CASE_H */
