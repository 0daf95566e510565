/**
 * @file world.h
 * @brief The world of the processes of one host: a memory file, mapped by all.
 *
 *     control | arena of rank 0 (the first group lies at its start) | arena of rank 1 | ...
 *
 * Heaps of the ranks may be mapped behind it: heaps.h.
 */
#ifndef HKI_TRANSPORT_SHM_WORLD_H
#define HKI_TRANSPORT_SHM_WORLD_H

#include "transport/segment/endpoint.h"
#include "transport/shm/remote.h"
#include "transport/shm/shared_heap.h"
#include "transport/transport.h"

/** What a rank knows of its job before it meets the others. */
typedef struct hki_shm_job {
    const char *name;
    int rank;
    int nranks;
    int spin;
    int single_copy;       /**< see hki_transport_opts_t */
    const uint64_t *block; /**< for others to read, until open is done; NULL: no single copy */
    uint64_t deadline_ns;  /**< of open */
    hki_group_shape_t shape;
    hki_shared_heap_t heap; /**< of this process; bytes 0: none that others could map */
} hki_shm_job_t;

/** A rank, as the founder met it. */
typedef struct hki_shm_person {
    int pid; /**< 0: has not arrived */
    hki_token_t token;
    uint64_t heap_bytes; /**< 0: it has no heap that others could map */
    int heap_fd;         /**< of it */
} hki_shm_person_t;

/** The files of which a rank's view of the world is made. */
typedef struct hki_shm_files {
    int rank; /**< whose view */
    int world;
    int *heaps; /**< (nheaps,) of the ranks that have one, in their order; -1: closed */
    int nheaps;
} hki_shm_files_t;

/** Token of this process, of which `job` is part. */
static inline hki_token_t hki_shm_token(const hki_shm_job_t *job)
{
    return (hki_token_t){.address = (uint64_t)(uintptr_t)job->block,
                         .value = job->block == NULL ? 0 : *job->block};
}

/** Start of the file, where it is written who is in the world [bytes]. */
uint64_t hki_shm_control_bytes(int nranks);

/**
 * Found the world: make the file, write down who is in it, and prepare the first group.
 *
 * @param people     (nranks,)
 * @param bytes_max  the largest mapping that all ranks can make
 * @param[out] fd_out  set on success only
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_SYSTEM
 */
hk_status_t hki_shm_world_found(const hki_shm_job_t *job, const hki_shm_person_t *people,
                                uint64_t bytes_max, int *fd_out);

/**
 * Map the world, watch its processes, and join the first group.
 *
 * @param files  .world is from now on owned by the world, also if this fails; .heaps are closed as
 *               soon as they are mapped, but for this process's own
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_SYSTEM, HK_ERR_PEER_FAILED (one has died already),
 *         HK_ERR_UNSUPPORTED (single copy is demanded, and does not work)
 */
hk_status_t hki_shm_world_join(const hki_shm_job_t *job, const hki_shm_files_t *files,
                               hki_endpoint_t **ep_out);

/** All have joined: look at the cores they may use, and whether they all can read each other. */
void hki_shm_world_settle(const hki_shm_job_t *job, hki_endpoint_t *ep);

#endif /* HKI_TRANSPORT_SHM_WORLD_H */
