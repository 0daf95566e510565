/**
 * @file reduce.c
 * @brief Reductions of any kind, made of the loops of a hki_kernels_t.
 *
 * Method: 2 to 8 sources of one kind (16 for some) are one call of one loop. Everything else goes
 * block by block: BLOCK_BYTES of every source, small enough that all blocks of the evaluation stay
 * in the first-level cache, so that each source is read once and dst written once. Within a block,
 * subtrees of 8 (or what is left) sources are computed by one loop each and stand on a stack like
 * the digits of a binary counter: two of equal weight are merged before the next comes. What is
 * left at the end is merged from the top. This is the tree of hocket/types.h: all digits but the
 * last are complete subtrees, each at least as heavy as all behind it. The last merge writes to
 * dst.
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
    BLOCK_BYTES = 4096, // of accumulators; shorter ones stop the prefetcher too often
    SOURCES_MAX = 1024,
    USER_GROUP_MAX = 2, // sources of one call of the user's function
    DEPTH_MAX = 12,     // digits of the counter: 1024 sources in pairs, and the rest
};

/* ---- one loop ------------------------------------------------------------------------------ */

/** memcpy() of a few bytes would cost more than the loop. */
static void few_bytes_copy(char *to, const char *from, size_t bytes)
{
    if (bytes >= 32) {
        memcpy(to, from, bytes);
        return;
    }
    for (; bytes >= 8; bytes -= 8, to += 8, from += 8) {
        memcpy(to, from, 8);
    }
    if ((bytes & 4) != 0) {
        memcpy(to, from, 4);
        to += 4;
        from += 4;
    }
    for (bytes &= 3; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

/** Less than a step: in a step of our own, filled with zeros. */
static void short_run(const hki_loop_t *loop, char *dst, const void *const *sources, int n,
                      size_t count, const hki_factor_t *factor)
{
    enum { LINE = 16 };
    _Alignas(64) char in[HKI_LOOP_SOURCES_MAX][HKI_STEP_BYTES_MAX];
    _Alignas(64) char out[HKI_STEP_BYTES_MAX];
    const void *at[HKI_LOOP_SOURCES_MAX];

    for (int s = 0; s < n; s++) {
        for (size_t k = 0; k < (size_t)loop->step * loop->in_bytes; k += LINE) {
            memset(in[s] + k, 0, LINE);
        }
        few_bytes_copy(in[s], sources[s], count * loop->in_bytes);
        at[s] = in[s];
    }
    loop->of[n](out, at, 1, factor);
    few_bytes_copy(dst, out, count * loop->out_bytes);
}

/** Any count: the last step may overlap the one before, and is computed first, since dst may be a
 *  source. */
static void loop_run(const hki_loop_t *loop, char *dst, const void *const *sources, int n,
                     size_t count, const hki_factor_t *factor)
{
    const size_t rest = count % loop->step;
    const size_t last = count - loop->step;
    _Alignas(64) char out[HKI_STEP_BYTES_MAX];
    const void *at[HKI_LOOP_SOURCES_MAX];

    if (count < loop->step) {
        short_run(loop, dst, sources, n, count, factor);
        return;
    }
    if (rest == 0) {
        loop->of[n](dst, sources, count / loop->step, factor);
        return;
    }
    for (int s = 0; s < n; s++) {
        at[s] = (const char *)sources[s] + last * loop->in_bytes;
    }
    loop->of[n](out, at, 1, factor);
    loop->of[n](dst, sources, count / loop->step, factor);
    few_bytes_copy(dst + last * loop->out_bytes, out, (size_t)loop->step * loop->out_bytes);
}

/** The same for n = 1. */
static void convert_run(const hki_loop_t *loop, void *dst, const void *source, size_t count,
                        const hki_factor_t *factor)
{
    loop_run(loop, dst, &source, 1, count, factor);
}

/** What a division by nranks >= 2 of integers needs, see divide_u64() in kernels_template.h. */
static void divisor_set(hki_factor_t *factor, size_t bytes, uint64_t d)
{
    int log = 1; // of d, rounded up

    if (bytes == 1) {
        factor->magic = (UINT64_C(65535) + d) / d;
        return;
    }
    while (UINT64_C(1) << log < d) {
        log++;
    }
    const uint64_t upper = (((UINT64_C(1) << log) - d) << 32) / d;
    const uint64_t rest = (((UINT64_C(1) << log) - d) << 32) % d;
    factor->magic = (bytes == 4 ? upper : (upper << 32 | (rest << 32) / d)) + 1;
    factor->shift = log - 1;
}

static const hki_factor_t no_factor = {.value = 1};

static hki_factor_t factor_of(const hki_reduction_t *r)
{
    hki_factor_t factor = no_factor;

    if (r->op == HK_AVG) {
        factor.value = (double)r->nranks;
        if (!is_float(r->dtype)) {
            divisor_set(&factor, hk_dtype_bytes(r->dtype), (uint64_t)r->nranks);
        }
    } else if (r->op == HK_PREMULSUM) {
        factor.value = r->scalar;
        if (!is_float(r->dtype)) { // hki_reduction_check() lets only exact integers through
            factor.integer = r->scalar < 0 ? (uint64_t)(int64_t)r->scalar : (uint64_t)r->scalar;
        }
    }
    return factor;
}

/* ---- blocks -------------------------------------------------------------------------------- */

/** A subtree of the current block. */
typedef struct node {
    const void *data; /**< partial sums: in the buffer of its place, or where a source lies */
    int weight;       /**< sources in it */
} node_t;

/** The evaluation of one block. */
typedef struct eval {
    const hki_reduction_t *reduction;
    const hki_loop_t *combine[HKI_FORM_COUNT]; /**< NULL: the user's function, or convert first */
    const hki_loop_t *load;                    /**< leaf to partial; NULL: they are the same */
    const hki_loop_t *store;                   /**< partial to leaf; NULL: they are the same */
    const hki_loop_t *divide;                  /**< what finishes; NULL: nothing */
    hki_factor_t factor;
    size_t leaf_bytes;
    size_t acc_bytes;
    size_t first; /**< first element of the block */
    size_t count; /**< elements of the block */
    int group_max;
    int depth;
    node_t nodes[DEPTH_MAX];
    _Alignas(64) char buffers[DEPTH_MAX][BLOCK_BYTES];
    _Alignas(64) char leaves[HKI_GROUP_SOURCES][BLOCK_BYTES]; /**< converted elements */
} eval_t;

static bool are_all_leaves(const hki_source_t *sources, int nsources)
{
    for (int s = 0; s < nsources; s++) {
        if (sources[s].is_partial) {
            return false;
        }
    }
    return true;
}

/** Where a source of the block lies. */
static const void *source_at(const eval_t *e, const hki_source_t *source)
{
    const size_t bytes = source->is_partial ? e->acc_bytes : e->leaf_bytes;

    return (const char *)source->data + e->first * bytes;
}

/** The partial sums of a source: in place, or converted into `buffer`. */
static const void *source_partial(const eval_t *e, const hki_source_t *source, void *buffer)
{
    const void *at = source_at(e, source);

    if (source->is_partial || e->load == NULL) {
        return at;
    }
    convert_run(e->load, buffer, at, e->count, &e->factor);
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
        loop_run(e->combine[HKI_PARTIAL_TO_PARTIAL], dst, pair, 2, e->count, &e->factor);
    }
}

/** Compute the subtree of `weight` sources and put it on the stack. */
static void group_push(eval_t *e, const hki_source_t *sources, int weight)
{
    char *const buffer = e->buffers[e->depth];
    node_t *const node = &e->nodes[e->depth++];
    const void *at[HKI_GROUP_SOURCES];
    const bool are_leaves =
        e->combine[HKI_LEAF_TO_PARTIAL] != NULL && are_all_leaves(sources, weight);

    node->weight = weight;
    node->data = buffer;
    if (weight == 1) {
        node->data = source_partial(e, sources, buffer);
        return;
    }
    for (int s = 0; s < weight; s++) {
        at[s] =
            are_leaves ? source_at(e, &sources[s]) : source_partial(e, &sources[s], e->leaves[s]);
    }
    if (e->reduction->op == HK_USER) {
        pair_merge(e, buffer, at[0], at[1]);
    } else {
        const hki_form_t form = are_leaves ? HKI_LEAF_TO_PARTIAL : HKI_PARTIAL_TO_PARTIAL;
        loop_run(e->combine[form], buffer, at, weight, e->count, &e->factor);
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

/** Partial sums to the result: divided, rounded. */
static void block_finish(eval_t *e, char *dst, bool is_partial, const void *sums)
{
    const bool is_rounded = !is_partial && e->store != NULL;

    if (e->divide != NULL) {
        void *quotients = is_rounded ? e->leaves[0] : dst;
        convert_run(e->divide, quotients, sums, e->count, &e->factor);
        sums = quotients;
    }
    if (is_rounded) {
        convert_run(e->store, dst, sums, e->count, &e->factor);
    } else if (sums != dst) {
        memmove(dst, sums, e->count * e->acc_bytes);
    }
}

/** The tree over all sources of one block. */
static void block_reduce(eval_t *e, char *dst, bool is_partial, const hki_source_t *sources,
                         int nsources)
{
    const bool is_user = e->reduction->op == HK_USER;
    const bool is_divided = e->divide != NULL;
    const hki_form_t last_form = is_partial ? HKI_PARTIAL_TO_PARTIAL : HKI_PARTIAL_TO_LEAF;

    e->depth = 0;
    for (int s = 0; s < nsources;) {
        const int left = nsources - s;
        const int weight = left < e->group_max ? left : e->group_max;

        while (e->depth >= 2 && e->nodes[e->depth - 1].weight == e->nodes[e->depth - 2].weight) {
            top_merge(e);
        }
        group_push(e, sources + s, weight);
        s += weight;
    }
    while (e->depth > 2) {
        top_merge(e);
    }
    if (e->depth == 2 && !is_divided && is_user) {
        pair_merge(e, dst, e->nodes[0].data, e->nodes[1].data);
    } else if (e->depth == 2 && !is_divided && e->combine[last_form] != NULL) {
        loop_run(e->combine[last_form], dst,
                 (const void *const[]){e->nodes[0].data, e->nodes[1].data}, 2, e->count,
                 &e->factor);
    } else {
        if (e->depth == 2) {
            top_merge(e);
        }
        block_finish(e, dst, is_partial, e->nodes[0].data);
    }
}

/** Choose loops. The least or greatest of elements is one of them: without partial sums. */
static void eval_set(eval_t *e, const hki_reduction_t *r, bool is_partial, bool are_leaves)
{
    const hki_kernels_t *kernels = hki_kernels();
    const bool is_user = r->op == HK_USER;
    const hki_loop_t *const *combine = kernels->combine[r->dtype][r->op];
    const bool is_exact = !is_user && are_leaves && !is_partial &&
                          combine[HKI_LEAF_TO_LEAF] != NULL && combine[HKI_LEAF_TO_PARTIAL] == NULL;

    e->reduction = r;
    e->load = is_user || is_exact ? NULL : kernels->load[r->dtype];
    e->store = is_user || is_exact ? NULL : kernels->store[r->dtype];
    e->divide = r->op == HK_AVG && !is_partial ? kernels->divide[r->dtype] : NULL;
    e->factor = factor_of(r);
    e->leaf_bytes = hk_dtype_bytes(r->dtype);
    e->acc_bytes = is_exact ? e->leaf_bytes : hki_acc_bytes(r->dtype, r->op);
    e->group_max = is_user ? USER_GROUP_MAX : HKI_GROUP_SOURCES;
    for (int form = 0; form < HKI_FORM_COUNT; form++) {
        e->combine[form] = is_user ? NULL : combine[is_exact ? HKI_LEAF_TO_LEAF : form];
    }
    if (r->op == HK_PREMULSUM) {
        const bool is_same = e->store == NULL; // elements are partial sums
        e->load = kernels->scale[r->dtype];
        e->combine[HKI_LEAF_TO_PARTIAL] = is_same ? kernels->premulsum[r->dtype] : NULL;
    }
}

/** Any reduction, block by block. */
static void blocks_reduce(const hki_reduction_t *r, char *dst, bool is_partial,
                          const hki_source_t *sources, int nsources, size_t count)
{
    eval_t e; // large; only what is written is read

    eval_set(&e, r, is_partial, are_all_leaves(sources, nsources));
    const size_t block_count = BLOCK_BYTES / e.acc_bytes;
    for (e.first = 0; e.first < count; e.first += e.count) {
        e.count = count - e.first < block_count ? count - e.first : block_count;
        block_reduce(&e, dst + e.first * (is_partial ? e.acc_bytes : e.leaf_bytes), is_partial,
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

/** The loop that reads all sources at once and writes the result; NULL if there is none. */
static const hki_loop_t *loop_of_all(const hki_reduction_t *r, bool is_partial,
                                     const hki_source_t *sources, int nsources)
{
    const hki_kernels_t *kernels = hki_kernels();
    const bool is_partial_in = sources[0].is_partial;
    const int form = (is_partial_in ? 2 : 0) + (is_partial ? 1 : 0);

    for (int s = 1; s < nsources; s++) {
        if (sources[s].is_partial != is_partial_in) {
            return NULL;
        }
    }
    if (r->op == HK_AVG && !is_partial) {
        return is_partial_in ? NULL : kernels->average[r->dtype];
    }
    if (r->op == HK_PREMULSUM && !is_partial_in) {
        const bool is_same = kernels->store[r->dtype] == NULL; // elements are partial sums
        return is_partial && !is_same ? NULL : kernels->premulsum[r->dtype];
    }
    return kernels->combine[r->dtype][r->op][form];
}

/** 2 and more sources of one kind in one loop. @return false if there is no such loop */
static bool one_loop_reduce(const hki_reduction_t *r, void *dst, bool is_partial,
                            const hki_source_t *sources, int nsources, size_t count)
{
    const hki_loop_t *loop = loop_of_all(r, is_partial, sources, nsources);
    const void *at[HKI_LOOP_SOURCES_MAX];

    if (loop == NULL || loop->of[nsources] == NULL) {
        return false;
    }
    for (int s = 0; s < nsources; s++) {
        at[s] = sources[s].data;
    }
    if (r->op == HK_AVG || r->op == HK_PREMULSUM) {
        const hki_factor_t factor = factor_of(r);
        loop_run(loop, dst, at, nsources, count, &factor);
    } else {
        loop_run(loop, dst, at, nsources, count, &no_factor); // 8 bytes take 10 ns: each counts
    }
    return true;
}

static void any_reduce(const hki_reduction_t *r, void *dst, bool is_partial,
                       const hki_source_t *sources, int nsources, size_t count)
{
    if (nsources == 1 && copy_reduce(r, dst, is_partial, sources, count)) {
        return;
    }
    if (nsources >= 2 && nsources <= HKI_LOOP_SOURCES_MAX &&
        one_loop_reduce(r, dst, is_partial, sources, nsources, count)) {
        return;
    }
    blocks_reduce(r, dst, is_partial, sources, nsources, count);
}

enum { FEW_ELEMENTS = 4 };

/** Sums of a few numbers are what small operations are made of (a loss, a norm, a flag), and there
 *  all the choosing below takes longer than the adding. @return false: it is something else */
static bool few_reduce(const hki_reduction_t *r, void *dst, const hki_source_t *sources,
                       int nsources, size_t count)
{
    float a[FEW_ELEMENTS];
    float b[FEW_ELEMENTS];

    if (r->dtype != HK_F32 || r->op != HK_SUM || nsources != 2 || count > FEW_ELEMENTS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(&a[i], (const char *)sources[0].data + i * sizeof(float), sizeof(float));
        memcpy(&b[i], (const char *)sources[1].data + i * sizeof(float), sizeof(float));
        a[i] += b[i];
        a[i] = a[i] == a[i] ? a[i] : NAN; // one for all
    }
    for (size_t i = 0; i < count; i++) { // only now: dst may be a source
        memcpy((char *)dst + i * sizeof(float), &a[i], sizeof(float));
    }
    return true;
}

void hki_reduce(const hki_reduction_t *r, void *dst, bool is_partial, const hki_source_t *sources,
                int nsources, size_t count)
{
    HKI_ASSERT(nsources >= 1 && nsources <= SOURCES_MAX);
    if (count == 0 || few_reduce(r, dst, sources, nsources, count)) {
        return;
    }
    if (r->op == HK_AVG && r->nranks == 1 && !is_float(r->dtype)) {
        hki_reduction_t sum = *r; // the loops divide by 2 and more

        sum.op = HK_SUM;
        any_reduce(&sum, dst, is_partial, sources, nsources, count);
        return;
    }
    any_reduce(r, dst, is_partial, sources, nsources, count);
}
