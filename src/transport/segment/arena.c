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

/** Bytes of a free extent that lie before the first multiple of `alignment` in it. */
static uint64_t gap_of(const hki_extent_t *extent, uint64_t alignment)
{
    return (alignment - extent->offset % alignment) % alignment;
}

/** Does so much, so aligned, fit in? */
static bool holds(const hki_extent_t *extent, uint64_t bytes, uint64_t alignment)
{
    const uint64_t gap = gap_of(extent, alignment);

    return gap <= extent->bytes && bytes <= extent->bytes - gap;
}

/** The first free extent that holds so much, as aligned as wanted or else to a page. @return the
 *  link to it, or NULL; then `alignment` is as it was */
static hki_extent_t **find_free(hki_arena_t *arena, uint64_t bytes, uint64_t *alignment)
{
    const uint64_t tries[] = {*alignment, HKI_ARENA_PAGE_BYTES};

    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        hki_extent_t **link = &arena->free;

        while (*link != NULL && !holds(*link, bytes, tries[i])) {
            link = &(*link)->next;
        }
        if (*link != NULL) {
            *alignment = tries[i];
            return link;
        }
    }
    return NULL;
}

/** Cut [offset, offset + bytes) out of *link, a free extent that holds it. @return its node, or
 *  NULL: no memory for the book, and nothing changed */
static hki_extent_t *cut_out(hki_extent_t **link, uint64_t offset, uint64_t bytes)
{
    hki_extent_t *found = *link;
    const uint64_t gap = offset - found->offset;
    const uint64_t rest = found->bytes - gap - bytes;

    if (gap == 0 && rest == 0) {
        *link = found->next;
        return found;
    }
    hki_extent_t *used = hki_calloc(1, sizeof(*used));
    hki_extent_t *behind = gap != 0 && rest != 0 ? hki_calloc(1, sizeof(*behind)) : found;
    if (used == NULL || behind == NULL) {
        hki_free(used);
        if (behind != found) {
            hki_free(behind);
        }
        return NULL;
    }
    used->offset = offset;
    used->bytes = bytes;
    if (behind != found) {
        behind->next = found->next;
        found->next = behind;
    }
    if (gap != 0) {
        found->bytes = gap;
    }
    if (rest != 0) {
        behind->offset = offset + bytes;
        behind->bytes = rest;
    }
    return used;
}

hk_status_t hki_arena_get(hki_arena_t *arena, uint64_t bytes, uint64_t alignment,
                          uint64_t *offset_out)
{
    const uint64_t page = HKI_ARENA_PAGE_BYTES;

    if (bytes == 0 || bytes > UINT64_MAX - page) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "no arena holds %llu bytes", (unsigned long long)bytes);
    }
    const uint64_t asked = bytes;
    bytes = (bytes + page - 1) / page * page;
    hki_extent_t **link = find_free(arena, bytes, &alignment);
    if (link == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY,
                        "shared memory: %llu bytes needed, the largest free part of this rank's "
                        "share has %llu",
                        (unsigned long long)asked, (unsigned long long)hki_arena_largest(arena));
    }
    const uint64_t offset = (*link)->offset + gap_of(*link, alignment);
    hki_extent_t *used = cut_out(link, offset, bytes);
    if (used == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "book of an arena, %zu bytes", sizeof(*used));
    }
    used->next = arena->used;
    arena->used = used;
    *offset_out = offset;
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
