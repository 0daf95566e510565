/**
 * @file grad_tree_test.c
 * @brief Tests of src/parallel/grad_tree.c.
 *
 * Method: values whose sum depends on the order of addition, compared bit for bit with the
 * recursion of hocket/types.h written down as it stands there.
 */
#include "support/hk_test.h"

#include "base/alloc.h"
#include "parallel/grad_tree.h"

enum { COUNT = 5, UNITS_MAX = 33 };

/** Large and small, both signs: almost every order gives other bits. */
static float value(int unit, size_t element)
{
    const float magnitude = (unit * 7 + (int)element) % 3 == 0 ? 1e6f : 1.0f;
    return (unit % 2 == 0 ? magnitude : -magnitude) / (float)(unit + (int)element + 3);
}

static float tree(int first, int n, size_t element)
{
    int k = 1;

    if (n == 1) {
        return value(first, element);
    }
    while (2 * k < n) {
        k *= 2;
    }
    return tree(first, k, element) + tree(first + k, n - k, element);
}

static void push_units(hki_grad_tree_t *sum, int first, int n)
{
    for (int u = first; u < first + n; u++) {
        float *leaf = hki_grad_tree_leaf(sum);
        for (size_t i = 0; i < COUNT; i++) {
            leaf[i] = value(u, i);
        }
        hki_grad_tree_push(sum);
    }
}

static void adds_in_the_canonical_order(void **state)
{
    hki_grad_tree_t *sum = NULL;
    (void)state;

    assert_ok(hki_grad_tree_create(NULL, COUNT, UNITS_MAX, &sum));
    for (int n = 1; n <= UNITS_MAX;
         n++) { // the same object again and again: it must come out empty
        push_units(sum, 0, n);
        const float *got = hki_grad_tree_finish(sum);
        for (size_t i = 0; i < COUNT; i++) {
            const float want = tree(0, n, i);
            if (got[i] != want) {
                fail_msg("%d units, element %zu: got %a, want %a", n, i, (double)got[i],
                         (double)want);
            }
        }
    }
    hki_grad_tree_destroy(&sum);
    assert_null(sum);
}

static void continues_over_ranks(void **state)
{
    (void)state;
    for (int each = 1; each <= 8; each *= 2) { // units of a rank
        float parts[4];
        for (int rank = 0; rank < 4; rank++) {
            hki_grad_tree_t *sum = NULL;
            assert_ok(hki_grad_tree_create(NULL, COUNT, each, &sum));
            push_units(sum, rank * each, each);
            parts[rank] = hki_grad_tree_finish(sum)[0];
            hki_grad_tree_destroy(&sum);
        }
        const float got = (parts[0] + parts[1]) + (parts[2] + parts[3]);
        const float want = tree(0, 4 * each, 0);
        if (got != want) {
            fail_msg("4 ranks of %d units: got %a, want %a", each, (double)got, (double)want);
        }
    }
}

static double tree_of(const double *values, int n)
{
    int k = 1;

    if (n <= 1) {
        return n == 1 ? values[0] : 0;
    }
    while (2 * k < n) {
        k *= 2;
    }
    return tree_of(values, k) + tree_of(values + k, n - k);
}

static void sums_scalars_in_the_same_order(void **state)
{
    double values[UNITS_MAX];
    (void)state;

    for (int i = 0; i < UNITS_MAX; i++) {
        values[i] = (i % 3 == 0 ? 1e16 : -1.5) / (i + 1);
    }
    for (int n = 0; n <= UNITS_MAX; n++) {
        const double got = hki_tree_sum(values, n);
        const double want = tree_of(values, n);
        if (got != want) {
            fail_msg("%d values: got %a, want %a", n, got, want);
        }
    }
}

static void keeps_a_buffer_per_level_only(void **state)
{
    hki_grad_tree_t *sum = NULL;
    const size_t before = hki_alloc_live();
    (void)state;

    assert_ok(hki_grad_tree_create(NULL, COUNT, 16, &sum));
    assert_int_equal(hki_alloc_live() - before, 1 + 1 + 5); // itself, the leaf, levels 1 2 4 8 16
    hki_grad_tree_destroy(&sum);
}

static void takes_a_gradient_of_no_elements(void **state)
{
    hki_grad_tree_t *sum = NULL;
    (void)state;

    assert_ok(hki_grad_tree_create(NULL, 0, 2, &sum));
    hki_grad_tree_push(sum);
    hki_grad_tree_push(sum);
    assert_non_null(hki_grad_tree_finish(sum));
    hki_grad_tree_destroy(&sum);
}

static void refuses_no_units(void **state)
{
    hki_grad_tree_t *sum = NULL;
    (void)state;

    assert_int_equal(hki_grad_tree_create(NULL, COUNT, 0, &sum), HK_ERR_INVALID_ARG);
    assert_null(sum);
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hki_grad_tree_t *sum = NULL;
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = hki_grad_tree_create(NULL, COUNT, 8, &sum);
        if (status != HK_OK) {
            assert_int_equal(status, HK_ERR_NO_MEMORY);
            assert_null(sum);
            assert_int_equal(hki_alloc_live(), 0);
        }
    }
    hki_alloc_fail_at(0);
    assert_true(n > 5);
    hki_grad_tree_destroy(&sum);
    assert_int_equal(hki_alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_in_the_canonical_order),
        cmocka_unit_test(continues_over_ranks),
        cmocka_unit_test(sums_scalars_in_the_same_order),
        cmocka_unit_test(keeps_a_buffer_per_level_only),
        cmocka_unit_test(takes_a_gradient_of_no_elements),
        cmocka_unit_test(refuses_no_units),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("parallel/grad_tree", tests, NULL, NULL);
}
