/**
 * @file reduce_scatter_gather.c
 * @brief Reduce as a direct reduce-scatter of chunks, which the root then gathers.
 *
 * Chunk c of P belongs to rank c.
 *
 *   1. for s = 1 .. P-1: send IN[chunk r+s] to r+s (mod P)
 *   2. sum chunk r of all by one fused sum, into OUT on the root, into TMP elsewhere
 *   3. send it to the root; the root receives chunk j from j
 *
 * In place, the root's step 3 overwrites chunks sent in step 1; their owners have read them by
 * then.
 * For P = 3, root 0: as in all_reduce_direct2.c, but step 3 is  1: chunk 1 to 0,  2: chunk 2 to 0.
 *
 * Cost: 2(P-1) messages, 2N(P-1)/P elements received by the root, N(P-1)/P reduced by each rank.
 * Best for large N.
 * Reproducible: the canonical tree.
 * Source: Rabenseifner, ICCS 2004, doi:10.1007/978-3-540-24685-5_1.
 */
#include "algo/build.h"

hk_status_t hki_reduce_scatter_gather(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "reduce_scatter_gather", .tmp_slots = 1};
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const hki_chunk_t chunk = hki_chunk(opts->count, nranks, rank);
    const hki_ranks_t all = {.n = nranks, .rank = rank, .own = hki_part(HK_REGION_IN, 0, chunk)};
    const hk_span_t sum = rank == opts->root ? hki_part(HK_REGION_OUT, 0, chunk)
                                             : hki_slot_part(opts, HK_REGION_TMP, 0, chunk);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < nranks; s++) {
        const int peer = (rank + s) % nranks;

        hk_builder_send(builder, peer,
                        hki_part(HK_REGION_IN, 0, hki_chunk(opts->count, nranks, peer)));
    }
    hki_reduce_ranks(builder, sum, &all);
    if (rank != opts->root) {
        hk_builder_send(builder, opts->root, sum);
        return hk_builder_finish(&builder, schedule_out);
    }
    for (int s = 1; s < nranks; s++) {
        const int peer = hki_mod(rank - s, nranks);

        hk_builder_recv(builder, peer,
                        hki_part(HK_REGION_OUT, 0, hki_chunk(opts->count, nranks, peer)));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_reduce_scatter_gather_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;
    const double chunk_bytes = block_bytes / nranks;

    return (hki_cost_t){2 * others, 2 * others * chunk_bytes, others * chunk_bytes, 0};
}
