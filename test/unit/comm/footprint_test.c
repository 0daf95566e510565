/*
 * Footprints: what is remembered must be enough for every rank of every algorithm, whatever the
 * count and the root.
 */
#include "support/hk_test.h"

#include "comm/plan.h"
#include "sched/schedule.h"

/** Scratch and staged elements of one schedule, repeats counted: an upper bound is not needed. */
static void check_schedule(const hki_algo_t *algo, const hk_schedule_t *schedule,
                           const hki_footprint_t *need, size_t count)
{
    const double slack = 2.0 + 0.05 * (double)count; // chunks are rounded; the caller has a margin
    const double tmp = (double)schedule->opts.tmp_count;
    const double acc = (double)schedule->opts.acc_count;

    if (tmp > need->tmp_elements * (double)count + slack * schedule->opts.nranks ||
        acc > need->acc_partials * (double)count + slack * schedule->opts.nranks) {
        fail_msg("%s by %s, %d ranks, rank %d, count %zu: scratch of %zu and %zu",
                 hki_coll_name(algo->coll), algo->name, schedule->opts.nranks, schedule->opts.rank,
                 count, schedule->opts.tmp_count, schedule->opts.acc_count);
    }
}

static void every_rank_and_root_fits(void **state)
{
    const size_t counts[] = {64, 1000};
    const int sizes[] = {1, 2, 5, 8};
    int algo_count = 0;
    const hki_algo_t *algos = hki_algo_all(&algo_count);

    (void)state;
    for (int a = 0; a < algo_count; a++) {
        for (size_t p = 0; p < ARRAY_LEN(sizes); p++) {
            hki_footprint_t need;

            assert_ok(hki_footprint(&algos[a], sizes[p], &need));
            for (int k = 0; k < sizes[p] * (int)ARRAY_LEN(counts); k++) {
                hk_schedule_opts_t opts = hk_schedule_opts_default();
                hk_schedule_t *schedule = NULL;

                opts.nranks = sizes[p];
                opts.rank = k % sizes[p];
                opts.count = counts[k / sizes[p]];
                assert_ok(algos[a].build(&opts, &schedule));
                check_schedule(&algos[a], schedule, &need, opts.count);
                hk_schedule_destroy(&schedule);
            }
        }
    }
}

static void a_direct_all_reduce_stages_its_input_once(void **state)
{
    const hki_algo_t *direct = hki_algo_find(HKI_COLL_ALL_REDUCE, "direct");
    hki_footprint_t need;
    hki_footprint_t again;

    (void)state;
    assert_non_null(direct);
    assert_ok(hki_footprint(direct, 4, &need));
    assert_ok(hki_footprint(direct, 4, &again)); // remembered
    assert_true(need.staged.elements == 1.0 && again.staged.elements == 1.0);
    assert_true(need.staged.partials == 0.0);
    assert_int_equal(need.staged.messages, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_and_root_fits),
        cmocka_unit_test(a_direct_all_reduce_stages_its_input_once),
    };

    return cmocka_run_group_tests_name("comm/footprint", tests, NULL, NULL);
}
