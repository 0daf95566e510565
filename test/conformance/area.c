/*
 * Areas. Method: small shared ones have one size and are kept; every so many times one is given
 * back all the same. Large ones are never kept.
 */
#include "area.h"

#include <stdio.h>
#include <stdlib.h>

#include <hocket/memory.h>

enum { KEPT_BYTES = 128 << 10, FREED_EVERY = 64 };

static void *allocate(hk_comm_t *comm, bool is_shared, size_t bytes)
{
    void *data = NULL;

    if (!is_shared) {
        data = malloc(bytes);
    } else if (hk_mem_alloc(comm, bytes, &data) != HK_OK) {
        fprintf(stderr, "%s\n", hk_last_error());
        data = NULL;
    }
    if (data == NULL) {
        fprintf(stderr, "no memory for a test, %zu bytes\n", bytes);
        abort();
    }
    return data;
}

void *area_get(hk_comm_t *comm, area_pool_t *pool, bool is_shared, size_t bytes)
{
    if (!is_shared || pool == NULL || bytes > KEPT_BYTES) {
        return allocate(comm, is_shared, bytes);
    }
    for (int i = 0; i < AREAS_KEPT; i++) {
        area_t *area = &pool->areas[i];

        if (!area->is_used) {
            if (area->data == NULL) {
                area->data = allocate(pool->comm, true, KEPT_BYTES);
            }
            area->is_used = true;
            return area->data;
        }
    }
    return allocate(comm, true, bytes);
}

void area_put(hk_comm_t *comm, area_pool_t *pool, bool is_shared, void *data)
{
    for (int i = 0; is_shared && pool != NULL && i < AREAS_KEPT; i++) {
        area_t *area = &pool->areas[i];

        if (area->data == data) {
            area->is_used = false;
            pool->turn++;
            if (pool->turn % FREED_EVERY == 0) {
                hk_mem_free(pool->comm, data);
                area->data = NULL;
            }
            return;
        }
    }
    if (is_shared) {
        hk_mem_free(comm, data);
    } else {
        free(data);
    }
}

void area_pool_clear(area_pool_t *pool)
{
    for (int i = 0; i < AREAS_KEPT; i++) {
        hk_mem_free(pool->comm, pool->areas[i].data);
        pool->areas[i] = (area_t){0};
    }
}
