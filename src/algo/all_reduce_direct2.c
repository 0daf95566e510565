/**
 * @file all_reduce_direct2.c
 * @brief Two-shot all-reduce: each rank sums one chunk of all, then gives it to all.
 *
 * Chunk c of P belongs to rank c.
 *
 *   1. for s = 1 .. P-1: send IN[chunk r+s] to r+s
 *   2. OUT[chunk r] = tree(x_0 .. x_P-1) of that chunk, by one fused sum
 *   3. for s = 1 .. P-1: send OUT[chunk r] to r+s
 *   4. for s = 1 .. P-1: receive OUT[chunk r-s] from r-s
 *
 * In place, step 4 overwrites chunks sent in step 1. Their owners have read them: they did before
 * they sent what step 4 receives. So nothing need be copied. For P = 3:
 *
 *        rank 0                   rank 1                   rank 2
 *   1  chunk 1 to 1, 2 to 2     chunk 2 to 2, 0 to 0     chunk 0 to 0, 1 to 1
 *   2  sums chunk 0             sums chunk 1             sums chunk 2
 *   3  chunk 0 to 1, to 2       chunk 1 to 2, to 0       chunk 2 to 0, to 1
 *   4  chunk 2, 1               chunk 0, 2               chunk 1, 0
 *
 * Cost per rank: 2(P-1) messages in two hops; 2N(P-1)/P elements sent, which is the lower bound;
 * N(P-1)/P reduced. Best for large N where all ranks see each other's memory.
 * Reproducible: the canonical tree.
 * Source: folklore; "two-shot" in NCCL and vLLM's custom all-reduce.
 */
#include "algo/build.h"

/** What rank `owner` owns of a buffer. */
static hk_span_t owned(const hk_schedule_opts_t *opts, hk_region_t region, int owner)
{
    return hki_part(region, 0, hki_chunk(opts->count, opts->nranks, owner));
}

hk_status_t hki_all_reduce_direct2(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_reduce_direct2"};
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const hki_ranks_t all = {.n = nranks, .rank = rank, .own = owned(opts, HK_REGION_IN, rank)};
    const hk_span_t sum = owned(opts, HK_REGION_OUT, rank);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < nranks; s++) {
        const int peer = (rank + s) % nranks;

        hk_builder_send(builder, peer, owned(opts, HK_REGION_IN, peer));
    }
    hki_reduce_ranks(builder, sum, &all);
    for (int s = 1; s < nranks; s++) {
        hk_builder_send(builder, (rank + s) % nranks, sum);
    }
    for (int s = 1; s < nranks; s++) {
        const int peer = hki_mod(rank - s, nranks);

        hk_builder_recv(builder, peer, owned(opts, HK_REGION_OUT, peer));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_reduce_direct2_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;
    const double chunk_bytes = block_bytes / nranks;

    return (hki_cost_t){2 * others, 2 * others * chunk_bytes, others * chunk_bytes, 2};
}
