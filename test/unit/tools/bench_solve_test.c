/*
 * Least squares without negative coefficients: exact times give back what made them; noise, terms
 * that grow together and terms that would be negative are met.
 */
#include "support/hk_test.h"

#include <math.h>

#include "hocket/bench_solve.h"

enum { ROWS = 12 };

/** Rows of two algorithms of different shapes at growing sizes, timed by `x`. */
static void make_rows(const double *x, hki_solve_row_t *rows)
{
    for (int i = 0; i < ROWS; i++) {
        const double bytes = pow(8.0, i / 2 + 1);
        rows[i] = (hki_solve_row_t){.time = 0.0};
        rows[i].terms[0] = i % 2 == 0 ? 1.0 : 6.0;
        rows[i].terms[1] = i % 2 == 0 ? 7.0 * bytes : 2.0 * bytes;
        rows[i].terms[2] = i % 2 == 0 ? 3.0 * bytes : 1.0 * bytes;
        for (int t = 0; t < HKI_SOLVE_TERMS_MAX; t++) {
            rows[i].time += x[t] * rows[i].terms[t];
        }
    }
}

static void assert_near(double got, double want, const char *what)
{
    if (fabs(got - want) > 1e-6 * (fabs(want) + 1e-3)) {
        fail_msg("%s: got %.9g, want %.9g", what, got, want);
    }
}

static void exact_times_give_back_their_costs(void **state)
{
    static const double wants[][HKI_SOLVE_TERMS_MAX] = {
        {350.0, 0.12, 0.05}, {350.0, 0.12, 0.0}, {0.0, 0.12, 0.05}, {1e5, 1e-3, 2.0}};

    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(wants); w++) {
        hki_solve_row_t rows[ROWS];
        double x[HKI_SOLVE_TERMS_MAX];
        make_rows(wants[w], rows);
        assert_near(hki_solve(rows, ROWS, HKI_SOLVE_TERMS_MAX, x), 0.0, "error");
        assert_near(x[0], wants[w][0], "alpha");
        assert_near(x[1], wants[w][1], "beta");
        assert_near(x[2], wants[w][2], "gamma");
    }
}

static void what_crosses_is_told_from_the_rest(void **state)
{
    // two levels: messages and bytes that cross, by algorithm and size
    static const double want[HKI_SOLVE_TERMS_MAX] = {350.0, 0.12, 0.05, 84.0, 0.02, 90.0, 0.03};
    static const double shapes[4][4] = {{1, 4, 0, 0}, {6, 2, 3, 1}, {2, 32, 1, 16}, {12, 1, 12, 9}};
    hki_solve_row_t rows[4 * ROWS];
    double x[HKI_SOLVE_TERMS_MAX];

    (void)state;
    for (int i = 0; i < 4 * ROWS; i++) {
        const double *shape = shapes[i % 4];
        const double bytes = pow(4.0, i / 4);
        rows[i] =
            (hki_solve_row_t){.terms = {1.0 + i % 4, (7.0 - i % 4) * bytes, (1.0 + i % 2) * bytes,
                                        shape[0], shape[1] * bytes, shape[2], shape[3] * bytes}};
        for (int t = 0; t < HKI_SOLVE_TERMS_MAX; t++) {
            rows[i].time += want[t] * rows[i].terms[t];
        }
    }
    assert_near(hki_solve(rows, 4 * ROWS, HKI_SOLVE_TERMS_MAX, x), 0.0, "error");
    for (int i = 0; i < 4 * ROWS; i++) {
        double time = 0.0;
        for (int t = 0; t < HKI_SOLVE_TERMS_MAX; t++) {
            time += x[t] * rows[i].terms[t];
        }
        assert_near(time, rows[i].time, "time");
    }
    assert_near(x[3], want[3], "alpha of the first level");
    assert_near(x[4], want[4], "beta of the first level");
}

static void small_sizes_count_as_much_as_large_ones(void **state)
{
    static const double want[HKI_SOLVE_TERMS_MAX] = {350.0, 0.12, 0.05};
    hki_solve_row_t rows[ROWS];
    double x[HKI_SOLVE_TERMS_MAX];

    (void)state;
    make_rows(want, rows);
    rows[ROWS - 1].time *= 1.2; // 31 us more, which must not become messages of microseconds
    (void)hki_solve(rows, ROWS, HKI_SOLVE_TERMS_MAX, x);
    assert_true(x[0] > 300.0 && x[0] < 400.0);
}

static void nothing_becomes_negative(void **state)
{
    // a time that falls with the size would ask for a negative cost of a byte
    const hki_solve_row_t rows[] = {{{1, 10, 0}, 1000}, {{1, 1000, 0}, 900}, {{1, 100000, 0}, 800}};
    double x[HKI_SOLVE_TERMS_MAX];

    (void)state;
    assert_true(hki_solve(rows, ARRAY_LEN(rows), HKI_SOLVE_TERMS_MAX, x) < 0.2);
    assert_true(x[0] > 800 && x[0] < 1000);
    assert_true(x[1] == 0.0 && x[2] == 0.0);
}

static void terms_that_grow_together_are_solved_too(void **state)
{
    const hki_solve_row_t rows[] = {{{1, 10, 10}, 120}, {{1, 100, 100}, 300}};
    double x[HKI_SOLVE_TERMS_MAX];

    (void)state;
    assert_near(hki_solve(rows, ARRAY_LEN(rows), HKI_SOLVE_TERMS_MAX, x), 0.0, "error");
    assert_near(x[0], 100.0, "alpha");
    assert_near(x[1] + x[2], 2.0, "beta and gamma");
}

static void later_terms_and_missing_rows_are_ignored(void **state)
{
    const hki_solve_row_t rows[] = {{{1, 10, 5}, 120}, {{1, 100, 7}, 300}};
    double x[HKI_SOLVE_TERMS_MAX] = {7, 7, 7};

    (void)state;
    assert_near(hki_solve(rows, ARRAY_LEN(rows), 2, x), 0.0, "error");
    assert_near(x[1], 2.0, "beta");
    assert_true(x[2] == 0.0);
    assert_near(hki_solve(rows, 0, HKI_SOLVE_TERMS_MAX, x), 1.0, "error without rows");
    assert_true(x[0] == 0.0 && x[1] == 0.0 && x[2] == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_times_give_back_their_costs),
        cmocka_unit_test(what_crosses_is_told_from_the_rest),
        cmocka_unit_test(small_sizes_count_as_much_as_large_ones),
        cmocka_unit_test(nothing_becomes_negative),
        cmocka_unit_test(terms_that_grow_together_are_solved_too),
        cmocka_unit_test(later_terms_and_missing_rows_are_ignored),
    };

    return cmocka_run_group_tests_name("tools/bench_solve", tests, NULL, NULL);
}
