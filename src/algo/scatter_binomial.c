/**
 * @file scatter_binomial.c
 * @brief Blocks go down a binomial tree, those of a subtree as one message.
 *
 * Ranks are numbered from the root: v = r - root (mod P). The tree of algo/build.h; slot i of TMP
 * is for the block of v+i.
 *
 *   1. root: copy IN to the slots; others: receive all slots from the parent
 *   2. send its m blocks, slots d .. d+m-1, to child v+d, the largest subtree first
 *   3. copy slot 0 to OUT
 *
 * For P = 5, root 0:  4 to 4 | 2 3 to 2 | 1 to 1, 3 to 3.
 *
 * Cost: ceil(log2 P) messages and N(P-1) elements one after the other. Best for small N.
 * Reproducible: nothing is summed.
 * Source: Chan, Heimlich, Purkayastha and van de Geijn, CCPE 19(13), 2007, doi:10.1002/cpe.1206.
 */
#include "algo/build.h"

/** Step 1. */
static void fill_slots(hk_builder_t *builder, const hk_schedule_opts_t *opts, int v, int size)
{
    const int parent = (hki_tree_parent(v) + opts->root) % opts->nranks;

    if (v != 0) {
        hk_builder_recv(builder, parent, hki_slots(opts, HK_REGION_TMP, 0, size));
        return;
    }
    for (int i = 0; i < opts->nranks; i++) {
        const int block = (opts->root + i) % opts->nranks;

        hk_builder_copy(builder, hki_slots(opts, HK_REGION_TMP, i, 1),
                        hki_block(opts, HK_REGION_IN, block));
    }
}

hk_status_t hki_scatter_binomial(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const int nranks = opts->nranks;
    const int v = hki_mod(opts->rank - opts->root, nranks);
    const int size = hki_tree_size(v, nranks);
    const hki_shape_t shape = {
        .name = "scatter_binomial", .is_in_split = true, .tmp_slots = (size_t)size};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    fill_slots(builder, opts, v, size);
    for (int d = hki_tree_reach(v, nranks) / 2; d >= 1; d /= 2) {
        if (v + d < nranks) {
            hk_builder_send(builder, (opts->rank + d) % nranks,
                            hki_slots(opts, HK_REGION_TMP, d, hki_tree_size(v + d, nranks)));
        }
    }
    hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, 0),
                    hki_slots(opts, HK_REGION_TMP, 0, 1));
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_scatter_binomial_cost(int nranks, double block_bytes)
{
    return (hki_cost_t){hki_rounds(nranks), (nranks - 1) * block_bytes, 0, 0};
}
