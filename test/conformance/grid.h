/**
 * @file grid.h
 * @brief The grid of cases, and a random mix of them.
 */
#ifndef HK_CONFORMANCE_GRID_H
#define HK_CONFORMANCE_GRID_H

#include "algo/algo.h"
#include "case.h"
#include "ranks.h"

typedef enum grid_size {
    GRID_QUICK = 0,
    GRID_FULL, /**< every count 0..257, 1M, and all dtypes and ops with every algorithm */
    GRID_NONE,
} grid_size_t;

/** Where buffers lie. */
typedef enum memory {
    MEMORY_TURN = 0, /**< in turn */
    MEMORY_PRIVATE,
    MEMORY_SHARED, /**< hk_mem_alloc() */
} memory_t;

typedef struct grid {
    grid_size_t size;
    memory_t memory;
    uint64_t seed;
    int mix_count;       /**< operations of the mix */
    bool is_one_process; /**< the ranks are threads */
} grid_t;

/** Is the algorithm possible with this number of ranks, without aliasing? */
bool grid_has(const hki_algo_t *algo, int nranks);

/** May a case with this collective and order have this dtype and op? Where any order is allowed,
 *  only sums that no order rounds can be compared. */
bool grid_allows(const case_spec_t *spec);

/** A ranks_fn; cookie: grid_t. Every collective, algorithm, dtype, op on this number of ranks. */
bool grid_run(hk_comm_t *comm, const void *cookie);

/** A ranks_fn; cookie: grid_t. Random operations on several communicators, many in flight. */
bool mix_run(hk_comm_t *comm, const void *cookie);

#endif /* HK_CONFORMANCE_GRID_H */
