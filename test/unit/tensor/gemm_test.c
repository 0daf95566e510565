/**
 * @file gemm_test.c
 * @brief Matrix products of every library that was compiled in, against sums in f64.
 *
 * Method: grids of shapes around the block sizes, all transposes, strides beyond the rows (what
 * stands between must stay), adding or not (an output that is not added to starts as NaN). The
 * error of an f32 sum of k products of numbers below 1 is below k * 2^-24 * sqrt(k).
 */
#include "support/hk_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "tensor/gemm.h"
#include "tensor/threads.h"

#define GAP 3 // elements between rows

static const char *const libraries[] = {"onednn", "cblas", "plain"};

static bool has_library(const char *name)
{
    return hki_gemm_select(name) == HK_OK;
}

static float *random_floats(const char *name, size_t count)
{
    const hki_random_key_t key = hki_random_key(3, name);
    float *x = hki_calloc(count + 1, sizeof(*x));

    for (size_t i = 0; i < count; i++) {
        x[i] = (float)(hki_random_uniform(key, i) - 0.5);
    }
    return x;
}

static double exact(const hki_gemm_t *g, size_t row, size_t column, double start)
{
    double sum = start;

    for (size_t k = 0; k < g->k; k++) {
        const float a =
            g->is_a_transposed ? g->a[k * g->a_stride + row] : g->a[row * g->a_stride + k];
        const float b =
            g->is_b_transposed ? g->b[column * g->b_stride + k] : g->b[k * g->b_stride + column];

        sum += (double)a * (double)b;
    }
    return sum;
}

/** A product of the given shape and flags (1: a transposed, 2: b transposed, 4: added). */
static void check_product(size_t m, size_t n, size_t k, unsigned flags)
{
    hki_gemm_t g = {
        .is_a_transposed = (flags & 1U) != 0,
        .is_b_transposed = (flags & 2U) != 0,
        .is_added = (flags & 4U) != 0,
        .m = m,
        .n = n,
        .k = k,
    };
    g.a_stride = (g.is_a_transposed ? m : k) + GAP;
    g.b_stride = (g.is_b_transposed ? k : n) + GAP;
    g.c_stride = n + GAP;
    float *a = random_floats("a", (g.is_a_transposed ? k : m) * g.a_stride);
    float *b = random_floats("b", (g.is_b_transposed ? n : k) * g.b_stride);
    float *c = random_floats("c", m * g.c_stride);
    float *before = random_floats("c", m * g.c_stride);
    const double bound = (double)(k + 1) * sqrt((double)(k + 1)) * 6e-8;

    g.a = a;
    g.b = b;
    g.c = c;
    for (size_t i = 0; i < m * n && !g.is_added; i++) {
        c[i / n * g.c_stride + i % n] = NAN;
    }
    hki_gemm(&g);
    for (size_t i = 0; i < m * g.c_stride; i++) {
        const size_t row = i / g.c_stride;
        const size_t column = i % g.c_stride;
        const bool is_gap = column >= n;
        const double start = g.is_added ? (double)before[i] : 0.0;
        const double want = is_gap ? (double)before[i] : exact(&g, row, column, start);

        if (!(fabs((double)c[i] - want) <= (is_gap ? 0.0 : bound))) {
            fail_msg("%s, (%zu, %zu, %zu), flags %u, element (%zu, %zu): got %.9g, want %.9g",
                     hki_gemm_name(), m, n, k, flags, row, column, (double)c[i], want);
        }
    }
    hki_free(a);
    hki_free(b);
    hki_free(c);
    hki_free(before);
}

static void products_are_right_for_all_shapes_and_transposes(void **state)
{
    static const size_t shapes[][3] = {
        {1, 1, 1},    {2, 3, 4},     {7, 5, 1},      {1, 64, 33},    {65, 1, 66},
        {64, 64, 64}, {129, 257, 3}, {128, 256, 20}, {130, 70, 130}, {5, 9, 0},
    };

    (void)state;
    for (size_t l = 0; l < ARRAY_LEN(libraries); l++) {
        if (!has_library(libraries[l])) {
            continue;
        }
        assert_string_equal(hki_gemm_name(), libraries[l]);
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
            for (unsigned flags = 0; flags < 8; flags++) {
                check_product(shapes[i][0], shapes[i][1], shapes[i][2], flags);
            }
        }
    }
    assert_ok(hki_gemm_select("plain"));
    assert_ok(hki_gemm_select(NULL));
}

static void empty_products_touch_nothing(void **state)
{
    (void)state;
    for (size_t l = 0; l < ARRAY_LEN(libraries); l++) {
        if (has_library(libraries[l])) {
            check_product(0, 5, 3, 0);
            check_product(5, 0, 3, 4);
        }
    }
    assert_ok(hki_gemm_select(NULL));
}

/** The product g with `nthreads` threads into c. */
static void product_bits(int nthreads, const hki_gemm_t *g, float *c)
{
    hki_gemm_t mine = *g;

    mine.c = c;
    hki_tensor_set_threads(nthreads);
    hki_gemm(&mine);
    hki_tensor_set_threads(1);
}

static void number_of_threads_changes_no_bit(void **state)
{
    enum { M = 300, N = 600, K = 517 };
    float *a = random_floats("a", M * K);
    float *b = random_floats("b", K * N);
    float *want = random_floats("", M * N);
    float *got = random_floats("", M * N);
    const hki_gemm_t g = {
        .m = M, .n = N, .k = K, .a = a, .a_stride = K, .b = b, .b_stride = N, .c_stride = N};
#if defined(__SANITIZE_THREAD__)
    const int most = 1; // the runtime of OpenMP is not made for this tool
#else
    const int most = 4;
#endif

    (void)state;
    for (size_t l = 0; l < ARRAY_LEN(libraries); l++) {
        if (!has_library(libraries[l])) {
            continue;
        }
        product_bits(1, &g, want);
        for (int nthreads = 1; nthreads <= most; nthreads++) {
            memset(got, 0xff, M * N * sizeof(*got));
            product_bits(nthreads, &g, got);
            if (memcmp(got, want, M * N * sizeof(*got)) != 0) {
                fail_msg("%s: other bits with %d threads", libraries[l], nthreads);
            }
        }
    }
    assert_ok(hki_gemm_select(NULL));
    hki_free(a);
    hki_free(b);
    hki_free(want);
    hki_free(got);
}

/** A block computed inside a parallel region has the bits of one computed outside. */
static void call_inside_a_parallel_loop_changes_no_bit(void **state)
{
    enum { M = 100, N = 200, K = 700, TIMES = 6 };
    float *a = random_floats("a", M * K);
    float *b = random_floats("b", K * N);
    float *want = random_floats("", M * N);
    float *got = random_floats("", (size_t)TIMES * M * N);
    const hki_gemm_t g = {.m = M,
                          .n = N,
                          .k = K,
                          .a = a,
                          .a_stride = K,
                          .b = b,
                          .b_stride = N,
                          .c = want,
                          .c_stride = N};
#if defined(__SANITIZE_THREAD__)
    hki_tensor_set_threads(1);
#else
    hki_tensor_set_threads(3);
#endif

    (void)state;
    hki_gemm_one(&g);
#pragma omp parallel for num_threads(hki_tensor_threads())
    for (int i = 0; i < TIMES; i++) {
        hki_gemm_t mine = g;

        mine.c = got + (size_t)i * M * N;
        hki_gemm_one(&mine);
    }
    for (size_t i = 0; i < TIMES; i++) {
        assert_memory_equal(got + i * M * N, want, M * N * sizeof(*got));
    }
    hki_tensor_set_threads(1);
    hki_free(a);
    hki_free(b);
    hki_free(want);
    hki_free(got);
}

/** Where a buffer happens to lie must not matter: every rank has its own addresses. */
static void alignment_of_the_operands_changes_no_bit(void **state)
{
    enum { M = 70, N = 130, K = 384, ROOM = 16 };
    float *a = random_floats("a", M * K);
    float *b = random_floats("b", K * N);
    float *moved = random_floats("", M * K + K * N + M * N + 3 * ROOM);
    float *want = random_floats("", M * N);
    hki_gemm_t g = {.m = M, .n = N, .k = K, .a_stride = K, .b_stride = N, .c_stride = N};

    (void)state;
    for (size_t l = 0; l < ARRAY_LEN(libraries); l++) {
        for (size_t i = 0; i < ROOM && has_library(libraries[l]); i++) {
            float *moved_b = moved + M * K + 2 * i;
            float *moved_c = moved_b + K * N + i % 3;

            memcpy(moved + i, a, M * K * sizeof(*a));
            memcpy(moved_b, b, K * N * sizeof(*b));
            g.a = moved + i;
            g.b = moved_b;
            g.c = i == 0 ? want : moved_c;
            hki_gemm_one(&g);
            if (memcmp(g.c, want, M * N * sizeof(*want)) != 0) {
                fail_msg("%s: other bits with operands moved by %zu", libraries[l], i);
            }
        }
    }
    assert_ok(hki_gemm_select(NULL));
    hki_free(a);
    hki_free(b);
    hki_free(moved);
    hki_free(want);
}

static void library_is_chosen_by_name_and_environment(void **state)
{
    (void)state;
    assert_int_equal(hki_gemm_select("mkl"), HK_ERR_INVALID_ARG);
    assert_int_equal(setenv("HOCKET_GEMM", "plain", 1), 0);
    assert_ok(hki_gemm_select(NULL));
    assert_string_equal(hki_gemm_name(), "plain");
    assert_int_equal(setenv("HOCKET_GEMM", "fortran", 1), 0);
    assert_int_equal(hki_gemm_select(NULL), HK_ERR_INVALID_ARG);
    assert_string_equal(hki_gemm_name(), "plain"); // a refused choice changes nothing
    assert_non_null(strstr(hk_last_error(), "fortran"));
    assert_int_equal(unsetenv("HOCKET_GEMM"), 0);
    assert_ok(hki_gemm_select(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right_for_all_shapes_and_transposes),
        cmocka_unit_test(empty_products_touch_nothing),
        cmocka_unit_test(number_of_threads_changes_no_bit),
        cmocka_unit_test(call_inside_a_parallel_loop_changes_no_bit),
        cmocka_unit_test(alignment_of_the_operands_changes_no_bit),
        cmocka_unit_test(library_is_chosen_by_name_and_environment),
    };
    return cmocka_run_group_tests_name("tensor/gemm", tests, NULL, NULL);
}
