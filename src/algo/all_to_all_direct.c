/**
 * @file all_to_all_direct.c
 * @brief Everybody sends each rank its block, all at once.
 *
 *   1. for s = 1 .. P-1: send IN[r+s] to r+s (mod P)
 *   2. copy IN[r] to OUT[r]; for s = 1 .. P-1: receive OUT[r-s] from r-s
 *
 * In place, two ranks would each wait for the other to read before it writes: IN is sent copied.
 * For P = 3:
 *
 *        rank 0                   rank 1                   rank 2
 *   1  IN[1] to 1, IN[2] to 2   IN[2] to 2, IN[0] to 0   IN[0] to 0, IN[1] to 1
 *   2  OUT[2], OUT[1]           OUT[0], OUT[2]           OUT[1], OUT[0]
 *
 * Cost per rank: P-1 messages of N elements in one hop: the lower bound of bytes.
 * Reproducible: nothing is summed.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_all_to_all_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {
        .name = "all_to_all_direct", .is_in_split = true, .is_out_split = true};
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < nranks; s++) {
        const int peer = (rank + s) % nranks;

        hki_send(builder, peer, hki_block(opts, HK_REGION_IN, peer), opts->alias != HK_ALIAS_NONE);
    }
    hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, rank),
                    hki_block(opts, HK_REGION_IN, rank));
    for (int s = 1; s < nranks; s++) {
        const int peer = hki_mod(rank - s, nranks);

        hk_builder_recv(builder, peer, hki_block(opts, HK_REGION_OUT, peer));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_to_all_direct_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, 0, 1};
}
