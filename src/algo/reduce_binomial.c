/**
 * @file reduce_binomial.c
 * @brief Sum up a binomial tree to rank 0, which gives the result to the root.
 *
 * The tree of algo/build.h, v = r, whatever the root: subtrees are consecutive ranks, so the sum is
 * the canonical tree; numbering from the root would turn it.
 *
 *   1. for d = 1, 2, 4, ..: ACC = ACC o (what child r+d sends), at first IN o ...;
 *      rank 0 ends with the result, in OUT if it is the root, else in TMP
 *   2. r > 0: send ACC (a leaf: IN) to the parent
 *   3. rank 0 sends TMP to the root, if that is another rank
 *
 * For P = 5, root 3:  1 to 0, 3 to 2 | 2 to 0 | 4 to 0 | 0 to 3.
 *
 * Cost: ceil(log2 P) messages of N elements one after the other, one more if rank 0 is not the
 * root; N ceil(log2 P) reduced. Best for small N.
 * Reproducible: the canonical tree.
 * Source: folklore; the detour over rank 0 is ours.
 */
#include "algo/build.h"

hk_status_t hki_reduce_binomial(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "reduce_binomial", .tmp_slots = 1, .acc_slots = 1};
    const hk_span_t out = hki_block(opts, HK_REGION_OUT, 0);
    const hk_span_t tmp = hki_slots(opts, HK_REGION_TMP, 0, 1);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    hki_sum_tree(builder, opts, opts->root == 0 ? out : tmp);
    if (opts->root != 0 && opts->rank == 0) {
        hk_builder_send(builder, opts->root, tmp);
    } else if (opts->root != 0 && opts->rank == opts->root) {
        hk_builder_recv(builder, 0, out);
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_reduce_binomial_cost(int nranks, double block_bytes)
{
    const double rounds = hki_rounds(nranks);
    const double messages = nranks == 1 ? 0 : rounds + 1; // the usual case: a root that is not 0

    return (hki_cost_t){messages, messages * block_bytes, rounds * block_bytes, 0};
}
