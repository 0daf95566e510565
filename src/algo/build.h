/**
 * @file build.h
 * @brief Words that all algorithms share: opening a builder, naming spans, trees of ranks.
 *
 * Letters, here and in all algorithms: P ranks, r this rank, N elements of a block.
 */
#ifndef HKI_ALGO_BUILD_H
#define HKI_ALGO_BUILD_H

#include <stdbool.h>

#include "algo/algo.h"
#include "algo/registry.h"
#include "base/chunk.h"

/** What an algorithm adds to the options of the call. */
typedef struct hki_shape {
    const char *name;
    bool is_in_split;  /**< IN has a block a rank; else one */
    bool is_out_split; /**< OUT likewise */
    size_t tmp_slots;  /**< TMP, in slots of N elements */
    size_t acc_slots;  /**< ACC, in slots of N partial sums */
} hki_shape_t;

/** Open a builder for `opts` with `shape` filled in. HK_ERR_LIMIT if the scratch overflows. */
hk_status_t hki_algo_open(const hk_schedule_opts_t *opts, const hki_shape_t *shape,
                          hk_builder_t **builder_out);

/** All of region[block]. */
static inline hk_span_t hki_block(const hk_schedule_opts_t *opts, hk_region_t region, int block)
{
    return (hk_span_t){region, block, 0, opts->count};
}

/** One chunk of region[block]. */
static inline hk_span_t hki_part(hk_region_t region, int block, hki_chunk_t chunk)
{
    return (hk_span_t){region, block, chunk.offset, chunk.length};
}

/** `n` whole slots of TMP or ACC, from slot `first`. */
static inline hk_span_t hki_slots(const hk_schedule_opts_t *opts, hk_region_t region, int first,
                                  int n)
{
    return (hk_span_t){region, 0, (size_t)first * opts->count, (size_t)n * opts->count};
}

/** One chunk of a slot of TMP or ACC. */
static inline hk_span_t hki_slot_part(const hk_schedule_opts_t *opts, hk_region_t region, int slot,
                                      hki_chunk_t chunk)
{
    return (hk_span_t){region, 0, (size_t)slot * opts->count + chunk.offset, chunk.length};
}

/** Operand: a span of this rank. */
static inline hk_operand_t hki_own(hk_span_t span)
{
    return (hk_operand_t){.peer = -1, .span = span};
}

/** Operand: the next message of `peer`, of elements or of partial sums. */
static inline hk_operand_t hki_from(int peer, bool is_partial)
{
    return (hk_operand_t){.peer = peer, .is_partial = is_partial};
}

/** dst = left o right. */
void hki_reduce_pair(hk_builder_t *builder, hk_span_t dst, hk_operand_t left, hk_operand_t right);

/** dst = the end result, or the partial sum, of `own` alone. */
void hki_reduce_one(hk_builder_t *builder, hk_span_t dst, hk_span_t own);

/** Ranks [first, first + n), and where this rank's own contribution lies if it is one of them. */
typedef struct hki_ranks {
    int first;
    int n;
    int rank;
    hk_span_t own;
} hki_ranks_t;

/** dst = tree of one message of elements from each of `ranks`, and `own`. */
void hki_reduce_ranks(hk_builder_t *builder, hk_span_t dst, const hki_ranks_t *ranks);

/** Send in a way that fits: `src` is overwritten later, perhaps before the peer can read it. */
static inline void hki_send(hk_builder_t *builder, int peer, hk_span_t src, bool is_copied)
{
    if (is_copied) {
        hk_builder_send_copied(builder, peer, src);
    } else {
        hk_builder_send(builder, peer, src);
    }
}

/** i modulo n, also for negative i >= -n. */
static inline int hki_mod(int i, int n)
{
    return (i + n) % n;
}

/** Largest power of two <= n, for n >= 1. */
static inline int hki_power_floor(int n)
{
    int power = 1;

    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

/** Rounds of doubling from 1 to n: ceil(log2(n)), for n >= 1. */
static inline int hki_rounds(int n)
{
    int rounds = 0;

    for (int power = 1; power < n; power *= 2) {
        rounds++;
    }
    return rounds;
}

/**
 * Binomial tree over v = 0 .. P-1 with subtrees of consecutive v. The parent of v is v without its
 * lowest bit; its children are v + d for d = 1, 2, 4, ... below `reach`. The subtree of v + d holds
 * hki_tree_size() ranks from v + d on. A sum that walks it from the leaves is the canonical tree.
 */
static inline int hki_tree_parent(int v)
{
    return v & (v - 1);
}

/** All d < reach with v + d < P give children. */
static inline int hki_tree_reach(int v, int nranks)
{
    return v == 0 ? 1 << hki_rounds(nranks) : v & -v;
}

/** Ranks in the subtree of v. */
static inline int hki_tree_size(int v, int nranks)
{
    const int reach = hki_tree_reach(v, nranks);

    return reach < nranks - v ? reach : nranks - v;
}

/**
 * The canonical tree of all IN, at rank 0 in `result`; other ranks send partial sums to their
 * parents (v = r). Uses one slot of ACC, slot 0.
 */
void hki_sum_tree(hk_builder_t *builder, const hk_schedule_opts_t *opts, hk_span_t result);

#endif /* HKI_ALGO_BUILD_H */
