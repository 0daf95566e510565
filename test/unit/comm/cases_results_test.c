/*
 * Results that other libraries get wrong: every small count, unequal parts, sums whose bits change
 * with the size or the algorithm, operations that do not commute. Rank r contributes 16^r where
 * sums are exact, so that a digit counts a rank. On rank threads.
 */
#include "support/hk_test.h"

#include <stdlib.h>

#include "threads.h"

enum { COUNT_MAX = 257, LARGE = 262144 };

static int64_t digit(int rank)
{
    return INT64_C(1) << (4 * rank);
}

/** all_reduce, all_gather, reduce_scatter and broadcast of every count. */
static hk_status_t every_count(test_rank_t *self)
{
    static const hk_status_t wrong = HK_ERR_INTERNAL;
    const int n = self->nranks;
    int64_t *in = calloc((size_t)n * COUNT_MAX, sizeof(*in));
    int64_t *out = calloc((size_t)n * COUNT_MAX, sizeof(*out));
    const int64_t all = (digit(n) - 1) / 15;
    hk_status_t status = in == NULL || out == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    for (size_t i = 0; status == HK_OK && i < (size_t)n * COUNT_MAX; i++) {
        in[i] = (int64_t)(i + 1) * digit(self->rank);
    }
    const size_t stride = n > 3 ? 8 : 1; // the conformance suite does them all
    for (size_t count = 0; count <= COUNT_MAX && status == HK_OK; count += stride) {
        const int root = (int)count % n;

        status = hk_all_reduce(self->comm, in, out, count, HK_I64, HK_SUM, NULL, NULL);
        for (size_t i = 0; i < count && status == HK_OK; i++) {
            status = out[i] == (int64_t)(i + 1) * all ? HK_OK : wrong;
        }
        if (status == HK_OK) {
            status = hk_reduce_scatter(self->comm, in, out, count, HK_I64, HK_SUM, NULL, NULL);
        }
        for (size_t i = 0; i < count && status == HK_OK; i++) {
            const size_t at = (size_t)self->rank * count + i;
            status = out[i] == (int64_t)(at + 1) * all ? HK_OK : wrong;
        }
        if (status == HK_OK) {
            status = hk_all_gather(self->comm, in, out, count, HK_I64, NULL, NULL);
        }
        for (size_t i = 0; i < (size_t)n * count && status == HK_OK; i++) {
            status = out[i] == (int64_t)(i % count + 1) * digit((int)(i / count)) ? HK_OK : wrong;
        }
        if (status == HK_OK) {
            status = hk_broadcast(self->comm, in, out, count, HK_I64, root, NULL, NULL);
        }
        for (size_t i = 0; i < count && status == HK_OK; i++) {
            status = out[i] == (int64_t)(i + 1) * digit(root) ? HK_OK : wrong;
        }
    }
    free(in);
    free(out);
    return status;
}

static void every_count_to_257_is_right(void **state)
{
    static const int sizes[] = {1, 2, 3, 5, 6, 7, 12};

    (void)state;
    for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
        test_rank_t ranks[TEST_RANKS_MAX];
        char where[32];

        (void)snprintf(where, sizeof(where), "%d ranks", sizes[s]);
        test_ranks_run(NULL, sizes[s], every_count, NULL, ranks);
        test_ranks_expect(ranks, sizes[s], HK_OK, where);
    }
}

/** Parts of one call: all on one rank, zeros for some, all zero. */
static hk_status_t unequal(test_rank_t *self)
{
    static const size_t parts[][5] = {
        {0, 0, 900, 0, 0}, {3, 0, 7, 0, 1}, {0, 0, 0, 0, 0}, {1, 2, 3, 4, 5}, {0, 0, 0, 0, 4000}};
    static const hk_status_t wrong = HK_ERR_INTERNAL;
    int64_t *in = calloc(4000, sizeof(*in));
    int64_t *out = calloc(4000, sizeof(*out));
    hk_status_t status = in == NULL || out == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    for (size_t i = 0; status == HK_OK && i < 4000; i++) {
        in[i] = (int64_t)(i + 1) * digit(self->rank);
    }
    for (size_t p = 0; p < ARRAY_LEN(parts) && status == HK_OK; p++) {
        const size_t *counts = parts[p];
        size_t at = 0;

        status = hk_all_gatherv(self->comm, in, out, counts, NULL, HK_I64, NULL, NULL);
        for (int r = 0; r < 5; r++) {
            for (size_t i = 0; i < counts[r] && status == HK_OK; i++, at++) {
                status = out[at] == (int64_t)(i + 1) * digit(r) ? HK_OK : wrong;
            }
        }
        if (status == HK_OK) {
            status = hk_reduce_scatterv(self->comm, in, out, counts, HK_I64, HK_SUM, NULL, NULL);
        }
        at = 0;
        for (int r = 0; r < self->rank; r++) {
            at += counts[r];
        }
        for (size_t i = 0; i < counts[self->rank] && status == HK_OK; i++) {
            status = out[i] == (int64_t)(at + i + 1) * ((digit(5) - 1) / 15) ? HK_OK : wrong;
        }
    }
    free(in);
    free(out);
    return status;
}

static void parts_may_be_zero_or_all_on_one_rank(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 5, unequal, NULL, ranks);
    test_ranks_expect(ranks, 5, HK_OK, "unequal parts");
}

/** A number without round bits, other for each rank and element. */
static float rough(int rank, size_t i)
{
    const uint32_t x = (uint32_t)(i * 2654435761U) ^ ((uint32_t)rank * 40503U);

    return (float)(int32_t)(x * 2246822519U) * 1e-7f;
}

/** Sums of `LARGE` elements, of one more, of few at a time, and by all algorithms. */
static hk_status_t same_bits(test_rank_t *self)
{
    static const char *const algos[] = {"direct", "direct2", "tree", "doubling", "halving"};
    hk_coll_opts_t opts = hk_coll_opts_default();
    float *in = calloc(LARGE + 1, sizeof(*in));
    float *first = calloc(LARGE, sizeof(*first));
    float *out = calloc(LARGE + 1, sizeof(*out));
    hk_status_t status = in == NULL || first == NULL || out == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    for (size_t i = 0; status == HK_OK && i <= LARGE; i++) {
        in[i] = rough(self->rank, i);
    }
    if (status == HK_OK) {
        status = hk_all_reduce(self->comm, in, first, LARGE, HK_F32, HK_SUM, NULL, NULL);
    }
    if (status == HK_OK) {
        status = hk_all_reduce(self->comm, in, out, LARGE + 1, HK_F32, HK_SUM, NULL, NULL);
    }
    if (status == HK_OK && memcmp(first, out, LARGE * sizeof(*out)) != 0) {
        status = HK_ERR_INTERNAL;
    }
    for (size_t count = 1; count < 1000 && status == HK_OK; count = 3 * count + 1) {
        status = hk_all_reduce(self->comm, in + 5, out, count, HK_F32, HK_SUM, NULL, NULL);
        if (status == HK_OK && memcmp(first + 5, out, count * sizeof(*out)) != 0) {
            status = HK_ERR_INTERNAL;
        }
    }
    for (size_t a = 0; a < ARRAY_LEN(algos) && status == HK_OK; a++) {
        opts.algo = algos[a];
        status = hk_all_reduce(self->comm, in, out, 5000, HK_F32, HK_SUM, &opts, NULL);
        if (status == HK_OK && memcmp(first, out, 5000 * sizeof(*out)) != 0) {
            status = HK_ERR_INTERNAL;
        }
    }
    free(in);
    free(first);
    free(out);
    return status;
}

static void a_sum_has_the_same_bits_in_every_size_and_algorithm(void **state)
{
    for (int nranks = 2; nranks <= 7; nranks++) {
        test_rank_t ranks[TEST_RANKS_MAX];
        char where[32];

        (void)state;
        (void)snprintf(where, sizeof(where), "%d ranks", nranks);
        test_ranks_run(NULL, nranks, same_bits, NULL, ranks);
        test_ranks_expect(ranks, nranks, HK_OK, where);
    }
}

/** One value through one operation and type, as the issue of other libraries has it. */
typedef struct corner {
    const char *what;
    hk_dtype_t dtype;
    hk_op_t op;
    uint64_t in[3];
    uint64_t want;
} corner_t;

static hk_status_t run_corner(test_rank_t *self)
{
    const corner_t *corner = self->cookie;
    uint64_t out = 0;
    const hk_status_t status = hk_all_reduce(self->comm, &corner->in[self->rank], &out, 1,
                                             corner->dtype, corner->op, NULL, NULL);

    return status == HK_OK && out != corner->want ? HK_ERR_INTERNAL : status;
}

static void corners_of_types_and_operations_are_as_written(void **state)
{
    static const corner_t corners[] = {
        {"f16 overflows to inf", HK_F16, HK_SUM, {0x7bff, 0x7bff, 0}, 0x7c00},
        {"bf16 rounds once", HK_BF16, HK_SUM, {0x4380, 0x3f80, 0x3f80}, 0x4381}, // 256 + 1 + 1
        {"i8 wraps", HK_I8, HK_SUM, {100, 100, 100}, 44},
        {"i32 avg goes toward zero",
         HK_I32,
         HK_AVG,
         {0xffffffff, 0xffffffff, 0xfffffffe},
         0xffffffff},
        {"u8 avg divides the wrapped sum", HK_U8, HK_AVG, {3, 4, 5}, 4},
        {"bool sum is or", HK_BOOL, HK_SUM, {1, 1, 0}, 1},
        {"f32 min keeps nan", HK_F32, HK_MIN, {0x3f800000, 0x7fc00000, 0x40000000}, 0x7fc00000},
        {"f32 max keeps nan", HK_F32, HK_MAX, {0x3f800000, 0x40000000, 0x7fc00000}, 0x7fc00000},
        {"-0 is below +0", HK_F32, HK_MAX, {0x80000000, 0, 0x80000000}, 0},
        {"+0 is above -0", HK_F32, HK_MIN, {0, 0x80000000, 0}, 0x80000000},
    };

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(corners); c++) {
        test_rank_t ranks[TEST_RANKS_MAX];

        test_ranks_run(NULL, 3, run_corner, &corners[c], ranks);
        test_ranks_expect(ranks, 3, HK_OK, corners[c].what);
    }
}

/** x -> a x + b modulo 2^32, in one u64. Composing such functions does not commute. */
static void compose(void *out, const void *left, const void *right, size_t count, hk_dtype_t dtype,
                    void *cookie)
{
    const uint64_t *f = left;
    const uint64_t *g = right;
    uint64_t *fg = out;

    (void)dtype;
    (void)cookie;
    for (size_t i = 0; i < count; i++) {
        const uint32_t a = (uint32_t)(f[i] >> 32);
        const uint32_t b = (uint32_t)f[i];
        const uint32_t c = (uint32_t)(g[i] >> 32);
        const uint32_t d = (uint32_t)g[i];
        fg[i] = (uint64_t)(a * c) << 32 | (uint32_t)(a * d + b);
    }
}

static uint64_t affine(int rank, size_t i)
{
    return (uint64_t)(3 + 2 * rank) << 32 | (uint32_t)(i * 7 + (size_t)rank + 1);
}

static hk_status_t in_rank_order(test_rank_t *self)
{
    enum { COUNT = 1000 };
    hk_coll_opts_t opts = hk_coll_opts_default();
    uint64_t in[COUNT];
    uint64_t out[COUNT];

    opts.reduce_fn = compose;
    for (size_t i = 0; i < COUNT; i++) {
        in[i] = affine(self->rank, i);
    }
    const hk_status_t status =
        hk_all_reduce(self->comm, in, out, COUNT, HK_U64, HK_USER, &opts, NULL);
    for (size_t i = 0; i < COUNT && status == HK_OK; i++) {
        uint64_t want = affine(self->nranks - 1, i);
        for (int r = self->nranks - 2; r >= 0; r--) {
            const uint64_t f = affine(r, i);
            compose(&want, &f, &want, 1, HK_U64, NULL);
        }
        if (out[i] != want) {
            return HK_ERR_INTERNAL;
        }
    }
    return status;
}

static void an_operation_that_does_not_commute_keeps_the_order_of_ranks(void **state)
{
    (void)state;
    for (int nranks = 2; nranks <= 13; nranks++) {
        test_rank_t ranks[TEST_RANKS_MAX];
        char where[32];

        (void)snprintf(where, sizeof(where), "%d ranks", nranks);
        test_ranks_run(NULL, nranks, in_rank_order, NULL, ranks);
        test_ranks_expect(ranks, nranks, HK_OK, where);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_to_257_is_right),
        cmocka_unit_test(parts_may_be_zero_or_all_on_one_rank),
        cmocka_unit_test(a_sum_has_the_same_bits_in_every_size_and_algorithm),
        cmocka_unit_test(corners_of_types_and_operations_are_as_written),
        cmocka_unit_test(an_operation_that_does_not_commute_keeps_the_order_of_ranks),
    };

    return cmocka_run_group_tests_name("comm/cases_results", tests, NULL, NULL);
}
