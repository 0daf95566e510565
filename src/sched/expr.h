/**
 * @file expr.h
 * @brief Symbolic values of the checker: what an element *is*, as an expression over contributions.
 *
 * Equal expressions have equal numbers (hash-consing), so comparing trees is comparing numbers. An
 * expression says nothing of the element it is about; a value is an expression and an element.
 */
#ifndef HKI_SCHED_EXPR_H
#define HKI_SCHED_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/base.h>

typedef enum hki_expr_kind {
    HKI_EXPR_UNDEFINED, /**< scratch nobody has written */
    HKI_EXPR_BEFORE,    /**< what OUT held before: left = rank, right = block */
    HKI_EXPR_LEAF,      /**< an element of IN: left = rank, right = block */
    HKI_EXPR_PART,      /**< a leaf as a partial sum: left = leaf */
    HKI_EXPR_NODE,      /**< left o right, both partial sums */
    HKI_EXPR_FINAL,     /**< an end result, rounded: left = partial sum */
} hki_expr_kind_t;

typedef uint32_t hki_expr_t;

enum { HKI_EXPR_NONE = 0 }; /**< memory ran out */

typedef struct hki_expr_node {
    hki_expr_kind_t kind;
    uint32_t left;
    uint32_t right;
} hki_expr_node_t;

/** All expressions of one check. Zero it to begin; end it with hki_exprs_fini(). */
typedef struct hki_exprs {
    hki_expr_node_t *nodes; /**< by number; owned */
    uint32_t *table;        /**< hash table of numbers; owned */
    uint32_t count;
    uint32_t capacity;
} hki_exprs_t;

/** The number of an expression; HKI_EXPR_NONE if memory ran out. */
hki_expr_t hki_expr(hki_exprs_t *exprs, hki_expr_kind_t kind, uint32_t left, uint32_t right);

/** tree(parts[0 .. n-1]), in the canonical order of hocket/types.h. n >= 1. */
hki_expr_t hki_expr_tree(hki_exprs_t *exprs, const hki_expr_t *parts, int n);

/** What a sum over all ranks of IN[block] must be: FINAL of the tree. @param scratch (nranks,) */
hki_expr_t hki_expr_sum(hki_exprs_t *exprs, int nranks, int block, hki_expr_t *scratch);

/** Is it FINAL of each rank's leaf of `block`, exactly once, in any order? @param seen (nranks,) */
bool hki_expr_has_all(const hki_exprs_t *exprs, hki_expr_t expr, int nranks, int block,
                      unsigned char *seen);

void hki_exprs_fini(hki_exprs_t *exprs);

#endif /* HKI_SCHED_EXPR_H */
