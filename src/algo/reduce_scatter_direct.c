/**
 * @file reduce_scatter_direct.c
 * @brief Everybody sends each rank its block, and sums its own at once.
 *
 *   1. for s = 1 .. P-1: send IN[r+s] to r+s (mod P)
 *   2. OUT = tree(x_0 .. x_P-1) of block r, x_r = IN[r], by one fused sum
 *
 * For P = 3:
 *
 *        rank 0                   rank 1                   rank 2
 *   1  IN[1] to 1, IN[2] to 2   IN[2] to 2, IN[0] to 0   IN[0] to 0, IN[1] to 1
 *   2  sums block 0             sums block 1             sums block 2
 *
 * Cost per rank: P-1 messages of N elements in one hop, N(P-1) reduced: the lower bound of both.
 * Best where all ranks see each other's memory.
 * Reproducible: the canonical tree.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_reduce_scatter_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "reduce_scatter_direct", .is_in_split = true};
    const hki_ranks_t all = {
        .n = opts->nranks, .rank = opts->rank, .own = hki_block(opts, HK_REGION_IN, opts->rank)};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < opts->nranks; s++) {
        const int peer = (opts->rank + s) % opts->nranks;

        hk_builder_send(builder, peer, hki_block(opts, HK_REGION_IN, peer));
    }
    hki_reduce_ranks(builder, hki_block(opts, HK_REGION_OUT, 0), &all);
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_reduce_scatter_direct_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, others * block_bytes, 1};
}
