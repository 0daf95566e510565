/**
 * @file heaps.c
 * @brief Finding, placing and mapping the heaps of the ranks.
 */
#include "transport/shm/heaps.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/log.h"

hki_shared_heap_t hki_heaps_find(void)
{
    hki_shared_heap_t heap = {0};
    hki_shared_heap_fn describe = NULL;

    // POSIX lets an address of an object be that of a function; ISO C knows no cast for it
    *(void **)&describe = dlsym(RTLD_DEFAULT, HKI_SHARED_HEAP_SYMBOL);
    if (describe == NULL || !describe(HKI_SHARED_HEAP_VERSION, &heap)) {
        return (hki_shared_heap_t){.fd = -1};
    }
    return heap;
}

void hki_heaps_place(const hki_shm_person_t *people, int nranks, uint64_t world_bytes,
                     hki_heap_row_t *rows)
{
    uint64_t offset = world_bytes;

    for (int rank = 0; rank < nranks; rank++) {
        rows[rank].bytes = people[rank].heap_bytes;
        rows[rank].offset = offset;
        offset += rows[rank].bytes;
    }
}

int hki_heaps_count(const hki_heap_row_t *rows, int nranks)
{
    int count = 0;

    for (int rank = 0; rank < nranks; rank++) {
        count += rows[rank].bytes != 0 ? 1 : 0;
    }
    return count;
}

/** Map the heaps into the space at `base`. @return false: one could not be mapped */
static bool map_all(char *base, const hki_heap_row_t *rows, int nranks,
                    const hki_shm_files_t *files)
{
    int next = 0;

    for (int rank = 0; rank < nranks; rank++) {
        struct stat info;
        if (rows[rank].bytes == 0) {
            continue;
        }
        const int fd = files->heaps[next++];
        // beyond the end of a file lie no pages, only signals
        if (fstat(fd, &info) != 0 || (uint64_t)info.st_size < rows[rank].bytes) {
            return false;
        }
        if (mmap(base + rows[rank].offset, rows[rank].bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED) {
            return false;
        }
    }
    return true;
}

/** @return false: there is no address space, or one file is missing */
static bool map_behind(hki_world_t *world, const hki_heap_row_t *rows, const hki_shm_files_t *files)
{
    const hki_heap_row_t *last = &rows[world->nranks - 1];
    const uint64_t span_bytes = last->offset + last->bytes;

    if (files->nheaps != hki_heaps_count(rows, world->nranks)) {
        return false;
    }
    char *space = hki_world_reserve(span_bytes);
    if (space == NULL) {
        return false;
    }
    const void *file = mmap(space, world->bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE | MAP_FIXED, files->world, 0);
    if (file == MAP_FAILED || !map_all(space, rows, world->nranks, files)) {
        (void)munmap(space, span_bytes);
        return false;
    }
    (void)munmap(world->base, world->bytes);
    (void)madvise(space, span_bytes, MADV_DONTDUMP);
    world->base = space;
    world->span_bytes = span_bytes;
    return true;
}

void hki_heaps_map(hki_world_t *world, uint64_t offset, const hki_shm_files_t *files)
{
    const hki_heap_row_t *rows = (const void *)(world->base + offset);
    bool has_all = hki_heaps_count(rows, world->nranks) != 0;

    if (has_all && !map_behind(world, rows, files)) {
        has_all = false;
        hki_log(HKI_LOG_INFO, "transport",
                "the ranks' heaps are not shared: there is no address space or file descriptor "
                "left for them");
    }
    if (has_all) {
        hki_heap_row_t *mine = (void *)(world->base + offset);
        atomic_store_explicit(&mine[files->rank].has_all, 1, memory_order_release);
    }
}

void hki_heaps_settle(hki_world_t *world, const hki_heap_row_t *rows, int rank,
                      const hki_shared_heap_t *own)
{
    for (int peer = 0; peer < world->nranks; peer++) {
        if (atomic_load_explicit(&rows[peer].has_all, memory_order_acquire) == 0) {
            return;
        }
    }
    if (rows[rank].bytes != 0) {
        world->heap_base = own->base;
        world->heap_bytes = rows[rank].bytes;
        world->heap_offset = rows[rank].offset;
        hki_log(HKI_LOG_DEBUG, "transport", "the heap of this process is shared: %llu bytes",
                (unsigned long long)world->heap_bytes);
    }
}
