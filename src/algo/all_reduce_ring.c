/**
 * @file all_reduce_ring.c
 * @brief Ring all-reduce: a reduce-scatter around the ring, then an all-gather around the ring.
 *
 * Chunk c of P; all indices modulo P. Partial sums are in ACC, results in OUT.
 *
 *   1. for s = 0 .. P-2: send the sum of chunk r-s to r+1 (s = 0: IN of it); take that of chunk
 *      r-s-1 from r-1 and add IN of it; the last, chunk r+1, is complete and goes to OUT
 *   2. for s = 0 .. P-2: send OUT[chunk r-s+1] to r+1, receive OUT[chunk r-s] from r-1
 *
 * For P = 3:
 *
 *            rank 0              rank 1              rank 2
 *   1.0   send 0, add 2       send 1, add 0       send 2, add 1
 *   1.1   send 2, add 1       send 0, add 2       send 1, add 0     complete: 1, 2, 0
 *   2.0   send 1, take 0      send 2, take 1      send 0, take 2
 *   2.1   send 0, take 2      send 1, take 0      send 2, take 1
 *
 * Cost per rank: 2(P-1) messages; 2N(P-1)/P elements sent, which is the lower bound; N(P-1)/P
 * reduced. Best for large N where neighbours are near.
 * Reproducible: chunk c is summed in rank order c, c+1, .. c-1: the same bits on all ranks, but not
 * the canonical tree.
 * Source: Patarasuk and Yuan, JPDC 69(2), 2009, doi:10.1016/j.jpdc.2008.09.002.
 */
#include "algo/build.h"

/** Chunk c modulo P, for c >= -2P. */
static hk_span_t chunk_of(const hk_schedule_opts_t *opts, hk_region_t region, int c)
{
    const int index = (c + 2 * opts->nranks) % opts->nranks;

    return hki_part(region, 0, hki_chunk(opts->count, opts->nranks, index));
}

hk_status_t hki_all_reduce_ring(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_reduce_ring", .acc_slots = 1};
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const int next = (rank + 1) % nranks;
    const int prev = hki_mod(rank - 1, nranks);
    const int nsteps = nranks - 1; // of each phase
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (nranks == 1) {
        hki_reduce_one(builder, hki_block(opts, HK_REGION_OUT, 0),
                       hki_block(opts, HK_REGION_IN, 0));
    }
    for (int s = 0; s < nsteps; s++) { // phase 1: reduce-scatter
        const hk_region_t sums = s == 0 ? HK_REGION_IN : HK_REGION_ACC;
        const hk_region_t results = s == nsteps - 1 ? HK_REGION_OUT : HK_REGION_ACC;

        hk_builder_send(builder, next, chunk_of(opts, sums, rank - s));
        hki_reduce_pair(builder, chunk_of(opts, results, rank - s - 1), hki_from(prev, s > 0),
                        hki_own(chunk_of(opts, HK_REGION_IN, rank - s - 1)));
    }
    for (int s = 0; s < nsteps; s++) { // phase 2: all-gather
        hk_builder_send(builder, next, chunk_of(opts, HK_REGION_OUT, rank - s + 1));
        hk_builder_recv(builder, prev, chunk_of(opts, HK_REGION_OUT, rank - s));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_reduce_ring_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;
    const double chunk_bytes = block_bytes / nranks;

    return (hki_cost_t){2 * others, 2 * others * chunk_bytes, others * chunk_bytes, 0};
}
