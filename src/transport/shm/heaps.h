/**
 * @file heaps.h
 * @brief The heaps of the ranks that have one others can map (shared_heap.h), behind the world.
 *
 *     world | heap of rank 0 | heap of rank 1 | ...
 *
 * Every rank maps the files of all heaps at the same distances from its world, so that a message
 * names a place in a heap as it does one in the world. The file of a heap has its full size from
 * the start: what a rank allocates later is seen by all. If a single rank cannot map a single heap,
 * none is used, and all heap memory is private to the transport.
 */
#ifndef HKI_TRANSPORT_SHM_HEAPS_H
#define HKI_TRANSPORT_SHM_HEAPS_H

#include <stdatomic.h>

#include "transport/shm/world.h"

/** What the control part of the world says about the heap of a rank. */
typedef struct hki_heap_row {
    uint64_t bytes;           /**< 0: it has none */
    uint64_t offset;          /**< from the start of the world */
    _Atomic uint32_t has_all; /**< this rank has mapped all heaps; written by it */
    uint32_t unused;
} hki_heap_row_t;

/** Ask the process for its heap, by HKI_SHARED_HEAP_SYMBOL. bytes 0: there is none. */
hki_shared_heap_t hki_heaps_find(void);

/** Founder: give the heaps of `people` their places behind a world of `world_bytes`. */
void hki_heaps_place(const hki_shm_person_t *people, int nranks, uint64_t world_bytes,
                     hki_heap_row_t *rows);

/** Which ranks have one? @return how many */
int hki_heaps_count(const hki_heap_row_t *rows, int nranks);

/**
 * Move the mapping of a world's file, and map the heaps behind it.
 *
 * @param rows   (world->nranks,) in the world's memory
 * @param files  of the world, and of the heaps of the ranks that have one, in their order
 * @param offset of `rows` in the world
 */
void hki_heaps_map(hki_world_t *world, uint64_t offset, const hki_shm_files_t *files);

/** All have joined: if all have mapped all, let `own` be seen as shared memory. */
void hki_heaps_settle(hki_world_t *world, const hki_heap_row_t *rows, int rank,
                      const hki_shared_heap_t *own);

#endif /* HKI_TRANSPORT_SHM_HEAPS_H */
