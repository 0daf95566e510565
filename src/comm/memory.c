/*
 * Memory of a communicator. Rings grow with the square of the ranks and thus, for each rank, with
 * their number: large jobs get less staging memory, so that the sum stays below 4 MiB a rank.
 */
#include "comm/memory.h"

#include "comm/comm.h"
#include "comm/p2p_match.h"
#include "transport/segment/layout.h"

enum {
    SEGMENT_BYTES_FEW = 2 << 20,
    SEGMENT_BYTES_MANY = 896 << 10,
    FEW_RANKS = 64,
    PAGE_BYTES = 4096,
    LANE_PAGES = 2, /**< a lane's memory has two halves of whole pages */
};

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

size_t hki_comm_lane_bytes(size_t segment_bytes, int nranks)
{
    const size_t preset = nranks <= FEW_RANKS ? SEGMENT_BYTES_FEW : SEGMENT_BYTES_MANY;
    const size_t bytes = (segment_bytes == 0 ? preset : segment_bytes) / HKI_LANES;
    const size_t unit = (size_t)LANE_PAGES * PAGE_BYTES;

    return bytes < unit ? unit : bytes / unit * unit;
}

size_t hki_comm_scratch_bytes(size_t lane_bytes)
{
    return lane_bytes / 4;
}

hki_comm_memory_t hki_comm_memory(int nranks, size_t segment_bytes)
{
    const size_t lane = hki_comm_lane_bytes(segment_bytes, nranks);
    const hki_layout_t layout = hki_layout(nranks, HKI_LANES, lane);
    const uint64_t ranks = (uint64_t)nranks;
    hki_comm_memory_t memory = {
        .streams = (layout.staging + ranks - 1) / ranks,
        .staging = (layout.bytes - layout.staging) / ranks,
        .scratch = (uint64_t)(2 * HKI_LANES_COLLECTIVE) * whole_pages(hki_comm_scratch_bytes(lane)),
        .transfers = whole_pages(HKI_SLOTS_BYTES),
    };

    memory.total = memory.streams + memory.staging + memory.scratch + memory.transfers;
    return memory;
}
