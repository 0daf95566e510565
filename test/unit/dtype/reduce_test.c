/*
 * Method: every level this processor has is compared by memcmp with the plain C reference, over all
 * dtypes and ops, numbers of sources, counts and offsets, on random bits mixed with special values;
 * small types on all pairs of codes and on f32 of every upper half; integer averages for divisors
 * of every kind. An element depends on its own sources only, so one reference result serves all
 * smaller counts. The reference itself is compared with a recursive tree written here.
 */
#include "support/hk_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "dtype/convert.h"
#include "dtype/kernels.h"
#include "dtype/reduce.h"

enum { COUNT_MAX = 530, SOURCES_MAX = 64, ROW_BYTES = COUNT_MAX * 8 + 64, GUARD = 0xA5 };

static uint8_t g_rows[SOURCES_MAX][ROW_BYTES];
static uint8_t g_want[ROW_BYTES];
static uint8_t g_got[ROW_BYTES];
static uint64_t g_state = 1;

static uint64_t random_bits(void)
{
    g_state = g_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return g_state >> 24 ^ g_state << 30;
}

/** Zeros, infinities, NaN, largest, smallest, halfway cases of every floating type. */
static uint64_t special_bits(hk_dtype_t dtype, bool is_partial)
{
    static const uint32_t f32[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00001,
                                   0xffa00000, 0x7f7fffff, 0x00000001, 0x807fffff, 0x477ff000,
                                   0x33000000, 0x43e80000, 0x3f808000, 0x3f818000, 0x38ffe000};
    static const uint16_t f16[] = {0,      0x8000, 0x7c00, 0xfc00, 0x7e01,
                                   0xfd00, 0x7bff, 0x0001, 0x83ff};
    static const uint16_t bf16[] = {0, 0x8000, 0x7f80, 0xff80, 0x7fc1, 0xffa0, 0x7f7f, 0x0001};
    static const uint64_t f64[] = {0,
                                   UINT64_C(1) << 63,
                                   UINT64_C(0x7ff) << 52,
                                   UINT64_C(0xfff) << 52,
                                   UINT64_C(0xfff4) << 48,
                                   1,
                                   UINT64_C(0x7fefffffffffffff)};
    const uint64_t pick = random_bits() >> 8;

    if (dtype == HK_F32 || (is_partial && dtype != HK_F64)) {
        return f32[pick % ARRAY_LEN(f32)];
    }
    switch (dtype) {
    case HK_F16:
        return f16[pick % ARRAY_LEN(f16)];
    case HK_BF16:
        return bf16[pick % ARRAY_LEN(bf16)];
    case HK_F64:
        return f64[pick % ARRAY_LEN(f64)];
    default:
        return pick % 4 == 0 ? UINT64_MAX : UINT64_C(1) << (pick % 64);
    }
}

static bool is_small_float(hk_dtype_t dtype)
{
    return hki_acc_bytes(dtype, HK_SUM) != hk_dtype_bytes(dtype);
}

/** Fill `count` values: a third special, a third random bits, a third tame numbers. */
static void row_fill(uint8_t *row, hk_dtype_t dtype, bool is_partial, size_t bytes)
{
    const bool is_special = is_small_float(dtype) || dtype == HK_F32 || dtype == HK_F64;

    for (size_t i = 0; i < COUNT_MAX; i++) {
        uint64_t bits = random_bits();
        const unsigned kind = (unsigned)(random_bits() % 3);
        const float tame = (float)(int)(bits % 2001 - 1000) / 64.0F;
        const double tame64 = (double)tame / 3.0;

        if (kind == 0 && is_special) {
            bits = special_bits(dtype, is_partial);
        } else if (kind == 1 && dtype == HK_F64) {
            memcpy(&bits, &tame64, sizeof(bits));
        } else if (kind == 1 && bytes == 4 && is_special) {
            bits = hki_f32_bits(tame);
        } else if (kind == 1 && dtype == HK_F16) {
            bits = hki_f32_to_f16(tame);
        } else if (kind == 1 && dtype == HK_BF16) {
            bits = hki_f32_to_bf16(tame);
        } else if (dtype == HK_BOOL) {
            bits = is_partial ? bits & 1 : (kind == 0 ? 0 : bits);
        }
        memcpy(row + i * bytes, &bits, bytes);
    }
}

/** Not commutative, not associative, and different for each type: order and type must be right. */
static void user_fn(void *out, const void *left, const void *right, size_t count, hk_dtype_t dtype,
                    void *cookie)
{
    const uint8_t factor = *(const uint8_t *)cookie;
    const size_t bytes = count * hk_dtype_bytes(dtype);

    for (size_t i = 0; i < bytes; i++) {
        const unsigned l = ((const uint8_t *)left)[i];
        const unsigned r = ((const uint8_t *)right)[i];
        ((uint8_t *)out)[i] = (uint8_t)(l * factor + r + (unsigned)dtype);
    }
}

static uint8_t g_cookie = 31;

static hki_reduction_t reduction_of(hk_dtype_t dtype, hk_op_t op, int nranks)
{
    const hki_reduction_t r = {
        .dtype = dtype,
        .op = op,
        .nranks = nranks,
        .scalar = dtype == HK_F32 || dtype == HK_F64 || is_small_float(dtype) ? 1.0 / 3.0 : 3.0,
        .fn = user_fn,
        .cookie = &g_cookie};
    return r;
}

/** Where two results differ first, in words. */
static void same_or_fail(const hki_reduction_t *r, const char *mix, int n, size_t count,
                         size_t bytes)
{
    if (memcmp(g_want, g_got, count * bytes) == 0) {
        for (size_t k = count * bytes; k < count * bytes + 64; k++) {
            if (g_got[k] != GUARD) {
                fail_msg("%s %s %s %s, %d sources, count %zu: byte %zu behind the end written",
                         hki_simd_name(hki_simd_level()), hk_dtype_name(r->dtype),
                         hk_op_name(r->op), mix, n, count, k - count * bytes);
            }
        }
        return;
    }
    size_t i = 0;
    while (memcmp(g_want + i * bytes, g_got + i * bytes, bytes) == 0) {
        i++;
    }
    uint64_t want = 0;
    uint64_t got = 0;
    memcpy(&want, g_want + i * bytes, bytes);
    memcpy(&got, g_got + i * bytes, bytes);
    fail_msg("%s %s %s %s, %d sources, count %zu, element %zu: got 0x%" PRIx64 ", want 0x%" PRIx64,
             hki_simd_name(hki_simd_level()), hk_dtype_name(r->dtype), hk_op_name(r->op), mix, n,
             count, i, got, want);
}

/** Every rest of a step, and more than one step, of the widest vectors; then some. */
static const size_t more_counts[] = {255, 256, 257, 258, 299, 300, 511, 512, COUNT_MAX};
enum { COUNTS_DENSE = 131 };

/** One reduction of n sources, kinds by `mix`: 'l' leaves, 'p' partial sums, 'm' mixed. */
static void compare(const hki_reduction_t *r, char mix, bool is_partial, int n, bool is_dense)
{
    const size_t ndense = is_dense ? COUNTS_DENSE : 20;
    const char text[] = {mix, is_partial ? 'p' : 'l', '\0'};
    const size_t bytes = is_partial ? hki_acc_bytes(r->dtype, r->op) : hk_dtype_bytes(r->dtype);
    hki_source_t sources[SOURCES_MAX];

    for (int s = 0; s < n; s++) {
        const bool partial = mix == 'p' || (mix == 'm' && s % 3 == 1);
        uint8_t *row = g_rows[s] + (s * 5 + 1) % 16; // odd addresses
        row_fill(row, r->dtype, partial && r->op != HK_USER,
                 partial ? hki_acc_bytes(r->dtype, r->op) : hk_dtype_bytes(r->dtype));
        sources[s] = (hki_source_t){row, partial};
    }
    hki_reduce_reference(r, g_want, is_partial, sources, n, COUNT_MAX);
    for (size_t k = 0; k < ndense + ARRAY_LEN(more_counts); k++) {
        const size_t count = k < ndense ? k : more_counts[k - ndense];
        memset(g_got, GUARD, count * bytes + 64);
        hki_reduce(r, g_got, is_partial, sources, n, count);
        same_or_fail(r, text, n, count, bytes);
    }
    for (int s = n - 1; s >= 0; s -= 3) { // in place, over some source of the same kind
        if (sources[s].is_partial == is_partial) {
            void *inplace = (void *)(uintptr_t)sources[s].data;
            hki_reduce(r, inplace, is_partial, sources, n, COUNT_MAX);
            memcpy(g_got, inplace, COUNT_MAX * bytes);
            memset(g_got + COUNT_MAX * bytes, GUARD, 64);
            same_or_fail(r, "in place", n, COUNT_MAX, bytes);
            break;
        }
    }
}

/** All reductions that are allowed, at the level in use. */
static void compare_all(const int *numbers, size_t nnumbers)
{
    for (int d = 0; d < HK_DTYPE_COUNT; d++) {
        for (int o = 0; o < HK_OP_COUNT; o++) {
            for (size_t k = 0; k < nnumbers; k++) {
                const hki_reduction_t r =
                    reduction_of((hk_dtype_t)d, (hk_op_t)o, numbers[k] * 3 % 200 + 1);
                const char mix = "lpm"[(k + (size_t)o) % 3];

                if (hki_reduction_check(&r) != HK_OK) {
                    continue;
                }
                compare(&r, mix, k % 2 == 0, numbers[k], false);
                if (numbers[k] <= 17) {
                    compare(&r, 'l', false, numbers[k], numbers[k] <= 9);
                }
                if (numbers[k] <= 9) {
                    compare(&r, mix, k % 2 == 1, numbers[k], false);
                }
            }
        }
    }
}

static void level_or_skip(hki_simd_t level)
{
    if (!hki_simd_force(level)) {
        print_message("SKIPPED: this processor or build lacks %s\n", hki_simd_name(level));
        skip();
    }
}

static void level_equals_reference(hki_simd_t level)
{
    static const int numbers[] = {1,  2,  3,  4,  5,  6,  7,  8,  9, 10,
                                  11, 12, 13, 14, 15, 16, 17, 33, 64};

    level_or_skip(level);
    compare_all(numbers, ARRAY_LEN(numbers));
}

static void plain_kernels_equal_the_reference(void **state)
{
    (void)state;
    level_equals_reference(HKI_SIMD_NONE);
}

static void avx2_equals_the_reference(void **state)
{
    (void)state;
    level_equals_reference(HKI_SIMD_AVX2);
}

static void avx512_equals_the_reference(void **state)
{
    (void)state;
    level_equals_reference(HKI_SIMD_AVX512);
}

static void neon_equals_the_reference(void **state)
{
    (void)state;
    level_equals_reference(HKI_SIMD_NEON);
}

/* ---- all values of small types ------------------------------------------------------------- */

enum { CODES = 1 << 16 };

static uint8_t g_left[4 * CODES];
static uint8_t g_right[4 * CODES];
static uint8_t g_want_all[4 * CODES];
static uint8_t g_got_all[4 * CODES];

/** Compare results of n sources, g_left and g_right, at every level there is. */
static void levels_equal(const hki_reduction_t *r, int n, bool is_partial_in, bool is_partial,
                         size_t count)
{
    const hki_source_t sources[2] = {{g_left, is_partial_in}, {g_right, is_partial_in}};
    const size_t bytes = is_partial ? hki_acc_bytes(r->dtype, r->op) : hk_dtype_bytes(r->dtype);

    assert_ok(hki_reduction_check(r));
    hki_reduce_reference(r, g_want_all, is_partial, sources, n, count);
    for (int level = HKI_SIMD_NONE; level <= HKI_SIMD_AVX512; level++) {
        if (!hki_simd_force((hki_simd_t)level)) {
            continue;
        }
        hki_reduce(r, g_got_all, is_partial, sources, n, count);
        for (size_t i = 0; i < count; i++) {
            if (memcmp(g_want_all + i * bytes, g_got_all + i * bytes, bytes) != 0) {
                fail_msg("%s %s %s, %d sources (%s), element %zu: differs from the reference",
                         hki_simd_name((hki_simd_t)level), hk_dtype_name(r->dtype),
                         hk_op_name(r->op), n, is_partial_in ? "partial" : "elements", i);
            }
        }
    }
}

static void every_pair_of_fp8_codes_is_reduced_like_the_reference(void **state)
{
    static const hk_op_t ops[] = {HK_SUM, HK_PROD, HK_MIN, HK_MAX, HK_AVG, HK_PREMULSUM};

    (void)state;
    for (size_t i = 0; i < CODES; i++) {
        g_left[i] = (uint8_t)i;
        g_right[i] = (uint8_t)(i >> 8);
    }
    for (size_t k = 0; k < ARRAY_LEN(ops); k++) {
        const hki_reduction_t e4m3 = reduction_of(HK_FP8E4M3, ops[k], 3);
        const hki_reduction_t e5m2 = reduction_of(HK_FP8E5M2, ops[k], 3);

        levels_equal(&e4m3, 2, false, false, CODES);
        levels_equal(&e5m2, 2, false, false, CODES);
        levels_equal(&e4m3, 2, false, true, CODES);
        levels_equal(&e5m2, 2, false, true, CODES);
    }
}

static void every_code_of_16_bits_is_reduced_like_the_reference(void **state)
{
    static const hk_op_t ops[] = {HK_SUM, HK_PROD, HK_MIN, HK_MAX, HK_AVG, HK_PREMULSUM};

    (void)state;
    for (size_t i = 0; i < CODES; i++) {
        const uint16_t left = (uint16_t)i;
        const uint16_t right = (uint16_t)(random_bits() >> (i % 3 == 0 ? 3 : 0));

        memcpy(g_left + 2 * i, &left, sizeof(left));
        memcpy(g_right + 2 * i, &right, sizeof(right));
    }
    for (size_t k = 0; k < ARRAY_LEN(ops); k++) {
        const hki_reduction_t f16 = reduction_of(HK_F16, ops[k], 3);
        const hki_reduction_t bf16 = reduction_of(HK_BF16, ops[k], 3);

        levels_equal(&f16, 2, false, false, CODES);
        levels_equal(&bf16, 2, false, false, CODES);
        levels_equal(&f16, 1, false, true, CODES);
        levels_equal(&bf16, 1, false, true, CODES);
    }
}

static void every_f32_is_rounded_to_small_types_like_the_reference(void **state)
{
    static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xefff, 0x1000, 0x2000};
    static const hk_dtype_t types[] = {HK_F16, HK_BF16, HK_FP8E4M3, HK_FP8E5M2};

    (void)state;
    memset(g_right, 0, sizeof(g_right)); // + 0: the way of a sum, by the loop that rounds
    for (size_t k = 0; k < ARRAY_LEN(lower); k++) {
        for (uint32_t i = 0; i < CODES; i++) {
            const uint32_t bits = i << 16 | lower[k];
            memcpy(g_left + 4 * i, &bits, sizeof(bits));
        }
        for (size_t t = 0; t < ARRAY_LEN(types); t++) {
            const hki_reduction_t r = reduction_of(types[t], HK_SUM, 1);

            levels_equal(&r, 1, true, false, CODES);
            levels_equal(&r, 2, true, false, CODES);
        }
    }
}

static void averages_of_integers_are_divided_like_the_reference(void **state)
{
    static const int divisors[] = {1,   2,    3,     5,     6,       7,          10,        25,
                                   64,  100,  127,   128,   129,     255,        256,       257,
                                   641, 1000, 65535, 65536, 6700417, 2147483646, 2147483647};
    static const hk_dtype_t types[] = {HK_I8, HK_U8, HK_I32, HK_U32, HK_I64, HK_U64};

    (void)state;
    for (size_t t = 0; t < ARRAY_LEN(types); t++) {
        const size_t bytes = hk_dtype_bytes(types[t]);
        for (size_t k = 0; k < ARRAY_LEN(divisors); k++) {
            const hki_reduction_t r = reduction_of(types[t], HK_AVG, divisors[k]);
            const uint64_t d = (uint64_t)divisors[k];

            memset(g_right, 0, sizeof(g_right));
            for (uint64_t i = 0; i < 4096; i++) { // all bytes; multiples and their neighbours
                const uint64_t some = random_bits() >> i % 64;
                const uint64_t x = bytes == 1 ? i : some / d * d + i % 3 - 1;
                memcpy(g_left + i * bytes, &x, bytes);
            }
            levels_equal(&r, 2, false, false, 4096);
            levels_equal(&r, 1, false, false, 4096);
        }
    }
}

static void blocks_of_many_sources_follow_each_other(void **state)
{
    enum { N = 17, COUNT = 5000 };
    static const hk_op_t ops[] = {HK_SUM, HK_MAX, HK_AVG, HK_PREMULSUM};
    hki_source_t sources[N];

    (void)state;
    for (size_t i = 0; i < sizeof(g_left); i++) {
        g_left[i] = (uint8_t)random_bits();
    }
    for (int s = 0; s < N; s++) {
        sources[s] = (hki_source_t){g_left + s * 1001, false};
    }
    for (int d = 0; d < HK_BOOL; d++) {
        for (size_t k = 0; k < ARRAY_LEN(ops); k++) {
            const hki_reduction_t r = reduction_of((hk_dtype_t)d, ops[k], 7);
            const size_t bytes = hk_dtype_bytes(r.dtype);

            hki_simd_choose();
            hki_reduce_reference(&r, g_want_all, false, sources, N, COUNT);
            hki_reduce(&r, g_got_all, false, sources, N, COUNT);
            if (memcmp(g_want_all, g_got_all, COUNT * bytes) != 0) {
                fail_msg("%s %s: differs from the reference", hk_dtype_name(r.dtype),
                         hk_op_name(r.op));
            }
        }
    }
}

/* ---- the reference ------------------------------------------------------------------------- */

/** The tree as hocket/types.h writes it, for one element of f32. */
static float tree_f32(const float *x, int n)
{
    int k = 1;

    if (n == 1) {
        return x[0];
    }
    while (2 * k < n) {
        k *= 2;
    }
    return tree_f32(x, k) + tree_f32(x + k, n - k);
}

static void reference_adds_in_the_order_of_the_tree(void **state)
{
    (void)state;
    for (int n = 1; n <= SOURCES_MAX; n++) {
        const hki_reduction_t r = reduction_of(HK_F32, HK_SUM, 1);
        hki_source_t sources[SOURCES_MAX];
        float x[SOURCES_MAX];
        float got;

        for (int s = 0; s < n; s++) {
            x[s] = ldexpf((float)(random_bits() % 1000) + 1.0F, (int)(random_bits() % 20));
            sources[s] = (hki_source_t){&x[s], false};
        }
        hki_reduce_reference(&r, &got, false, sources, n, 1);
        if (got != tree_f32(x, n)) {
            fail_msg("%d sources: got %a, want %a", n, (double)got, (double)tree_f32(x, n));
        }
    }
}

/** What two values of a type give, worked out by hand. */
typedef struct by_hand {
    hk_dtype_t dtype;
    hk_op_t op;
    uint64_t left, right, want;
} by_hand_t;

static void reference_gives_the_values_worked_out_by_hand(void **state)
{
    static const by_hand_t cases[] = {
        {HK_I8, HK_SUM, 0x7f, 1, 0x80},
        {HK_U8, HK_PROD, 16, 17, 0x10},
        {HK_I32, HK_AVG, (uint32_t)-4, (uint32_t)-3, (uint32_t)-3}, // -7 / 2, toward zero
        {HK_U32, HK_AVG, 0xffffffff, 2, 0},                         // wraps to 1 first
        {HK_I64, HK_MIN, UINT64_MAX, 1, UINT64_MAX},
        {HK_U64, HK_MIN, UINT64_MAX, 1, 1},
        {HK_I32, HK_BXOR, 6, 3, 5},
        {HK_F32, HK_MIN, 0x00000000, 0x80000000, 0x80000000},
        {HK_F32, HK_MAX, 0x80000000, 0x00000000, 0x00000000},
        {HK_F32, HK_MAX, 0xffa00001, 0x3f800000, 0x7fc00000},
        {HK_F64, HK_SUM, UINT64_C(0x3ff0000000000000), UINT64_C(0x3ff0000000000000),
         UINT64_C(0x4000000000000000)},
        {HK_BF16, HK_SUM, 0x3f80, 0x3b80, 0x3f80}, // 1 + 2^-8: a tie, to even
        {HK_BF16, HK_SUM, 0x3f81, 0x3b80, 0x3f82},
        {HK_F16, HK_SUM, 0x7bff, 0x4c00, 0x7c00}, // 65504 + 16: a tie, to infinity
        {HK_FP8E4M3, HK_SUM, 0x7e, 0x7e, 0x7f},   // 896: beyond 448
        {HK_FP8E5M2, HK_PROD, 0x40, 0x42, 0x46},  // 2 * 3
        {HK_BOOL, HK_SUM, 7, 0, 1},
        {HK_BOOL, HK_PROD, 4, 2, 1},
        {HK_BOOL, HK_BXOR, 4, 2, 0},
        {HK_I32, HK_PREMULSUM, 5, 2, 21},
    };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        const by_hand_t *c = &cases[k];
        const hki_reduction_t r = reduction_of(c->dtype, c->op, 2);
        const hki_source_t sources[2] = {{&c->left, false}, {&c->right, false}};
        uint64_t got = 0;

        assert_ok(hki_reduction_check(&r));
        hki_reduce_reference(&r, &got, false, sources, 2, 1);
        if (got != c->want) {
            fail_msg("case %zu, %s %s: got 0x%" PRIx64 ", want 0x%" PRIx64, k,
                     hk_dtype_name(c->dtype), hk_op_name(c->op), got, c->want);
        }
    }
}

static void many_sources_up_to_the_limit_are_reduced(void **state)
{
    static uint32_t x[1024];
    static hki_source_t sources[1024];

    (void)state;
    (void)hki_simd_force(hki_simd_level());
    for (int n = 1; n <= 1024; n++) {
        const hki_reduction_t r = reduction_of(HK_U32, HK_USER, 1);
        uint32_t want;
        uint32_t got;

        x[n - 1] = (uint32_t)random_bits();
        sources[n - 1] = (hki_source_t){&x[n - 1], false};
        hki_reduce_reference(&r, &want, false, sources, n, 1);
        hki_reduce(&r, &got, false, sources, n, 1);
        if (got != want) {
            fail_msg("%d sources: got 0x%x, want 0x%x", n, got, want);
        }
    }
}

static void refused_pairs_are_refused_with_their_names(void **state)
{
    hki_reduction_t r = reduction_of(HK_F32, HK_BAND, 1);

    (void)state;
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "band"));
    assert_non_null(strstr(hk_last_error(), "f32"));
    r = reduction_of(HK_BOOL, HK_AVG, 1);
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r = reduction_of(HK_BOOL, HK_PREMULSUM, 1);
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r = reduction_of(HK_I32, HK_AVG, 0);
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r = reduction_of((hk_dtype_t)13, HK_SUM, 1);
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r = reduction_of(HK_F32, (hk_op_t)10, 1);
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r = reduction_of(HK_F32, HK_USER, 1);
    r.fn = NULL;
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r = reduction_of(HK_U8, HK_PREMULSUM, 1);
    r.scalar = 0.5;
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r.scalar = 256.0;
    assert_int_equal(hki_reduction_check(&r), HK_ERR_INVALID_ARG);
    r.scalar = 255.0;
    assert_ok(hki_reduction_check(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_adds_in_the_order_of_the_tree),
        cmocka_unit_test(reference_gives_the_values_worked_out_by_hand),
        cmocka_unit_test(plain_kernels_equal_the_reference),
        cmocka_unit_test(avx2_equals_the_reference),
        cmocka_unit_test(avx512_equals_the_reference),
        cmocka_unit_test(neon_equals_the_reference),
        cmocka_unit_test(every_pair_of_fp8_codes_is_reduced_like_the_reference),
        cmocka_unit_test(every_code_of_16_bits_is_reduced_like_the_reference),
        cmocka_unit_test(every_f32_is_rounded_to_small_types_like_the_reference),
        cmocka_unit_test(averages_of_integers_are_divided_like_the_reference),
        cmocka_unit_test(blocks_of_many_sources_follow_each_other),
        cmocka_unit_test(many_sources_up_to_the_limit_are_reduced),
        cmocka_unit_test(refused_pairs_are_refused_with_their_names),
    };

    return cmocka_run_group_tests_name("dtype/reduce", tests, NULL, NULL);
}
