/**
 * @file scatter_direct.c
 * @brief The root sends each rank its block.
 *
 *   1. root: for s = 1 .. P-1: send IN[root+s] to root+s (mod P); copy IN[root] to OUT
 *   2. others: receive OUT from the root
 *
 * For P = 3, root 1:  IN[2] to 2,  IN[0] to 0.
 *
 * Cost: P-1 messages of N elements from the root, one hop: the lower bound of bytes.
 * Reproducible: nothing is summed.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_scatter_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "scatter_direct", .is_in_split = true};
    const hk_span_t out = hki_block(opts, HK_REGION_OUT, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (opts->rank != opts->root) {
        hk_builder_recv(builder, opts->root, out);
        return hk_builder_finish(&builder, schedule_out);
    }
    for (int s = 1; s < opts->nranks; s++) {
        const int peer = (opts->root + s) % opts->nranks;

        hk_builder_send(builder, peer, hki_block(opts, HK_REGION_IN, peer));
    }
    hk_builder_copy(builder, out, hki_block(opts, HK_REGION_IN, opts->root));
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_scatter_direct_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, 0, 1};
}
