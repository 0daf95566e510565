/**
 * @file shm.c
 * @brief Ranks that are processes of one host: opening.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "transport/open.h"
#include "transport/shm/heaps.h"
#include "transport/shm/meeting.h"

enum {
    FILES_PER_RANK = 2, /**< a connection while we meet, and the process */
    FILES_OTHER = 128,
    BACKLOG = 1024,
    PAUSE_MS_MAX = 16,
    TOKEN_PID_SHIFT = 42,
};

/** Allow as many files as are needed, if the hard limit lets us. */
static void raise_file_limit(const hki_shm_job_t *job)
{
    const rlim_t each = FILES_PER_RANK + (job->heap.bytes != 0 ? 1 : 0);
    const rlim_t needed = (rlim_t)job->nranks * each + FILES_OTHER;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed &&
        limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); // if it still is too little, opening says so
    }
}

/** Bind the address and be the host, or connect to it and be a guest. HK_IN_PROGRESS: try again. */
static hk_status_t try_to_meet(const hki_shm_job_t *job, const hki_packet_t *mine,
                               hki_endpoint_t **ep_out)
{
    struct sockaddr_un address;
    const socklen_t bytes = hki_packet_address(job, &address);
    const struct sockaddr *name = (const void *)&address;
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "socket: %s", strerror(errno));
    }
    if (bind(fd, name, bytes) == 0 && listen(fd, BACKLOG) == 0) {
        return hki_meeting_host(job, fd, mine, ep_out);
    }
    if (errno != EADDRINUSE) {
        const int error = errno;
        (void)close(fd);
        return HKI_FAIL(HK_ERR_SYSTEM, "address %s: %s", address.sun_path + 1, strerror(error));
    }
    if (connect(fd, name, bytes) == 0) {
        return hki_meeting_guest(job, fd, mine, ep_out);
    }
    (void)close(fd); // it does not listen yet, or no longer, or has too many callers
    return HK_IN_PROGRESS;
}

static hk_status_t meet(const hki_shm_job_t *job, hki_endpoint_t **ep_out)
{
    hki_packet_t mine = hki_packet(job, HKI_PACKET_HELLO);
    hk_status_t status = hki_packet_secret(&mine);
    int pause_ms = 1;

    if (status != HK_OK) {
        return status;
    }
    raise_file_limit(job);
    while ((status = try_to_meet(job, &mine, ep_out)) == HK_IN_PROGRESS) {
        if (hki_clock_ns() >= job->deadline_ns) {
            return HKI_FAIL(
                HK_ERR_TIMED_OUT,
                "job %.64s: rank %d of %d has met nobody in time: the address is held by "
                "a process that does not answer",
                job->name, job->rank, job->nranks);
        }
        (void)poll(NULL, 0, pause_ms);
        pause_ms = pause_ms < PAUSE_MS_MAX ? 2 * pause_ms : PAUSE_MS_MAX;
    }
    return status;
}

/** A job of one rank has nobody to meet. */
static hk_status_t open_alone(const hki_shm_job_t *job, hki_endpoint_t **ep_out)
{
    const hki_shm_person_t self = {.pid = (int)getpid(), .token = hki_shm_token(job)};
    hki_shm_files_t files = {.world = -1};
    const hk_status_t status = hki_shm_world_found(job, &self, hki_world_bytes_max(), &files.world);

    return status == HK_OK ? hki_shm_world_join(job, &files, ep_out) : status;
}

hk_status_t hki_shm_open(const hki_transport_opts_t *opts, const char *job_name, int rank,
                         int nranks, hki_endpoint_t **ep_out)
{
    uint64_t *block = NULL;

    if (opts->single_copy != 0 && nranks > 1) {
        block = hki_remote_block(hki_clock_ns() ^ (uint64_t)getpid() << TOKEN_PID_SHIFT);
        if (block == NULL) {
            return HKI_FAIL(HK_ERR_NO_MEMORY, "trying single copy, %d bytes",
                            HKI_REMOTE_BLOCK_BYTES);
        }
    }
    hki_shm_job_t job = {
        .name = job_name,
        .rank = rank,
        .nranks = nranks,
        .spin = opts->spin,
        .single_copy = opts->single_copy,
        .block = block,
        .deadline_ns = hki_deadline_ns(opts->open_timeout_ms),
        .shape = hki_group_shape(nranks, opts->nlanes, opts->staging_bytes),
        .heap = {.fd = -1},
    };

    if (nranks > 1) {
        job.heap = hki_heaps_find();
    }
    job.shape.note = opts->note;
    job.shape.note_bytes = opts->note_bytes;

    hki_endpoint_t *ep = NULL;
    if (job.single_copy > 0) {
        hki_remote_allow();
    }
    const hk_status_t status = nranks == 1 ? open_alone(&job, &ep) : meet(&job, &ep);

    if (status == HK_OK) {
        hki_shm_world_settle(&job, ep);
        *ep_out = ep;
    }
    hki_free(block);
    return status;
}
