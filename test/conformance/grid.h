/**
 * @file grid.h
 * @brief The grid of cases, and a random mix of them.
 */
#ifndef HK_CONFORMANCE_GRID_H
#define HK_CONFORMANCE_GRID_H

#include "ranks.h"
#include "reference.h"

typedef struct grid {
    bool is_full; /**< every count 0..257, 1M, and all dtypes and ops with every algorithm */
    uint64_t seed;
    int mix_count; /**< operations of the mix */
} grid_t;

/** A ranks_fn; cookie: grid_t. Every collective, algorithm, dtype, op on this number of ranks. */
bool grid_run(hk_comm_t *comm, const void *cookie);

/** A ranks_fn; cookie: grid_t. Random operations on several communicators, many in flight. */
bool mix_run(hk_comm_t *comm, const void *cookie);

#endif /* HK_CONFORMANCE_GRID_H */
