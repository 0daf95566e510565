/**
 * @file all_gather_direct.c
 * @brief Everybody sends its block to everybody.
 *
 *   1. for s = 1 .. P-1: send IN to r+s (mod P)
 *   2. copy IN to OUT[r]; for s = 1 .. P-1: receive OUT[r-s] from r-s
 *
 * For P = 3:
 *
 *        rank 0            rank 1            rank 2
 *   1  IN to 1, to 2     IN to 2, to 0     IN to 0, to 1
 *   2  OUT[2], OUT[1]    OUT[0], OUT[2]    OUT[1], OUT[0]
 *
 * Cost per rank: P-1 messages of N elements in one hop: the lower bound of bytes. Best where all
 * ranks see each other's memory.
 * Reproducible: nothing is summed.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_all_gather_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_gather_direct", .is_out_split = true};
    const int nranks = opts->nranks;
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < nranks; s++) {
        hk_builder_send(builder, (opts->rank + s) % nranks, in);
    }
    hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, opts->rank), in);
    for (int s = 1; s < nranks; s++) {
        const int peer = hki_mod(opts->rank - s, nranks);

        hk_builder_recv(builder, peer, hki_block(opts, HK_REGION_OUT, peer));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_gather_direct_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, 0, 1};
}
