/**
 * @file grad_tree.c
 * @brief Canonical tree sums by a binary counter.
 *
 * Level l holds the sum of a complete subtree of 2^l units, or nothing. A new unit is carried up
 * like a 1 added to a binary number:
 *
 *     unit      0     1      2       3          4
 *     level 0   0     -      2       -          4
 *     level 1   -     01     01      -          -
 *     level 2   -     -      -       (01)(23)   (01)(23)
 *
 * At the end the levels are joined from the lowest up, left operand the higher level, which is
 * tree(first k) + tree(rest) with k the largest power of two below n.
 *
 * Cost: n - 1 additions of `count` elements for n units; log2(n) + 2 buffers.
 */
#include "parallel/grad_tree.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/error.h"
#include "parallel/buffer.h"

enum { LEVELS_MAX = 32 };

struct hki_grad_tree {
    hk_comm_t *comm; // borrowed, or NULL
    size_t count;
    int nlevels;
    int units_max;
    int units;                 // pushed since the last finish
    float *levels[LEVELS_MAX]; // level l is in use if bit l of `units` is set
    float *leaf;
};

/** left[i] = left[i] + right[i]; the lower units are always the left operand. */
static void add(float *restrict left, const float *restrict right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        left[i] = left[i] + right[i];
    }
}

hk_status_t hki_grad_tree_create(hk_comm_t *comm, size_t count, int units_max,
                                 hki_grad_tree_t **tree_out)
{
    hki_grad_tree_t *tree = NULL;

    if (units_max < 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "a gradient of %d units; at least 1 is needed",
                        units_max);
    }
    tree = hki_calloc(1, sizeof(*tree));
    if (tree == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "gradient tree, %zu bytes", sizeof(*tree));
    }
    tree->comm = comm;
    tree->count = count;
    tree->units_max = units_max;
    tree->leaf = hki_buffer_create(comm, count);
    for (int n = units_max; n > 0; n >>= 1) {
        float **level = &tree->levels[tree->nlevels++];
        *level = hki_buffer_create(comm, count);
        if (*level == NULL || tree->leaf == NULL) {
            hki_grad_tree_destroy(&tree);
            return HKI_FAIL(HK_ERR_NO_MEMORY, "gradient of %zu elements for %d units", count,
                            units_max);
        }
    }
    *tree_out = tree;
    return HK_OK;
}

void hki_grad_tree_destroy(hki_grad_tree_t **tree)
{
    if (*tree == NULL) {
        return;
    }
    for (int l = 0; l < (*tree)->nlevels; l++) {
        hki_buffer_destroy((*tree)->comm, (*tree)->levels[l]);
    }
    hki_buffer_destroy((*tree)->comm, (*tree)->leaf);
    hki_free(*tree);
    *tree = NULL;
}

float *hki_grad_tree_leaf(hki_grad_tree_t *tree)
{
    return tree->leaf;
}

void hki_grad_tree_push(hki_grad_tree_t *tree)
{
    float *carry = tree->leaf;
    int level = 0;

    HKI_ASSERT(tree->units < tree->units_max);
    for (; (tree->units >> level & 1) != 0; level++) {
        float *const left = tree->levels[level];
        add(left, carry, tree->count);
        tree->levels[level] = carry; // free again: only the pointers move up
        carry = left;
    }
    tree->leaf = tree->levels[level];
    tree->levels[level] = carry;
    tree->units++;
}

float *hki_grad_tree_finish(hki_grad_tree_t *tree)
{
    float *sum = NULL;

    HKI_ASSERT(tree->units >= 1);
    for (int level = 0; level < tree->nlevels; level++) {
        if ((tree->units >> level & 1) == 0) {
            continue;
        }
        if (sum != NULL) {
            add(tree->levels[level], sum, tree->count);
        }
        sum = tree->levels[level];
    }
    tree->units = 0;
    return sum;
}

double hki_tree_sum(const double *values, int n)
{
    double levels[LEVELS_MAX] = {0};
    double sum = 0;
    bool is_empty = true;

    for (int i = 0; i < n; i++) {
        double carry = values[i];
        int level = 0;
        for (; (i >> level & 1) != 0; level++) {
            carry = levels[level] + carry;
        }
        levels[level] = carry;
    }
    for (int level = 0; n >> level != 0; level++) {
        if ((n >> level & 1) != 0) {
            sum = is_empty ? levels[level] : levels[level] + sum;
            is_empty = false;
        }
    }
    return sum;
}
