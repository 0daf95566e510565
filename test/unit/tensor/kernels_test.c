/**
 * @file kernels_test.c
 * @brief Layer kernels: exact enough against f64, and the same bits for every instruction set.
 *
 * Method: rows of 1 to 40 elements (every remainder of a vector) and longer ones, of numbers that
 * span the useful range. Each kernel set is compared with the one for any processor by memcmp, and
 * that one with formulas in f64.
 */
#include "support/hk_test.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "tensor/kernels.h"

#define N_MAX 384
#define GUARD 8 // elements behind each row that must stay

typedef struct rows {
    float x[N_MAX + GUARD];
    float y[N_MAX + GUARD];
    float z[N_MAX + GUARD];
    float out[N_MAX + GUARD];
    float more[N_MAX + GUARD];
    float stats[2];
    float value;
} rows_t;

static void rows_make(rows_t *r, double deviation)
{
    const hki_random_key_t key = hki_random_key(5, "rows");

    memset(r, 0, sizeof(*r));
    for (size_t i = 0; i < N_MAX + GUARD; i++) {
        r->x[i] = (float)(deviation * hki_random_normal(key, 4 * i));
        r->y[i] = (float)hki_random_normal(key, 4 * i + 1);
        r->z[i] = (float)hki_random_normal(key, 4 * i + 2);
        r->out[i] = (float)hki_random_normal(key, 4 * i + 3);
        r->more[i] = r->out[i];
    }
}

typedef void (*kernel_call_t)(const hki_tensor_kernels_t *k, size_t n, rows_t *r);

static hki_norm_t norm_of(size_t n, rows_t *r)
{
    return (hki_norm_t){.n = n,
                        .x = r->x,
                        .gamma = r->y,
                        .beta = r->z,
                        .out = r->out,
                        .stats = r->stats,
                        .dout = r->z,
                        .residual = r->y,
                        .din = r->more,
                        .dgamma = r->out,
                        .dbeta = r->more};
}

static void call_norm(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    const hki_norm_t norm = norm_of(n, r);

    k->norm_forward(&norm, 0);
    k->norm_backward(&norm, 0);
}

static void call_norm_columns(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    hki_norm_t norm = norm_of(n < HKI_STRIP_WIDTH ? n : HKI_STRIP_WIDTH, r);
    float stats[2 * 5] = {0.5F, 2.0F, -0.25F, 1.5F, 0.0F, 1.0F, 1.0F, 0.5F, 0.125F, 3.0F};

    norm.stats = stats;
    k->norm_columns(&norm, 5, 0, norm.n);
}

static void call_column_sums(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    const size_t width = n < HKI_STRIP_WIDTH ? n : HKI_STRIP_WIDTH;

    k->column_sums(r->x, width, 5, width, r->out);
}

static void call_add(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    k->add(r->x, r->y, r->z, n, r->out);
    k->add(r->x, NULL, NULL, n, r->more);
}

static void call_gelu(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    k->gelu_forward(r->x, r->y, n, r->out);
    k->gelu_backward(r->x, n, r->z, r->more);
}

static void call_softmax(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    const size_t width = n + 3;

    memcpy(r->y, r->x, sizeof(r->x));
    r->value = k->softmax(r->x, 0.25F, n, width);
    k->softmax_again(r->y, 0.25F, r->value, n, width);
    k->softmax_backward(r->x, 0.5F, 0.25F, n, r->z);
}

static void call_dot(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    r->value = k->dot(r->x, r->y, n);
    k->scale(r->x, 0.3F, n, r->out);
}

static void call_exp_sum(const hki_tensor_kernels_t *k, size_t n, rows_t *r)
{
    r->value = k->exp_sum(r->x, n, &r->stats[0]);
}

static const kernel_call_t calls[] = {
    call_norm, call_norm_columns, call_column_sums, call_add,
    call_gelu, call_softmax,      call_dot,         call_exp_sum,
};

static size_t next_length(size_t n)
{
    return n < 40 ? n + 1 : n + 43;
}

static void instruction_sets_give_the_same_bits(void **state)
{
    const hki_tensor_kernels_t *plain = hki_tensor_kernels_find("none");
    const hki_tensor_kernels_t *avx2 = hki_tensor_kernels_find("avx2");
    rows_t want;
    rows_t got;

    (void)state;
    assert_non_null(plain);
    assert_null(hki_tensor_kernels_find("mmx"));
    if (avx2 == NULL) {
        skip();
    }
    for (size_t n = 1; n + 3 <= N_MAX; n = next_length(n)) {
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
            rows_make(&want, 3.0);
            rows_make(&got, 3.0);
            calls[i](plain, n, &want);
            calls[i](avx2, n, &got);
            if (memcmp(&got, &want, sizeof(got)) != 0) {
                fail_msg("call %zu, %zu elements: avx2 gives other bits", i, n);
            }
        }
    }
}

static void nothing_is_written_beyond_the_row(void **state)
{
    rows_t before;
    rows_t after;

    (void)state;
    for (size_t n = 1; n <= 40; n++) {
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
            const size_t end = n + 3; // softmax writes zeros up to there
            const size_t bytes = (N_MAX + GUARD - end) * sizeof(float);

            rows_make(&before, 3.0);
            rows_make(&after, 3.0);
            calls[i](hki_tensor_kernels(), n, &after);
            assert_memory_equal(after.out + end, before.out + end, bytes);
            assert_memory_equal(after.more + end, before.more + end, bytes);
            assert_memory_equal(after.x + end, before.x + end, bytes);
            assert_memory_equal(after.z + end, before.z + end, bytes);
        }
    }
}

static void assert_close(const char *what, double x, double got, double want, double bound)
{
    if (!(fabs(got - want) <= bound)) {
        fail_msg("%s(%.9g): got %.9g, want %.9g", what, x, got, want);
    }
}

static void gelu_is_exact_to_a_few_units(void **state)
{
    (void)state;
    for (double x = -20.0; x <= 20.0; x += 0.013) {
        float pre[1] = {(float)x};
        float act[1];
        float grad[1] = {1.0F};
        const double t = (double)pre[0];
        const double root = sqrt(2.0 / 3.14159265358979323846);
        const double u = tanh(root * (t + 0.044715 * t * t * t));
        const double du = (1.0 - u * u) * root * (1.0 + 3.0 * 0.044715 * t * t);

        hki_tensor_kernels()->gelu_forward(pre, NULL, 1, act);
        assert_close("gelu", x, (double)act[0], 0.5 * t * (1.0 + u), 1e-6 * (0.1 + fabs(t)));
        hki_tensor_kernels()->gelu_backward(pre, 1, grad, NULL);
        assert_close("gelu'", x, (double)grad[0], 0.5 * (1.0 + u) + 0.5 * t * du, 2e-6);
    }
}

static void exp_is_exact_to_a_few_units(void **state)
{
    (void)state;
    for (double x = -87.0; x <= 0.0; x += 0.0371) {
        float row[2] = {0.0F, (float)x};
        float max = -1.0F;
        const double want = exp((double)row[1]);
        const float sum = hki_tensor_kernels()->exp_sum(row, 2, &max);

        assert_true(max == 0.0F);
        assert_true(row[0] == 1.0F);
        assert_close("exp", x, (double)row[1], want, 3e-7 * want);
        assert_close("sum", x, (double)sum, 1.0 + want, 3e-7);
    }
}

static void softmax_sums_to_one_for_any_scores(void **state)
{
    static const float scores[] = {0.0F, -1e30F, 1e4F, 1e4F, -3e38F, 9990.0F};
    float x[6 + 2];
    double sum = 0.0;

    (void)state;
    memcpy(x, scores, sizeof(scores));
    x[6] = x[7] = 5.0F;
    const float log_sum = hki_tensor_kernels()->softmax(x, 1.0F, 6, 8);
    for (size_t i = 0; i < 6; i++) {
        sum += (double)x[i];
    }
    assert_true(fabs(sum - 1.0) < 1e-6);
    assert_true(fabs((double)x[2] - 0.5) < 1e-4);
    assert_true(fabs((double)log_sum - (1e4 + log(2.0))) < 1e-2);
    assert_true(x[6] == 0.0F && x[7] == 0.0F);
}

static void nan_is_not_lost(void **state)
{
    float x[9] = {1.0F, 2.0F, NAN, 4.0F, 5.0F, 6.0F, 7.0F, 8.0F, 9.0F};
    float max = 0.0F;
    float act[9];

    (void)state;
    assert_true(isnan(hki_tensor_kernels()->exp_sum(x, 9, &max)));
    x[2] = NAN;
    hki_tensor_kernels()->gelu_forward(x, NULL, 9, act);
    assert_true(isnan(act[2]) && !isnan(act[3]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instruction_sets_give_the_same_bits),
        cmocka_unit_test(nothing_is_written_beyond_the_row),
        cmocka_unit_test(gelu_is_exact_to_a_few_units),
        cmocka_unit_test(exp_is_exact_to_a_few_units),
        cmocka_unit_test(softmax_sums_to_one_for_any_scores),
        cmocka_unit_test(nan_is_not_lost),
    };
    return cmocka_run_group_tests_name("tensor/kernels", tests, NULL, NULL);
}
