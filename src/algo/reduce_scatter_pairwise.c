/**
 * @file reduce_scatter_pairwise.c
 * @brief One peer at a time: send it its block, keep what comes, sum at the end.
 *
 *   1. for s = 1 .. P-1: send IN[r+s] to r+s, receive from r-s into TMP slot r-s (mod P)
 *   2. OUT = tree(slots 0 .. P-1), IN[r] in place of slot r, by one fused sum
 *
 * For P = 3:
 *
 *          rank 0                    rank 1                    rank 2
 *   s=1  IN[1] to 1, slot 2 of 2   IN[2] to 2, slot 0 of 0   IN[0] to 0, slot 1 of 1
 *   s=2  IN[2] to 2, slot 1 of 1   IN[0] to 0, slot 2 of 2   IN[1] to 1, slot 0 of 0
 *
 * Cost per rank: P-1 messages of N elements one after the other, N(P-1) reduced. Unlike direct, it
 * never has more than one message on the way to a rank. Best for large N on networks.
 * Reproducible: the canonical tree.
 * Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005; here the sum comes last, to keep
 * order.
 */
#include "algo/build.h"

#include "base/alloc.h"
#include "base/error.h"
#include "sched/schedule.h"

/** Step 2. */
static void sum_slots(hk_builder_t *builder, const hk_schedule_opts_t *opts)
{
    hk_operand_t *operands = hki_calloc((size_t)opts->nranks, sizeof(*operands));

    if (operands == NULL) {
        hki_builder_fail(builder,
                         HKI_FAIL(HK_ERR_NO_MEMORY, "reduce step of %d operands", opts->nranks));
        return;
    }
    for (int i = 0; i < opts->nranks; i++) {
        operands[i] = hki_own(i == opts->rank ? hki_block(opts, HK_REGION_IN, i)
                                              : hki_slots(opts, HK_REGION_TMP, i, 1));
    }
    hk_builder_reduce(builder, hki_block(opts, HK_REGION_OUT, 0), operands, opts->nranks);
    hki_free(operands);
}

hk_status_t hki_reduce_scatter_pairwise(const hk_schedule_opts_t *opts,
                                        hk_schedule_t **schedule_out)
{
    const int rank = opts->rank;
    const int nranks = opts->nranks;
    const hki_shape_t shape = {
        .name = "reduce_scatter_pairwise", .is_in_split = true, .tmp_slots = (size_t)nranks};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int s = 1; s < nranks; s++) {
        const int to = (rank + s) % nranks;
        const int from = hki_mod(rank - s, nranks);

        hk_builder_send(builder, to, hki_block(opts, HK_REGION_IN, to));
        hk_builder_recv(builder, from, hki_slots(opts, HK_REGION_TMP, from, 1));
    }
    sum_slots(builder, opts);
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_reduce_scatter_pairwise_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, others * block_bytes, 0};
}
