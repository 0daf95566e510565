/**
 * @file all_gather_grouped_test.c
 * @brief Tests of src/algo/all_gather_grouped.c.
 *
 * Method: the steps of one rank of the worked example, written out; every number of ranks in groups
 * of every size, proven by the checker; the cost function against what the checker counts; what
 * crosses between groups against the lower bound; every allocation made to fail.
 */
#include "coll_case.h"

#include <math.h>

static coll_case_t case_of(int nranks, int near, size_t count)
{
    return (coll_case_t){.coll = HKI_COLL_ALL_GATHER,
                         .algo = "grouped",
                         .nranks = nranks,
                         .near = near,
                         .count = count,
                         .run_count = count};
}

static void ranks_of_5_in_groups_of_3_run_the_worked_example(void **state)
{
    const coll_case_t c = case_of(5, 3, 2);
    (void)state;

    case_check_steps(&c, 0,
                     "send 3 in[0][0:2]\n"
                     "send 1 in[0][0:2]\n"
                     "send 2 in[0][0:2]\n"
                     "copy out[0][0:2] in[0][0:2]\n"
                     "recv 3 out[3][0:2]\n"
                     "recv 2 out[2][0:2]\n"
                     "recv 1 out[1][0:2]\n"
                     "send 1 out[3][0:2]\n"
                     "send 2 out[3][0:2]\n"
                     "recv 1 out[4][0:2]\n");
    case_check_steps(&c, 3,
                     "send 0 in[0][0:2]\n"
                     "send 4 in[0][0:2]\n"
                     "copy out[3][0:2] in[0][0:2]\n"
                     "recv 0 out[0][0:2]\n"
                     "recv 2 out[2][0:2]\n"
                     "recv 4 out[4][0:2]\n"
                     "send 4 out[0][0:2]\n"
                     "recv 4 out[1][0:2]\n"
                     "send 4 out[2][0:2]\n");
}

static void every_rank_gets_all_for_all_sizes_of_groups(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= 40; nranks += nranks < 9 ? 1 : nranks - 1) {
        for (int near = 1; near <= nranks + 1; near += 1 + near / 4) {
            for (int place = CASE_APART; place <= CASE_MIXED; place++) {
                coll_case_t c = case_of(nranks, near, 3);
                c.place = (case_place_t)place;
                case_check_result(&c);
                c.is_unequal = true;
                case_check_result(&c);
            }
        }
    }
}

static void cost_is_what_the_checker_counts(void **state)
{
    (void)state;
    case_check_costs(HKI_COLL_ALL_GATHER, "grouped");
    for (int near = 2; near <= 32; near *= 2) {
        const coll_case_t c = case_of(64, near, 64);
        case_check_cost(&c);
    }
}

static void least_crosses_between_groups(void **state)
{
    const hki_algo_t *algo = hki_algo_find(HKI_COLL_ALL_GATHER, "grouped");
    (void)state;

    for (int nranks = 4; nranks <= CASE_RANKS_MAX; nranks += 1 + nranks / 4) {
        for (int near = 2; near < nranks; near++) {
            int parts[CASE_RANKS_MAX];
            const int *const levels[HKI_CROSS_LEVELS] = {[HKI_CROSS_CACHE] = parts};
            hki_crossing_t got[HKI_CROSS_LEVELS];
            const int smallest = (nranks - 1) % near + 1;
            const int ngroups = (nranks - 1) / near + 1;
            for (int r = 0; r < nranks; r++) {
                parts[r] = r / near;
            }
            assert_ok(hki_algo_crossing(algo, nranks, near, levels, got));
            // into the smallest group goes all but its own; out of others n times what each gets
            const double in = nranks - smallest;
            const double out = (double)near * (ngroups - 1);
            const double want = in > out ? in : out;
            if (fabs(got[HKI_CROSS_CACHE].bytes - want) > 1e-9) {
                fail_msg("%d ranks in groups of %d: %g n bytes cross, want %g", nranks, near,
                         got[HKI_CROSS_CACHE].bytes, want);
            }
            assert_true(got[HKI_CROSS_CACHE].messages >= ngroups - 1);
        }
    }
}

static void it_is_chosen_only_where_there_are_groups(void **state)
{
    static const hki_cost_params_t params = {.alpha_ns = 350, .beta_ns = 0.12, .gamma_ns = 0.05};
    const hki_algo_t *grouped = hki_algo_find(HKI_COLL_ALL_GATHER, "grouped");
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);
    hki_costs_t costs;
    int parts[CASE_RANKS_MAX];
    const int *const levels[HKI_CROSS_LEVELS] = {[HKI_CROSS_MEMORY] = parts};
    (void)state;

    hki_costs_init(&costs, &params);
    costs.of[grouped - algos] = (hki_cost_params_t){.alpha_ns = 0}; // as if for nothing
    assert_false(hki_algo_is_allowed(grouped, &costs, true, true));
    assert_string_not_equal(
        hki_algo_choose(HKI_COLL_ALL_GATHER, &costs, 64, 65536, true, false)->name, "grouped");
    hki_costs_init(&costs, &params);
    costs.near_ranks = 32;
    costs.cross[HKI_CROSS_MEMORY] = (hki_cross_params_t){.alpha_ns = 100, .beta_ns = 0.04};
    for (int r = 0; r < 64; r++) {
        parts[r] = r / 32;
    }
    for (int i = 0; i < count; i++) {
        hki_crossing_t crossings[HKI_CROSS_LEVELS];
        assert_ok(hki_algo_crossing(&algos[i], 64, 32, levels, crossings));
        hki_costs_cross(&costs, &algos[i], 64, crossings);
    }
    assert_string_equal(hki_algo_choose(HKI_COLL_ALL_GATHER, &costs, 64, 8, true, false)->name,
                        "doubling");
    assert_string_equal(hki_algo_choose(HKI_COLL_ALL_GATHER, &costs, 64, 65536, true, true)->name,
                        "grouped");
}

static void survives_the_failure_of_any_allocation(void **state)
{
    const coll_case_t c = case_of(9, 4, 40);
    (void)state;

    case_survives_allocation_failures(&c, 4);
}

static void groups_of_nobody_are_refused(void **state)
{
    const hki_algo_t *algo = hki_algo_find(HKI_COLL_ALL_GATHER, "grouped");
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_schedule_t *schedule = NULL;
    (void)state;

    opts.nranks = 4;
    for (opts.near_ranks = -1; opts.near_ranks <= 0; opts.near_ranks++) {
        assert_int_equal(algo->build(&opts, &schedule), HK_ERR_INVALID_ARG);
        assert_null(schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_5_in_groups_of_3_run_the_worked_example),
        cmocka_unit_test(every_rank_gets_all_for_all_sizes_of_groups),
        cmocka_unit_test(cost_is_what_the_checker_counts),
        cmocka_unit_test(least_crosses_between_groups),
        cmocka_unit_test(it_is_chosen_only_where_there_are_groups),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
        cmocka_unit_test(groups_of_nobody_are_refused),
    };
    return cmocka_run_group_tests_name("algo/all_gather_grouped", tests, NULL, NULL);
}
