/*
 * Inputs are a pure function of (seed, rank, index), so every rank can compute what every other
 * rank contributed, and with it the only right answer: the canonical tree, by the plain C
 * reference, or the element that should have been copied. Compared bit for bit, a stretch at a
 * time.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"
#include "dtype/reduce.h"

enum {
    STRETCH = 4096, /* elements checked at a time */
    CHECKED_MOST =
        64, /* stretches of a block, where time for checking would be taken from others */
};

/** 64 well mixed bits of a number: the finalizer of SplitMix64 (Steele et al. 2014). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/** How a floating type is made of bits: sums of these values are finite and must be rounded. */
typedef struct format {
    int mantissa;  /**< bits */
    int exponent;  /**< lowest exponent that is used, biased */
    int exponents; /**< power of two: how many are used */
    int sign;      /**< place of the sign */
} format_t;

static const format_t formats[HK_DTYPE_COUNT] = {
    [HK_F16] = {10, 11, 4, 15},   [HK_BF16] = {7, 123, 8, 15}, [HK_F32] = {23, 120, 8, 31},
    [HK_F64] = {52, 1016, 8, 63}, [HK_FP8E4M3] = {3, 4, 4, 7}, [HK_FP8E5M2] = {2, 13, 4, 7},
};

static uint64_t element_bits(hk_dtype_t dtype, uint64_t random)
{
    const format_t *f = &formats[dtype];

    if (dtype == HK_BOOL) {
        return random >> 63;
    }
    if (f->sign == 0) {
        return random;
    }
    const uint64_t mantissa = random & ((UINT64_C(1) << f->mantissa) - 1);
    const uint64_t exponent =
        (uint64_t)f->exponent + ((random >> 55) & (uint64_t)(f->exponents - 1));
    return (random >> 63) << f->sign | exponent << f->mantissa | mantissa;
}

/** Elements [first, first + count) of the input of `rank`. */
static void fill_range(char *dst, hk_dtype_t dtype, uint64_t key, uint64_t first, size_t count)
{
    const size_t bytes = hk_dtype_bytes(dtype);

    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = element_bits(dtype, mix(key + first + i));
        memcpy(dst + i * bytes, &bits, bytes); // little-endian, as everything here
    }
}

static uint64_t key_of(const hki_bench_t *bench, int rank)
{
    return mix(bench->seed ^ mix((uint64_t)rank + 1));
}

void hki_bench_fill(const hki_bench_t *bench, const hki_bench_case_t *what, char *in)
{
    fill_range(in, what->dtype, key_of(bench, bench->rank), 0,
               what->count * (size_t)what->in_blocks);
}

/** Where output block `block` of this rank comes from, if it is not a reduction. */
static int source_rank(const hki_bench_t *bench, const hki_bench_case_t *what, int block)
{
    switch (what->coll) {
    case HKI_COLL_BROADCAST:
    case HKI_COLL_SCATTER:
        return what->root;
    case HKI_BENCH_SEND_RECV:
        return 1 - bench->rank;
    default:
        return block;
    }
}

/** Does this rank get a result at all? */
static bool has_output(const hki_bench_t *bench, const hki_bench_case_t *what)
{
    switch (what->coll) {
    case HKI_COLL_BARRIER:
        return false;
    case HKI_COLL_REDUCE:
    case HKI_COLL_GATHER:
        return bench->rank == what->root;
    case HKI_BENCH_SEND_RECV:
        return bench->rank < 2;
    default:
        return true;
    }
}

/** Scratch of a check: the inputs of all ranks and the answer, a stretch of each. */
typedef struct scratch {
    char *inputs; /**< (nranks, STRETCH) elements of 8 bytes */
    char *answer; /**< (STRETCH,) of 8 bytes */
    hki_source_t *sources;
} scratch_t;

/** The right answer of `count` elements from `first` on in output block `block`. */
static void answer_range(const hki_bench_t *bench, const hki_bench_case_t *what,
                         const scratch_t *scratch, int block, size_t first, size_t count)
{
    const bool is_part = what->in_blocks > 1; // an input block for every rank
    const uint64_t at = first + (is_part ? (uint64_t)bench->rank * what->count : 0);

    if (!hki_bench_has_op(what->coll)) {
        const int source = source_rank(bench, what, block);
        fill_range(scratch->answer, what->dtype, key_of(bench, source), at, count);
        return;
    }
    const hki_reduction_t reduction = {
        .dtype = what->dtype, .op = what->op, .nranks = bench->nranks, .scalar = HKI_BENCH_SCALAR};
    for (int rank = 0; rank < bench->nranks; rank++) {
        char *input = scratch->inputs + (size_t)rank * STRETCH * 8;
        fill_range(input, what->dtype, key_of(bench, rank), at, count);
        scratch->sources[rank] = (hki_source_t){.data = input};
    }
    hki_reduce_reference(&reduction, scratch->answer, false, scratch->sources, bench->nranks,
                         count);
}

static uint64_t count_wrong(const char *got, const char *want, size_t count, size_t bytes)
{
    uint64_t wrong = 0;

    if (memcmp(got, want, count * bytes) == 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        wrong += memcmp(got + i * bytes, want + i * bytes, bytes) != 0;
    }
    return wrong;
}

static uint64_t check_all(const hki_bench_t *bench, const hki_bench_case_t *what,
                          const scratch_t *scratch, const char *out)
{
    const size_t bytes = hk_dtype_bytes(what->dtype);
    const size_t stretches = (what->count + STRETCH - 1) / STRETCH;
    const size_t step = bench->values->cases != NULL ? stretches / CHECKED_MOST + 1 : 1;
    uint64_t wrong = 0;

    for (int block = 0; block < what->out_blocks && stretches > 0; block++) {
        const char *got = out + (size_t)block * what->count * bytes;
        // the last stretch is always among them
        for (size_t s = (stretches - 1) % step; s < stretches; s += step) {
            const size_t first = s * STRETCH;
            const size_t left = what->count - first;
            const size_t count = left < STRETCH ? left : STRETCH;
            answer_range(bench, what, scratch, block, first, count);
            wrong += count_wrong(got + first * bytes, scratch->answer, count, bytes);
        }
    }
    return wrong;
}

hk_status_t hki_bench_check(const hki_bench_t *bench, const hki_bench_case_t *what, const char *out,
                            uint64_t *wrong_out)
{
    const size_t nranks = (size_t)bench->nranks;
    hk_status_t status = HK_OK;
    scratch_t scratch = {
        .inputs = hki_calloc(nranks * STRETCH, 8),
        .answer = hki_calloc(STRETCH, 8),
        .sources = hki_calloc(nranks, sizeof(*scratch.sources)),
    };

    if (scratch.inputs == NULL || scratch.answer == NULL || scratch.sources == NULL) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "check, %zu bytes", nranks * STRETCH * 8);
    } else {
        *wrong_out = has_output(bench, what) ? check_all(bench, what, &scratch, out) : 0;
    }
    hki_free(scratch.inputs);
    hki_free(scratch.answer);
    hki_free(scratch.sources);
    return status;
}
