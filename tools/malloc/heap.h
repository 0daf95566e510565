/**
 * @file heap.h
 * @brief A heap of whole pages in a memory file that other processes can map.
 *
 * The address space is reserved at once (a file of the full size takes no memory), and blocks are
 * made real as they are handed out, so that touching them cannot fail. Some freed pages are kept
 * for the next blocks, the others are given back to the system.
 *
 * After fork() the child has copies: prepare() copies the blocks, child() puts the copies where the
 * blocks were. From then on the heap of the child is frozen: blocks can be used, cut and freed, but
 * there are no new ones. A child that came about without these calls (clone(), _Fork()) has nothing
 * there at all, and is ended by the system when it touches a block: it cannot harm its parent.
 *
 * Threads: all calls, any thread. Nothing here calls malloc() while the heap is locked.
 */
#ifndef HKI_TOOLS_MALLOC_HEAP_H
#define HKI_TOOLS_MALLOC_HEAP_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pages.h"
#include "transport/shm/shared_heap.h"

enum { HKI_HEAP_PAGE_BYTES = 4096 };

typedef struct hki_heap {
    char *base; /**< of page 0, which is never handed out */
    uint64_t bytes;
    int fd;
    dev_t device; /**< of the file: a program may close all file descriptors, and open others */
    ino_t inode;
    bool is_frozen;
    pthread_mutex_t mutex; /**< of what follows */
    hki_pages_t pages;
    uint64_t table_bytes;
    char *copy; /**< between prepare() and parent() or child(): the blocks as they were, or NULL */
    uint64_t copy_bytes;
} hki_heap_t;

/**
 * Reserve a heap: as large as this machine's memory, or what the limits of address space and file
 * size allow, but at most `bytes_max`.
 *
 * @return false: no address space, no file; nothing is left behind
 */
bool hki_heap_open(hki_heap_t *heap, uint64_t bytes_max);
/** Give everything back. */
void hki_heap_close(hki_heap_t *heap);

/**
 * A block, aligned to a page and to `alignment` (a power of two).
 *
 * @param[out] is_zero_out  it is known to hold zeros
 * @return NULL: no room, no memory, or the heap is frozen
 */
void *hki_heap_get(hki_heap_t *heap, size_t bytes, size_t alignment, bool *is_zero_out);
/** Free a block. */
void hki_heap_put(hki_heap_t *heap, void *block);
/** Bytes that a block has. Stops the program if there is no such block. */
size_t hki_heap_block_bytes(hki_heap_t *heap, const void *block);
/** Cut a block, or let it grow, where it lies. @return false: it cannot grow there */
bool hki_heap_resize(hki_heap_t *heap, void *block, size_t bytes);

/** Is this address in the heap's range? */
static inline bool hki_heap_owns(const hki_heap_t *heap, const void *at)
{
    return (uintptr_t)at - (uintptr_t)heap->base < heap->bytes;
}

/** Does the heap have a file that others can map? */
bool hki_heap_is_shared(const hki_heap_t *heap);

/** For pthread_atfork(). */
void hki_heap_fork_prepare(hki_heap_t *heap);
void hki_heap_fork_parent(hki_heap_t *heap);
void hki_heap_fork_child(hki_heap_t *heap);

#endif /* HKI_TOOLS_MALLOC_HEAP_H */
