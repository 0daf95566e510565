/**
 * @file world.h
 * @brief The world of the processes of one host: a memory file, mapped by all.
 *
 *     control | arena of rank 0 (the first group lies at its start) | arena of rank 1 | ...
 */
#ifndef HKI_TRANSPORT_SHM_WORLD_H
#define HKI_TRANSPORT_SHM_WORLD_H

#include "transport/segment/endpoint.h"
#include "transport/transport.h"

/** What a rank knows of its job before it meets the others. */
typedef struct hki_shm_job {
    const char *name;
    int rank;
    int nranks;
    int spin;
    uint64_t deadline_ns; /**< of open */
    hki_group_shape_t shape;
} hki_shm_job_t;

/**
 * Found the world: make the file, write down who is in it, and prepare the first group.
 *
 * @param pids       (nranks,)
 * @param bytes_max  the largest mapping that all ranks can make
 * @param[out] fd_out  set on success only
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_SYSTEM
 */
hk_status_t hki_shm_world_found(const hki_shm_job_t *job, const int *pids, uint64_t bytes_max,
                                int *fd_out);

/**
 * Map the world, watch its processes, and join the first group.
 *
 * @param fd  from now on owned by the world, also if this fails
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_SYSTEM, HK_ERR_PEER_FAILED (one has died already)
 */
hk_status_t hki_shm_world_join(const hki_shm_job_t *job, int fd, hki_endpoint_t **ep_out);

#endif /* HKI_TRANSPORT_SHM_WORLD_H */
