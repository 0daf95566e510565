/**
 * @file broadcast_binomial.c
 * @brief Binomial tree broadcast: in each round, everybody who has the data gives it to one more.
 *
 * Ranks are numbered from the root: v = r - root (mod P). The tree of algo/build.h.
 *
 *   1. v > 0: receive OUT from the parent of v; the root copies IN to OUT
 *   2. send to the children v+d of v, the largest d (and subtree) first
 *
 * For P = 5, root 0:
 *
 *   round 1:  0 to 4
 *   round 2:  0 to 2
 *   round 3:  0 to 1,  2 to 3
 *
 * Cost per rank: at most ceil(log2 P) messages of N elements. Best for small N.
 * Reproducible: nothing is summed.
 * Source: Johnsson and Ho, IEEE ToC 38(9), 1989, doi:10.1109/12.29465.
 */
#include "algo/build.h"

hk_status_t hki_broadcast_binomial(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "broadcast_binomial"};
    const int nranks = opts->nranks;
    const int v = hki_mod(opts->rank - opts->root, nranks);
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    const hk_span_t out = hki_block(opts, HK_REGION_OUT, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (v != 0) {
        hk_builder_recv(builder, (hki_tree_parent(v) + opts->root) % nranks, out);
    }
    for (int d = hki_tree_reach(v, nranks) / 2; d >= 1; d /= 2) {
        if (v + d < nranks) {
            hk_builder_send(builder, (opts->rank + d) % nranks, v == 0 ? in : out);
        }
    }
    if (v == 0) {
        hk_builder_copy(builder, out, in);
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_broadcast_binomial_cost(int nranks, double block_bytes)
{
    const double rounds = hki_rounds(nranks);

    return (hki_cost_t){rounds, rounds * block_bytes, 0, 0};
}
