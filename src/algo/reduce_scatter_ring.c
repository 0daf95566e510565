/**
 * @file reduce_scatter_ring.c
 * @brief Partial sums travel around a ring of ranks, and end where they belong.
 *
 *   for s = 0 .. P-2: send the sum of block r-1-s to r+1 (s = 0: IN of it); take that of block
 *   r-2-s from r-1 and add IN of it (blocks mod P)
 *
 * Sums alternate between two slots of ACC. The last block is r; its sum goes to OUT. For P = 3:
 *
 *        rank 0             rank 1             rank 2
 *   0  send 2, add 1      send 0, add 2      send 1, add 0
 *   1  send 1, add 0      send 2, add 1      send 0, add 2
 *
 * Cost per rank: P-1 messages of N elements, N(P-1) reduced. Best for large N where neighbours are
 * near.
 * Reproducible: block b is summed in rank order b+1, b+2, .. b: the same bits everywhere, but not
 * the canonical tree.
 * Source: Patarasuk and Yuan, JPDC 69(2), 2009, doi:10.1016/j.jpdc.2008.09.002.
 */
#include "algo/build.h"

hk_status_t hki_reduce_scatter_ring(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "reduce_scatter_ring", .is_in_split = true, .acc_slots = 2};
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const hk_span_t out = hki_block(opts, HK_REGION_OUT, 0);
    hk_span_t sum = hki_block(opts, HK_REGION_IN, hki_mod(rank - 1, nranks));
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (nranks == 1) {
        hki_reduce_one(builder, out, hki_block(opts, HK_REGION_IN, 0));
    }
    for (int s = 0; s < nranks - 1; s++) {
        const int block = hki_mod(rank - 2 - s, 2 * nranks) % nranks;
        const hk_span_t dst = s == nranks - 2 ? out : hki_slots(opts, HK_REGION_ACC, s % 2, 1);

        hk_builder_send(builder, (rank + 1) % nranks, sum);
        hki_reduce_pair(builder, dst, hki_from(hki_mod(rank - 1, nranks), s > 0),
                        hki_own(hki_block(opts, HK_REGION_IN, block)));
        sum = dst;
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_reduce_scatter_ring_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, others * block_bytes, 0};
}
