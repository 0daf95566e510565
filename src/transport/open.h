/**
 * @file open.h
 * @brief How the endpoints of a whole job are made: threads of one process, processes of one host.
 */
#ifndef HKI_TRANSPORT_OPEN_H
#define HKI_TRANSPORT_OPEN_H

#include "transport/transport.h"

typedef struct hki_transport_opts {
    int nlanes;           /**< streams per ordered pair */
    size_t staging_bytes; /**< per lane and rank */
    int spin;             /**< see hk_comm_opts_t */
    int open_timeout_ms;
    const void *note;  /**< what rank 0 tells all, note_bytes of it; borrowed; or NULL */
    size_t note_bytes; /**< at most HKI_NOTE_BYTES */
    int single_copy;   /**< between processes: -1 where it works and pays, 0 never, 1 always */
} hki_transport_opts_t;

/** Endpoints of nranks threads of this process.
 *  @param[out] eps_out  (nranks,) set on success only */
hk_status_t hki_local_open(const hki_transport_opts_t *opts, int nranks, hki_endpoint_t **eps_out);

/**
 * This process's endpoint of a job on this host; returns when all ranks have joined.
 *
 * @param job  name that all ranks share, unique on this host
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_TIMED_OUT (lists arrived and missing ranks),
 *         HK_ERR_PEER_FAILED, HK_ERR_MISMATCH (nranks, version, rank given twice), HK_ERR_SYSTEM
 */
hk_status_t hki_shm_open(const hki_transport_opts_t *opts, const char *job, int rank, int nranks,
                         hki_endpoint_t **ep_out);

#endif /* HKI_TRANSPORT_OPEN_H */
