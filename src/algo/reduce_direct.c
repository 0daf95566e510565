/**
 * @file reduce_direct.c
 * @brief Everybody sends to the root, which sums it all at once.
 *
 *   1. others: send IN to the root
 *   2. root: OUT = tree(x_0 .. x_P-1), by one fused sum
 *
 * For P = 3, root 1:  0 to 1,  2 to 1;  rank 1: (x0 o IN) o x2.
 *
 * Cost: one message of N elements a rank, P-1 received by the root; N(P-1) reduced there. Where all
 * ranks see each other's memory the root reads their buffers as it sums. Best for few ranks.
 * Reproducible: the canonical tree.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_reduce_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "reduce_direct"};
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    const hki_ranks_t all = {.n = opts->nranks, .rank = opts->rank, .own = in};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (opts->rank == opts->root) {
        hki_reduce_ranks(builder, hki_block(opts, HK_REGION_OUT, 0), &all);
    } else {
        hk_builder_send(builder, opts->root, in);
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_reduce_direct_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, others * block_bytes, 1};
}
