/**
 * @file guest.c
 * @brief A guest's part of the meeting: HELLO, wait for WELCOME, join, READY, wait for GO.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "transport/shm/meeting.h"

enum { POLL_MS = 50 };

#define GRACE_NS UINT64_C(500000000) /* the host reports a passed deadline with more knowledge */

typedef struct guest {
    const hki_shm_job_t *job;
    int socket;
    bool is_seen; /**< the host knows us */
    bool is_told; /**< the host has told that it failed, and why */
    int host_rank;
    int host_pid;
    int files[HKI_PACKET_FILES_MAX]; /**< those that came with the last packet */
    int nfiles;
} guest_t;

static hk_status_t host_is_gone(const guest_t *guest)
{
    if (!guest->is_seen) {
        return HK_IN_PROGRESS; // it had too many strangers, or another meeting was just ending
    }
    return HKI_FAIL(HK_ERR_PEER_FAILED, "rank %d (pid %d) died while the job started",
                    guest->host_rank, guest->host_pid);
}

/** Wait for the next packet of the kind wanted, and take in up to `nfiles` files with it. */
static hk_status_t expect(guest_t *guest, hki_packet_kind_t kind, hki_packet_t *packet, int nfiles)
{
    const uint64_t deadline_ns = guest->job->deadline_ns;

    for (;;) {
        const int got =
            hki_packet_receive_files(guest->socket, packet, guest->files, nfiles, &guest->nfiles);
        if (got < 0) {
            return host_is_gone(guest);
        }
        if (got > 0 && packet->kind == (uint32_t)kind) {
            return HK_OK;
        }
        for (int i = 0; i < guest->nfiles; i++) {
            (void)close(guest->files[i]);
        }
        if (got > 0 && packet->kind == HKI_PACKET_FAILED) {
            guest->is_told = true;
            return HKI_FAIL((hk_status_t)packet->status, "%s", packet->text);
        }
        if (got > 0) {
            return HKI_FAIL(HK_ERR_FORMAT, "packet of kind %u from the host, not %u", packet->kind,
                            (unsigned)kind);
        }
        if (deadline_ns != UINT64_MAX && hki_clock_ns() > deadline_ns + GRACE_NS) {
            return HKI_FAIL(HK_ERR_TIMED_OUT,
                            "rank %d (pid %d), where the ranks meet, does not answer",
                            guest->host_rank, guest->host_pid);
        }
        struct pollfd one = {.fd = guest->socket, .events = POLLIN};
        (void)poll(&one, 1, POLL_MS);
    }
}

/** Tell the host what went wrong here, so that all learn it. */
static void report(const guest_t *guest, hk_status_t status)
{
    hki_packet_t packet = hki_packet(guest->job, HKI_PACKET_FAILED);

    packet.status = status;
    (void)snprintf(packet.text, sizeof(packet.text), "rank %d: %s", guest->job->rank,
                   hk_last_error());
    (void)hki_packet_send(guest->socket, &packet, -1);
}

/** Take in the files of `nheaps` heaps. Some may not arrive: then they are missing at the end. */
static hk_status_t receive_heaps(guest_t *guest, int nheaps, int *heaps, int *nheaps_out)
{
    hki_packet_t packet;

    for (int left = nheaps; left > 0;) {
        const int here = left < HKI_PACKET_FILES_MAX ? left : HKI_PACKET_FILES_MAX;
        const hk_status_t status = expect(guest, HKI_PACKET_HEAPS, &packet, here);
        if (status != HK_OK) {
            return status;
        }
        memcpy(heaps + *nheaps_out, guest->files, (size_t)guest->nfiles * sizeof(*heaps));
        *nheaps_out += guest->nfiles;
        left -= here;
    }
    return HK_OK;
}

/** WELCOME, files, join. What went wrong is reported to the host. */
static hk_status_t enter_world(guest_t *guest, hki_endpoint_t **ep_out)
{
    const int nranks = guest->job->nranks;
    hki_shm_files_t files = {.rank = guest->job->rank, .world = -1};
    hki_packet_t packet;
    hk_status_t status = expect(guest, HKI_PACKET_WELCOME, &packet, 1);

    if (status != HK_OK) {
        return status;
    }
    if (guest->nfiles == 0) {
        return HKI_FAIL(HK_ERR_LIMIT, "the memory file did not arrive; raise ulimit -n");
    }
    files.world = guest->files[0];
    int *heaps = hki_calloc((size_t)nranks, sizeof(*heaps));
    if (heaps == NULL || packet.nheaps < 0 || packet.nheaps > nranks) {
        status = HKI_FAIL(heaps == NULL ? HK_ERR_NO_MEMORY : HK_ERR_FORMAT, "%d heaps of %d ranks",
                          packet.nheaps, nranks);
        (void)close(files.world);
    } else {
        files.heaps = heaps;
        status = receive_heaps(guest, packet.nheaps, heaps, &files.nheaps);
        if (status == HK_OK) {
            status = hki_shm_world_join(guest->job, &files, ep_out);
        } else {
            (void)close(files.world);
        }
    }
    for (int i = 0; i < files.nheaps; i++) {
        if (heaps[i] >= 0) {
            (void)close(heaps[i]);
        }
    }
    hki_free(heaps);
    return status;
}

static hk_status_t attend(guest_t *guest, const hki_packet_t *mine, hki_endpoint_t **ep_out)
{
    hki_endpoint_t *ep = NULL;
    hki_packet_t packet;

    if (!hki_packet_send(guest->socket, mine, guest->job->heap.fd)) {
        return host_is_gone(guest);
    }
    hk_status_t status = expect(guest, HKI_PACKET_SEEN, &packet, 0);
    if (status != HK_OK) {
        return status;
    }
    guest->is_seen = true;
    guest->host_rank = packet.rank;
    guest->host_pid = packet.pid;
    status = enter_world(guest, &ep);
    if (status != HK_OK) {
        if (guest->is_told) {
            return status;
        }
        report(guest, status);
        // If it was another's end that was found, the host knows more.
        return status == HK_ERR_PEER_FAILED ? expect(guest, HKI_PACKET_GO, &packet, 0) : status;
    }
    packet = hki_packet(guest->job, HKI_PACKET_READY);
    (void)hki_packet_send(guest->socket, &packet, -1); // a host that has gone may have said why
    status = expect(guest, HKI_PACKET_GO, &packet, 0);
    if (status != HK_OK) {
        ep->ops->close(ep);
        return status;
    }
    *ep_out = ep;
    return HK_OK;
}

hk_status_t hki_meeting_guest(const hki_shm_job_t *job, int socket, const hki_packet_t *mine,
                              hki_endpoint_t **ep_out)
{
    guest_t guest = {.job = job, .socket = socket, .host_rank = -1};
    unsigned uid = 0;
    hk_status_t status = HK_IN_PROGRESS;

    // Another user may have taken the address: give him nothing, and try until he goes.
    if (hki_packet_peer(socket, &guest.host_pid, &uid) && (uid == getuid() || uid == 0)) {
        status = attend(&guest, mine, ep_out);
    }
    (void)close(socket);
    return status;
}
