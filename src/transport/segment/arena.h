/**
 * @file arena.h
 * @brief Book-keeping of one range of offsets: which pages are handed out and which are free.
 *
 * First fit over a sorted list of free extents. Knows no memory, only numbers; the book lies in the
 * heap of this process. One thread at a time.
 */
#ifndef HKI_TRANSPORT_SEGMENT_ARENA_H
#define HKI_TRANSPORT_SEGMENT_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/base.h>

enum { HKI_ARENA_PAGE_BYTES = 4096 };

typedef struct hki_extent {
    struct hki_extent *next;
    uint64_t offset;
    uint64_t bytes;
    bool is_retired; /**< used extents: to be given back as soon as nobody needs it any more */
    bool is_lent; /**< the same; the others of group `lender_group` may read it until they leave */
    int lender;   /**< rank in that group */
    uint64_t lender_group; /**< offset of its memory */
} hki_extent_t;

typedef struct hki_arena {
    hki_extent_t *free; /**< by offset, never two neighbours that touch */
    hki_extent_t *used; /**< in no order */
} hki_arena_t;

/** An arena of offsets [offset, offset + bytes), all free. Both are multiples of a page. */
hk_status_t hki_arena_init(hki_arena_t *arena, uint64_t offset, uint64_t bytes);
/** Free the book. Accepts a zeroed arena. */
void hki_arena_fini(hki_arena_t *arena);

/** Take `bytes` >= 1, rounded up to pages, from a multiple of `alignment` on, a power of two and at
 *  least a page, or, if there is no room so, of a page. @return HK_OK, HK_ERR_NO_MEMORY */
hk_status_t hki_arena_get(hki_arena_t *arena, uint64_t bytes, uint64_t alignment,
                          uint64_t *offset_out);
/** Give back what hki_arena_get() gave. @return its bytes; 0 if it was not handed out */
uint64_t hki_arena_put(hki_arena_t *arena, uint64_t offset);
/** The used extent that begins at `offset`, or NULL. */
hki_extent_t *hki_arena_find(const hki_arena_t *arena, uint64_t offset);
/** Size of the largest free extent [bytes]. */
uint64_t hki_arena_largest(const hki_arena_t *arena);

#endif /* HKI_TRANSPORT_SEGMENT_ARENA_H */
