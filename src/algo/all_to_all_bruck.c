/**
 * @file all_to_all_bruck.c
 * @brief Blocks travel by powers of two, many in one message.
 *
 * Slot i of TMP holds a block that still has to travel i ranks forward, as far as bits of i are
 * left.
 *
 *   1. copy IN[r+i] to slot i (mod P)
 *   2. for d = 1, 2, 4, .. below P: pack the slots whose number has bit d, send them to r+d as one
 *      message, receive as many from r-d, put them in the same slots
 *   3. copy slot i to OUT[r-i]
 *
 * What is packed alternates between two areas, so that a round overwrites what its last but one
 * round sent. For P = 4, slots sent to r+1: 1, 3; then to r+2: 2, 3.
 *
 * Cost per rank: ceil(log2 P) messages, N(P/2) ceil(log2 P) elements sent where P is a power of
 * two. Best for small N.
 * Reproducible: nothing is summed.
 * Source: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11), 1997, doi:10.1109/71.642949.
 */
#include "algo/build.h"

/** Slots of P whose number has bit d. */
static int packed_slots(int nranks, int d)
{
    int n = 0;

    for (int i = 0; i < nranks; i++) {
        n += (i & d) != 0;
    }
    return n;
}

/** Areas of TMP behind the P slots: two to send from, one to receive in. */
static int area_slot(int nranks, int area)
{
    return nranks + area * ((nranks + 1) / 2);
}

/** One round of step 2. @param area  0 or 1: to pack in */
static void pass_on(hk_builder_t *builder, const hk_schedule_opts_t *opts, int d, int area)
{
    const int nranks = opts->nranks;
    const int n = packed_slots(nranks, d);
    const int pack = area_slot(nranks, area);
    const int unpack = area_slot(nranks, 2);

    for (int i = 0, at = pack; i < nranks; i++) {
        if ((i & d) != 0) {
            hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, at++, 1),
                            hki_slots(opts, HK_REGION_TMP, i, 1));
        }
    }
    hk_builder_send(builder, (opts->rank + d) % nranks, hki_slots(opts, HK_REGION_TMP, pack, n));
    hk_builder_recv(builder, hki_mod(opts->rank - d, nranks),
                    hki_slots(opts, HK_REGION_TMP, unpack, n));
    for (int i = 0, at = unpack; i < nranks; i++) {
        if ((i & d) != 0) {
            hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, i, 1),
                            hki_slots(opts, HK_REGION_TMP, at++, 1));
        }
    }
}

hk_status_t hki_all_to_all_bruck(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const hki_shape_t shape = {.name = "all_to_all_bruck",
                               .is_in_split = true,
                               .is_out_split = true,
                               .tmp_slots = (size_t)area_slot(nranks, 3)};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);
    int area = 0;

    if (status != HK_OK) {
        return status;
    }
    for (int i = 0; i < nranks; i++) {
        hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, i, 1),
                        hki_block(opts, HK_REGION_IN, (rank + i) % nranks));
    }
    for (int d = 1; d < nranks; d *= 2) {
        pass_on(builder, opts, d, area);
        area = 1 - area;
    }
    for (int i = 0; i < nranks; i++) {
        hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, hki_mod(rank - i, nranks)),
                        hki_slots(opts, HK_REGION_TMP, i, 1));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_to_all_bruck_cost(int nranks, double block_bytes)
{
    double blocks = 0;

    for (int d = 1; d < nranks; d *= 2) {
        blocks += packed_slots(nranks, d);
    }
    return (hki_cost_t){hki_rounds(nranks), blocks * block_bytes, 0, 0};
}
