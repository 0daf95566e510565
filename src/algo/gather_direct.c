/**
 * @file gather_direct.c
 * @brief Everybody sends its block to the root.
 *
 *   1. others: send IN to the root
 *   2. root: copy IN to OUT[root]; for s = 1 .. P-1: receive OUT[root+s] from root+s (mod P)
 *
 * For P = 3, root 1:  2 to OUT[2],  0 to OUT[0].
 *
 * Cost: one message of N elements a rank, P-1 received by the root: the lower bound of bytes.
 * Reproducible: nothing is summed.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_gather_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "gather_direct", .is_out_split = true};
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (opts->rank != opts->root) {
        hk_builder_send(builder, opts->root, in);
        return hk_builder_finish(&builder, schedule_out);
    }
    hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, opts->root), in);
    for (int s = 1; s < opts->nranks; s++) {
        const int peer = (opts->root + s) % opts->nranks;

        hk_builder_recv(builder, peer, hki_block(opts, HK_REGION_OUT, peer));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_gather_direct_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, 0, 1};
}
