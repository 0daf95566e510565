/**
 * @file all_gather_bruck.c
 * @brief Each round doubles the blocks a rank holds, for every P.
 *
 * Slot i of TMP is for block r+i (mod P).
 *
 *   1. copy IN to slot 0
 *   2. for d = 1, 2, 4, .. below P, with m = min(d, P-d): send slots 0 .. m-1 to r-d, receive slots
 *      d .. d+m-1 from r+d, as one message
 *   3. copy the slots to OUT
 *
 * For P = 3, blocks held by rank 0, 1, 2:
 *
 *   1   0 | 1 | 2
 *   d=1 0 1 | 1 2 | 2 0
 *   d=2 0 1 2 | 1 2 0 | 2 0 1
 *
 * Cost per rank: ceil(log2 P) messages, N(P-1) elements sent, NP copied. Best for small N.
 * Reproducible: nothing is summed.
 * Source: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11), 1997, doi:10.1109/71.642949.
 */
#include "algo/build.h"

hk_status_t hki_all_gather_bruck(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const hki_shape_t shape = {
        .name = "all_gather_bruck", .is_out_split = true, .tmp_slots = (size_t)nranks};
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, 0, 1), in);
    for (int d = 1; d < nranks; d *= 2) {
        const int m = d < nranks - d ? d : nranks - d;

        hk_builder_send(builder, hki_mod(rank - d, nranks), hki_slots(opts, HK_REGION_TMP, 0, m));
        hk_builder_recv(builder, (rank + d) % nranks, hki_slots(opts, HK_REGION_TMP, d, m));
    }
    hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, rank), in);
    for (int i = 1; i < nranks; i++) {
        hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, (rank + i) % nranks),
                        hki_slots(opts, HK_REGION_TMP, i, 1));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_gather_bruck_cost(int nranks, double block_bytes)
{
    return (hki_cost_t){hki_rounds(nranks), (nranks - 1) * block_bytes, 0, 0};
}
