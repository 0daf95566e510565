/**
 * @file all_gather_doubling.c
 * @brief Recursive doubling: pairs at distance 1, 2, 4, ... exchange all they hold.
 *
 * Q is the largest power of two up to P; rank j < P-Q also serves rank j+Q. TMP holds a slot a
 * block, in the order 0, Q, 1, Q+1, ... as long as j+Q exists, then one a rank: what ranks g ..
 * g+d-1 serve lies in one piece, from slot pos(g) = g + min(g, P-Q) on.
 *
 *   1. r >= Q: send IN to r-Q, receive all of TMP from it, go to 4
 *   2. r < Q: copy IN to slot pos(r); take the block of r+Q, if it exists, into the next slot
 *   3. for d = 1, 2, .. Q/2: with the groups of d ranks of r and of r^d: send mine, receive its;
 *      send all of TMP to r+Q, if it exists
 *   4. copy TMP to OUT
 *
 * For P = 3, Q = 2, TMP in the order 0 2 1:
 *
 *        rank 0           rank 1          rank 2
 *   2  takes 2                          gives 2
 *   3  0 2 to 1, takes 1  1 to 0, takes 0 2
 *   3  0 2 1 to 2                       takes 0 2 1
 *
 * Cost per rank: log2 P messages, N(P-1) elements sent where P is a power of two; else two messages
 * and NP elements more. Best for small N.
 * Reproducible: nothing is summed.
 * Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521.
 */
#include "algo/build.h"

/** First slot of what rank g < Q serves. */
static int slot_of(int nranks, int g)
{
    const int rest = nranks - hki_power_floor(nranks);

    return g + (g < rest ? g : rest);
}

/** The slots of ranks g .. g+d-1. */
static hk_span_t group_slots(const hk_schedule_opts_t *opts, int g, int d)
{
    const int first = slot_of(opts->nranks, g);

    return hki_slots(opts, HK_REGION_TMP, first, slot_of(opts->nranks, g + d) - first);
}

/** Steps 2 and 3. */
static void exchange(hk_builder_t *builder, const hk_schedule_opts_t *opts)
{
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const int lead = hki_power_floor(nranks);
    const int slot = slot_of(nranks, rank);

    hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, slot, 1),
                    hki_block(opts, HK_REGION_IN, 0));
    if (rank + lead < nranks) {
        hk_builder_recv(builder, rank + lead, hki_slots(opts, HK_REGION_TMP, slot + 1, 1));
    }
    for (int d = 1; d < lead; d *= 2) {
        const int group = rank - rank % d;

        hk_builder_send(builder, rank ^ d, group_slots(opts, group, d));
        hk_builder_recv(builder, rank ^ d, group_slots(opts, group ^ d, d));
    }
    if (rank + lead < nranks) {
        hk_builder_send(builder, rank + lead, hki_slots(opts, HK_REGION_TMP, 0, nranks));
    }
}

hk_status_t hki_all_gather_doubling(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const int nranks = opts->nranks;
    const int lead = hki_power_floor(nranks);
    const hki_shape_t shape = {
        .name = "all_gather_doubling", .is_out_split = true, .tmp_slots = (size_t)nranks};
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (opts->rank >= lead) {
        hk_builder_send(builder, opts->rank - lead, in);
        hk_builder_recv(builder, opts->rank - lead, hki_slots(opts, HK_REGION_TMP, 0, nranks));
    } else {
        exchange(builder, opts);
    }
    for (int block = 0; block < nranks; block++) {
        const int slot = slot_of(nranks, block % lead) + block / lead;

        hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, block),
                        block == opts->rank ? in : hki_slots(opts, HK_REGION_TMP, slot, 1));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_gather_doubling_cost(int nranks, double block_bytes)
{
    const int lead = hki_power_floor(nranks);
    const int extra = nranks == lead ? 0 : nranks; // all of TMP once more
    const int first = nranks == lead ? 0 : 1;      // the block of r+Q
    const double messages = hki_rounds(lead) + (nranks == lead ? 0 : 2);
    double blocks = first + extra;

    for (int d = 1; d < lead; d *= 2) { // the fullest group of each round
        blocks += slot_of(nranks, d);
    }
    return (hki_cost_t){messages, blocks * block_bytes, 0, 0};
}
