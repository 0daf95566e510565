/**
 * @file barrier_dissemination.c
 * @brief Dissemination barrier: in round k, tell the rank 2^k further on all one has heard of.
 *
 *   for d = 1, 2, 4, .. below P: send a token to r+d, take one from r-d (mod P)
 *
 * After round k this rank knows that the 2^(k+1) ranks up to itself have come. For P = 3:
 *
 *        rank 0         rank 1         rank 2
 *   1  to 1, of 2     to 2, of 0     to 0, of 1
 *   2  to 2, of 1     to 0, of 2     to 1, of 0
 *
 * Cost per rank: ceil(log2 P) messages without data.
 * Reproducible: nothing is summed.
 * Source: Hensgen, Finkel and Manber, IJPP 17(1), 1988, doi:10.1007/BF01379320.
 */
#include "algo/build.h"

hk_status_t hki_barrier_dissemination(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "barrier_dissemination"};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int d = 1; d < opts->nranks; d *= 2) {
        hk_builder_send_token(builder, (opts->rank + d) % opts->nranks);
        hk_builder_recv_token(builder, hki_mod(opts->rank - d, opts->nranks));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_barrier_dissemination_cost(int nranks, double block_bytes)
{
    (void)block_bytes;
    return (hki_cost_t){hki_rounds(nranks), 0, 0, 0};
}
