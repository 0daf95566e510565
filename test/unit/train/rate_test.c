/**
 * @file rate_test.c
 * @brief Tests of src/train/rate.c. Method: the corners of the curve, and that it only falls.
 */
#include "support/hk_test.h"

#include <stdbool.h>

#include "train/rate.h"

static bool is_near(double a, double b)
{
    return a > b - 1e-12 && a < b + 1e-12;
}

static void rises_linearly_to_the_peak(void **state)
{
    const hki_rate_t rate = {HKI_RATE_COSINE, 0.4, 0.1, /*warmup=*/4, /*steps=*/10};
    (void)state;

    assert_true(is_near(hki_rate_at(&rate, 0), 0.1));
    assert_true(is_near(hki_rate_at(&rate, 1), 0.2));
    assert_true(is_near(hki_rate_at(&rate, 3), 0.4));
    assert_true(is_near(hki_rate_at(&rate, 4), 0.4));
}

static void falls_to_the_floor_at_the_last_step(void **state)
{
    const hki_rate_t rate = {HKI_RATE_COSINE, 0.4, 0.1, /*warmup=*/4, /*steps=*/15};
    (void)state;

    for (int step = 5; step < 15; step++) {
        if (!(hki_rate_at(&rate, step) < hki_rate_at(&rate, step - 1))) {
            fail_msg("step %d does not fall", step);
        }
    }
    assert_true(is_near(hki_rate_at(&rate, 9), 0.25)); // half-way
    assert_true(is_near(hki_rate_at(&rate, 14), 0.1));
}

static void stays_constant_when_asked_to(void **state)
{
    const hki_rate_t rate = {HKI_RATE_CONSTANT, 0.4, 0.1, /*warmup=*/0, /*steps=*/10};
    (void)state;

    assert_true(is_near(hki_rate_at(&rate, 0), 0.4));
    assert_true(is_near(hki_rate_at(&rate, 9), 0.4));
}

static void survives_runs_shorter_than_the_warmup(void **state)
{
    const hki_rate_t rate = {HKI_RATE_COSINE, 1.0, 0.0, /*warmup=*/20, /*steps=*/1};
    const hki_rate_t single = {HKI_RATE_COSINE, 1.0, 0.0, /*warmup=*/0, /*steps=*/1};
    (void)state;

    assert_true(is_near(hki_rate_at(&rate, 0), 0.05));
    assert_true(is_near(hki_rate_at(&single, 0), 1.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rises_linearly_to_the_peak),
        cmocka_unit_test(falls_to_the_floor_at_the_last_step),
        cmocka_unit_test(stays_constant_when_asked_to),
        cmocka_unit_test(survives_runs_shorter_than_the_warmup),
    };
    return cmocka_run_group_tests_name("train/rate", tests, NULL, NULL);
}
