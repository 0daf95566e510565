/**
 * @file optimizer_test.c
 * @brief Tests of src/train/optimizer.c.
 *
 * Method: AdamW against the formulas of the paper in f64, within rounding; a range cut anywhere
 * must give the same bits.
 */
#include "support/hk_test.h"

#include <math.h>

#include "train/optimizer.h"

enum { COUNT = 37, STEPS = 5 };

static const hki_optimizer_t adamw = {HKI_OPTIMIZER_ADAMW, 0.9, 0.95, 1e-8, 0.1};
static const hki_optimizer_t sgd = {HKI_OPTIMIZER_SGD, 0, 0, 0, 0.1};

static float start(size_t i)
{
    return (float)i / 7.0f - 2.0f;
}

static float gradient(size_t i, int step)
{
    return sinf((float)(i * 3 + (size_t)step));
}

/** Some steps over COUNT elements in two ranges, [0, cut) and [cut, COUNT). */
static void run(const hki_optimizer_t *optimizer, size_t cut, bool has_decay, float *weights)
{
    float grads[COUNT];
    float first[COUNT] = {0};
    float second[COUNT] = {0};

    for (size_t i = 0; i < COUNT; i++) {
        weights[i] = start(i);
    }
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < COUNT; i++) {
            grads[i] = gradient(i, step);
        }
        const hki_optimizer_range_t left = {cut, weights, grads, first, second, has_decay};
        const hki_optimizer_range_t right = {COUNT - cut, weights + cut, grads + cut,
                                             first + cut, second + cut,  has_decay};
        hki_optimizer_step(optimizer, 0.01, step, &left);
        hki_optimizer_step(optimizer, 0.01, step, &right);
    }
}

static double adamw_reference(size_t i, bool has_decay)
{
    double w = start(i);
    double m = 0;
    double v = 0;

    for (int step = 0; step < STEPS; step++) {
        const double g = gradient(i, step);
        m = 0.9 * m + 0.1 * g;
        v = 0.95 * v + 0.05 * g * g;
        const double m_hat = m / (1 - pow(0.9, step + 1));
        const double v_hat = v / (1 - pow(0.95, step + 1));
        w -= has_decay ? 0.01 * 0.1 * w : 0;
        w -= 0.01 * m_hat / (sqrt(v_hat) + 1e-8);
    }
    return w;
}

static void follows_the_formulas_of_adamw(void **state)
{
    float weights[COUNT];
    (void)state;

    for (int has_decay = 0; has_decay < 2; has_decay++) {
        run(&adamw, COUNT, has_decay != 0, weights);
        for (size_t i = 0; i < COUNT; i++) {
            const double want = adamw_reference(i, has_decay != 0);
            if (fabs((double)weights[i] - want) > 2e-6) {
                fail_msg("decay %d element %zu: got %g, want %g", has_decay, i, (double)weights[i],
                         want);
            }
        }
    }
}

static void follows_the_formula_of_sgd(void **state)
{
    float weights[COUNT];
    (void)state;

    run(&sgd, COUNT, true, weights);
    for (size_t i = 0; i < COUNT; i++) {
        double want = start(i);
        for (int step = 0; step < STEPS; step++) {
            want = want * (1 - 0.01 * 0.1) - 0.01 * (double)gradient(i, step);
        }
        assert_true(fabs((double)weights[i] - want) < 2e-6);
    }
}

static void gives_the_same_bits_however_it_is_cut(void **state)
{
    float whole[COUNT];
    float cut[COUNT];
    (void)state;

    for (size_t at = 0; at <= COUNT; at++) {
        run(&adamw, COUNT, true, whole);
        run(&adamw, at, true, cut);
        for (size_t i = 0; i < COUNT; i++) {
            if (whole[i] != cut[i]) {
                fail_msg("adamw cut at %zu gives other bits in element %zu", at, i);
            }
        }
    }
}

static void adds_squares_in_double_precision(void **state)
{
    float x[COUNT];
    (void)state;

    for (size_t n = 0; n <= COUNT; n++) {
        double want = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)i + 0.5f;
            want += (double)x[i] * (double)x[i];
        }
        assert_true(hki_sum_of_squares(x, n) == want); // small multiples of 1/4: exact in any order
    }
}

static void clips_only_what_is_too_long(void **state)
{
    (void)state;
    assert_true(hki_clip_factor(0.5, 1.0) == 1.0);
    assert_true(hki_clip_factor(4.0, 1.0) == 0.25);
    assert_true(hki_clip_factor(4.0, 0) == 1.0);
    assert_true(hki_clip_factor(0, 1.0) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_formulas_of_adamw),
        cmocka_unit_test(follows_the_formula_of_sgd),
        cmocka_unit_test(gives_the_same_bits_however_it_is_cut),
        cmocka_unit_test(adds_squares_in_double_precision),
        cmocka_unit_test(clips_only_what_is_too_long),
    };
    return cmocka_run_group_tests_name("train/optimizer", tests, NULL, NULL);
}
