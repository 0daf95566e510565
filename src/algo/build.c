/**
 * @file build.c
 * @brief Words that all algorithms share.
 */
#include "algo/build.h"

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "sched/schedule.h"

hk_status_t hki_algo_open(const hk_schedule_opts_t *opts, const hki_shape_t *shape,
                          hk_builder_t **builder_out)
{
    const size_t slots = shape->tmp_slots > shape->acc_slots ? shape->tmp_slots : shape->acc_slots;
    hk_schedule_opts_t full = *opts;

    if (slots != 0 && opts->count > SIZE_MAX / slots) {
        return HKI_FAIL(HK_ERR_LIMIT,
                        "%s: scratch of %zu times %zu elements is too much; run it "
                        "in tiles",
                        shape->name, slots, opts->count);
    }
    full.name = shape->name;
    full.in_blocks = shape->is_in_split ? opts->nranks : 1;
    full.out_blocks = shape->is_out_split ? opts->nranks : 1;
    full.tmp_count = shape->tmp_slots * opts->count;
    full.acc_count = shape->acc_slots * opts->count;
    return hk_builder_open(&full, builder_out);
}

void hki_reduce_pair(hk_builder_t *builder, hk_span_t dst, hk_operand_t left, hk_operand_t right)
{
    const hk_operand_t operands[] = {left, right};

    hk_builder_reduce(builder, dst, operands, 2);
}

void hki_reduce_one(hk_builder_t *builder, hk_span_t dst, hk_span_t own)
{
    const hk_operand_t operand = hki_own(own);

    hk_builder_reduce(builder, dst, &operand, 1);
}

void hki_reduce_ranks(hk_builder_t *builder, hk_span_t dst, const hki_ranks_t *ranks)
{
    hk_operand_t *operands = hki_calloc((size_t)ranks->n, sizeof(*operands));

    if (operands == NULL) {
        hki_builder_fail(builder,
                         HKI_FAIL(HK_ERR_NO_MEMORY, "reduce step of %d operands", ranks->n));
        return;
    }
    for (int i = 0; i < ranks->n; i++) {
        const int peer = ranks->first + i;

        operands[i] = peer == ranks->rank ? hki_own(ranks->own) : hki_from(peer, false);
    }
    hk_builder_reduce(builder, dst, operands, ranks->n);
    hki_free(operands);
}

void hki_sum_tree(hk_builder_t *builder, const hk_schedule_opts_t *opts, hk_span_t result)
{
    const int rank = opts->rank;
    const int reach = hki_tree_reach(rank, opts->nranks);
    hk_span_t sum = hki_block(opts, HK_REGION_IN, 0);

    if (opts->nranks == 1) {
        hki_reduce_one(builder, result, sum);
        return;
    }
    for (int d = 1; d < reach && rank + d < opts->nranks; d *= 2) {
        const bool is_result = rank == 0 && 2 * d >= opts->nranks;
        const bool is_partial = hki_tree_size(rank + d, opts->nranks) > 1;
        const hk_span_t dst = is_result ? result : hki_slots(opts, HK_REGION_ACC, 0, 1);

        hki_reduce_pair(builder, dst, hki_own(sum), hki_from(rank + d, is_partial));
        sum = dst;
    }
    if (rank != 0) {
        hk_builder_send(builder, hki_tree_parent(rank), sum);
    }
}
