/**
 * @file barrier_direct.c
 * @brief Direct barrier: tell everybody, hear from everybody.
 *
 *   1. for s = 1 .. P-1: send a token to r+s (mod P)
 *   2. for s = 1 .. P-1: take a token from r-s (mod P)
 *
 * For P = 3:
 *
 *        rank 0           rank 1           rank 2
 *   1  to 1, to 2       to 2, to 0       to 0, to 1
 *   2  of 2, of 1       of 0, of 2       of 1, of 0
 *
 * Cost per rank: P-1 messages without data, all at once: one hop. On one host they are one line
 * that all others read. Best for few ranks, and where ranks share cores: each runs only once.
 * Reproducible: nothing is summed.
 * Source: folklore; the "all-to-all" barrier.
 */
#include "algo/build.h"

hk_status_t hki_barrier_direct(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "barrier_direct"};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < opts->nranks; s++) {
        hk_builder_send_token(builder, (opts->rank + s) % opts->nranks);
    }
    for (int s = 1; s < opts->nranks; s++) {
        hk_builder_recv_token(builder, hki_mod(opts->rank - s, opts->nranks));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_barrier_direct_cost(int nranks, double block_bytes)
{
    (void)block_bytes;
    return (hki_cost_t){nranks - 1, 0, 0, 1};
}
