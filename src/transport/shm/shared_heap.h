/**
 * @file shared_heap.h
 * @brief How this library finds a heap that other processes can map, such as that of the drop-in
 *        malloc (tools/malloc), which is loaded before the program and knows nothing of us.
 *
 * The allocator exports one function under the name below. It is looked up once for each job that
 * is opened. Everything in [base, base + bytes) may then be passed to collectives and messages as
 * if it came from hk_mem_alloc(), for as long as the process lives; blocks come and go, but not the
 * heap, whose file has its full size from the start: growth need not be told to anybody.
 */
#ifndef HKI_TRANSPORT_SHM_SHARED_HEAP_H
#define HKI_TRANSPORT_SHM_SHARED_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define HKI_SHARED_HEAP_SYMBOL "hocket_shared_heap"

enum { HKI_SHARED_HEAP_VERSION = 1 };

typedef struct hki_shared_heap {
    char *base;     /**< page aligned; of this process */
    uint64_t bytes; /**< of address space and file; a multiple of a page */
    int fd;         /**< memory file that is mapped at base from its start; borrowed */
} hki_shared_heap_t;

/** Describe the heap of this process. @param version  HKI_SHARED_HEAP_VERSION of the asker
 *  @return false: there is none here that others could map, or it is of another version */
typedef bool (*hki_shared_heap_fn)(unsigned version, hki_shared_heap_t *heap_out);

#endif /* HKI_TRANSPORT_SHM_SHARED_HEAP_H */
