/**
 * @file expr.c
 * @brief Hash-consed expressions: open addressing over an array of nodes.
 */
#include "sched/expr.h"

#include <string.h>

#include "base/alloc.h"

enum { CAPACITY_FIRST = 256 };

static uint32_t slot_of(const hki_exprs_t *exprs, const hki_expr_node_t *node)
{
    uint64_t hash = (uint64_t)node->kind * UINT64_C(0x9E3779B97F4A7C15);

    hash = (hash ^ node->left) * UINT64_C(0xBF58476D1CE4E5B9);
    hash = (hash ^ (hash >> 29) ^ node->right) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)(hash >> 32) & (2 * exprs->capacity - 1);
}

/** The table entry that holds `node`, or the free one where it belongs. */
static uint32_t *entry_of(const hki_exprs_t *exprs, const hki_expr_node_t *node)
{
    uint32_t slot = slot_of(exprs, node);

    while (exprs->table[slot] != HKI_EXPR_NONE) {
        const hki_expr_node_t *other = &exprs->nodes[exprs->table[slot]];

        if (other->kind == node->kind && other->left == node->left && other->right == node->right) {
            break;
        }
        slot = (slot + 1) & (2 * exprs->capacity - 1);
    }
    return &exprs->table[slot];
}

/** Twice the room; the table stays at most half full. */
static bool grow(hki_exprs_t *exprs)
{
    hki_exprs_t bigger = {.count = exprs->count,
                          .capacity = exprs->capacity == 0 ? CAPACITY_FIRST : 2 * exprs->capacity};

    bigger.nodes = hki_calloc(bigger.capacity, sizeof(*bigger.nodes));
    bigger.table = hki_calloc(2 * (size_t)bigger.capacity, sizeof(*bigger.table));
    if (bigger.nodes == NULL || bigger.table == NULL) {
        hki_exprs_fini(&bigger);
        return false;
    }
    if (bigger.count == 0) {
        bigger.count = 1; // number 0 is none
    } else {
        memcpy(bigger.nodes, exprs->nodes, exprs->count * sizeof(*exprs->nodes));
    }
    for (uint32_t i = 1; i < bigger.count; i++) {
        *entry_of(&bigger, &bigger.nodes[i]) = i;
    }
    hki_exprs_fini(exprs);
    *exprs = bigger;
    return true;
}

hki_expr_t hki_expr(hki_exprs_t *exprs, hki_expr_kind_t kind, uint32_t left, uint32_t right)
{
    const hki_expr_node_t node = {kind, left, right};

    if (exprs->count == exprs->capacity && !grow(exprs)) {
        return HKI_EXPR_NONE;
    }
    uint32_t *entry = entry_of(exprs, &node);

    if (*entry == HKI_EXPR_NONE) {
        exprs->nodes[exprs->count] = node;
        *entry = exprs->count++;
    }
    return *entry;
}

hki_expr_t hki_expr_tree(hki_exprs_t *exprs, const hki_expr_t *parts, int n)
{
    int k = 1;

    if (n == 1) {
        return parts[0];
    }
    while (2 * k < n) {
        k *= 2;
    }
    const hki_expr_t left = hki_expr_tree(exprs, parts, k);
    const hki_expr_t right = hki_expr_tree(exprs, parts + k, n - k);

    if (left == HKI_EXPR_NONE || right == HKI_EXPR_NONE) {
        return HKI_EXPR_NONE;
    }
    return hki_expr(exprs, HKI_EXPR_NODE, left, right);
}

hki_expr_t hki_expr_sum(hki_exprs_t *exprs, int nranks, int block, hki_expr_t *scratch)
{
    for (int rank = 0; rank < nranks; rank++) {
        const hki_expr_t leaf = hki_expr(exprs, HKI_EXPR_LEAF, (uint32_t)rank, (uint32_t)block);

        scratch[rank] = leaf == HKI_EXPR_NONE ? leaf : hki_expr(exprs, HKI_EXPR_PART, leaf, 0);
        if (scratch[rank] == HKI_EXPR_NONE) {
            return HKI_EXPR_NONE;
        }
    }
    const hki_expr_t sum = hki_expr_tree(exprs, scratch, nranks);

    return sum == HKI_EXPR_NONE ? sum : hki_expr(exprs, HKI_EXPR_FINAL, sum, 0);
}

/** Mark the ranks below `expr`. @return leaves found, more than nranks if one is wrong */
static int mark_leaves(const hki_exprs_t *exprs, hki_expr_t expr, int nranks, int block,
                       unsigned char *seen)
{
    const hki_expr_node_t *node = &exprs->nodes[expr];

    if (node->kind == HKI_EXPR_NODE) {
        const int n = mark_leaves(exprs, node->left, nranks, block, seen);

        return n > nranks ? n : n + mark_leaves(exprs, node->right, nranks, block, seen);
    }
    const hki_expr_node_t *leaf = &exprs->nodes[node->left];

    if (node->kind != HKI_EXPR_PART || leaf->right != (uint32_t)block || seen[leaf->left]) {
        return nranks + 1;
    }
    seen[leaf->left] = 1;
    return 1;
}

bool hki_expr_has_all(const hki_exprs_t *exprs, hki_expr_t expr, int nranks, int block,
                      unsigned char *seen)
{
    const hki_expr_node_t *node = &exprs->nodes[expr];

    if (node->kind != HKI_EXPR_FINAL) {
        return false;
    }
    memset(seen, 0, (size_t)nranks);
    return mark_leaves(exprs, node->left, nranks, block, seen) == nranks;
}

void hki_exprs_fini(hki_exprs_t *exprs)
{
    hki_free(exprs->nodes);
    hki_free(exprs->table);
    *exprs = (hki_exprs_t){0};
}
