/**
 * @file grad_tree.h
 * @brief Sums of unit gradients in the canonical tree of hocket/types.h, one unit at a time.
 *
 * A rank that computes its units one after the other must add them as if each had been a rank of
 * its own: with units per rank a power of two, hk_all_reduce(HK_SUM) over the ranks then continues
 * the same tree, and the bits do not depend on how many ranks share the units.
 *
 * Threads: one at a time per tree. Nothing is allocated after create.
 */
#ifndef HKI_PARALLEL_GRAD_TREE_H
#define HKI_PARALLEL_GRAD_TREE_H

#include <hocket/comm.h>

typedef struct hki_grad_tree hki_grad_tree_t;

/**
 * @param[in]  comm       where the sums go on, borrowed: buffers lie in its shared memory; or NULL
 * @param[in]  count      elements of one gradient
 * @param[in]  units_max  most units of one sum, >= 1
 * @param[out] tree_out   set on success only; end it with hki_grad_tree_destroy()
 * @return HK_OK, HK_ERR_INVALID_ARG, HK_ERR_NO_MEMORY
 */
hk_status_t hki_grad_tree_create(hk_comm_t *comm, size_t count, int units_max,
                                 hki_grad_tree_t **tree_out);
void hki_grad_tree_destroy(hki_grad_tree_t **tree);

/** Where the next unit's gradient (count,) goes, all to be written. Borrowed until the next
 *  push. */
float *hki_grad_tree_leaf(hki_grad_tree_t *tree);

/** The leaf holds the next unit's gradient: add it. At most units_max times between two
 *  finishes. */
void hki_grad_tree_push(hki_grad_tree_t *tree);

/** The tree sum (count,) of all units pushed, at least one; may be written; valid until the next
 *  leaf. The tree is empty again afterwards. */
float *hki_grad_tree_finish(hki_grad_tree_t *tree);

/** The same sum for a few scalars that are all there: tree(values[0..n-1]) in f64; 0 if n is 0. */
double hki_tree_sum(const double *values, int n);

#endif /* HKI_PARALLEL_GRAD_TREE_H */
