/**
 * @file group.c
 * @brief Life of a group's memory and of its endpoints.
 *
 * The leader, rank 0, makes the memory and gives it back once all members have left. Every member
 * makes its own staging part real, so that want of memory shows where it arises.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "transport/segment/endpoint.h"

#define GROUP_MAGIC UINT64_C(0x31707567746b6368)

/* Endpoints of this process, for leave_at_exit(). */
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static hki_segment_t *g_endpoints;

static void list_add(hki_segment_t *seg)
{
    (void)pthread_mutex_lock(&g_mutex);
    seg->next = g_endpoints;
    g_endpoints = seg;
    (void)pthread_mutex_unlock(&g_mutex);
}

static void list_remove(hki_segment_t *seg)
{
    if (!hki_segment_is_forked(seg)) {
        (void)pthread_mutex_lock(&g_mutex);
    } else if (pthread_mutex_trylock(&g_mutex) != 0) {
        return; // forked while a thread held it; leave_at_exit() then does nothing either
    }
    hki_segment_t **link = &g_endpoints;
    while (*link != NULL && *link != seg) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = seg->next;
    }
    (void)pthread_mutex_unlock(&g_mutex);
}

/** State of this rank, and a bell for all. */
static void leave(hki_segment_t *seg, uint32_t state)
{
    atomic_store_explicit(&seg->mine->state, state, memory_order_release);
    hki_segment_ring_all(seg);
}

/** exit() without close: what was sent stays, and those who wait for this rank learn it at once. */
__attribute__((destructor)) static void leave_at_exit(void)
{
    if (pthread_mutex_trylock(&g_mutex) != 0) {
        return; // a forked child may have inherited it locked; and its endpoints are not its own
    }
    for (hki_segment_t *seg = g_endpoints; seg != NULL; seg = seg->next) {
        if (seg->world->pids != NULL && !hki_segment_is_forked(seg)) {
            leave(seg, HKI_RANK_EXITED);
        }
    }
    (void)pthread_mutex_unlock(&g_mutex);
}

hki_group_shape_t hki_group_shape(int nranks, int nlanes, size_t staging_bytes)
{
    const size_t step = (size_t)2 * HKI_ARENA_PAGE_BYTES;
    const hki_group_shape_t shape = {
        .nranks = nranks,
        .nlanes = nlanes,
        .staging_bytes = (staging_bytes + step - 1) / step * step,
    };

    return shape;
}

void hki_group_init(void *memory, const hki_group_shape_t *shape)
{
    hki_head_t *head = memory;

    head->magic = GROUP_MAGIC;
    head->nranks = (uint32_t)shape->nranks;
    head->nlanes = (uint32_t)shape->nlanes;
    head->nlines = hki_layout(shape->nranks, shape->nlanes, shape->staging_bytes).nlines;
    head->staging_bytes = shape->staging_bytes;
    if (shape->note_bytes > 0) {
        memcpy(head->note, shape->note, shape->note_bytes);
    }
}

hk_status_t hki_group_create(hki_world_t *world, const hki_group_shape_t *shape,
                             uint64_t *offset_out)
{
    const hki_layout_t layout = hki_layout(shape->nranks, shape->nlanes, shape->staging_bytes);
    uint64_t offset = 0;
    const hk_status_t status =
        hki_world_get(world, layout.bytes, layout.staging, HKI_ARENA_PAGE_BYTES, &offset);

    if (status != HK_OK) {
        return status;
    }
    hki_group_init(world->base + offset, shape);
    *offset_out = offset;
    return HK_OK;
}

/** Free this rank's end, whatever there is of it. Leaves the group's memory alone. */
static void segment_destroy(hki_segment_t *seg)
{
    if (seg == NULL) {
        return;
    }
    hki_free(seg->out);
    hki_free(seg->in);
    hki_free(seg->staging);
    hki_free(seg->tickets);
    hki_free(seg->readers);
    hki_free(seg->world_ranks);
    hki_free(seg->is_asked);
    hki_free(seg);
}

static hk_status_t segment_allocate(int nranks, int nlanes, hki_segment_t **seg_out)
{
    const size_t ranks = (size_t)nranks;
    const size_t lanes = (size_t)nlanes;
    hki_segment_t *seg = hki_calloc_aligned(1, sizeof(*seg), HKI_LINE_BYTES);

    if (seg == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "endpoint, %zu bytes", sizeof(*seg));
    }
    seg->out = hki_calloc_aligned(ranks * lanes + lanes, sizeof(*seg->out), HKI_LINE_BYTES);
    seg->in = hki_calloc_aligned(2 * ranks * lanes, sizeof(*seg->in), HKI_LINE_BYTES);
    seg->staging = hki_calloc(lanes, sizeof(*seg->staging));
    seg->tickets = hki_calloc(2 * lanes * ranks, sizeof(*seg->tickets));
    seg->readers = hki_calloc(2 * lanes * ranks, sizeof(*seg->readers));
    seg->world_ranks = hki_calloc(ranks, sizeof(*seg->world_ranks));
    seg->is_asked = hki_calloc(ranks, sizeof(*seg->is_asked));
    if (seg->out == NULL || seg->in == NULL || seg->staging == NULL || seg->tickets == NULL ||
        seg->readers == NULL || seg->world_ranks == NULL || seg->is_asked == NULL) {
        segment_destroy(seg);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "endpoint of %d ranks and %d lanes", nranks, nlanes);
    }
    *seg_out = seg;
    return HK_OK;
}

/** Point the streams at the rings and counters of the group's memory. */
static void attach_streams(hki_segment_t *seg, char *group, const hki_layout_t *layout)
{
    const int nranks = seg->base.nranks;
    const int rank = seg->base.rank;
    hki_consumed_t *consumed = (void *)(group + layout->consumed);
    hki_line_t *lines = (void *)(group + layout->lines);

    for (int lane = 0; lane < seg->base.nlanes; lane++) {
        for (int peer = 0; peer < nranks; peer++) {
            const int i = lane * nranks + peer;
            const size_t to = hki_stream_index(nranks, lane, rank, peer);
            const size_t from = hki_stream_index(nranks, lane, peer, rank);
            seg->out[i].ring = lines + to * layout->nlines;
            seg->out[i].consumed = &consumed[to].number;
            seg->out[i].stride = 1;
            seg->in[i].ring = lines + from * layout->nlines;
            seg->in[i].consumed = &consumed[from].number;
            seg->in[i].stride = 1;
        }
    }
}

/** The same for what is cast. */
static void attach_casts(hki_segment_t *seg, char *group, const hki_layout_t *layout)
{
    const size_t nranks = (size_t)seg->base.nranks;
    const size_t nlanes = (size_t)seg->base.nlanes;
    const size_t rank = (size_t)seg->base.rank;
    _Atomic uint64_t *consumed = (void *)(group + layout->cast_consumed);

    seg->cast_consumed = consumed;
    for (size_t lane = 0; lane < nlanes; lane++) {
        hki_line_t *lines = (void *)(group + layout->cast_lines);
        hki_stream_out_t *out = &seg->out[nlanes * nranks + lane];

        lines += lane * layout->nlines * nranks;
        out->ring = lines + rank;
        out->stride = nranks;
        for (size_t peer = 0; peer < nranks; peer++) {
            hki_stream_in_t *in = &seg->in[(nlanes + lane) * nranks + peer];

            in->ring = lines + peer;
            in->consumed = &consumed[(lane * nranks + rank) * nranks + peer];
            in->stride = nranks;
        }
    }
}

/** Make this rank's staging memory real, and point the lanes at it. */
static hk_status_t attach_staging(hki_segment_t *seg, const hki_layout_t *layout)
{
    const size_t nranks = (size_t)seg->base.nranks;
    const size_t nlanes = (size_t)seg->base.nlanes;
    const uint64_t bytes = nlanes * seg->base.staging_bytes;
    const uint64_t offset = seg->group_offset + layout->staging + (uint64_t)seg->base.rank * bytes;
    const hk_status_t status = seg->world->ops->commit(seg->world, offset, bytes);

    if (status != HK_OK) {
        return status;
    }
    for (size_t lane = 0; lane < nlanes; lane++) {
        hki_staging_t *staging = &seg->staging[lane];
        staging->base = seg->world->base + offset + lane * seg->base.staging_bytes;
        for (size_t half = 0; half < 2; half++) {
            staging->halves[half].tickets = seg->tickets + (2 * lane + half) * nranks;
            staging->halves[half].readers = seg->readers + (2 * lane + half) * nranks;
        }
    }
    return HK_OK;
}

hk_status_t hki_group_open(hki_world_t *world, const hki_endpoint_ops_t *ops,
                           const hki_group_seat_t *seat, hki_endpoint_t **ep_out)
{
    const uint64_t offset = seat->offset;
    const int nranks = seat->nranks;
    char *group = world->base + offset;
    hki_segment_t *seg = NULL;

    if (offset > world->bytes - sizeof(hki_head_t) || offset % HKI_ARENA_PAGE_BYTES != 0) {
        return HKI_FAIL(HK_ERR_INTERNAL, "no group at offset %llu", (unsigned long long)offset);
    }
    hki_head_t *head = (void *)group;
    if (head->magic != GROUP_MAGIC || head->nranks != (uint32_t)nranks) {
        return HKI_FAIL(HK_ERR_INTERNAL, "the group at offset %llu is not one of %d ranks",
                        (unsigned long long)offset, nranks);
    }
    const int nlanes = (int)head->nlanes;
    const hki_layout_t layout = hki_layout(nranks, nlanes, head->staging_bytes);
    hk_status_t status = segment_allocate(nranks, nlanes, &seg);
    if (status != HK_OK) {
        return status;
    }
    seg->base.ops = ops;
    seg->base.rank = seat->rank;
    seg->base.nranks = nranks;
    seg->base.nlanes = nlanes;
    seg->base.inline_bytes = HKI_INLINE_BYTES_MAX;
    seg->base.staging_bytes = head->staging_bytes;
    seg->base.unstaged_bytes = world->unstaged_bytes;
    seg->base.note = head->note;
    seg->world = world;
    seg->head = head;
    seg->blocks = (void *)(group + layout.blocks);
    seg->mine = &seg->blocks[seat->rank];
    seg->bells = (void *)(group + layout.bells);
    seg->nlines = layout.nlines;
    seg->group_offset = offset;
    seg->suspect = -1;
    for (int i = 0; i < nranks; i++) {
        seg->world_ranks[i] = seat->world_ranks[i];
    }
    hki_segment_look_at_cores(seg);
    attach_streams(seg, group, &layout);
    attach_casts(seg, group, &layout);
    status = attach_staging(seg, &layout);
    if (status != HK_OK) {
        segment_destroy(seg);
        return status;
    }
    atomic_store_explicit(&seg->mine->waits_for, HKI_WAITS_NOT, memory_order_relaxed);
    atomic_store_explicit(&seg->mine->state, HKI_RANK_JOINED, memory_order_release);
    hki_world_retain(world);
    list_add(seg);
    *ep_out = &seg->base;
    return HK_OK;
}

hki_home_t hki_segment_home(const hki_endpoint_t *ep, int rank)
{
    const hki_segment_t *seg = hki_segment_of_const(ep);
    const hki_home_t *homes = seg->world->homes;

    return homes == NULL ? hki_home_unknown() : homes[seg->world_ranks[rank]];
}

void hki_segment_close(hki_endpoint_t *ep)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_world_t *world = seg->world;
    const uint64_t offset = seg->group_offset;
    const bool is_leader = seg->base.rank == 0;
    const uint64_t *sent = seg->base.counts.sent;

    hki_log(
        HKI_LOG_DEBUG, "transport", "messages beyond a line: %llu staged, %llu direct, %llu remote",
        (unsigned long long)sent[HKI_PAYLOAD_STAGED], (unsigned long long)sent[HKI_PAYLOAD_DIRECT],
        (unsigned long long)sent[HKI_PAYLOAD_REMOTE]);
    list_remove(seg);
    if (!hki_segment_is_forked(seg)) {
        leave(seg, HKI_RANK_CLOSED);
        // From the counting on the leader may take the memory away.
        if (seg->lent != NULL) {
            hki_world_lend(world, (uint64_t)(seg->lent - world->base), offset, seg->base.rank);
        } else {
            atomic_fetch_add_explicit(&seg->head->left, 1, memory_order_acq_rel);
        }
        if (is_leader) {
            hki_world_retire(world, offset);
        }
    }
    hki_world_release(world);
    segment_destroy(seg);
}

hk_status_t hki_segment_mem_alloc(hki_endpoint_t *ep, size_t bytes, void **ptr_out)
{
    const hki_segment_t *seg = hki_segment_of(ep);
    uint64_t offset = 0;

    if (hki_segment_is_forked(seg)) {
        return hki_segment_report(seg);
    }
    const uint64_t needed = bytes == 0 ? 1 : bytes;
    const bool is_large = needed >= HKI_LARGE_PAGE_BYTES;
    const hk_status_t status =
        hki_world_get(seg->world, needed, needed,
                      is_large ? HKI_LARGE_PAGE_BYTES : HKI_ARENA_PAGE_BYTES, &offset);
    if (status != HK_OK) {
        return status;
    }
    if (is_large) {
        seg->world->ops->enlarge(seg->world, offset, needed);
    }
    *ptr_out = seg->world->base + offset;
    return HK_OK;
}

void hki_segment_mem_free(hki_endpoint_t *ep, void *ptr)
{
    const hki_segment_t *seg = hki_segment_of(ep);

    if (ptr == NULL || hki_segment_is_forked(seg)) {
        return;
    }
    if (!hki_world_put(seg->world, (uint64_t)((uintptr_t)ptr - (uintptr_t)seg->world->base))) {
        hki_log(HKI_LOG_WARN, "transport", "%p was not allocated here, or is free already", ptr);
    }
}

void hki_segment_mem_lend(hki_endpoint_t *ep, void *ptr)
{
    hki_segment_t *seg = hki_segment_of(ep);

    HKI_ASSERT(seg->lent == NULL);
    seg->lent = ptr;
}

hk_status_t hki_segment_group_offer(hki_endpoint_t *ep, int nranks, uint64_t *handle_out)
{
    const hki_segment_t *seg = hki_segment_of(ep);

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    const hki_group_shape_t shape =
        hki_group_shape(nranks, seg->base.nlanes, seg->base.staging_bytes);
    return hki_group_create(seg->world, &shape, handle_out);
}

hk_status_t hki_segment_group_join(hki_endpoint_t *ep, const int *ranks, int nranks, int new_rank,
                                   uint64_t handle, hki_endpoint_t **ep_out)
{
    const hki_segment_t *seg = hki_segment_of(ep);

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    int *world_ranks = hki_calloc((size_t)nranks, sizeof(*world_ranks));
    if (world_ranks == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "group of %d ranks", nranks);
    }
    for (int i = 0; i < nranks; i++) {
        world_ranks[i] = seg->world_ranks[ranks[i]];
    }
    const hki_group_seat_t seat = {
        .offset = handle, .world_ranks = world_ranks, .nranks = nranks, .rank = new_rank};
    const hk_status_t status = hki_group_open(seg->world, seg->base.ops, &seat, ep_out);
    hki_free(world_ranks);
    return status;
}
