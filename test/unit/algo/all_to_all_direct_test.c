/**
 * @file all_to_all_direct_test.c
 * @brief Tests of src/algo/all_to_all_direct.c.
 *
 * Method: the steps of one rank of a worked example, written out; the cost function against what
 * the checker counts; every allocation made to fail. That the result is right for all group sizes
 * is proven in all_checked_test.c.
 */
#include "coll_case.h"

static void rank_1_of_3_runs_the_worked_example(void **state)
{
    const coll_case_t c = {
        .coll = HKI_COLL_ALL_TO_ALL, .algo = "direct", .nranks = 3, .count = 2, .run_count = 2};
    (void)state;

    case_check_steps(&c, 1,
                     "send 2 in[2][0:2]\n"
                     "send 0 in[0][0:2]\n"
                     "copy out[1][0:2] in[1][0:2]\n"
                     "recv 0 out[0][0:2]\n"
                     "recv 2 out[2][0:2]\n");
}

static void cost_is_what_the_checker_counts(void **state)
{
    (void)state;
    case_check_costs(HKI_COLL_ALL_TO_ALL, "direct");
}

static void survives_the_failure_of_any_allocation(void **state)
{
    const coll_case_t c = {.coll = HKI_COLL_ALL_TO_ALL, .algo = "direct", .nranks = 9, .count = 40};
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
    return cmocka_run_group_tests_name("algo/all_to_all_direct", tests, NULL, NULL);
}
