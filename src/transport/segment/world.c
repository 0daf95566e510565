/**
 * @file world.c
 * @brief Life of a world and of the memory handed out from this process's arena.
 */
#include "transport/segment/world.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/error.h"
#include "topo/memory.h"
#include "transport/segment/layout.h"

#define GIB             (UINT64_C(1) << 30)
#define ARENA_BYTES_MAX (64 * GIB)
#if defined(__SANITIZE_THREAD__)
#    define WORLD_BYTES_MAX (1024 * GIB) /* the sanitizer leaves no more address space */
#else
#    define WORLD_BYTES_MAX (16384 * GIB)
#endif
#define WORLD_BYTES_MIN (UINT64_C(1) << 20)

atomic_uint hki_forks;
static pthread_once_t g_fork_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&hki_forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

void hki_world_begin(hki_world_t *world)
{
    (void)pthread_once(&g_fork_once, watch_forks);
    world->birth = hki_fork_count();
    (void)pthread_mutex_init(&world->mutex, NULL); // cannot fail on Linux
}

void hki_world_end(hki_world_t *world)
{
    hki_arena_fini(&world->arena);
    (void)pthread_mutex_destroy(&world->mutex);
}

static void put_locked(hki_world_t *world, uint64_t offset, uint64_t bytes)
{
    // A forked child has a copy of the book but not of the memory: leave that to the parent.
    if (world->birth == hki_fork_count()) {
        world->ops->decommit(world, offset, bytes);
    }
    (void)hki_arena_put(&world->arena, offset);
}

/** Have all ranks of the group but the lender left? */
static bool is_read(const hki_world_t *world, const hki_extent_t *extent)
{
    const char *group = world->base + extent->lender_group;
    const hki_head_t *head = (const void *)group;
    const hki_layout_t layout =
        hki_layout((int)head->nranks, (int)head->nlanes, head->staging_bytes);
    const hki_block_t *blocks = (const void *)(group + layout.blocks);

    for (int r = 0; r < (int)head->nranks; r++) {
        const uint32_t state = atomic_load_explicit(&blocks[r].state, memory_order_acquire);

        if (r != extent->lender && state != HKI_RANK_CLOSED && state != HKI_RANK_EXITED) {
            return false;
        }
    }
    return true;
}

/** Give back memory that was lent to the ranks of a group, and the memory of groups, once all have
 *  left. */
static void sweep_locked(hki_world_t *world)
{
    hki_extent_t *next;

    for (hki_extent_t *extent = world->arena.used; extent != NULL; extent = next) {
        next = extent->next;
        if (extent->is_lent && world->birth == hki_fork_count() && is_read(world, extent)) {
            hki_head_t *head = (void *)(world->base + extent->lender_group);

            put_locked(world, extent->offset, extent->bytes);
            atomic_fetch_add_explicit(&head->left, 1, memory_order_acq_rel);
        }
    }
    for (hki_extent_t *extent = world->arena.used; extent != NULL; extent = next) {
        next = extent->next;
        if (extent->is_retired) {
            const hki_head_t *head = (const void *)(world->base + extent->offset);
            if (atomic_load_explicit(&head->left, memory_order_acquire) == head->nranks) {
                put_locked(world, extent->offset, extent->bytes);
            }
        }
    }
}

char *hki_world_reserve(uint64_t bytes)
{
    const uint64_t most = bytes + HKI_LARGE_PAGE_BYTES;
    char *space = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (space == MAP_FAILED) {
        return NULL;
    }
    const uint64_t past = (uintptr_t)space % HKI_LARGE_PAGE_BYTES;
    const uint64_t before = past == 0 ? 0 : HKI_LARGE_PAGE_BYTES - past;
    if (before != 0) {
        (void)munmap(space, before);
    }
    (void)munmap(space + before + bytes, most - before - bytes);
    return space + before;
}

void hki_world_retain(hki_world_t *world)
{
    (void)pthread_mutex_lock(&world->mutex);
    world->users++;
    (void)pthread_mutex_unlock(&world->mutex);
}

void hki_world_release(hki_world_t *world)
{
    if (world->birth == hki_fork_count()) {
        (void)pthread_mutex_lock(&world->mutex);
    } else if (pthread_mutex_trylock(&world->mutex) != 0) {
        return; // forked while a thread held it: nobody here will ever give it back
    }
    const bool is_last = --world->users == 0;
    sweep_locked(world);
    (void)pthread_mutex_unlock(&world->mutex);
    if (is_last) {
        world->ops->destroy(world);
    }
}

hk_status_t hki_world_get(hki_world_t *world, uint64_t bytes, uint64_t commit_bytes,
                          uint64_t alignment, uint64_t *offset_out)
{
    uint64_t offset = 0;

    (void)pthread_mutex_lock(&world->mutex);
    sweep_locked(world);
    hk_status_t status = hki_arena_get(&world->arena, bytes, alignment, &offset);
    if (status == HK_OK && commit_bytes != 0) {
        status = world->ops->commit(world, offset, commit_bytes);
        if (status != HK_OK) {
            put_locked(world, offset, bytes); // a part may have become real
        }
    }
    (void)pthread_mutex_unlock(&world->mutex);
    if (status == HK_OK) {
        *offset_out = offset;
    }
    return status;
}

bool hki_world_put(hki_world_t *world, uint64_t offset)
{
    (void)pthread_mutex_lock(&world->mutex);
    const hki_extent_t *extent = hki_arena_find(&world->arena, offset);
    const bool is_ours = extent != NULL;
    if (is_ours) {
        put_locked(world, offset, extent->bytes);
    }
    (void)pthread_mutex_unlock(&world->mutex);
    return is_ours;
}

void hki_world_retire(hki_world_t *world, uint64_t offset)
{
    (void)pthread_mutex_lock(&world->mutex);
    hki_extent_t *extent = hki_arena_find(&world->arena, offset);
    HKI_ASSERT(extent != NULL);
    extent->is_retired = true;
    sweep_locked(world);
    (void)pthread_mutex_unlock(&world->mutex);
}

void hki_world_lend(hki_world_t *world, uint64_t offset, uint64_t group, int rank)
{
    (void)pthread_mutex_lock(&world->mutex);
    hki_extent_t *extent = hki_arena_find(&world->arena, offset);
    HKI_ASSERT(extent != NULL);
    extent->is_lent = true;
    extent->lender_group = group;
    extent->lender = rank;
    sweep_locked(world);
    (void)pthread_mutex_unlock(&world->mutex);
}

/** The soft limit that getrlimit() has told, as bytes. */
static uint64_t limit_bytes(int result, const struct rlimit *limit)
{
    return result != 0 || limit->rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit->rlim_cur;
}

uint64_t hki_world_bytes_max(void)
{
    struct rlimit as;
    struct rlimit fsize;
    const uint64_t space = limit_bytes(getrlimit(RLIMIT_AS, &as), &as) / 2; // the program has some
    const uint64_t file = limit_bytes(getrlimit(RLIMIT_FSIZE, &fsize), &fsize); // of memory, too
    uint64_t bytes = WORLD_BYTES_MAX;

    bytes = space < bytes ? space : bytes;
    return file < bytes ? file : bytes;
}

uint64_t hki_world_arena_bytes(int nranks, uint64_t bytes_max)
{
    uint64_t bytes = WORLD_BYTES_MIN;
    const uint64_t wanted = 2 * hki_memory_total();

    while (bytes < wanted && bytes < ARENA_BYTES_MAX) {
        bytes *= 2;
    }
    if (bytes > bytes_max / (uint64_t)nranks) {
        bytes = bytes_max / (uint64_t)nranks;
    }
    return bytes / HKI_ARENA_PAGE_BYTES * HKI_ARENA_PAGE_BYTES;
}
