/**
 * @file gather_binomial.c
 * @brief Blocks go up a binomial tree, those of a subtree as one message.
 *
 * Ranks are numbered from the root: v = r - root (mod P). The tree of algo/build.h; slot i of TMP
 * is for the block of v+i.
 *
 *   1. copy IN to slot 0 (a leaf: send IN to the parent; that is all)
 *   2. for d = 1, 2, 4, ..: receive the m blocks of child v+d into slots d .. d+m-1
 *   3. v > 0: send all slots to the parent; root: copy the slots to OUT
 *
 * For P = 5, root 0:  1 to 0, 3 to 2 | 2 3 to 0 | 4 to 0.
 *
 * Cost: ceil(log2 P) messages and N(P-1) elements one after the other. Best for small N.
 * Reproducible: nothing is summed.
 * Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13), 2007, doi:10.1002/cpe.1206.
 */
#include "algo/build.h"

hk_status_t hki_gather_binomial(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const int nranks = opts->nranks;
    const int v = hki_mod(opts->rank - opts->root, nranks);
    const int size = hki_tree_size(v, nranks);
    const hki_shape_t shape = {
        .name = "gather_binomial", .is_out_split = true, .tmp_slots = size == 1 ? 0 : (size_t)size};
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (size > 1 && v != 0) {
        hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, 0, 1), in);
    }
    for (int d = 1; d < size; d *= 2) {
        const int child = (opts->rank + d) % nranks;

        hk_builder_recv(builder, child,
                        hki_slots(opts, HK_REGION_TMP, d, hki_tree_size(v + d, nranks)));
    }
    if (v != 0) {
        hk_builder_send(builder, (hki_tree_parent(v) + opts->root) % nranks,
                        size == 1 ? in : hki_slots(opts, HK_REGION_TMP, 0, size));
        return hk_builder_finish(&builder, schedule_out);
    }
    for (int i = 0; i < nranks; i++) {
        hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, (opts->root + i) % nranks),
                        i == 0 ? in : hki_slots(opts, HK_REGION_TMP, i, 1));
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_gather_binomial_cost(int nranks, double block_bytes)
{
    return (hki_cost_t){hki_rounds(nranks), (nranks - 1) * block_bytes, 0, 0};
}
