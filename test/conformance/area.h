/**
 * @file area.h
 * @brief Memory for the buffers of cases: of the heap, or of hk_mem_alloc(), which is kept for a
 *        while, as programs do: asking for it anew takes a look at the limits of the system.
 */
#ifndef HK_CONFORMANCE_AREA_H
#define HK_CONFORMANCE_AREA_H

#include <stdbool.h>
#include <stddef.h>

#include <hocket/comm.h>

enum { AREAS_KEPT = 64 };

typedef struct area {
    void *data; /**< NULL: none */
    bool is_used;
} area_t;

/** Shared areas of one rank, all of one size. Begins zeroed, but for the communicator. */
typedef struct area_pool {
    hk_comm_t *comm; /**< what they are allocated by */
    unsigned turn;
    area_t areas[AREAS_KEPT];
} area_pool_t;

/** Memory, not initialised; aborts if there is none.
 *  @param pool  or NULL: allocate, by `comm` */
void *area_get(hk_comm_t *comm, area_pool_t *pool, bool is_shared, size_t bytes);

/** The same arguments. */
void area_put(hk_comm_t *comm, area_pool_t *pool, bool is_shared, void *data);

/** Free what is kept; nothing may be in use. */
void area_pool_clear(area_pool_t *pool);

#endif /* HK_CONFORMANCE_AREA_H */
