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

            assert_ok(hki_footprint(&algos[a], sizes[p], 1, &need));
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
    assert_ok(hki_footprint(direct, 4, 1, &need));
    assert_ok(hki_footprint(direct, 4, 1, &again)); // remembered
    assert_true(need.staged.elements == 1.0 && again.staged.elements == 1.0);
    assert_true(need.staged.partials == 0.0);
    assert_int_equal(need.staged.messages, 1);
}

/** Payloads of one schedule that are staged: one for all sends of the same in a row. */
static int count_payloads(const hk_schedule_t *schedule)
{
    const hki_step_t *before = NULL;
    int count = 0;

    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const hki_step_t *step = &schedule->steps[i];

        if (step->kind == HKI_STEP_SEND) {
            count += before == NULL || before->src.region != step->src.region ||
                     before->src.block != step->src.block;
        }
        before = step->kind == HKI_STEP_SEND ? step : NULL;
    }
    return count;
}

static void what_is_passed_on_in_groups_of_any_size_fits(void **state)
{
    static const int sizes[][2] = {{4, 2}, {7, 4}, {13, 5}, {45, 41}, {64, 57}, {64, 32}, {64, 1}};
    const hki_algo_t *grouped = hki_algo_find(HKI_COLL_ALL_GATHER, "grouped");

    (void)state;
    for (size_t p = 0; p < ARRAY_LEN(sizes); p++) {
        hki_footprint_t need;
        int most = 0;

        assert_ok(hki_footprint(grouped, sizes[p][0], sizes[p][1], &need));
        for (int rank = 0; rank < sizes[p][0]; rank++) {
            hk_schedule_opts_t opts = hk_schedule_opts_default();
            hk_schedule_t *schedule = NULL;

            opts.nranks = sizes[p][0];
            opts.near_ranks = sizes[p][1];
            opts.rank = rank;
            opts.count = 10;
            assert_ok(grouped->build(&opts, &schedule));
            const int payloads = count_payloads(schedule);
            most = payloads > most ? payloads : most;
            hk_schedule_destroy(&schedule);
        }
        if (need.staged.messages != most || need.staged.elements < most) {
            fail_msg("%d ranks in groups of %d: %d payloads, %g elements; want %d", sizes[p][0],
                     sizes[p][1], need.staged.messages, need.staged.elements, most);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_and_root_fits),
        cmocka_unit_test(what_is_passed_on_in_groups_of_any_size_fits),
        cmocka_unit_test(a_direct_all_reduce_stages_its_input_once),
    };

    return cmocka_run_group_tests_name("comm/footprint", tests, NULL, NULL);
}
