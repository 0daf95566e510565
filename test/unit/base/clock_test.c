/*
 * Time never runs backwards, and deadlines lie where they should: bounds, no waiting.
 */
#include "support/hk_test.h"

#include "base/clock.h"

static void never_runs_backwards(void **state)
{
    uint64_t last = hki_clock_ns();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const uint64_t now = hki_clock_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void deadlines_are_milliseconds_from_now(void **state)
{
    const uint64_t before = hki_clock_ns();
    const uint64_t deadline = hki_deadline_ns(5000);
    const uint64_t after = hki_clock_ns();

    (void)state;
    assert_true(deadline >= before + UINT64_C(5000000000));
    assert_true(deadline <=
                after + UINT64_C(5010000000)); // the coarse clock lags by a tick at most
}

static void a_negative_timeout_has_no_deadline(void **state)
{
    (void)state;
    assert_true(hki_deadline_ns(-1) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_runs_backwards),
        cmocka_unit_test(deadlines_are_milliseconds_from_now),
        cmocka_unit_test(a_negative_timeout_has_no_deadline),
    };

    return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
