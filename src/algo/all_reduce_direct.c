/**
 * @file all_reduce_direct.c
 * @brief One-shot all-reduce: everybody sends everything to everybody, and sums it all at once.
 *
 *   1. for s = 1 .. P-1: send IN to r+s (mod P)
 *   2. OUT = tree(x_0 .. x_P-1), x_r = IN, the others as they arrive, by one fused sum
 *
 * In place the sum overwrites IN, while others wait for theirs: IN is sent copied. For P = 3:
 *
 *        rank 0                rank 1                rank 2
 *   1  IN to 1, to 2         IN to 2, to 0         IN to 0, to 1
 *   2  (IN o x1) o x2        (x0 o IN) o x2        (x0 o x1) o IN
 *
 * Cost per rank: P-1 messages, all at once; N(P-1) elements sent, N(P-1) reduced. Best for small N.
 * Reproducible: the canonical tree.
 * Source: folklore; "one-shot" in NCCL and vLLM's custom all-reduce.
 */
#include "algo/build.h"

hk_status_t hki_all_reduce_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_reduce_direct"};
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    const hk_span_t out = hki_block(opts, HK_REGION_OUT, 0);
    const hki_ranks_t all = {.n = opts->nranks, .rank = opts->rank, .own = in};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < opts->nranks; s++) {
        const int peer = (opts->rank + s) % opts->nranks;

        hki_send(builder, peer, in, opts->alias != HK_ALIAS_NONE);
    }
    hki_reduce_ranks(builder, out, &all);
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_reduce_direct_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, others * block_bytes, 1};
}
