/**
 * @file layout.c
 * @brief Offsets in a group's memory.
 */
#include "transport/segment/layout.h"

#include "transport/segment/arena.h"

enum {
    LINES_FEW_RANKS = 64,
    LINES_MANY_RANKS = 16,
    LINES_VERY_MANY_RANKS = 4,
    FEW_RANKS = 16,
    MANY_RANKS = 128,
};

/** Rings grow with the square of the ranks, so they are shorter in larger groups. */
static uint32_t lines_for(int nranks)
{
    if (nranks <= FEW_RANKS) {
        return LINES_FEW_RANKS;
    }
    return nranks <= MANY_RANKS ? LINES_MANY_RANKS : LINES_VERY_MANY_RANKS;
}

static uint64_t whole_lines(uint64_t bytes)
{
    return (bytes + HKI_LINE_BYTES - 1) / HKI_LINE_BYTES * HKI_LINE_BYTES;
}

hki_layout_t hki_layout(int nranks, int nlanes, uint64_t staging_bytes)
{
    const uint64_t page = HKI_ARENA_PAGE_BYTES;
    const uint64_t ranks = (uint64_t)nranks;
    const uint64_t lanes = (uint64_t)nlanes;
    const uint64_t streams = ranks * ranks * lanes;
    hki_layout_t layout = {.nlines = lines_for(nranks)};

    layout.bells = whole_lines(sizeof(hki_head_t));
    layout.blocks = whole_lines(layout.bells + ranks * sizeof(uint32_t));
    layout.consumed = layout.blocks + ranks * sizeof(hki_block_t);
    layout.lines = layout.consumed + streams * sizeof(hki_consumed_t);
    layout.cast_consumed = layout.lines + streams * layout.nlines * sizeof(hki_line_t);
    layout.cast_lines = whole_lines(layout.cast_consumed + streams * sizeof(uint64_t));
    layout.staging = layout.cast_lines + lanes * layout.nlines * ranks * sizeof(hki_line_t);
    layout.staging = (layout.staging + page - 1) / page * page;
    layout.bytes = layout.staging + ranks * lanes * staging_bytes;
    return layout;
}
