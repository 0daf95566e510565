/**
 * @file pages.h
 * @brief The book of a heap: which runs of pages are in use, and which are free.
 *
 * Pages are numbers 1, 2, ... (0 is none). Every page belongs to one run; a run is used, or free
 * and fresh (it reads as zero and takes no memory), or free and stale (it has memory, with whatever
 * is in it). Free neighbours of one kind are always one run. Knows no memory, and takes none:
 * the table is the caller's. One thread at a time.
 *
 * Cost: put, trim and extend are O(1); get looks at the runs of one size class at most.
 */
#ifndef HKI_TOOLS_MALLOC_PAGES_H
#define HKI_TOOLS_MALLOC_PAGES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum hki_run_kind {
    HKI_RUN_NONE = 0, /**< not the first page of a run */
    HKI_RUN_FRESH,
    HKI_RUN_STALE,
    HKI_RUN_USED,
    HKI_RUN_KINDS,
} hki_run_kind_t;

enum { HKI_PAGES_CLASSES = 30, HKI_PAGES_MAX = (1 << 30) - 2 };

/** What is known at one page. */
typedef struct hki_page {
    uint32_t run;  /**< first page of a run: its pages * 4 + its kind; else 0 */
    uint32_t back; /**< last page of a run: the same; else 0 */
    uint32_t next; /**< first page of a free run: list of its class, or 0 */
    uint32_t prev;
} hki_page_t;

typedef struct hki_pages {
    hki_page_t *table; /**< (npages + 2,) borrowed; zeroed at first */
    uint32_t npages;
    uint32_t lists[HKI_RUN_USED][HKI_PAGES_CLASSES]; /**< by kind and floor(log2(pages)) */
    uint64_t counts[HKI_RUN_KINDS];                  /**< pages of each kind */
} hki_pages_t;

typedef struct hki_run {
    uint32_t first; /**< 0: none */
    uint32_t npages;
    hki_run_kind_t kind; /**< of what get has taken: as it was before */
} hki_run_t;

/** All of 1 .. npages free and fresh. npages <= HKI_PAGES_MAX. */
void hki_pages_init(hki_pages_t *pages, hki_page_t *table, uint32_t npages);

/**
 * Take a run of `npages` >= 1 pages, the first a multiple of `step` (a power of two), out of a free
 * run of `kind`.
 *
 * @return first 0: no such run
 */
hki_run_t hki_pages_get(hki_pages_t *pages, hki_run_kind_t kind, uint32_t npages, uint32_t step);

/** Kind and size of the run that begins at `first`; kind NONE: none does. */
hki_run_t hki_pages_at(const hki_pages_t *pages, uint32_t first);

/** Free the run that begins at `first`, as fresh or stale; a free run changes its kind. */
void hki_pages_put(hki_pages_t *pages, uint32_t first, hki_run_kind_t kind);

/** Cut a used run to its first `npages` pages; the rest is free, and of this kind. */
void hki_pages_trim(hki_pages_t *pages, uint32_t first, uint32_t npages, hki_run_kind_t kind);

/** Let a used run grow to `npages` pages, which may be of both kinds. @return false: too few of
 *  those that follow are free */
bool hki_pages_extend(hki_pages_t *pages, uint32_t first, uint32_t npages);

/** The largest stale run, roughly (one of the largest class); first 0: none. */
hki_run_t hki_pages_largest_stale(const hki_pages_t *pages);

#endif /* HKI_TOOLS_MALLOC_PAGES_H */
