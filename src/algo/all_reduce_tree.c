/**
 * @file all_reduce_tree.c
 * @brief Sum up a binomial tree to rank 0, then pass the result down the same tree.
 *
 * The tree of algo/build.h, v = r: subtrees are consecutive ranks, so the sum is the canonical
 * tree.
 *
 *   1. for d = 1, 2, 4, ..: ACC = ACC o (what child r+d sends), at first IN o ...; rank 0: OUT
 *   2. r > 0: send ACC (a leaf: IN) to the parent, receive OUT from it
 *   3. send OUT to the children, the largest subtree first
 *
 * For P = 5:
 *
 *   up:    1 to 0, 3 to 2 | 2 to 0 | 4 to 0        ((x0 o x1) o (x2 o x3)) o x4
 *   down:  0 to 4 | 0 to 2 | 0 to 1, 2 to 3
 *
 * Cost: 2(P-1) messages of N elements in all, 2 ceil(log2 P) one after the other; N ceil(log2 P)
 * reduced. Best for small N where ranks share cores, since each rank waits little.
 * Reproducible: the canonical tree.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_all_reduce_tree(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_reduce_tree", .acc_slots = 1};
    const int rank = opts->rank;
    const hk_span_t out = hki_block(opts, HK_REGION_OUT, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    hki_sum_tree(builder, opts, out);
    if (rank != 0) {
        hk_builder_recv(builder, hki_tree_parent(rank), out);
    }
    for (int d = hki_tree_reach(rank, opts->nranks) / 2; d >= 1; d /= 2) {
        if (rank + d < opts->nranks) {
            hk_builder_send(builder, rank + d, out);
        }
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_reduce_tree_cost(int nranks, double block_bytes)
{
    const double rounds = hki_rounds(nranks);

    return (hki_cost_t){2 * rounds, 2 * rounds * block_bytes, rounds * block_bytes, 0};
}
