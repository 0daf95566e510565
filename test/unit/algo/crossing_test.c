/*
 * What crosses between parts of a machine. Method: algorithms whose messages can be counted by
 * hand, on two and four parts of consecutive ranks, and on parts that alternate; then the choice,
 * which must move to what crosses less, and must not move where there is one part.
 */
#include "coll_case.h"

#include <math.h>

enum { RANKS_MAX = 64 };

/** What one algorithm crosses, with ranks of a part side by side. */
typedef struct want {
    hki_coll_t coll;
    const char *algo;
    int nranks;
    int nparts;
    double messages;
    double bytes;
} want_t;

static void block_parts(int nranks, int nparts, int *parts)
{
    for (int r = 0; r < nranks; r++) {
        parts[r] = 100 + r / (nranks / nparts);
    }
}

/** At one level; nothing may cross at the other. */
static hki_crossing_t count_one(const hki_algo_t *algo, int nranks, const int *parts)
{
    const int *const levels[HKI_CROSS_LEVELS] = {[HKI_CROSS_MEMORY] = parts};
    hki_crossing_t got[HKI_CROSS_LEVELS];

    assert_ok(hki_algo_crossing(algo, nranks, 1, levels, got));
    assert_true(got[HKI_CROSS_CACHE].messages == 0.0 && got[HKI_CROSS_CACHE].bytes == 0.0);
    return got[HKI_CROSS_MEMORY];
}

static void assert_crossing(const want_t *want, const int *parts)
{
    const hki_algo_t *algo = hki_algo_find(want->coll, want->algo);
    hki_crossing_t got;

    assert_non_null(algo);
    got = count_one(algo, want->nranks, parts);
    if (fabs(got.messages - want->messages) > 1e-9 || fabs(got.bytes - want->bytes) > 1e-9) {
        fail_msg("%s %s, %d ranks in %d parts: %g messages, %g n bytes; want %g, %g",
                 hki_coll_name(want->coll), want->algo, want->nranks, want->nparts, got.messages,
                 got.bytes, want->messages, want->bytes);
    }
}

static void what_crosses_is_counted(void **state)
{
    static const want_t wants[] = {
        // all pairs: every rank with the 4 of the other part
        {HKI_COLL_ALL_REDUCE, "direct", 8, 2, 4, 16},
        {HKI_COLL_ALL_REDUCE, "direct2", 8, 2, 8, 2 * 16 / 8.0},
        {HKI_COLL_ALL_TO_ALL, "direct", 8, 2, 4, 16},
        {HKI_COLL_ALL_TO_ALL, "pairwise", 8, 2, 4, 16},
        {HKI_COLL_ALL_GATHER, "direct", 8, 4, 6, 2 * 6},
        {HKI_COLL_REDUCE_SCATTER, "pairwise", 8, 2, 4, 16},
        // pairs at distance 4 come once, or with a quarter of n / 2 there and back
        {HKI_COLL_ALL_REDUCE, "doubling", 8, 2, 1, 4},
        {HKI_COLL_ALL_REDUCE, "doubling", 8, 4, 2, 2 * 2},
        {HKI_COLL_ALL_REDUCE, "halving", 8, 2, 2, 4 * 2 / 8.0},
        {HKI_COLL_ALL_REDUCE, "halving", 64, 2, 2, 32 * 2 / 64.0},
        {HKI_COLL_ALL_REDUCE, "halving", 64, 8, 6, 8 * 2 * 7 / 64.0},
        {HKI_COLL_ALL_GATHER, "doubling", 8, 2, 1, 4 * 4},
        // a ring leaves each part by one link
        {HKI_COLL_ALL_REDUCE, "ring", 8, 2, 14, 14 / 8.0},
        {HKI_COLL_ALL_GATHER, "ring", 8, 4, 7, 7},
        {HKI_COLL_BROADCAST, "chain", 8, 4, 1, 1},
        // trees
        {HKI_COLL_ALL_REDUCE, "tree", 8, 2, 1, 1},
        {HKI_COLL_BROADCAST, "binomial", 8, 2, 1, 1},
        {HKI_COLL_BROADCAST, "binomial", 8, 4, 2, 2},
        {HKI_COLL_BROADCAST, "direct", 8, 2, 4, 4},
        {HKI_COLL_REDUCE, "direct", 8, 4, 6, 6},
        {HKI_COLL_GATHER, "binomial", 8, 2, 1, 4},
        {HKI_COLL_BARRIER, "tree", 8, 2, 1, 0},
        {HKI_COLL_BARRIER, "dissemination", 8, 2, 3, 0},
        // nobody is elsewhere; everybody is
        {HKI_COLL_ALL_REDUCE, "direct", 8, 1, 0, 0},
        {HKI_COLL_ALL_REDUCE, "direct", 8, 8, 7, 7},
        {HKI_COLL_ALL_REDUCE, "direct", 1, 1, 0, 0},
    };
    int parts[RANKS_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        block_parts(wants[i].nranks, wants[i].nparts, parts);
        assert_crossing(&wants[i], parts);
    }
}

static void parts_may_alternate_and_be_unequal(void **state)
{
    static const int alternating[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    static const int unequal[8] = {7, 7, 7, 7, 7, -1, -1, 3};

    (void)state;
    // neighbours are far, all else is near
    assert_crossing(&(want_t){HKI_COLL_ALL_REDUCE, "halving", 8, 2, 2, 4 * 2 * 4 / 8.0},
                    alternating);
    assert_crossing(&(want_t){HKI_COLL_ALL_REDUCE, "doubling", 8, 2, 1, 4}, alternating);
    assert_crossing(&(want_t){HKI_COLL_ALL_GATHER, "ring", 8, 2, 7, 4 * 7}, alternating);
    assert_crossing(&(want_t){HKI_COLL_ALL_GATHER, "direct", 8, 3, 7, 5 * 3}, unequal);
    assert_crossing(&(want_t){HKI_COLL_BROADCAST, "direct", 8, 3, 3, 3}, unequal);
}

static void no_more_crosses_than_is_sent(void **state)
{
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);
    int parts[RANKS_MAX];

    (void)state;
    for (int i = 0; i < count; i++) {
        for (int nranks = 2; nranks <= 9; nranks++) {
            block_parts(nranks, nranks, parts);
            const hki_crossing_t all = count_one(&algos[i], nranks, parts);
            parts[nranks - 1] = parts[0];
            const hki_crossing_t some = count_one(&algos[i], nranks, parts);
            assert_true(all.messages >= 1 && all.messages <= 4.0 * nranks);
            assert_true(all.bytes > 0 || algos[i].coll == HKI_COLL_BARRIER);
            assert_true(some.messages <= all.messages);
        }
    }
}

/** Costs of `nranks` ranks in `nparts` parts at one level. */
static hki_costs_t costs_of(int nranks, int nparts)
{
    static const hki_cost_params_t params = {.alpha_ns = 350, .beta_ns = 0.12, .gamma_ns = 0.05};
    hki_costs_t costs;
    int parts[RANKS_MAX];
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);

    hki_costs_init(&costs, &params);
    costs.cross[HKI_CROSS_MEMORY] = (hki_cross_params_t){.alpha_ns = 100, .beta_ns = 0.04};
    block_parts(nranks, nparts, parts);
    for (int i = 0; i < count; i++) {
        hki_crossing_t crossings[HKI_CROSS_LEVELS] = {{0.0, 0.0}};
        crossings[HKI_CROSS_MEMORY] = count_one(&algos[i], nranks, parts);
        hki_costs_cross(&costs, &algos[i], nranks, crossings);
    }
    return costs;
}

static const char *choice(const hki_costs_t *costs, hki_coll_t coll, int nranks, double bytes)
{
    return hki_algo_choose(coll, costs, nranks, bytes, false, false)->name;
}

static void one_part_costs_what_it_did(void **state)
{
    const hki_costs_t near = costs_of(16, 1);
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);

    (void)state;
    for (int i = 0; i < count; i++) {
        assert_true(near.far[i].ns == 0.0 && near.far[i].byte_ns == 0.0);
        assert_true(hki_algo_time(&algos[i], &near, 16, 1000) > 0.0);
    }
}

static void levels_are_counted_each_and_cost_together(void **state)
{
    const hki_algo_t *algo = hki_algo_find(HKI_COLL_ALL_REDUCE, "direct");
    const hki_cost_params_t params = {.alpha_ns = 1, .beta_ns = 1, .gamma_ns = 1};
    int caches[8];
    int memories[8];
    const int *const levels[HKI_CROSS_LEVELS] = {caches, memories};
    hki_crossing_t got[HKI_CROSS_LEVELS];
    hki_costs_t costs;

    (void)state;
    block_parts(8, 4, caches);
    block_parts(8, 2, memories);
    assert_ok(hki_algo_crossing(algo, 8, 1, levels, got));
    assert_true(got[HKI_CROSS_CACHE].messages == 6.0 && got[HKI_CROSS_CACHE].bytes == 12.0);
    assert_true(got[HKI_CROSS_MEMORY].messages == 4.0 && got[HKI_CROSS_MEMORY].bytes == 16.0);
    hki_costs_init(&costs, &params);
    costs.cross[HKI_CROSS_CACHE] = (hki_cross_params_t){.alpha_ns = 1000, .beta_ns = 10};
    costs.cross[HKI_CROSS_MEMORY] = (hki_cross_params_t){.alpha_ns = 1, .beta_ns = 1};
    hki_costs_cross(&costs, algo, 8, got);
    hki_costs_cross(&costs, algo, 8, got); // sets, does not add
    const double ns = hki_algo_time(algo, &costs, 8, 0.0);
    assert_true(fabs(ns - (1 + 6 * 0.25 + 1000 * 2.25 + 1 * 1.75)) < 1e-9);
    const double more = hki_algo_time(algo, &costs, 8, 1.0) - ns;
    assert_true(fabs(more - (7 + 8 + 10 * 12 + 16)) < 1.0 + 1e-9);
}

/** A choice on one part, and on several. */
typedef struct move {
    hki_coll_t coll;
    int nranks;
    int nparts;
    double bytes;
    const char *near;
    const char *far;
} move_t;

static void the_choice_moves_to_what_crosses_less(void **state)
{
    static const move_t moves[] = {
        // twice n / 8 with all: 4 n cross; in halves, n does
        {HKI_COLL_ALL_REDUCE, 8, 2, 1 << 16, "direct2", "halving"},
        {HKI_COLL_ALL_REDUCE, 64, 2, 2048, "doubling", "halving"},
        {HKI_COLL_ALL_REDUCE, 8, 2, 256, "direct", "doubling"},
        // every rank takes all from all; a ring passes each block once over the border
        {HKI_COLL_ALL_GATHER, 8, 2, 1 << 16, "direct", "ring"},
        {HKI_COLL_ALL_GATHER, 64, 2, 8, "bruck", "doubling"},
        {HKI_COLL_REDUCE_SCATTER, 8, 2, 4096, "direct", "halving"},
        {HKI_COLL_BROADCAST, 8, 2, 256, "direct", "binomial"},
        {HKI_COLL_REDUCE, 64, 2, 1 << 16, "scatter_gather", "binomial"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        const move_t *move = &moves[i];
        const hki_costs_t near = costs_of(move->nranks, 1);
        const hki_costs_t far = costs_of(move->nranks, move->nparts);
        const char *here = choice(&near, move->coll, move->nranks, move->bytes);
        const char *there = choice(&far, move->coll, move->nranks, move->bytes);
        if (strcmp(here, move->near) != 0 || strcmp(there, move->far) != 0) {
            fail_msg("%s, %d ranks, %g bytes: %s in one part, %s in %d; want %s, %s",
                     hki_coll_name(move->coll), move->nranks, move->bytes, here, there,
                     move->nparts, move->near, move->far);
        }
    }
}

static void added_costs_are_alpha_of_hops_and_beta_of_the_border(void **state)
{
    const hki_costs_t near = costs_of(8, 1);
    const hki_costs_t far = costs_of(8, 2);
    const hki_algo_t *direct = hki_algo_find(HKI_COLL_ALL_REDUCE, "direct");
    const double more =
        hki_algo_time(direct, &far, 8, 1000) - hki_algo_time(direct, &near, 8, 1000);

    (void)state;
    // 4 messages in one round cost 1 + 3/4; 16 times 1000 bytes go through the border
    assert_true(fabs(more - (100 * 1.75 + 0.04 * 16000)) < 1e-6);
}

static void any_allocation_may_fail(void **state)
{
    const hki_algo_t *algo = hki_algo_find(HKI_COLL_ALL_REDUCE, "halving");
    hki_crossing_t crossings[HKI_CROSS_LEVELS] = {{-1, -1}, {-1, -1}};
    int parts[RANKS_MAX];
    const int *const levels[HKI_CROSS_LEVELS] = {parts, parts};

    (void)state;
    block_parts(4, 2, parts);
    for (int i = 1; i < 200; i++) {
        hki_alloc_fail_at((size_t)i);
        const hk_status_t status = hki_algo_crossing(algo, 4, 1, levels, crossings);
        hki_alloc_fail_at(0);
        assert_int_equal(hki_alloc_live(), 0);
        if (status == HK_OK) {
            assert_true(i > 2);
            return;
        }
        assert_int_equal(status, HK_ERR_NO_MEMORY);
        assert_true(crossings[0].messages < 0);
    }
    fail_msg("never succeeds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_crosses_is_counted),
        cmocka_unit_test(parts_may_alternate_and_be_unequal),
        cmocka_unit_test(no_more_crosses_than_is_sent),
        cmocka_unit_test(one_part_costs_what_it_did),
        cmocka_unit_test(levels_are_counted_each_and_cost_together),
        cmocka_unit_test(the_choice_moves_to_what_crosses_less),
        cmocka_unit_test(added_costs_are_alpha_of_hops_and_beta_of_the_border),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("algo/crossing", tests, NULL, NULL);
}
