/**
 * @file reduce_scatter_halving.c
 * @brief Recursive halving for every P: pairs at distance 1, 2, 4, ... share the blocks to sum.
 *
 * Q is the largest power of two up to P. Ranks j < Q do the halving over ranks 0 .. Q-1; j keeps
 * block j and, if it exists, block j+Q. Blocks lie in TMP, and their sums in ACC, in the order of
 * the bit-reversed j (its twin j+Q next to it), so that what is sent is always one piece. The ranks
 * from Q on give their blocks directly to those who need them: the canonical tree is
 * (tree of 0 .. Q-1) o (tree of Q .. P-1).
 *
 *   1. r >= Q: send IN[j] to j, for all j but r
 *   2. r < Q: copy IN to TMP; for d = 1, 2, .. Q/2: with peer r^d, send it the half of my range it
 *      keeps, and keep the sum of the other half: the lower if bit d of r is 0
 *   3. r < Q: send the sum of block r+Q, if it exists, to r+Q
 *   4. if P > Q: OUT = (sum of 0 .. Q-1) o tree(blocks of Q .. P-1)
 *
 * For P = 4, blocks in the order 0 2 1 3:
 *
 *        rank 0         rank 1         rank 2         rank 3
 *   d=1  1 3 to 1       0 2 to 0       1 3 to 3       0 2 to 2
 *   d=2  2 to 2         3 to 3         0 to 0         1 to 1
 *
 * Cost per rank: log2 P messages, N(P-1) elements sent and reduced where P is a power of two; NP
 * copied. Best for small N.
 * Reproducible: the canonical tree.
 * Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521; the
 * ranks from Q on are ours.
 */
#include "algo/build.h"

/** Bits of p < lead (a power of two) in reverse order. */
static int reverse(int p, int lead)
{
    int reversed = 0;

    for (int bit = 1; bit < lead; bit *= 2) {
        reversed = 2 * reversed + ((p & bit) != 0);
    }
    return reversed;
}

/** First slot of position p: positions before it have one slot, or two with a twin. */
static int slot_of(int nranks, int p)
{
    const int lead = hki_power_floor(nranks);
    int slot = p;

    for (int q = 0; q < p; q++) {
        slot += reverse(q, lead) + lead < nranks;
    }
    return slot;
}

/** Positions [p, p + n) of TMP or ACC. */
static hk_span_t positions(const hk_schedule_opts_t *opts, hk_region_t region, int p, int n)
{
    const int first = slot_of(opts->nranks, p);

    return hki_slots(opts, region, first, slot_of(opts->nranks, p + n) - first);
}

/** Step 2. @return where the sums that this rank keeps lie */
static hk_span_t halve(hk_builder_t *builder, const hk_schedule_opts_t *opts)
{
    const int nranks = opts->nranks;
    const int lead = hki_power_floor(nranks);
    hk_region_t region = HK_REGION_TMP;
    int first = 0; // of the range of positions still to be summed
    int n = lead;
    hk_span_t keep = positions(opts, region, first, n);

    for (int block = 0; block < nranks; block++) {
        const int slot = slot_of(nranks, reverse(block % lead, lead)) + block / lead;

        hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, slot, 1),
                        hki_block(opts, HK_REGION_IN, block));
    }
    for (int d = 1; d < lead; d *= 2) {
        const int peer = opts->rank ^ d;
        const bool is_low = opts->rank < peer;

        n /= 2;
        hk_builder_send(builder, peer, positions(opts, region, is_low ? first + n : first, n));
        first = is_low ? first : first + n;

        const hk_operand_t own = hki_own(positions(opts, region, first, n));
        const hk_operand_t other = hki_from(peer, d > 1);

        keep = lead == nranks && n == 1 ? hki_block(opts, HK_REGION_OUT, 0)
                                        : positions(opts, HK_REGION_ACC, first, n);
        hki_reduce_pair(builder, keep, is_low ? own : other, is_low ? other : own);
        region = HK_REGION_ACC;
    }
    return keep;
}

/** Step 4. @param sum  of ranks 0 .. Q-1 */
static void add_rest(hk_builder_t *builder, const hk_schedule_opts_t *opts, hk_operand_t sum)
{
    const int lead = hki_power_floor(opts->nranks);
    const hki_ranks_t rest = {.first = lead,
                              .n = opts->nranks - lead,
                              .rank = opts->rank,
                              .own = hki_block(opts, HK_REGION_IN, opts->rank)};
    const hk_span_t suffix = hki_slots(opts, HK_REGION_ACC, opts->nranks, 1);

    hki_reduce_ranks(builder, suffix, &rest);
    hki_reduce_pair(builder, hki_block(opts, HK_REGION_OUT, 0), sum, hki_own(suffix));
}

hk_status_t hki_reduce_scatter_halving(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const int lead = hki_power_floor(nranks);
    const hki_shape_t shape = {.name = "reduce_scatter_halving",
                               .is_in_split = true,
                               .tmp_slots = (size_t)nranks,
                               .acc_slots = (size_t)nranks + 1};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (nranks == 1) {
        hki_reduce_one(builder, hki_block(opts, HK_REGION_OUT, 0),
                       hki_block(opts, HK_REGION_IN, 0));
    } else if (rank < lead) {
        hk_span_t sum = halve(builder, opts);

        sum.length = opts->count;
        if (rank + lead < nranks) { // the twin's sum lies behind mine
            hk_builder_send(builder, rank + lead,
                            (hk_span_t){HK_REGION_ACC, 0, sum.offset + opts->count, opts->count});
        }
        if (lead < nranks) {
            add_rest(builder, opts, hki_own(sum));
        }
    } else {
        for (int s = 1; s < nranks; s++) {
            const int peer = (rank + s) % nranks;

            hk_builder_send(builder, peer, hki_block(opts, HK_REGION_IN, peer));
        }
        add_rest(builder, opts, hki_from(rank - lead, true));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_reduce_scatter_halving_cost(int nranks, double block_bytes)
{
    const int lead = hki_power_floor(nranks);
    const double others = nranks - 1;

    if (lead == nranks) {
        return (hki_cost_t){hki_rounds(lead), others * block_bytes, others * block_bytes, 0};
    }
    // the ranks from Q on send all their blocks one after the other
    return (hki_cost_t){others + 1, (others + 1) * block_bytes, (others + 1) * block_bytes, 0};
}
