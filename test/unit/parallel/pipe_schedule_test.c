/**
 * @file pipe_schedule_test.c
 * @brief Tests of src/parallel/pipe_schedule.c.
 *
 * Method: both builders over a grid of stages and units through the checker, its facts against the
 * closed formulas of the papers; then schedules broken on purpose, which the checker must refuse.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "parallel/pipe_schedule.h"

enum { STAGES_MAX = 9, UNITS_MAX = 17 };

static int min(int a, int b)
{
    return a < b ? a : b;
}

static void builds_right_schedules_for_any_number_of_units(void **state)
{
    static const char *const names[] = {"gpipe", "1f1b"};
    (void)state;

    for (int n = 0; n < 2 * STAGES_MAX * UNITS_MAX; n++) {
        const char *name = names[n % 2];
        const int nstages = n / 2 % STAGES_MAX + 1;
        const int nunits = n / 2 / STAGES_MAX + 1; // also fewer than stages
        hki_pipe_schedule_t *schedule = NULL;
        hki_pipe_facts_t facts = {0};

        assert_ok(hki_pipe_schedule_create(name, nstages, nunits, &schedule));
        if (hki_pipe_schedule_check(schedule, &facts) != HK_OK) {
            fail_msg("%s, %d stages, %d units: %s", name, nstages, nunits, hk_last_error());
        }
        const int held = n % 2 == 0 ? nunits : min(nstages, nunits);
        if (facts.in_flight_max != held || facts.slots != 2 * (nunits + nstages - 1)) {
            fail_msg("%s, %d stages, %d units: holds %d (want %d), takes %d slots (want %d)", name,
                     nstages, nunits, facts.in_flight_max, held, facts.slots,
                     2 * (nunits + nstages - 1));
        }
        const double bubble = (nstages - 1.0) / (nunits + nstages - 1.0);
        assert_true(facts.bubble > bubble - 1e-12 && facts.bubble < bubble + 1e-12);
        hki_pipe_schedule_destroy(&schedule);
    }
    assert_int_equal(hki_alloc_live(), 0);
}

static void holds_fewer_units_on_later_stages(void **state)
{
    hki_pipe_schedule_t *schedule = NULL;
    (void)state;

    assert_ok(hki_pipe_schedule_create("1f1b", 4, 8, &schedule));
    for (int s = 0; s < 4; s++) {
        assert_int_equal(hki_pipe_in_flight_max(schedule, s), 4 - s);
    }
    hki_pipe_schedule_destroy(&schedule);
}

/** 1F1B of 2 stages and 2 units: stage 0 F0 F1 B0 B1, stage 1 F0 B0 F1 B1; then one action
 *  changed. */
static hk_status_t check_with(int stage, int index, hki_pipe_action_t action)
{
    hki_pipe_schedule_t *schedule = NULL;
    hki_pipe_facts_t facts = {.slots = -7};
    hk_status_t status;

    assert_ok(hki_pipe_schedule_create("1f1b", 2, 2, &schedule));
    schedule->actions[stage * 4 + index] = action;
    status = hki_pipe_schedule_check(schedule, &facts);
    assert_true(status == HK_OK || facts.slots == -7); // outputs stay untouched on failure
    hki_pipe_schedule_destroy(&schedule);
    return status;
}

static void refuses_a_unit_run_twice_or_out_of_order(void **state)
{
    (void)state;
    assert_ok(check_with(1, 2, (hki_pipe_action_t){HKI_PIPE_FORWARD, 1})); // unchanged
    assert_int_equal(check_with(1, 2, (hki_pipe_action_t){HKI_PIPE_FORWARD, 0}),
                     HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "stage 1 action 2 is forward of unit 0"));
    assert_int_equal(check_with(0, 2, (hki_pipe_action_t){HKI_PIPE_BACKWARD, 1}),
                     HK_ERR_INVALID_ARG);
    assert_int_equal(check_with(0, 3, (hki_pipe_action_t){HKI_PIPE_FORWARD, 2}),
                     HK_ERR_INVALID_ARG);
    assert_int_equal(check_with(0, 3, (hki_pipe_action_t){HKI_PIPE_BACKWARD, -1}),
                     HK_ERR_INVALID_ARG);
}

static void finds_a_deadlock_and_says_who_waits_for_what(void **state)
{
    hki_pipe_schedule_t *schedule = NULL;
    (void)state;

    // stage 0 wants B0 before F1, stage 1 wants F1 before B0
    assert_ok(hki_pipe_schedule_create("gpipe", 2, 2, &schedule));
    schedule->actions[1] = (hki_pipe_action_t){HKI_PIPE_BACKWARD, 0};
    schedule->actions[2] = (hki_pipe_action_t){HKI_PIPE_FORWARD, 1};
    assert_int_equal(hki_pipe_schedule_check(schedule, NULL), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "deadlock: stage 0 action 1, backward of unit 0, waits "
                                            "for ever for backward of stage 1"));
    // a backward before its own forward
    schedule->actions[0] = (hki_pipe_action_t){HKI_PIPE_BACKWARD, 0};
    schedule->actions[1] = (hki_pipe_action_t){HKI_PIPE_FORWARD, 0};
    assert_int_equal(hki_pipe_schedule_check(schedule, NULL), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "waits for ever for forward of stage 0"));
    hki_pipe_schedule_destroy(&schedule);
}

static void draws_what_it_does(void **state)
{
    hki_pipe_schedule_t *schedule = NULL;
    char *text = NULL;
    (void)state;

    assert_ok(hki_pipe_schedule_create("1f1b", 2, 2, &schedule));
    assert_ok(hki_pipe_schedule_draw(schedule, &text));
    assert_string_equal(text, "stage 0    F0   F1   .    B0   .    B1   \n"
                              "stage 1    .    F0   B0   F1   B1        \n");
    hki_free(text);
    hki_pipe_schedule_destroy(&schedule);
}

static void refuses_bad_arguments(void **state)
{
    hki_pipe_schedule_t *schedule = NULL;
    (void)state;

    assert_int_equal(hki_pipe_schedule_create("2f2b", 2, 2, &schedule), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "'2f2b' is not known; use gpipe or 1f1b"));
    assert_int_equal(hki_pipe_schedule_create("1f1b", 0, 2, &schedule), HK_ERR_INVALID_ARG);
    assert_int_equal(hki_pipe_schedule_create("1f1b", 2, 0, &schedule), HK_ERR_INVALID_ARG);
    assert_null(schedule);
}

static hk_status_t everything(void)
{
    hki_pipe_schedule_t *schedule = NULL;
    char *text = NULL;
    hk_status_t status = hki_pipe_schedule_create("1f1b", 3, 4, &schedule);

    if (status == HK_OK) {
        status = hki_pipe_schedule_check(schedule, NULL);
    }
    if (status == HK_OK) {
        status = hki_pipe_schedule_draw(schedule, &text);
    }
    hki_free(text);
    hki_pipe_schedule_destroy(&schedule);
    return status;
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = everything();
        assert_true(status == HK_OK || status == HK_ERR_NO_MEMORY);
        assert_int_equal(hki_alloc_live(), 0);
    }
    hki_alloc_fail_at(0);
    assert_true(n > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_right_schedules_for_any_number_of_units),
        cmocka_unit_test(holds_fewer_units_on_later_stages),
        cmocka_unit_test(refuses_a_unit_run_twice_or_out_of_order),
        cmocka_unit_test(finds_a_deadlock_and_says_who_waits_for_what),
        cmocka_unit_test(draws_what_it_does),
        cmocka_unit_test(refuses_bad_arguments),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("parallel/pipe_schedule", tests, NULL, NULL);
}
