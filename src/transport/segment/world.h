/**
 * @file world.h
 * @brief The memory that all ranks of a job on this host see, and what is known about its ranks.
 *
 * A world is one mapping: the arenas of the ranks, one after the other. It is named by offsets,
 * since every process maps it at another address. A process hands out memory of its own arena
 * only, so that no lock between processes is needed. Ranks that are threads of one process share
 * one arena and one hki_world_t.
 *
 * Threads: all calls may be made by any thread of the process.
 */
#ifndef HKI_TRANSPORT_SEGMENT_WORLD_H
#define HKI_TRANSPORT_SEGMENT_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "topo/cpus.h"
#include "topo/home.h"
#include "transport/segment/arena.h"

typedef struct hki_world hki_world_t;

/** What differs between threads and processes. */
typedef struct hki_world_ops {
    /** Make pages real, zeroed. @return HK_OK, HK_ERR_NO_MEMORY (needed and available bytes) */
    hk_status_t (*commit)(hki_world_t *world, uint64_t offset, uint64_t bytes);
    /** Prefer large pages for what was just made real, where the system has some. */
    void (*enlarge)(hki_world_t *world, uint64_t offset, uint64_t bytes);
    /** Give pages back; they read as zero when committed again. */
    void (*decommit)(hki_world_t *world, uint64_t offset, uint64_t bytes);
    /** First of the `nranks` world ranks whose process has ended and which is_asked about, as an
     *  index into `ranks`; -1: all live. */
    int (*find_dead)(hki_world_t *world, const int *ranks, const bool *is_asked, int nranks);
    /** Has someone stopped this rank's process (SIGSTOP, a debugger)? */
    bool (*is_stopped)(const hki_world_t *world, int rank);
    /** How the process of a rank ended: "was killed by signal 9"; may wait up to 0.4 s.
     *  @return false: it is not known */
    bool (*describe_end)(hki_world_t *world, int rank, char *text, size_t text_bytes);
    /** Copy from the memory of the process of a rank. NULL where no message is ever remote.
     *  @return 0, or the errno of what went wrong */
    int (*read)(const hki_world_t *world, int rank, uint64_t address, void *into, size_t bytes);
    /** Unmap, close, and free `world` itself. */
    void (*destroy)(hki_world_t *world);
} hki_world_ops_t;

struct hki_world {
    const hki_world_ops_t *ops;
    char *base;
    uint64_t bytes;
    uint64_t span_bytes;   /**< from base: the world, and behind it the heaps of its ranks */
    const char *heap_base; /**< heap of this process that all ranks have mapped, see locate() */
    uint64_t heap_bytes;   /**< 0: none */
    uint64_t heap_offset;  /**< of its start, from base, in the mapping of every rank */
    int nranks;            /**< of the world */
    int spin;              /**< see hk_comm_opts_t */
    bool is_private;       /**< one process: all memory is direct */
    size_t unstaged_bytes; /**< see hki_endpoint_t */
    unsigned birth;        /**< hki_fork_count() when it was made */
    hki_cpu_mask_t *masks; /**< (nranks,) what each rank may run on; seen by all */
    /** (nranks,) where each rank runs, written by it once, before the first group is complete;
     *  NULL: not known */
    const hki_home_t *homes;
    const int *pids;       /**< (nranks,) or NULL if all are this process */
    pthread_mutex_t mutex; /**< guards what follows */
    hki_arena_t arena;
    int users; /**< endpoints */
};

/** Initialise the common part: lock, fork watch; no users; an arena is given to it later. */
void hki_world_begin(hki_world_t *world);
/** Undo it: free the arena's book and the lock. */
void hki_world_end(hki_world_t *world);

void hki_world_retain(hki_world_t *world);
/** The last one destroys it. */
void hki_world_release(hki_world_t *world);

/** Memory is mapped so that pages of this size are possible. */
#define HKI_LARGE_PAGE_BYTES (UINT64_C(2) << 20)

/** Address space that nothing may be read from or written to, beginning on a large page; for
 *  munmap(). NULL: there is none left (errno). */
char *hki_world_reserve(uint64_t bytes);

/** Take memory of this process's arena; `commit_bytes` of it, from its start, are made real.
 *  @param alignment  of its start if there is room so: a power of two, a page at least */
hk_status_t hki_world_get(hki_world_t *world, uint64_t bytes, uint64_t commit_bytes,
                          uint64_t alignment, uint64_t *offset_out);
/** Give it back. @return false if it was not handed out here */
bool hki_world_put(hki_world_t *world, uint64_t offset);
/** Give it back later, once the group whose head lies at its start has been left by all. */
void hki_world_retire(hki_world_t *world, uint64_t offset);

/** Give memory back once all ranks of the group but `rank`, this one, have left; only then is this
 *  one counted as having left the group's memory, which therefore stays so long. */
void hki_world_lend(hki_world_t *world, uint64_t offset, uint64_t group, int rank);

/** The largest mapping this process may make [bytes], by its limits: for choosing arenas. */
uint64_t hki_world_bytes_max(void);
/** Bytes of one of `nranks` arenas in a world of at most `bytes_max`. */
uint64_t hki_world_arena_bytes(int nranks, uint64_t bytes_max);

/**
 * Where other ranks find memory of this process: in the world (also what another rank has handed
 * out there), or in a heap that they have mapped.
 *
 * @param[out] offset_out  from base, in the mapping of every rank; wraps below it: threads
 * @return false: they do not see it, or only a part
 */
static inline bool hki_world_locate(const hki_world_t *world, const void *memory, size_t bytes,
                                    uint64_t *offset_out)
{
    const uintptr_t at = (uintptr_t)memory - (uintptr_t)world->base;
    const uintptr_t in_heap = (uintptr_t)memory - (uintptr_t)world->heap_base;

    *offset_out = at;
    if (world->is_private || (at <= world->span_bytes && bytes <= world->span_bytes - at)) {
        return true;
    }
    *offset_out = world->heap_offset + in_heap;
    return in_heap < world->heap_bytes && bytes <= world->heap_bytes - in_heap;
}

/** Forks between this process and the one that made its first world. See hki_fork_count(). */
extern atomic_uint hki_forks;

/** Differs from its value at some earlier time if this is a child that was forked since then. */
static inline unsigned hki_fork_count(void)
{
    return atomic_load_explicit(&hki_forks, memory_order_relaxed);
}

#endif /* HKI_TRANSPORT_SEGMENT_WORLD_H */
