/**
 * @file broadcast_chain.c
 * @brief Pass the data along a chain of ranks. Many tiles in flight make it a pipeline.
 *
 * Ranks are numbered from the root: v = r - root (mod P).
 *
 *   1. v > 0: receive OUT from v-1; the root copies IN to OUT
 *   2. v < P-1: send to v+1
 *
 * For P = 4, root 0, and tiles a, b, c:
 *
 *   0 to 1: a | b       | c
 *   1 to 2:   | a       | b       | c
 *   2 to 3:   |         | a       | b       | c
 *
 * Cost: P-1 messages of N elements one after the other for one tile; with many tiles each rank
 * sends each byte once. Best for large N.
 * Reproducible: nothing is summed.
 * Source: folklore; "pipelined broadcast".
 */
#include "algo/build.h"

hk_status_t hki_broadcast_chain(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "broadcast_chain"};
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
        hk_builder_recv(builder, hki_mod(opts->rank - 1, nranks), out);
    }
    if (v + 1 < nranks) {
        hk_builder_send(builder, (opts->rank + 1) % nranks, v == 0 ? in : out);
    }
    if (v == 0) {
        hk_builder_copy(builder, out, in);
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_broadcast_chain_cost(int nranks, double block_bytes)
{
    const double hops = nranks - 1;

    return (hki_cost_t){hops, hops * block_bytes, 0, 0};
}
