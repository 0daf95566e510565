/**
 * @file reduce.c
 * @brief Reductions of any kind, made of the loops of a hki_kernels_t.
 *
 * Method: 2, 3, 4 or 8 sources of one kind are one call of one loop. Everything else goes block by
 * block: BLOCK_BYTES of every source, small enough that all blocks of the evaluation stay in the
 * first-level cache, so that each source is read once and dst written once. Within a block,
 * subtrees of 8 (or 4, 3, 2, 1) sources are computed by one loop each and stand on a stack like the
 * digits of a binary counter: two of equal weight are merged before the next comes. What is left at
 * the end is merged from the top. This is the tree of hocket/types.h: all digits but the last few
 * are complete subtrees, each at least as heavy as all behind it. The last merge writes to dst.
 */
#include "dtype/reduce.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "dtype/kernels.h"

size_t hki_acc_bytes(hk_dtype_t dtype, hk_op_t op)
{
    const size_t bytes = hk_dtype_bytes(dtype);
    const bool is_small =
        dtype == HK_F16 || dtype == HK_BF16 || dtype == HK_FP8E4M3 || dtype == HK_FP8E5M2;

    return is_small && op != HK_USER ? sizeof(float) : bytes;
}

static bool is_float(hk_dtype_t dtype)
{
    return dtype == HK_F64 || dtype == HK_F32 ||
           hki_acc_bytes(dtype, HK_SUM) != hk_dtype_bytes(dtype);
}

/** True if the factor is an integer that `dtype` can hold. */
static bool scalar_fits(hk_dtype_t dtype, double scalar)
{
    const int bits = 8 * (int)hk_dtype_bytes(dtype);
    const bool is_signed = dtype == HK_I8 || dtype == HK_I32 || dtype == HK_I64;
    const double end = ldexp(1.0, is_signed ? bits - 1 : bits); // first value that is too large
    const double begin = is_signed ? -end : 0.0;

    return scalar == trunc(scalar) && scalar >= begin && scalar < end;
}

static hk_status_t premulsum_check(const hki_reduction_t *r)
{
    if (r->dtype == HK_BOOL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "op premulsum is not defined on bool: use bor or band");
    }
    if (!is_float(r->dtype) && !scalar_fits(r->dtype, r->scalar)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "premulsum on %s by %.17g, which is not a value of that type: use an "
                        "integer in its range, or a floating dtype",
                        hk_dtype_name(r->dtype), r->scalar);
    }
    return HK_OK;
}

hk_status_t hki_reduction_check(const hki_reduction_t *r)
{
    if (hk_dtype_bytes(r->dtype) == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "dtype %d is not one of 0 to %d", (int)r->dtype,
                        HK_DTYPE_COUNT - 1);
    }
    switch (r->op) {
    case HK_SUM:
    case HK_PROD:
    case HK_MIN:
    case HK_MAX:
        return HK_OK;
    case HK_AVG:
        if (r->dtype == HK_BOOL) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "op avg is not defined on bool: use bor or band");
        }
        if (r->nranks < 1) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "op avg over %d ranks: must be at least 1",
                            r->nranks);
        }
        return HK_OK;
    case HK_BAND:
    case HK_BOR:
    case HK_BXOR:
        if (is_float(r->dtype)) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "op %s is not defined on %s: only on integers and bool",
                            hk_op_name(r->op), hk_dtype_name(r->dtype));
        }
        return HK_OK;
    case HK_PREMULSUM:
        return premulsum_check(r);
    case HK_USER:
        if (r->fn == NULL) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "op user without a function: set opts.reduce_fn");
        }
        return HK_OK;
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "op %d is not one of 0 to %d", (int)r->op, HK_OP_COUNT - 1);
}

enum {
    BLOCK_BYTES = 2048, // of accumulators
    SOURCES_MAX = 1024,
    GROUP_MAX = 8,  // sources of one loop
    DEPTH_MAX = 12, // digits of the counter: 1024 sources in pairs, and the rest
};

/** A subtree of the current block. */
typedef struct node {
    const void *data; /**< partial sums: in the buffer of its place, or where a source lies */
    int weight;       /**< sources in it */
} node_t;

/** The evaluation of one block. */
typedef struct eval {
    const hki_reduction_t *reduction;
    const hki_kernels_t *kernels;
    const hki_combine_fn *combine; /**< by form; NULL: the user's function */
    size_t leaf_bytes;
    size_t acc_bytes;
    size_t first; /**< first element of the block */
    size_t count; /**< elements of the block */
    int group_max;
    int depth;
    node_t nodes[DEPTH_MAX];
    _Alignas(64) char buffers[DEPTH_MAX][BLOCK_BYTES];
    _Alignas(64) char leaves[GROUP_MAX][BLOCK_BYTES]; /**< elements that had to be converted */
} eval_t;

/** True if an element is its own partial sum, so that nothing has to be converted. */
static bool leaf_is_partial(const hki_reduction_t *r, const hki_kernels_t *kernels)
{
    return r->op == HK_USER || (r->op != HK_PREMULSUM && kernels->load[r->dtype] == NULL);
}

/** Elements to partial sums: widened, scaled. */
static void leaf_load(const eval_t *e, void *dst, const void *leaf)
{
    const hki_reduction_t *r = e->reduction;

    if (r->op == HK_PREMULSUM) {
        e->kernels->scale[r->dtype](dst, leaf, e->count, r->scalar);
    } else {
        e->kernels->load[r->dtype](dst, leaf, e->count);
    }
}

/** Where source `s` of the block lies. */
static const void *source_at(const eval_t *e, const hki_source_t *source)
{
    const size_t bytes = source->is_partial ? e->acc_bytes : e->leaf_bytes;

    return (const char *)source->data + e->first * bytes;
}

/** The partial sums of a source: in place, or converted into `buffer`. */
static const void *source_partial(const eval_t *e, const hki_source_t *source, void *buffer)
{
    const void *at = source_at(e, source);

    if (source->is_partial || leaf_is_partial(e->reduction, e->kernels)) {
        return at;
    }
    leaf_load(e, buffer, at);
    return buffer;
}

/** dst = left o right, partial sums; dst may be one of them. */
static void pair_merge(const eval_t *e, void *dst, const void *left, const void *right)
{
    const hki_reduction_t *r = e->reduction;
    const void *const pair[2] = {left, right};

    if (r->op == HK_USER) {
        r->fn(dst, left, right, e->count, r->dtype, r->cookie);
    } else {
        e->combine[HKI_PARTIAL_TO_PARTIAL](dst, pair, 2, e->count);
    }
}

/** The largest group of the next sources that one loop takes. */
static int group_weight(const eval_t *e, int left)
{
    if (left >= e->group_max) {
        return e->group_max;
    }
    return left >= 4 ? 4 : left;
}

/** Compute the subtree of `weight` sources and put it on the stack. */
static void group_push(eval_t *e, const hki_source_t *sources, int weight)
{
    char *const buffer = e->buffers[e->depth];
    node_t *const node = &e->nodes[e->depth++];
    const void *at[GROUP_MAX];
    bool are_leaves = e->reduction->op != HK_USER && e->reduction->op != HK_PREMULSUM &&
                      e->combine[HKI_LEAF_TO_PARTIAL] != NULL;

    node->weight = weight;
    node->data = buffer;
    if (weight == 1) {
        node->data = source_partial(e, sources, buffer);
        return;
    }
    for (int s = 0; s < weight; s++) {
        are_leaves = are_leaves && !sources[s].is_partial;
    }
    for (int s = 0; s < weight; s++) {
        at[s] =
            are_leaves ? source_at(e, &sources[s]) : source_partial(e, &sources[s], e->leaves[s]);
    }
    if (weight == 2 && !are_leaves) {
        pair_merge(e, buffer, at[0], at[1]);
    } else {
        e->combine[are_leaves ? HKI_LEAF_TO_PARTIAL : HKI_PARTIAL_TO_PARTIAL](buffer, at, weight,
                                                                              e->count);
    }
}

/** Merge the two subtrees on top, into the buffer of the lower. */
static void top_merge(eval_t *e)
{
    const int left = e->depth - 2;
    node_t *const node = &e->nodes[left];

    pair_merge(e, e->buffers[left], node->data, e->nodes[left + 1].data);
    node->data = e->buffers[left];
    node->weight += e->nodes[left + 1].weight;
    e->depth--;
}

/** The division of HK_AVG, partial sums to partial sums. */
static void block_divide(const eval_t *e, void *dst, const void *sums)
{
    const hki_reduction_t *r = e->reduction;

    if (is_float(r->dtype)) {
        e->kernels->divide[r->dtype](dst, sums, e->count, (double)r->nranks);
        return;
    }
    switch (r->dtype) {
#define DIVIDE_CASE(name, type, wide)                                  \
    case HK_##name:                                                    \
        for (size_t i = 0; i < e->count; i++) {                        \
            type x;                                                    \
            memcpy(&x, (const char *)sums + i * sizeof(x), sizeof(x)); \
            x = (type)((wide)x / (wide)r->nranks);                     \
            memcpy((char *)dst + i * sizeof(x), &x, sizeof(x));        \
        }                                                              \
        break;
        DIVIDE_CASE(I8, int8_t, int64_t)
        DIVIDE_CASE(U8, uint8_t, uint64_t)
        DIVIDE_CASE(I32, int32_t, int64_t)
        DIVIDE_CASE(U32, uint32_t, uint64_t)
        DIVIDE_CASE(I64, int64_t, int64_t)
        DIVIDE_CASE(U64, uint64_t, uint64_t)
#undef DIVIDE_CASE
    default:
        HKI_ASSERT(false); // hki_reduction_check() refuses avg on bool
    }
}

/** Partial sums to the result: divided, rounded. */
static void block_finish(eval_t *e, char *dst, bool is_partial, const void *sums)
{
    const hki_reduction_t *r = e->reduction;
    const bool is_rounded = !is_partial && r->op != HK_USER && e->kernels->store[r->dtype] != NULL;

    if (r->op == HK_AVG && !is_partial) {
        void *quotients = is_rounded ? e->leaves[0] : dst;
        block_divide(e, quotients, sums);
        sums = quotients;
    }
    if (is_rounded) {
        e->kernels->store[r->dtype](dst, sums, e->count);
    } else if (sums != dst) {
        memmove(dst, sums, e->count * e->acc_bytes);
    }
}

/** The tree over all sources of one block. */
static void block_reduce(eval_t *e, char *dst, bool is_partial, const hki_source_t *sources,
                         int nsources)
{
    const bool is_avg = e->reduction->op == HK_AVG && !is_partial;
    const bool is_user = e->reduction->op == HK_USER;
    const hki_form_t last_form = is_partial ? HKI_PARTIAL_TO_PARTIAL : HKI_PARTIAL_TO_LEAF;

    e->depth = 0;
    for (int s = 0; s < nsources;) {
        const int weight = group_weight(e, nsources - s);

        while (e->depth >= 2 && e->nodes[e->depth - 1].weight == e->nodes[e->depth - 2].weight) {
            top_merge(e);
        }
        group_push(e, sources + s, weight);
        s += weight;
    }
    while (e->depth > 2) {
        top_merge(e);
    }
    if (e->depth == 2 && !is_avg && is_user) {
        pair_merge(e, dst, e->nodes[0].data, e->nodes[1].data);
    } else if (e->depth == 2 && !is_avg && e->combine[last_form] != NULL) {
        e->combine[last_form](dst, (const void *const[]){e->nodes[0].data, e->nodes[1].data}, 2,
                              e->count);
    } else {
        if (e->depth == 2) {
            top_merge(e);
        }
        block_finish(e, dst, is_partial, e->nodes[0].data);
    }
}

/** Any reduction, block by block. */
static void blocks_reduce(const hki_reduction_t *r, char *dst, bool is_partial,
                          const hki_source_t *sources, int nsources, size_t count)
{
    const hki_kernels_t *kernels = hki_kernels();
    const size_t acc_bytes = hki_acc_bytes(r->dtype, r->op);
    const size_t block_count = BLOCK_BYTES / acc_bytes;
    eval_t e; // large; only what is written is read

    e.reduction = r;
    e.kernels = kernels;
    e.combine = kernels->combine[r->dtype][r->op];
    e.leaf_bytes = hk_dtype_bytes(r->dtype);
    e.acc_bytes = acc_bytes;
    e.group_max = r->op != HK_USER && kernels->is_wide[r->dtype][r->op] ? GROUP_MAX : 2;
    for (e.first = 0; e.first < count; e.first += e.count) {
        e.count = count - e.first < block_count ? count - e.first : block_count;
        block_reduce(&e, dst + e.first * (is_partial ? acc_bytes : e.leaf_bytes), is_partial,
                     sources, nsources);
    }
}

/** One source that stays what it is. @return false if something has to be done to it */
static bool copy_reduce(const hki_reduction_t *r, void *dst, bool is_partial,
                        const hki_source_t *source, size_t count)
{
    const size_t bytes = is_partial ? hki_acc_bytes(r->dtype, r->op) : hk_dtype_bytes(r->dtype);
    const bool is_changed = (r->op == HK_AVG && !is_partial) || r->dtype == HK_BOOL ||
                            (r->op == HK_PREMULSUM && !source->is_partial);

    if (source->is_partial != is_partial || (is_changed && r->op != HK_USER)) {
        return false;
    }
    if (dst != source->data) {
        memmove(dst, source->data, count * bytes);
    }
    return true;
}

/** 2, 3, 4 or 8 sources of one kind in one loop. @return false if there is no such loop */
static bool loop_reduce(const hki_reduction_t *r, void *dst, bool is_partial,
                        const hki_source_t *sources, int nsources, size_t count)
{
    const hki_kernels_t *kernels = hki_kernels();
    const bool is_partial_in = sources[0].is_partial;
    const int form = (is_partial_in ? 2 : 0) + (is_partial ? 1 : 0);
    const hki_combine_fn combine = kernels->combine[r->dtype][r->op][form];
    const void *at[GROUP_MAX];

    if (combine == NULL || (r->op == HK_AVG && !is_partial) ||
        (r->op == HK_PREMULSUM && !is_partial_in) ||
        (nsources != 2 && !kernels->is_wide[r->dtype][r->op])) {
        return false;
    }
    for (int s = 0; s < nsources; s++) {
        if (sources[s].is_partial != is_partial_in) {
            return false;
        }
        at[s] = sources[s].data;
    }
    combine(dst, at, nsources, count);
    return true;
}

void hki_reduce(const hki_reduction_t *r, void *dst, bool is_partial, const hki_source_t *sources,
                int nsources, size_t count)
{
    HKI_ASSERT(nsources >= 1 && nsources <= SOURCES_MAX);
    if (count == 0) {
        return;
    }
    if (nsources == 1 && copy_reduce(r, dst, is_partial, sources, count)) {
        return;
    }
    if (((nsources >= 2 && nsources <= 4) || nsources == GROUP_MAX) &&
        loop_reduce(r, dst, is_partial, sources, nsources, count)) {
        return;
    }
    blocks_reduce(r, dst, is_partial, sources, nsources, count);
}
