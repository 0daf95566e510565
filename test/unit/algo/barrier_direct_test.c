/**
 * @file barrier_direct_test.c
 * @brief Tests of src/algo/barrier_direct.c.
 *
 * Method: the steps of one rank of a worked example, written out; the cost function against what
 * the checker counts; every allocation made to fail. That the result is right for all group sizes
 * is proven in all_checked_test.c.
 */
#include "coll_case.h"

static void rank_1_of_3_runs_the_worked_example(void **state)
{
    const coll_case_t c = {
        .coll = HKI_COLL_BARRIER, .algo = "direct", .nranks = 3, .count = 2, .run_count = 2};
    (void)state;

    case_check_steps(&c, 1,
                     "send_token 2\n"
                     "send_token 0\n"
                     "recv_token 0\n"
                     "recv_token 2\n");
}

static void cost_is_what_the_checker_counts(void **state)
{
    (void)state;
    case_check_costs(HKI_COLL_BARRIER, "direct");
}

static void survives_the_failure_of_any_allocation(void **state)
{
    const coll_case_t c = {.coll = HKI_COLL_BARRIER, .algo = "direct", .nranks = 9, .count = 40};
    (void)state;

    case_survives_allocation_failures(&c, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_1_of_3_runs_the_worked_example),
        cmocka_unit_test(cost_is_what_the_checker_counts),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("algo/barrier_direct", tests, NULL, NULL);
}
