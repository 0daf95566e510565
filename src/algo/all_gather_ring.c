/**
 * @file all_gather_ring.c
 * @brief Blocks travel around a ring of ranks until all have been everywhere.
 *
 *   1. copy IN to OUT[r]
 *   2. for s = 0 .. P-2: send OUT[r-s] to r+1, receive OUT[r-s-1] from r-1 (all mod P)
 *
 * For P = 3:
 *
 *          rank 0             rank 1             rank 2
 *   2.0  send 0, take 2     send 1, take 0     send 2, take 1
 *   2.1  send 2, take 1     send 0, take 2     send 1, take 0
 *
 * Cost per rank: P-1 messages of N elements: the lower bound of bytes. Best for large N where
 * neighbours are near.
 * Reproducible: nothing is summed.
 * Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13), 2007, doi:10.1002/cpe.1206.
 */
#include "algo/build.h"

hk_status_t hki_all_gather_ring(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_gather_ring", .is_out_split = true};
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, rank),
                    hki_block(opts, HK_REGION_IN, 0));
    for (int s = 0; s < nranks - 1; s++) {
        hk_builder_send(builder, (rank + 1) % nranks,
                        hki_block(opts, HK_REGION_OUT, hki_mod(rank - s, nranks)));
        hk_builder_recv(builder, hki_mod(rank - 1, nranks),
                        hki_block(opts, HK_REGION_OUT, hki_mod(rank - s - 1, nranks)));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_gather_ring_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, 0, 0};
}
