/**
 * @file pages.c
 * @brief Boundary tags in a table beside the memory, and lists of free runs by size class.
 *
 *     page      1      2   3   4      5      6   ...
 *     run       4 U    -   -   -      2 F    -        (pages, kind)
 *     back      -      -   -   4 U    -      2 F
 *
 * The run before a page p ends at p - 1, whose `back` says where it begins. Entries that are no
 * longer a border are cleared, so that a wrong address is recognised.
 */
#include "pages.h"

#include <stddef.h>

static uint32_t packed(uint32_t npages, hki_run_kind_t kind)
{
    return npages << 2 | (uint32_t)kind;
}

static hki_run_t unpacked(uint32_t first, uint32_t value)
{
    return (hki_run_t){.first = first, .npages = value >> 2, .kind = (hki_run_kind_t)(value & 3U)};
}

static unsigned class_of(uint32_t npages)
{
    return 31U - (unsigned)__builtin_clz(npages);
}

static bool is_free(hki_run_kind_t kind)
{
    return kind == HKI_RUN_FRESH || kind == HKI_RUN_STALE;
}

/** Write the borders of a run, and list it if it is free. */
static void run_add(hki_pages_t *pages, uint32_t first, uint32_t npages, hki_run_kind_t kind)
{
    hki_page_t *page = &pages->table[first];

    page->run = packed(npages, kind);
    pages->table[first + npages - 1].back = packed(npages, kind);
    pages->counts[kind] += npages;
    if (is_free(kind)) {
        uint32_t *list = &pages->lists[kind][class_of(npages)];
        page->prev = 0;
        page->next = *list;
        if (*list != 0) {
            pages->table[*list].prev = first;
        }
        *list = first;
    }
}

/** Undo that. */
static void run_remove(hki_pages_t *pages, hki_run_t run)
{
    hki_page_t *page = &pages->table[run.first];

    if (is_free(run.kind)) {
        if (page->prev == 0) {
            pages->lists[run.kind][class_of(run.npages)] = page->next;
        } else {
            pages->table[page->prev].next = page->next;
        }
        if (page->next != 0) {
            pages->table[page->next].prev = page->prev;
        }
    }
    page->run = 0;
    pages->table[run.first + run.npages - 1].back = 0;
    pages->counts[run.kind] -= run.npages;
}

/** Add a free run, joined with free neighbours of its kind. */
static void run_add_joined(hki_pages_t *pages, uint32_t first, uint32_t npages, hki_run_kind_t kind)
{
    const hki_run_t after = hki_pages_at(pages, first + npages);
    const uint32_t back = pages->table[first - 1].back;
    const hki_run_t before = unpacked(first - (back >> 2), back);

    if (after.kind == kind) {
        run_remove(pages, after);
        npages += after.npages;
    }
    if (before.kind == kind) {
        run_remove(pages, before);
        first = before.first;
        npages += before.npages;
    }
    run_add(pages, first, npages, kind);
}

void hki_pages_init(hki_pages_t *pages, hki_page_t *table, uint32_t npages)
{
    *pages = (hki_pages_t){.table = table, .npages = npages};
    run_add(pages, 1, npages, HKI_RUN_FRESH);
}

hki_run_t hki_pages_at(const hki_pages_t *pages, uint32_t first)
{
    return unpacked(first, pages->table[first].run);
}

/** The first page of `run` where `npages` pages fit that begin at a multiple of `step`; 0: none. */
static uint32_t place_in(hki_run_t run, uint32_t npages, uint32_t step)
{
    const uint64_t start = ((uint64_t)run.first + step - 1) / step * step;

    return start + npages <= (uint64_t)run.first + run.npages ? (uint32_t)start : 0;
}

/** A free run that has room. *start_out: where. */
static hki_run_t find(const hki_pages_t *pages, hki_run_kind_t kind, uint32_t npages, uint32_t step,
                      uint32_t *start_out)
{
    for (unsigned c = class_of(npages); c < HKI_PAGES_CLASSES; c++) {
        for (uint32_t first = pages->lists[kind][c]; first != 0; first = pages->table[first].next) {
            const hki_run_t run = hki_pages_at(pages, first);
            *start_out = place_in(run, npages, step);
            if (*start_out != 0) {
                return run;
            }
        }
    }
    return (hki_run_t){0};
}

hki_run_t hki_pages_get(hki_pages_t *pages, hki_run_kind_t kind, uint32_t npages, uint32_t step)
{
    uint32_t start = 0;
    const hki_run_t run = find(pages, kind, npages, step, &start);

    if (run.first == 0) {
        return run;
    }
    const uint32_t before = start - run.first;
    const uint32_t after = run.npages - before - npages;
    run_remove(pages, run);
    run_add(pages, start, npages, HKI_RUN_USED);
    if (before != 0) {
        run_add(pages, run.first, before, kind);
    }
    if (after != 0) {
        run_add(pages, start + npages, after, kind);
    }
    return (hki_run_t){.first = start, .npages = npages, .kind = kind};
}

void hki_pages_put(hki_pages_t *pages, uint32_t first, hki_run_kind_t kind)
{
    const hki_run_t run = hki_pages_at(pages, first);

    run_remove(pages, run);
    run_add_joined(pages, run.first, run.npages, kind);
}

void hki_pages_trim(hki_pages_t *pages, uint32_t first, uint32_t npages, hki_run_kind_t kind)
{
    const hki_run_t run = hki_pages_at(pages, first);

    if (npages < run.npages) {
        run_remove(pages, run);
        run_add(pages, first, npages, HKI_RUN_USED);
        run_add_joined(pages, first + npages, run.npages - npages, kind);
    }
}

bool hki_pages_extend(hki_pages_t *pages, uint32_t first, uint32_t npages)
{
    const hki_run_t run = hki_pages_at(pages, first);
    const uint32_t end = first + npages;
    uint32_t at = first + run.npages;

    while (at < end && is_free(hki_pages_at(pages, at).kind)) {
        at += hki_pages_at(pages, at).npages;
    }
    if (at < end) {
        return false;
    }
    run_remove(pages, run);
    for (at = first + run.npages; at < end;) {
        const hki_run_t after = hki_pages_at(pages, at);
        run_remove(pages, after);
        at += after.npages;
        if (at > end) {
            run_add(pages, end, at - end, after.kind);
        }
    }
    run_add(pages, first, npages, HKI_RUN_USED);
    return true;
}

hki_run_t hki_pages_largest_stale(const hki_pages_t *pages)
{
    for (unsigned c = HKI_PAGES_CLASSES; c-- > 0;) {
        if (pages->lists[HKI_RUN_STALE][c] != 0) {
            return hki_pages_at(pages, pages->lists[HKI_RUN_STALE][c]);
        }
    }
    return (hki_run_t){0};
}
