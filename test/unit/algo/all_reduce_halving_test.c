/**
 * @file all_reduce_halving_test.c
 * @brief Tests of src/algo/all_reduce_halving.c.
 *
 * Method: the steps of one rank of a worked example, written out; the cost function against what
 * the checker counts; every allocation made to fail. That the result is right for all group sizes
 * is proven in all_checked_test.c.
 */
#include "coll_case.h"

static void rank_0_of_5_runs_the_worked_example(void **state)
{
    const coll_case_t c = {
        .coll = HKI_COLL_ALL_REDUCE, .algo = "halving", .nranks = 5, .count = 12, .run_count = 12};
    (void)state;

    case_check_steps(&c, 0,
                     "send 1 in[0][6:12]\n"
                     "reduce acc[0:6] = in[0][0:6] + rank 1\n"
                     "send 2 acc[3:6]\n"
                     "reduce acc[0:3] = acc[0:3] + partial 2\n"
                     "reduce acc[12:15] = rank 4\n"
                     "reduce out[0][0:3] = acc[0:3] + acc[12:15]\n"
                     "send 2 out[0][0:3]\n"
                     "recv 2 out[0][3:6]\n"
                     "send 1 out[0][0:6]\n"
                     "recv 1 out[0][6:12]\n"
                     "send 4 out[0][0:12]\n");
}

static void cost_is_what_the_checker_counts(void **state)
{
    (void)state;
    case_check_costs(HKI_COLL_ALL_REDUCE, "halving");
}

static void survives_the_failure_of_any_allocation(void **state)
{
    const coll_case_t c = {
        .coll = HKI_COLL_ALL_REDUCE, .algo = "halving", .nranks = 9, .count = 40};
    (void)state;

    case_survives_allocation_failures(&c, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_of_5_runs_the_worked_example),
        cmocka_unit_test(cost_is_what_the_checker_counts),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("algo/all_reduce_halving", tests, NULL, NULL);
}
