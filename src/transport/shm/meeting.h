/**
 * @file meeting.h
 * @brief How the processes of a job find each other: one is the host, the others are its guests.
 *
 * Whoever binds the job's address first is the host, so that a rank that never comes, be it rank 0,
 * is missed by name. The host collects all, founds the world, hands the memory file round, and
 * lets all go once all have joined. Until then every error reaches everybody.
 */
#ifndef HKI_TRANSPORT_SHM_MEETING_H
#define HKI_TRANSPORT_SHM_MEETING_H

#include "transport/shm/packet.h"

/**
 * Be the host on a socket that listens. Takes the socket over.
 *
 * @param mine  this rank's HELLO
 */
hk_status_t hki_meeting_host(const hki_shm_job_t *job, int listener, const hki_packet_t *mine,
                             hki_endpoint_t **ep_out);

/**
 * Be a guest on a socket that is connected. Takes the socket over.
 *
 * @return HK_IN_PROGRESS: no host, or it is gone already; try again. Else as hki_shm_open()
 */
hk_status_t hki_meeting_guest(const hki_shm_job_t *job, int socket, const hki_packet_t *mine,
                              hki_endpoint_t **ep_out);

#endif /* HKI_TRANSPORT_SHM_MEETING_H */
