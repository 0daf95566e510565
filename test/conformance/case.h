/**
 * @file case.h
 * @brief One point of the grid: a call, its buffers, and what must stand in them afterwards.
 */
#ifndef HK_CONFORMANCE_CASE_H
#define HK_CONFORMANCE_CASE_H

#include <hocket/coll.h>

#include "algo/algo.h"
#include "area.h"
#include "reference.h"

/** How in and out lie to one another, on ranks that use both. */
typedef enum place {
    PLACE_APART,
    PLACE_SAME, /**< in == out */
    PLACE_OWN,  /**< this rank's part of the larger buffer */
    PLACE_COUNT
} place_t;

typedef struct case_spec {
    hki_coll_t coll;
    bool is_vector;   /**< the v form; counts follow from `count` */
    const char *algo; /**< NULL: chosen */
    bool is_any_order;
    size_t count;
    hk_dtype_t dtype;
    hk_op_t op;
    int root;
    place_t place;
    size_t misalign; /**< [bytes] */
    bool is_async;
    bool is_polled;    /**< is_async: ended by hk_request_test(), else by hk_request_wait() */
    bool is_shared;    /**< buffers from hk_mem_alloc() */
    area_pool_t *pool; /**< for is_shared; borrowed; or NULL */
    size_t period;     /**< [elements] after which inputs repeat; a prime */
    uint64_t seed;
} case_spec_t;

typedef struct case_run case_run_t; /**< a case under way on one rank */

/** Make and fill the buffers and start the call; NULL: it failed, and said why. */
case_run_t *case_begin(hk_comm_t *comm, const case_spec_t *spec);

/** Wait if it is_async, compare everything, free. @return false: something is wrong, and was
 *  said */
bool case_end(case_run_t *run);

/** Both. */
bool case_do(hk_comm_t *comm, const case_spec_t *spec);

#endif /* HK_CONFORMANCE_CASE_H */
