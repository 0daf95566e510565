/**
 * @file all_to_all_pairwise.c
 * @brief One peer at a time: exchange blocks with it.
 *
 *   for s = 0 .. P-1: peer p = s-r (mod P), whose peer is r; send IN[p] to p, receive OUT[p] from
 *   p; p = r: copy IN[r] to OUT[r]
 *
 * A round reads and writes the same block number, so it works in place; there two ranks would each
 * wait for the other to read before it writes, so IN is sent copied. For P = 3:
 *
 *        rank 0     rank 1     rank 2
 *   s=0  copy       with 2     with 1
 *   s=1  with 1     with 0     copy
 *   s=2  with 2     copy       with 0
 *
 * Cost per rank: P-1 messages of N elements one after the other, in P rounds. Best for large N on
 * networks.
 * Reproducible: nothing is summed.
 * Source: folklore; the pairing is that of round-robin tournaments.
 */
#include "algo/build.h"

hk_status_t hki_all_to_all_pairwise(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {
        .name = "all_to_all_pairwise", .is_in_split = true, .is_out_split = true};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 0; s < opts->nranks; s++) {
        const int peer = hki_mod(s - opts->rank, opts->nranks);
        const hk_span_t in = hki_block(opts, HK_REGION_IN, peer);
        const hk_span_t out = hki_block(opts, HK_REGION_OUT, peer);

        if (peer == opts->rank) {
            hk_builder_copy(builder, out, in);
            continue;
        }
        hki_send(builder, peer, in, opts->alias != HK_ALIAS_NONE);
        hk_builder_recv(builder, peer, out);
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_to_all_pairwise_cost(int nranks, double block_bytes)
{
    const double rounds = nranks < 3 ? nranks - 1 : nranks; // one of them is each rank's own

    return (hki_cost_t){rounds, rounds * block_bytes, 0, 0};
}
