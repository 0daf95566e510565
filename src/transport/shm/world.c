/**
 * @file world.c
 * @brief The memory file and its ranks. See world.h.
 */
#include "transport/shm/world.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "transport/shm/board.h"
#include "transport/shm/heaps.h"
#include "transport/shm/memfd.h"
#include "transport/shm/process.h"

#define CONTROL_MAGIC UINT64_C(0x646c726f77746b68)
#define REASON_NS_MAX UINT64_C(400000000) /* the launcher needs a moment to see an end, too */
enum {
    REASON_POLL_MS = 1,
    SINGLE_COPY_BYTES_MIN = 16384, /**< below, a copy costs less than a system call */
};

/** Start of the file. Written by the founder, then never again. */
typedef struct control {
    uint64_t magic;
    uint64_t nranks;
    uint64_t control_bytes;
    uint64_t arena_bytes;
    uint64_t pids;   /**< where they lie: (nranks,) int [bytes from here] */
    uint64_t tokens; /**< (nranks,) hki_token_t */
    uint64_t reach;  /**< (nranks,) _Atomic uint32_t, REACH_...; each written by its rank */
    uint64_t masks;  /**< (nranks,) hki_cpu_mask_t; each written by its rank */
    uint64_t heaps;  /**< (nranks,) hki_heap_row_t */
    uint64_t homes;  /**< (nranks,) hki_home_t; each written by its rank when it joins */
} control_t;

/** Can a rank read the memory of the next, and should it? */
enum { REACH_UNKNOWN = 0, REACH_NONE = 1, REACH_NEXT = 2 };

typedef struct shm_world {
    hki_world_t common; /**< first */
    int fd;
    hki_process_t *processes; /**< (nranks,) */
    struct pollfd *polls;     /**< (nranks,) scratch of find_dead */
    atomic_flag is_looking;   /**< someone uses polls */
    hki_board_t *board;       /**< or NULL */
} shm_world_t;

static shm_world_t *shm_of(hki_world_t *world)
{
    return (shm_world_t *)world;
}

static hk_status_t shm_commit(hki_world_t *world, uint64_t offset, uint64_t bytes)
{
    return hki_memfd_commit(shm_of(world)->fd, offset, bytes);
}

#ifndef MADV_COLLAPSE
#    define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/** The pages are there already: copy them into large ones. Costs no more than the faults of two
 *  ranks on small ones. Without any effect before Linux 6.1. */
static void shm_enlarge(hki_world_t *world, uint64_t offset, uint64_t bytes)
{
    (void)madvise(world->base + offset, bytes, MADV_COLLAPSE);
}

static void shm_decommit(hki_world_t *world, uint64_t offset, uint64_t bytes)
{
    hki_memfd_decommit(shm_of(world)->fd, offset, bytes);
}

/** One system call for all that have a pidfd; /proc for the others. */
static int find_dead(shm_world_t *shm, const int *ranks, const bool *is_asked, int nranks)
{
    int nwatched = 0;

    for (int i = 0; i < nranks; i++) {
        const hki_process_t *process = &shm->processes[ranks[i]];
        shm->polls[i] = (struct pollfd){.fd = -1, .events = POLLIN};
        if (is_asked[i] && process->pidfd >= 0) {
            shm->polls[i].fd = process->pidfd;
            nwatched++;
        } else if (is_asked[i] && hki_process_has_ended(process)) {
            return i;
        }
    }
    if (nwatched == 0 || poll(shm->polls, (nfds_t)nranks, 0) <= 0) {
        return -1;
    }
    for (int i = 0; i < nranks; i++) {
        if (shm->polls[i].revents != 0) {
            return i;
        }
    }
    return -1;
}

static int shm_find_dead(hki_world_t *world, const int *ranks, const bool *is_asked, int nranks)
{
    shm_world_t *shm = shm_of(world);

    if (atomic_flag_test_and_set_explicit(&shm->is_looking, memory_order_acquire)) {
        return -1; // another thread looks; there is a next time
    }
    const int dead = find_dead(shm, ranks, is_asked, nranks);
    atomic_flag_clear_explicit(&shm->is_looking, memory_order_release);
    return dead;
}

static bool shm_is_stopped(const hki_world_t *world, int rank)
{
    return hki_process_is_stopped(world->pids[rank]);
}

static bool shm_describe_end(hki_world_t *world, int rank, char *text, size_t text_bytes)
{
    const hki_board_t *board = shm_of(world)->board;
    const uint64_t deadline_ns = hki_clock_ns() + REASON_NS_MAX;

    while (!hki_board_describe(board, rank, text, text_bytes)) {
        if (board == NULL || hki_clock_ns() >= deadline_ns) {
            return false;
        }
        (void)poll(NULL, 0, REASON_POLL_MS);
    }
    return true;
}

static int shm_read(const hki_world_t *world, int rank, uint64_t address, void *into, size_t bytes)
{
    return hki_remote_read(world->pids[rank], address, into, bytes);
}

static void shm_destroy(hki_world_t *world)
{
    shm_world_t *shm = shm_of(world);

    for (int rank = 0; shm->processes != NULL && rank < world->nranks; rank++) {
        hki_process_unwatch(&shm->processes[rank]);
    }
    hki_board_destroy(&shm->board);
    if (world->base != NULL) {
        (void)munmap(world->base, world->span_bytes);
    }
    (void)close(shm->fd);
    hki_free(shm->processes);
    hki_free(shm->polls);
    hki_world_end(world);
    hki_free(shm);
}

static const hki_world_ops_t SHM_WORLD_OPS = {
    .commit = shm_commit,
    .enlarge = shm_enlarge,
    .decommit = shm_decommit,
    .find_dead = shm_find_dead,
    .is_stopped = shm_is_stopped,
    .describe_end = shm_describe_end,
    .read = shm_read,
    .destroy = shm_destroy,
};

static const hki_endpoint_ops_t SHM_OPS = HKI_SEGMENT_OPS("shm");

uint64_t hki_shm_control_bytes(int nranks)
{
    const uint64_t page = HKI_ARENA_PAGE_BYTES;

    const uint64_t each = sizeof(hki_cpu_mask_t) + sizeof(hki_token_t) + sizeof(hki_heap_row_t) +
                          sizeof(_Atomic uint32_t) + sizeof(hki_home_t) + sizeof(int);

    return (sizeof(control_t) + (uint64_t)nranks * each + page - 1) / page * page;
}

/** Write the control part and the head of the first group. */
static hk_status_t fill(const hki_shm_job_t *job, const hki_shm_person_t *people,
                        uint64_t arena_bytes, int fd)
{
    const uint64_t first = hki_shm_control_bytes(job->nranks);
    const size_t bytes = first + HKI_ARENA_PAGE_BYTES;
    control_t *control = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (control == MAP_FAILED) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "mapping %zu bytes: %s", bytes, strerror(errno));
    }
    control->magic = CONTROL_MAGIC;
    control->nranks = (uint64_t)job->nranks;
    control->control_bytes = first;
    control->arena_bytes = arena_bytes;
    control->masks = sizeof(*control);
    control->tokens = control->masks + (uint64_t)job->nranks * sizeof(hki_cpu_mask_t);
    control->heaps = control->tokens + (uint64_t)job->nranks * sizeof(hki_token_t);
    control->reach = control->heaps + (uint64_t)job->nranks * sizeof(hki_heap_row_t);
    control->homes = control->reach + (uint64_t)job->nranks * sizeof(_Atomic uint32_t);
    control->pids = control->homes + (uint64_t)job->nranks * sizeof(hki_home_t);
    hki_group_shape_t shape = job->shape;
    shape.note_bytes = 0; // rank 0, which may be another, tells all
    int *pids = (void *)((char *)control + control->pids);
    hki_token_t *tokens = (void *)((char *)control + control->tokens);
    for (int rank = 0; rank < job->nranks; rank++) {
        pids[rank] = people[rank].pid;
        tokens[rank] = people[rank].token;
    }
    hki_heaps_place(people, job->nranks, first + (uint64_t)job->nranks * arena_bytes,
                    (void *)((char *)control + control->heaps));
    hki_group_init((char *)control + first, &shape);
    (void)munmap(control, bytes);
    return HK_OK;
}

hk_status_t hki_shm_world_found(const hki_shm_job_t *job, const hki_shm_person_t *people,
                                uint64_t bytes_max, int *fd_out)
{
    const hki_layout_t layout =
        hki_layout(job->nranks, job->shape.nlanes, job->shape.staging_bytes);
    const uint64_t first = hki_shm_control_bytes(job->nranks);
    const uint64_t arena_bytes =
        hki_world_arena_bytes(job->nranks, bytes_max > first ? bytes_max - first : 0);
    int fd = -1;

    if (arena_bytes < layout.bytes) {
        return HKI_FAIL(HK_ERR_NO_MEMORY,
                        "shared memory: %llu bytes needed in each of %d ranks, %llu available by "
                        "the limits of address space and file size; see ulimit -v and -f",
                        (unsigned long long)layout.bytes, job->nranks,
                        (unsigned long long)arena_bytes);
    }
    hk_status_t status = hki_memfd_room(first + layout.bytes);
    if (status != HK_OK) {
        return status;
    }
    status = hki_memfd_create("hocket", first + (uint64_t)job->nranks * arena_bytes, &fd);
    if (status != HK_OK) {
        return status;
    }
    // Rings are made real by those who write them; see commit_rings().
    HKI_TRY(status = hki_memfd_commit(fd, 0, first + layout.lines), fail);
    HKI_TRY(status = hki_memfd_commit(fd, first + layout.cast_consumed,
                                      layout.staging - layout.cast_consumed),
            fail);
    HKI_TRY(status = fill(job, people, arena_bytes, fd), fail);
    *fd_out = fd;
    return HK_OK;
fail:
    (void)close(fd);
    return status;
}

/** Map the whole file, which is sparse, and check what it says about itself. */
static hk_status_t map_world(const hki_shm_job_t *job, const hki_shm_files_t *files,
                             shm_world_t *shm)
{
    struct stat info;

    if (fstat(shm->fd, &info) != 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "memory file: %s", strerror(errno));
    }
    const uint64_t bytes = (uint64_t)info.st_size;
    char *base = hki_world_reserve(bytes);
    if (base == NULL || mmap(base, bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_NORESERVE | MAP_FIXED, shm->fd, 0) == MAP_FAILED) {
        const int error = errno;

        if (base != NULL) {
            (void)munmap(base, bytes);
        }
        return HKI_FAIL(HK_ERR_NO_MEMORY, "mapping %llu bytes of address space: %s",
                        (unsigned long long)bytes, strerror(error));
    }
    (void)madvise(base, bytes, MADV_DONTDUMP);
    shm->common.base = base;
    shm->common.bytes = bytes;
    shm->common.span_bytes = bytes;

    const control_t *control = (const void *)base;
    if (control->magic != CONTROL_MAGIC || control->nranks != (uint64_t)job->nranks ||
        control->control_bytes + control->nranks * control->arena_bytes != bytes) {
        return HKI_FAIL(HK_ERR_INTERNAL, "the memory file is not that of %d ranks", job->nranks);
    }
    const uint64_t pids = control->pids;
    const uint64_t masks = control->masks;
    hki_heaps_map(&shm->common, control->heaps, files); // may move the mapping
    shm->common.pids = (const void *)(shm->common.base + pids);
    shm->common.masks = (void *)(shm->common.base + masks);
    return HK_OK;
}

/** Watch all other ranks. They are still connected to the founder, so the numbers are theirs. */
static hk_status_t watch_ranks(const hki_shm_job_t *job, shm_world_t *shm)
{
    for (int rank = 0; rank < job->nranks; rank++) {
        if (rank != job->rank) {
            const hk_status_t status =
                hki_process_watch(shm->common.pids[rank], &shm->processes[rank]);
            if (status != HK_OK) {
                return status;
            }
        }
    }
    return HK_OK;
}

static hk_status_t shm_allocate(const hki_shm_job_t *job, int fd, shm_world_t **shm_out)
{
    shm_world_t *shm = hki_calloc(1, sizeof(*shm));

    if (shm == NULL) {
        (void)close(fd);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "world of processes, %zu bytes", sizeof(*shm));
    }
    shm->fd = fd;
    shm->common.ops = &SHM_WORLD_OPS;
    shm->common.nranks = job->nranks;
    shm->common.spin = job->spin;
    shm->common.unstaged_bytes = SIZE_MAX; // until all have said what they can do
    atomic_flag_clear(&shm->is_looking);
    hki_world_begin(&shm->common);
    hki_world_retain(&shm->common); // from here on, hki_world_release() undoes everything
    shm->polls = hki_calloc((size_t)job->nranks, sizeof(*shm->polls));
    shm->processes = hki_calloc((size_t)job->nranks, sizeof(*shm->processes));
    if (shm->polls == NULL || shm->processes == NULL) {
        hki_world_release(&shm->common);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "world of %d processes", job->nranks);
    }
    for (int rank = 0; rank < job->nranks; rank++) {
        shm->processes[rank].pidfd = -1;
    }
    *shm_out = shm;
    return HK_OK;
}

/** Write down where this rank runs: once, so that all ranks see the same whenever they look. */
static void note_home(const hki_shm_job_t *job, shm_world_t *shm)
{
    const control_t *control = (const void *)shm->common.base;
    hki_home_t *homes = (void *)(shm->common.base + control->homes);

    homes[job->rank] = hki_home_find();
    shm->common.homes = homes;
}

/** Give this rank its arena; rank 0 has the first group at the start of it, and tells all what it
 *  has to say. */
static hk_status_t take_arena(const hki_shm_job_t *job, shm_world_t *shm)
{
    const control_t *control = (const void *)shm->common.base;
    const uint64_t first = control->control_bytes;
    const uint64_t offset = first + (uint64_t)job->rank * control->arena_bytes;
    hk_status_t status = hki_arena_init(&shm->common.arena, offset, control->arena_bytes);

    if (status == HK_OK && job->rank == 0) {
        const hki_layout_t layout =
            hki_layout(job->nranks, job->shape.nlanes, job->shape.staging_bytes);
        uint64_t group = 0;
        status = hki_world_get(&shm->common, layout.bytes, 0, HKI_ARENA_PAGE_BYTES, &group);
        HKI_ASSERT(status != HK_OK || group == first);
        if (status == HK_OK && job->shape.note_bytes > 0) { // others read it when all have joined
            hki_head_t *head = (void *)(shm->common.base + first);
            memcpy(head->note, job->shape.note, job->shape.note_bytes);
        }
    }
    return status;
}

/** Make the rings of this rank in the first group real: by their owner, so that they lie in the
 *  memory that is near it. Nobody looks at them before all have joined. */
static hk_status_t commit_rings(const hki_shm_job_t *job, const shm_world_t *shm)
{
    const hki_layout_t layout =
        hki_layout(job->nranks, job->shape.nlanes, job->shape.staging_bytes);
    const uint64_t ring_bytes = layout.nlines * sizeof(hki_line_t);
    const size_t own = hki_stream_index(job->nranks, 0, job->rank, 0);
    const size_t lane = hki_stream_index(job->nranks, 1, 0, 0);
    const hki_memfd_parts_t rings = {
        .offset = hki_shm_control_bytes(job->nranks) + layout.lines + own * ring_bytes,
        .bytes = (uint64_t)job->nranks * ring_bytes,
        .stride = lane * ring_bytes,
        .count = job->shape.nlanes,
    };

    return hki_memfd_commit_parts(shm->fd, &rings);
}

static _Atomic uint32_t *reach_of(const hki_world_t *world)
{
    const control_t *control = (const void *)world->base;

    return (void *)(world->base + control->reach);
}

/**
 * Find out whether ranks can read each other, and gain by it, and write this rank's answer down.
 *
 * Each tries the next only, or opening would take P (P-1) calls. That is enough: who may read whom
 * follows from credentials, and is transitive. If rank i cannot read rank j, then on the way round
 * from i to j somebody is the first whom i's neighbour cannot read, and says no for all.
 */
static hk_status_t try_reach(const hki_shm_job_t *job, const hki_world_t *world)
{
    const control_t *control = (const void *)world->base;
    const hki_token_t *tokens = (const void *)(world->base + control->tokens);
    const int next = (job->rank + 1) % job->nranks;
    uint32_t reach = REACH_NONE;
    const int error = job->block == NULL ? 0 : hki_remote_probe(world->pids[next], &tokens[next]);

    if (error != 0 && job->single_copy > 0) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED,
                        "single copy is demanded, but rank %d cannot read the memory of rank %d "
                        "(pid %d): %s; HOCKET_SINGLE_COPY=auto does without",
                        job->rank, next, world->pids[next], strerror(error));
    }
    if (error != 0) {
        hki_log(HKI_LOG_INFO, "transport",
                "no single copy: the memory of rank %d (pid %d) cannot be read: %s", next,
                world->pids[next], strerror(error));
    } else if (job->block != NULL && job->single_copy < 0 &&
               !hki_remote_pays(world->pids[next], &tokens[next], job->block)) {
        hki_log(HKI_LOG_INFO, "transport", "no single copy: it is slower than staging here");
    } else if (job->block != NULL) {
        reach = REACH_NEXT;
    }
    atomic_store_explicit(&reach_of(world)[job->rank], reach, memory_order_release);
    return HK_OK;
}

void hki_shm_world_settle(const hki_shm_job_t *job, hki_endpoint_t *ep)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_world_t *world = seg->world;
    bool is_single_copy = true;

    hki_segment_look_at_cores(seg); // now that all have noted theirs
    for (int rank = 0; rank < job->nranks; rank++) {
        is_single_copy &= atomic_load_explicit(&reach_of(world)[rank], memory_order_acquire) ==
                          (uint32_t)REACH_NEXT;
    }
    if (is_single_copy) {
        world->unstaged_bytes =
            job->single_copy > 0 ? HKI_INLINE_BYTES_MAX + 1 : SINGLE_COPY_BYTES_MIN;
    }
    ep->unstaged_bytes = world->unstaged_bytes;
    const control_t *control = (const void *)world->base;
    hki_heaps_settle(world, (const void *)(world->base + control->heaps), job->rank, &job->heap);
}

/** File descriptors are scarce, and mappings need none. */
static void close_heaps(const hki_shm_job_t *job, const hki_shm_files_t *files)
{
    for (int i = 0; i < files->nheaps; i++) {
        if (files->heaps[i] != job->heap.fd) {
            (void)close(files->heaps[i]);
        }
        files->heaps[i] = -1;
    }
}

hk_status_t hki_shm_world_join(const hki_shm_job_t *job, const hki_shm_files_t *files,
                               hki_endpoint_t **ep_out)
{
    shm_world_t *shm = NULL;
    int *ranks = NULL;
    hk_status_t status = shm_allocate(job, files->world, &shm);

    if (status != HK_OK) {
        return status;
    }
    status = map_world(job, files, shm);
    close_heaps(job, files);
    HKI_TRY(status, done);
    HKI_TRY(status = watch_ranks(job, shm), done);
    HKI_TRY(status = try_reach(job, &shm->common), done);
    note_home(job, shm);
    shm->board = hki_board_find(job->nranks);
    HKI_TRY(status = take_arena(job, shm), done);
    HKI_TRY(status = commit_rings(job, shm), done);
    ranks = hki_calloc((size_t)job->nranks, sizeof(*ranks));
    if (ranks == NULL) {
        HKI_TRY(status = HKI_FAIL(HK_ERR_NO_MEMORY, "group of %d ranks", job->nranks), done);
    }
    for (int rank = 0; rank < job->nranks; rank++) {
        ranks[rank] = rank;
    }
    const hki_group_seat_t seat = {.offset = hki_shm_control_bytes(job->nranks),
                                   .world_ranks = ranks,
                                   .nranks = job->nranks,
                                   .rank = job->rank};
    status = hki_group_open(&shm->common, &SHM_OPS, &seat, ep_out);
done:
    hki_free(ranks);
    hki_world_release(&shm->common);
    return status;
}
