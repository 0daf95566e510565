/**
 * @file barrier_tree.c
 * @brief Tokens go up a binomial tree to rank 0, and down again.
 *
 * The tree of algo/build.h, v = r.
 *
 *   1. take a token from each child r+d, d = 1, 2, 4, ..; r > 0: send one to the parent, take one
 *   2. send one to each child, the largest subtree first
 *
 * For P = 5:  1 to 0, 3 to 2 | 2 to 0 | 4 to 0 | 0 to 4 | 0 to 2 | 0 to 1, 2 to 3.
 *
 * Cost: 2(P-1) messages without data in all, 2 ceil(log2 P) one after the other. Best where ranks
 * share cores.
 * Reproducible: nothing is summed.
 * Source: folklore.
 */
#include "algo/build.h"

hk_status_t hki_barrier_tree(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "barrier_tree"};
    const int rank = opts->rank;
    const int size = hki_tree_size(rank, opts->nranks);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int d = 1; d < size; d *= 2) {
        hk_builder_recv_token(builder, rank + d);
    }
    if (rank != 0) {
        hk_builder_send_token(builder, hki_tree_parent(rank));
        hk_builder_recv_token(builder, hki_tree_parent(rank));
    }
    for (int d = hki_power_floor(size); d >= 1; d /= 2) {
        if (d < size) {
            hk_builder_send_token(builder, rank + d);
        }
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_barrier_tree_cost(int nranks, double block_bytes)
{
    (void)block_bytes;
    return (hki_cost_t){2.0 * hki_rounds(nranks), 0, 0, 0};
}
