/**
 * @file heap.c
 * @brief Pages of a memory file: fallocate() makes them real, MADV_REMOVE gives them back.
 *
 * The mapping is MAP_SHARED, so a forked child would write into its parent's blocks. It is
 * therefore MADV_DONTFORK, and children get copies: see fork_child().
 */
#include "heap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo/memory.h"
#include "transport/segment/world.h"
#include "transport/shm/memfd.h"

#define MIB             (UINT64_C(1) << 20)
#define HEAP_BYTES_MIN  (16 * MIB)
#define HEAP_BYTES_MAX  (UINT64_C(1) << 38) /* 256 GiB: 512 such heaps fit in an address space */
#define STALE_BYTES_MAX (64 * MIB)          /* kept for the next blocks */
#define GROWTH_BYTES    MIB                 /* made real at once, for several small blocks */
#define BASE_ALIGNMENT  (2 * MIB)

enum { FD_MIN = 200, LIMIT_SHARE = 4 };

static const uint64_t page_bytes = HKI_HEAP_PAGE_BYTES;

static char *address_of(const hki_heap_t *heap, uint32_t page)
{
    return heap->base + (uint64_t)page * page_bytes;
}

static uint32_t page_of(const hki_heap_t *heap, const void *block)
{
    return (uint32_t)(((uintptr_t)block - (uintptr_t)heap->base) / page_bytes);
}

/** Recursive: other handlers of a thread that forks may free blocks. Cannot fail on Linux. */
static void mutex_init(hki_heap_t *heap)
{
    pthread_mutexattr_t kind;

    (void)pthread_mutexattr_init(&kind);
    (void)pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&heap->mutex, &kind);
    (void)pthread_mutexattr_destroy(&kind);
}

static void lock(hki_heap_t *heap)
{
    (void)pthread_mutex_lock(&heap->mutex);
}

static void unlock(hki_heap_t *heap)
{
    (void)pthread_mutex_unlock(&heap->mutex);
}

/** Is heap->fd still our file? */
static bool has_file(const hki_heap_t *heap)
{
    struct stat info;

    return heap->fd >= 0 && fstat(heap->fd, &info) == 0 && info.st_dev == heap->device &&
           info.st_ino == heap->inode;
}

static uint64_t choose_bytes(uint64_t bytes_max)
{
    const uint64_t limit = hki_world_bytes_max() / LIMIT_SHARE; // the program needs some, too
    const uint64_t wanted = hki_memory_total();
    uint64_t bytes = HEAP_BYTES_MIN;

    bytes_max = bytes_max < HEAP_BYTES_MAX ? bytes_max : HEAP_BYTES_MAX;
    bytes_max = limit < bytes_max ? limit : bytes_max;
    while (bytes < wanted && bytes < bytes_max) {
        bytes *= 2;
    }
    return (bytes < bytes_max ? bytes : bytes_max) / page_bytes * page_bytes;
}

/** The memory file, at a number that is out of the way of programs that count on low ones. */
static bool open_file(hki_heap_t *heap)
{
    struct stat info;
    int fd = -1;

    if (hki_memfd_create("hocket-heap", heap->bytes, &fd) != HK_OK) {
        return false;
    }
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_MIN);
    if (high >= 0) {
        (void)close(fd);
        fd = high;
    }
    heap->fd = fd;
    if (fstat(fd, &info) != 0) {
        return false;
    }
    heap->device = info.st_dev;
    heap->inode = info.st_ino;
    return true;
}

/** Map the file at a multiple of BASE_ALIGNMENT. */
static bool map_file(hki_heap_t *heap)
{
    const uint64_t bytes = heap->bytes + BASE_ALIGNMENT;
    char *space = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (space == MAP_FAILED) {
        return false;
    }
    const uint64_t before = (BASE_ALIGNMENT - (uintptr_t)space % BASE_ALIGNMENT) % BASE_ALIGNMENT;
    char *base = space + before;
    void *mapped = mmap(base, heap->bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE | MAP_FIXED, heap->fd, 0);
    if (mapped == MAP_FAILED) {
        (void)munmap(space, bytes);
        return false;
    }
    if (before != 0) {
        (void)munmap(space, before);
    }
    (void)munmap(base + heap->bytes, BASE_ALIGNMENT - before);
    (void)madvise(base, heap->bytes, MADV_DONTFORK);
    heap->base = base;
    return true;
}

bool hki_heap_open(hki_heap_t *heap, uint64_t bytes_max)
{
    const uint64_t bytes = choose_bytes(bytes_max);
    const uint32_t npages = (uint32_t)(bytes / page_bytes);

    if (npages < 2) {
        return false;
    }
    *heap = (hki_heap_t){.fd = -1, .bytes = bytes};
    heap->table_bytes = ((uint64_t)npages + 1) * sizeof(hki_page_t); // page 0 is not in the book
    void *table = mmap(NULL, heap->table_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) {
        return false;
    }
    if (!open_file(heap) || !map_file(heap)) {
        if (heap->fd >= 0) {
            (void)close(heap->fd);
        }
        (void)munmap(table, heap->table_bytes);
        return false;
    }
    mutex_init(heap);
    hki_pages_init(&heap->pages, table, npages - 1);
    return true;
}

void hki_heap_close(hki_heap_t *heap)
{
    (void)munmap(heap->base, heap->bytes);
    (void)munmap(heap->pages.table, heap->table_bytes);
    if (has_file(heap)) {
        (void)close(heap->fd);
    }
    (void)pthread_mutex_destroy(&heap->mutex);
    *heap = (hki_heap_t){.fd = -1};
}

bool hki_heap_is_shared(const hki_heap_t *heap)
{
    return !heap->is_frozen && has_file(heap);
}

/** Give the memory of pages back; they read as zero. */
static void discard(const hki_heap_t *heap, uint32_t first, uint32_t npages)
{
    (void)madvise(address_of(heap, first), npages * page_bytes,
                  heap->is_frozen ? MADV_DONTNEED : MADV_REMOVE);
}

/** Give stale runs back until they hold no more than this. */
static void shed_locked(hki_heap_t *heap, uint64_t bytes_max)
{
    while (heap->pages.counts[HKI_RUN_STALE] * page_bytes > bytes_max) {
        const hki_run_t run = hki_pages_largest_stale(&heap->pages);
        discard(heap, run.first, run.npages);
        hki_pages_put(&heap->pages, run.first, HKI_RUN_FRESH);
    }
}

static void put_locked(hki_heap_t *heap, uint32_t first)
{
    const uint64_t kept = heap->is_frozen ? 0 : STALE_BYTES_MAX;

    hki_pages_put(&heap->pages, first, HKI_RUN_STALE);
    shed_locked(heap, kept);
}

/** Make pages real, or say that there is no memory for them. */
static bool commit(const hki_heap_t *heap, uint32_t first, uint32_t npages)
{
    return has_file(heap) &&
           hki_memfd_commit(heap->fd, first * page_bytes, npages * page_bytes) == HK_OK;
}

/** A run of stale pages, or of fresh ones that remain to be made real, perhaps more than asked. */
static hki_run_t take(hki_heap_t *heap, uint32_t npages, uint32_t step)
{
    const uint32_t growth = (uint32_t)(GROWTH_BYTES / page_bytes);

    lock(heap);
    hki_run_t run = hki_pages_get(&heap->pages, HKI_RUN_STALE, npages, step);
    if (run.first == 0 && npages < growth) {
        run = hki_pages_get(&heap->pages, HKI_RUN_FRESH, growth, step);
    }
    if (run.first == 0) {
        run = hki_pages_get(&heap->pages, HKI_RUN_FRESH, npages, step);
    }
    if (run.first == 0) { // address space is used up, or in small pieces of both kinds
        shed_locked(heap, 0);
        run = hki_pages_get(&heap->pages, HKI_RUN_FRESH, npages, step);
    }
    unlock(heap);
    return run;
}

static void give_back(hki_heap_t *heap, uint32_t first, hki_run_kind_t kind)
{
    lock(heap);
    if (kind == HKI_RUN_FRESH) {
        hki_pages_put(&heap->pages, first, kind);
    } else {
        put_locked(heap, first);
    }
    unlock(heap);
}

/** Make a run that was fresh real; keep the first `npages`, the others are for later blocks. */
static bool make_real(hki_heap_t *heap, hki_run_t run, uint32_t npages)
{
    bool is_real = commit(heap, run.first, run.npages);

    if (!is_real && run.npages > npages) {
        is_real = commit(heap, run.first, npages);
    }
    if (!is_real) {
        discard(heap, run.first, run.npages); // a part may have become real
        give_back(heap, run.first, HKI_RUN_FRESH);
        return false;
    }
    lock(heap);
    hki_pages_trim(&heap->pages, run.first, npages, HKI_RUN_STALE);
    unlock(heap);
    return true;
}

static uint32_t pages_for(size_t bytes)
{
    return (uint32_t)((bytes + page_bytes - 1) / page_bytes);
}

void *hki_heap_get(hki_heap_t *heap, size_t bytes, size_t alignment, bool *is_zero_out)
{
    const uint64_t step = alignment <= page_bytes ? 1 : alignment / page_bytes;

    if (bytes == 0 || bytes > heap->bytes || (uintptr_t)heap->base % alignment != 0 ||
        step >= heap->pages.npages || !hki_heap_is_shared(heap)) {
        return NULL;
    }
    const uint32_t npages = pages_for(bytes);
    const hki_run_t run = take(heap, npages, (uint32_t)step);
    if (run.first == 0 || (run.kind == HKI_RUN_FRESH && !make_real(heap, run, npages))) {
        return NULL;
    }
    *is_zero_out = run.kind == HKI_RUN_FRESH;
    return address_of(heap, run.first);
}

/** The run of a block. Stops the program, as the C library does, if there is none. */
static hki_run_t run_of(const hki_heap_t *heap, const void *block)
{
    static const char text[] = "hocket: free(), realloc(): no such block, or freed already\n";
    const hki_run_t run = hki_pages_at(&heap->pages, page_of(heap, block));

    if ((uintptr_t)block % page_bytes != 0 || run.kind != HKI_RUN_USED) {
        const ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
        (void)written;
        abort();
    }
    return run;
}

void hki_heap_put(hki_heap_t *heap, void *block)
{
    lock(heap);
    put_locked(heap, run_of(heap, block).first);
    unlock(heap);
}

size_t hki_heap_block_bytes(hki_heap_t *heap, const void *block)
{
    lock(heap);
    const hki_run_t run = run_of(heap, block);
    unlock(heap);
    return run.npages * page_bytes;
}

bool hki_heap_resize(hki_heap_t *heap, void *block, size_t bytes)
{
    if (bytes == 0 || bytes > heap->bytes) {
        return false;
    }
    const uint32_t npages = pages_for(bytes);
    bool is_done = true;

    lock(heap);
    const hki_run_t run = run_of(heap, block);
    if (npages <= run.npages) {
        hki_pages_trim(&heap->pages, run.first, npages, HKI_RUN_STALE);
        shed_locked(heap, heap->is_frozen ? 0 : STALE_BYTES_MAX);
    } else {
        is_done = !heap->is_frozen && hki_pages_extend(&heap->pages, run.first, npages);
    }
    unlock(heap);
    if (!is_done || npages <= run.npages) {
        return is_done;
    }
    const uint32_t more = npages - run.npages;
    if (commit(heap, run.first + run.npages, more)) {
        return true;
    }
    lock(heap);
    discard(heap, run.first + run.npages, more);
    hki_pages_trim(&heap->pages, run.first, run.npages, HKI_RUN_FRESH);
    unlock(heap);
    return false;
}

/* Fork. */

/** End of the last used run [pages from the start]. */
static uint32_t used_end(const hki_heap_t *heap)
{
    uint32_t end = 0;

    for (uint32_t page = 1; page <= heap->pages.npages;) {
        const hki_run_t run = hki_pages_at(&heap->pages, page);
        page += run.npages;
        end = run.kind == HKI_RUN_USED ? page : end;
    }
    return end;
}

void hki_heap_fork_prepare(hki_heap_t *heap)
{
    lock(heap); // until parent() or child()
    heap->copy = NULL;
    const uint32_t end = used_end(heap);
    if (end == 0 || heap->is_frozen ||
        heap->pages.counts[HKI_RUN_USED] * page_bytes > hki_memory_available()) {
        return;
    }
    heap->copy_bytes = end * page_bytes;
    char *copy = mmap(NULL, heap->copy_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) {
        return;
    }
    for (uint32_t page = 1; page < end;) {
        const hki_run_t run = hki_pages_at(&heap->pages, page);
        if (run.kind == HKI_RUN_USED) {
            memcpy(copy + page * page_bytes, address_of(heap, page), run.npages * page_bytes);
        }
        page += run.npages;
    }
    heap->copy = copy;
}

void hki_heap_fork_parent(hki_heap_t *heap)
{
    if (heap->copy != NULL) {
        (void)munmap(heap->copy, heap->copy_bytes);
        heap->copy = NULL;
    }
    unlock(heap);
}

void hki_heap_fork_child(hki_heap_t *heap)
{
    if (!heap->is_frozen) {
        const bool is_lost = heap->copy == NULL && heap->pages.counts[HKI_RUN_USED] != 0;
        if (is_lost && has_file(heap)) {
            // No memory for copies. What the child writes is its own; what it only reads is the
            // parent's, perhaps later than the fork.
            (void)mmap(heap->base, heap->bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, heap->fd, 0);
        } else { // nothing else may come to lie here: addresses tell whose a block is
            (void)mmap(heap->base, heap->bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        }
        if (heap->copy != NULL) {
            (void)mremap(heap->copy, heap->copy_bytes, heap->copy_bytes,
                         MREMAP_MAYMOVE | MREMAP_FIXED, heap->base);
        }
        if (has_file(heap)) {
            (void)close(heap->fd); // the parent's memory shall go with the parent
        }
        heap->fd = -1;
        heap->copy = NULL;
        heap->is_frozen = true;
    }
    mutex_init(heap);
}
