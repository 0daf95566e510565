/**
 * @file arena.c
 * @brief First fit over extents. A node of the book travels between the lists, so that giving back
 *        never allocates and cannot fail.
 */
#include "transport/segment/arena.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"

static void list_free(hki_extent_t **list)
{
    while (*list != NULL) {
        hki_extent_t *extent = *list;
        *list = extent->next;
        hki_free(extent);
    }
}

hk_status_t hki_arena_init(hki_arena_t *arena, uint64_t offset, uint64_t bytes)
{
    hki_extent_t *whole = hki_calloc(1, sizeof(*whole));

    if (whole == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "book of an arena, %zu bytes", sizeof(*whole));
    }
    whole->offset = offset;
    whole->bytes = bytes;
    *arena = (hki_arena_t){.free = whole};
    return HK_OK;
}

void hki_arena_fini(hki_arena_t *arena)
{
    list_free(&arena->free);
    list_free(&arena->used);
}

uint64_t hki_arena_largest(const hki_arena_t *arena)
{
    uint64_t largest = 0;

    for (const hki_extent_t *extent = arena->free; extent != NULL; extent = extent->next) {
        largest = extent->bytes > largest ? extent->bytes : largest;
    }
    return largest;
}

hk_status_t hki_arena_get(hki_arena_t *arena, uint64_t bytes, uint64_t *offset_out)
{
    const uint64_t page = HKI_ARENA_PAGE_BYTES;
    hki_extent_t **link = &arena->free;

    if (bytes == 0 || bytes > UINT64_MAX - page) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "no arena holds %llu bytes", (unsigned long long)bytes);
    }
    const uint64_t asked = bytes;
    bytes = (bytes + page - 1) / page * page;
    while (*link != NULL && (*link)->bytes < bytes) {
        link = &(*link)->next;
    }
    hki_extent_t *found = *link;
    if (found == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY,
                        "shared memory: %llu bytes needed, the largest free part of this rank's "
                        "share has %llu",
                        (unsigned long long)asked, (unsigned long long)hki_arena_largest(arena));
    }
    hki_extent_t *used = found;
    if (found->bytes == bytes) {
        *link = found->next;
    } else {
        used = hki_calloc(1, sizeof(*used));
        if (used == NULL) {
            return HKI_FAIL(HK_ERR_NO_MEMORY, "book of an arena, %zu bytes", sizeof(*used));
        }
        used->offset = found->offset;
        used->bytes = bytes;
        found->offset += bytes;
        found->bytes -= bytes;
    }
    used->next = arena->used;
    arena->used = used;
    *offset_out = used->offset;
    return HK_OK;
}

hki_extent_t *hki_arena_find(const hki_arena_t *arena, uint64_t offset)
{
    hki_extent_t *extent = arena->used;

    while (extent != NULL && extent->offset != offset) {
        extent = extent->next;
    }
    return extent;
}

/** Swallow the next extent of the free list where it touches this one. */
static void join_next(hki_extent_t *extent)
{
    hki_extent_t *next = extent->next;

    if (next != NULL && extent->offset + extent->bytes == next->offset) {
        extent->bytes += next->bytes;
        extent->next = next->next;
        hki_free(next);
    }
}

uint64_t hki_arena_put(hki_arena_t *arena, uint64_t offset)
{
    hki_extent_t **link = &arena->used;

    while (*link != NULL && (*link)->offset != offset) {
        link = &(*link)->next;
    }
    hki_extent_t *extent = *link;
    if (extent == NULL) {
        return 0;
    }
    *link = extent->next;

    const uint64_t bytes = extent->bytes;
    hki_extent_t *before = NULL;
    for (link = &arena->free; *link != NULL && (*link)->offset < offset; link = &(*link)->next) {
        before = *link;
    }
    extent->is_retired = false;
    extent->is_lent = false;
    extent->next = *link;
    *link = extent;
    join_next(extent);
    if (before != NULL) {
        join_next(before);
    }
    return bytes;
}
