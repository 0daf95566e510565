/**
 * @file host.c
 * @brief The host's part of the meeting.
 *
 * A loop over poll(): nobody can keep it waiting. A connection is a stranger until a well-formed
 * HELLO with the secret has come from a process of our user. Strangers are few at a time (the
 * oldest goes), and for a second at most; what they say is not answered.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "transport/shm/board.h"
#include "transport/shm/meeting.h"

enum {
    STRANGERS_MAX = 32,
    ACCEPTS_MAX = 256, /**< in a row, before the others get their turn */
    POLL_MS = 100,
};

#define LINGER_NS       UINT64_C(500000000) /* for those who come after it has failed */
#define STRANGER_NS_MAX UINT64_C(1000000000)
#define HEAP_BYTES_MAX  (UINT64_C(1) << 46)
#define MARGIN_NS       UINT64_C(20000000) /* be done a little before the first guest gives up */

typedef struct visitor {
    int fd;
    int pid;
    uint64_t came_ns;
} visitor_t;

typedef struct host {
    const hki_shm_job_t *job;
    const hki_packet_t *mine;
    int listener;
    hki_packet_t verdict; /**< FAILED, once it has */
    uint64_t deadline_ns;
    uint64_t bytes_max; /**< largest mapping that all can make */
    visitor_t strangers[STRANGERS_MAX];
    int nstrangers;
    visitor_t *guests;        /**< (nranks,) by rank; fd -1: not here (or this rank) */
    hki_shm_person_t *people; /**< (nranks,) */
    int *heaps;               /**< (nheaps,) files of the ranks that have one, in their order */
    int nheaps;               /**< known when all have arrived */
    bool *is_ready;           /**< (nranks,) */
    int narrived;
    int nready;
    struct pollfd *polls; /**< (1 + STRANGERS_MAX + nranks,) */
    hki_board_t *board;   /**< how ranks ended that never came; or NULL */
} host_t;

/** Tell all guests that it has failed, and why. @return status */
__attribute__((format(printf, 4, 5))) static hk_status_t call_off(host_t *host, hk_status_t status,
                                                                  int rank, const char *format, ...)
{
    hki_packet_t *verdict = &host->verdict;
    va_list args;

    *verdict = hki_packet(host->job, HKI_PACKET_FAILED);
    va_start(args, format);
    (void)vsnprintf(verdict->text, sizeof(verdict->text), format, args);
    va_end(args);
    verdict->status = status;
    verdict->rank = rank;
    for (int guest = 0; guest < host->job->nranks; guest++) {
        if (host->guests[guest].fd >= 0) {
            (void)hki_packet_send(host->guests[guest].fd, verdict, -1);
        }
    }
    return HKI_FAIL(status, "%s", verdict->text);
}

static void close_file(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

/** Which ranks a list shows. */
typedef enum listed {
    LISTED_ARRIVED,
    LISTED_MISSING,
    LISTED_NOT_READY, /**< arrived, but not joined */
} listed_t;

static bool is_listed(const host_t *host, int rank, listed_t listed)
{
    switch (listed) {
    case LISTED_ARRIVED:
        return host->people[rank].pid != 0;
    case LISTED_MISSING:
        return host->people[rank].pid == 0;
    case LISTED_NOT_READY:
    default:
        return rank != host->job->rank && !host->is_ready[rank];
    }
}

/** "0, 2-5". */
static void list_ranks(const host_t *host, listed_t listed, char *text, size_t text_bytes)
{
    const int nranks = host->job->nranks;
    size_t at = 0;

    text[0] = '\0';
    for (int rank = 0; rank < nranks; rank++) {
        int last = rank;
        if (!is_listed(host, rank, listed)) {
            continue;
        }
        while (last + 1 < nranks && is_listed(host, last + 1, listed)) {
            last++;
        }
        const char *comma = at == 0 ? "" : ", ";
        const int n = last == rank
                          ? snprintf(text + at, text_bytes - at, "%s%d", comma, rank)
                          : snprintf(text + at, text_bytes - at, "%s%d-%d", comma, rank, last);
        if (n < 0 || (size_t)n >= text_bytes - at) {
            return; // as many as fit
        }
        at += (size_t)n;
        rank = last;
    }
}

static hk_status_t time_out(host_t *host)
{
    char here[160];
    char missing[160];

    list_ranks(host, LISTED_ARRIVED, here, sizeof(here));
    list_ranks(host, LISTED_MISSING, missing, sizeof(missing));
    if (missing[0] == '\0') {
        list_ranks(host, LISTED_NOT_READY, missing, sizeof(missing));
        return call_off(host, HK_ERR_TIMED_OUT, -1,
                        "job %.64s: all %d ranks arrived, but not all joined in time; missing %s",
                        host->job->name, host->job->nranks, missing);
    }
    return call_off(host, HK_ERR_TIMED_OUT, -1,
                    "job %.64s: not all of %d ranks have come in time: arrived %s; missing %s",
                    host->job->name, host->job->nranks, here, missing);
}

/** Refuse one that ought to belong to us, and call everything off. */
static hk_status_t refuse(host_t *host, const visitor_t *visitor, const hki_packet_t *hello,
                          const char *text)
{
    const hk_status_t status = call_off(host, HK_ERR_MISMATCH, hello->rank, "%s", text);

    (void)hki_packet_send(visitor->fd, &host->verdict, -1);
    return status;
}

/** Does what this rank says of the job agree with what we know? If not, say so in `text`. */
static bool agrees(const host_t *host, const visitor_t *visitor, const hki_packet_t *hello,
                   char *text, size_t text_bytes)
{
    const hki_packet_t *mine = host->mine;
    const int rank = hello->rank;

    text[0] = '\0';
    if (hello->version != mine->version) {
        (void)snprintf(text, text_bytes,
                       "process %d has version %u of the protocol, rank %d has %u", visitor->pid,
                       hello->version, mine->rank, mine->version);
    } else if (hello->pid != visitor->pid) {
        (void)snprintf(
            text, text_bytes,
            "rank %d sees itself as process %d, rank %d sees it as %d: all ranks of a host "
            "must share a pid namespace",
            rank, hello->pid, mine->rank, visitor->pid);
    } else if (hello->nranks != mine->nranks) {
        (void)snprintf(text, text_bytes,
                       "rank %d (pid %d) says the job has %d ranks, rank %d (pid %d) says %d", rank,
                       visitor->pid, hello->nranks, mine->rank, mine->pid, mine->nranks);
    } else if (rank < 0 || rank >= mine->nranks) {
        (void)snprintf(text, text_bytes, "process %d says it is rank %d of %d", visitor->pid, rank,
                       mine->nranks);
    } else if (host->people[rank].pid != 0) {
        (void)snprintf(text, text_bytes, "rank %d is given twice: to processes %d and %d", rank,
                       host->people[rank].pid, visitor->pid);
    } else if (hello->nlanes != mine->nlanes || hello->staging_bytes != mine->staging_bytes) {
        (void)snprintf(
            text, text_bytes,
            "rank %d wants %d lanes of %llu bytes of staging memory, rank %d wants %d of "
            "%llu: give all ranks the same options",
            rank, hello->nlanes, (unsigned long long)hello->staging_bytes, mine->rank, mine->nlanes,
            (unsigned long long)mine->staging_bytes);
    }
    return text[0] == '\0';
}

/** Remove from the list, but keep the connection. */
static void unlist_stranger(host_t *host, int index)
{
    host->nstrangers--;
    memmove(&host->strangers[index], &host->strangers[index + 1],
            (size_t)(host->nstrangers - index) * sizeof(host->strangers[0]));
}

static void drop_stranger(host_t *host, int index)
{
    (void)close(host->strangers[index].fd);
    unlist_stranger(host, index);
}

/** A stranger has said HELLO: make it a guest. Takes the file of its heap over, or -1. */
static hk_status_t admit(host_t *host, int index, const hki_packet_t *hello, int heap_fd)
{
    const visitor_t visitor = host->strangers[index];
    const hki_packet_t seen = hki_packet(host->job, HKI_PACKET_SEEN);
    char text[HKI_PACKET_TEXT_BYTES];

    if (!agrees(host, &visitor, hello, text, sizeof(text))) {
        close_file(heap_fd);
        return refuse(host, &visitor, hello, text);
    }
    unlist_stranger(host, index);
    host->guests[hello->rank] = visitor;
    // without a file, for want of descriptors here, it is as if it had no heap
    const uint64_t heap_bytes = heap_fd >= 0 && hello->heap_bytes <= HEAP_BYTES_MAX &&
                                        hello->heap_bytes % HKI_ARENA_PAGE_BYTES == 0
                                    ? hello->heap_bytes
                                    : 0;
    if (heap_bytes == 0) {
        close_file(heap_fd);
    }
    host->people[hello->rank] = (hki_shm_person_t){
        .pid = visitor.pid, .token = hello->token, .heap_bytes = heap_bytes, .heap_fd = heap_fd};
    host->narrived++;
    host->bytes_max = hello->bytes_max < host->bytes_max ? hello->bytes_max : host->bytes_max;
    host->deadline_ns =
        hello->deadline_ns < host->deadline_ns ? hello->deadline_ns : host->deadline_ns;
    (void)hki_packet_send(visitor.fd, &seen, -1); // if it has gone, its next read tells
    return HK_OK;
}

/** Listen to a stranger. *is_gone_out: it is no longer at this index. */
static hk_status_t hear_stranger(host_t *host, int index, bool *is_gone_out)
{
    hki_packet_t packet;
    int heap_fd = -1;
    const int got = hki_packet_receive(host->strangers[index].fd, &packet, &heap_fd);
    const uint64_t age_ns = hki_clock_ns() - host->strangers[index].came_ns;

    *is_gone_out = true;
    if (got == 0 && age_ns < STRANGER_NS_MAX) {
        *is_gone_out = false;
        return HK_OK;
    }
    if (got <= 0 || packet.kind != HKI_PACKET_HELLO) {
        close_file(heap_fd);
        drop_stranger(host, index);
        return HK_OK;
    }
    if (!hki_packet_same_secret(&packet, host->mine)) {
        hki_log(HKI_LOG_WARN, "transport", "process %d knows the job's name but not its secret",
                host->strangers[index].pid);
        hki_packet_t answer = hki_packet(host->job, HKI_PACKET_FAILED);
        answer.status = HK_ERR_MISMATCH;
        (void)snprintf(answer.text, sizeof(answer.text),
                       "HOCKET_SECRET is not that of the job's other ranks");
        (void)hki_packet_send(host->strangers[index].fd, &answer, -1);
        close_file(heap_fd);
        drop_stranger(host, index);
        return HK_OK;
    }
    if (host->verdict.status != HK_OK) { // too late: it has failed already
        (void)hki_packet_send(host->strangers[index].fd, &host->verdict, -1);
        close_file(heap_fd);
        drop_stranger(host, index);
        host->narrived++;
        return HK_OK;
    }
    return admit(host, index, &packet, heap_fd);
}

/** Take in who knocks. */
static hk_status_t accept_strangers(host_t *host)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        const int fd = accept4(host->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        visitor_t visitor = {.fd = fd, .came_ns = hki_clock_ns()};
        unsigned uid = 0;
        if (fd < 0 && errno == EMFILE && host->nstrangers == 0) {
            return call_off(host, HK_ERR_LIMIT, host->job->rank,
                            "rank %d has no file descriptor left for %d ranks; raise ulimit -n",
                            host->job->rank, host->job->nranks);
        }
        if (fd < 0) {
            return HK_OK; // nobody, or no file descriptor before some strangers have gone
        }
        if (!hki_packet_peer(fd, &visitor.pid, &uid) || (uid != getuid() && uid != 0)) {
            (void)close(fd);
            continue;
        }
        if (host->nstrangers == STRANGERS_MAX) {
            drop_stranger(host, 0);
        }
        host->strangers[host->nstrangers++] = visitor;
    }
    return HK_OK;
}

static hk_status_t hear_strangers(host_t *host)
{
    for (int i = 0; i < host->nstrangers;) {
        bool is_gone = false;
        const hk_status_t status = hear_stranger(host, i, &is_gone);
        if (status != HK_OK) {
            return status;
        }
        i += is_gone ? 0 : 1;
    }
    return HK_OK;
}

/** Listen to the guests that poll() found. @param polls  (nranks,) or NULL: to all */
static hk_status_t hear_guests(host_t *host, const struct pollfd *polls)
{
    hki_packet_t packet;
    hki_packet_t echo;
    int echo_rank = -1;

    for (int rank = 0; rank < host->job->nranks; rank++) {
        const int got = host->guests[rank].fd < 0 || (polls != NULL && polls[rank].revents == 0)
                            ? 0
                            : hki_packet_receive(host->guests[rank].fd, &packet, NULL);
        if (got < 0) {
            (void)close(host->guests[rank].fd);
            host->guests[rank].fd = -1;
            return call_off(host, HK_ERR_PEER_FAILED, rank,
                            "rank %d (pid %d) died while the job started", rank,
                            host->people[rank].pid);
        }
        if (got > 0 && packet.kind == HKI_PACKET_FAILED) {
            if (packet.status != HK_ERR_PEER_FAILED) {
                return call_off(host, (hk_status_t)packet.status, rank, "%s", packet.text);
            }
            echo = packet; // of another's end, whose own reason is here already, if it gave one
            echo_rank = rank;
        }
        if (got > 0 && packet.kind == HKI_PACKET_READY && !host->is_ready[rank]) {
            host->is_ready[rank] = true;
            host->nready++;
        }
    }
    return echo_rank < 0 ? HK_OK
                         : call_off(host, (hk_status_t)echo.status, echo_rank, "%s", echo.text);
}

/** Has a rank ended without ever having come? */
static hk_status_t miss_ended(host_t *host)
{
    char end[64];

    for (int rank = 0; rank < host->job->nranks; rank++) {
        if (host->people[rank].pid == 0 &&
            hki_board_describe(host->board, rank, end, sizeof(end))) {
            host->narrived++; // nor will it come while we linger
            return call_off(host, HK_ERR_PEER_FAILED, rank, "rank %d %s before it joined the job",
                            rank, end);
        }
    }
    return HK_OK;
}

/** One round: wait for something to happen, and look at everything. */
static hk_status_t take_round(host_t *host)
{
    const uint64_t now_ns = hki_clock_ns();
    nfds_t n = 0;

    if (host->deadline_ns != UINT64_MAX && now_ns + MARGIN_NS >= host->deadline_ns) {
        return time_out(host);
    }
    host->polls[n++] = (struct pollfd){.fd = host->listener, .events = POLLIN};
    for (int i = 0; i < host->nstrangers; i++) {
        host->polls[n++] = (struct pollfd){.fd = host->strangers[i].fd, .events = POLLIN};
    }
    const struct pollfd *guests = &host->polls[n];
    for (int rank = 0; rank < host->job->nranks; rank++) {
        host->polls[n++] = (struct pollfd){.fd = host->guests[rank].fd, .events = POLLIN};
    }
    const uint64_t left_ms =
        (host->deadline_ns - now_ns) / 1000000; // of UINT64_MAX: more than enough
    if (poll(host->polls, n, left_ms < POLL_MS ? (int)left_ms : POLL_MS) < 0) {
        guests = NULL; // interrupted, or more of them than files may be open
    }
    hk_status_t status = accept_strangers(host);
    if (status == HK_OK) {
        status = hear_strangers(host);
    }
    if (status == HK_OK) {
        status = hear_guests(host, guests);
    }
    return status == HK_OK ? miss_ended(host) : status;
}

static hk_status_t broadcast(host_t *host, hki_packet_kind_t kind, int fd)
{
    hki_packet_t packet = hki_packet(host->job, kind);

    packet.nheaps = host->nheaps;
    for (int rank = 0; rank < host->job->nranks; rank++) {
        const visitor_t *guest = &host->guests[rank];
        if (guest->fd >= 0 && !hki_packet_send(guest->fd, &packet, fd) && kind != HKI_PACKET_GO) {
            return call_off(host, HK_ERR_PEER_FAILED, rank,
                            "rank %d (pid %d) died while the job started", rank, guest->pid);
        }
    }
    return HK_OK; // who has died after READY is found by the group itself
}

/** Send files to one guest. Files under way are limited (ETOOMANYREFS): others take theirs in
 *  meanwhile. @return false: the guest has gone, or the deadline has passed */
static bool send_files(const host_t *host, int guest_fd, const int *files, int nfiles)
{
    const hki_packet_t packet = hki_packet(host->job, HKI_PACKET_HEAPS);

    while (!hki_packet_send_files(guest_fd, &packet, files, nfiles)) {
        if ((errno != ETOOMANYREFS && errno != EAGAIN) || hki_clock_ns() >= host->deadline_ns) {
            return false;
        }
        (void)poll(NULL, 0, 1);
    }
    return true;
}

/** Hand the files of all heaps round. */
static hk_status_t share_heaps(host_t *host)
{
    for (int rank = 0; rank < host->job->nranks; rank++) {
        const visitor_t *guest = &host->guests[rank];
        for (int at = 0; guest->fd >= 0 && at < host->nheaps; at += HKI_PACKET_FILES_MAX) {
            const int left = host->nheaps - at;
            const int here = left < HKI_PACKET_FILES_MAX ? left : HKI_PACKET_FILES_MAX;
            if (!send_files(host, guest->fd, host->heaps + at, here)) {
                return call_off(host, HK_ERR_PEER_FAILED, rank,
                                "rank %d (pid %d) did not take in the files of the ranks' heaps",
                                rank, guest->pid);
            }
        }
    }
    return HK_OK;
}

static hk_status_t hold_meeting(host_t *host, hki_endpoint_t **ep_out)
{
    const int nranks = host->job->nranks;
    hki_endpoint_t *ep = NULL;
    hki_shm_files_t files = {.rank = host->job->rank, .world = -1, .heaps = host->heaps};
    hk_status_t status = HK_OK;

    while (host->narrived < nranks) {
        HKI_TRY(status = take_round(host), done);
    }
    for (int rank = 0; rank < nranks; rank++) {
        if (host->people[rank].heap_bytes != 0) {
            host->heaps[host->nheaps++] = host->people[rank].heap_fd;
            host->people[rank].heap_fd = -1; // moved
        }
    }
    files.nheaps = host->nheaps;
    status = hki_shm_world_found(host->job, host->people, host->bytes_max, &files.world);
    if (status != HK_OK) {
        HKI_TRY(status = call_off(host, status, host->job->rank, "%s", hk_last_error()), done);
    }
    HKI_TRY(status = broadcast(host, HKI_PACKET_WELCOME, files.world), done);
    HKI_TRY(status = share_heaps(host), done);
    status = hki_shm_world_join(host->job, &files, &ep);
    files.world = -1;
    if (status == HK_ERR_PEER_FAILED) { // it may have told why
        char text[HKI_PACKET_TEXT_BYTES];
        (void)snprintf(text, sizeof(text), "rank %d: %s", host->job->rank, hk_last_error());
        HKI_TRY(status = hear_guests(host, NULL), done);
        HKI_TRY(status = call_off(host, HK_ERR_PEER_FAILED, host->job->rank, "%s", text), done);
    }
    if (status != HK_OK) {
        HKI_TRY(status = call_off(host, status, host->job->rank, "rank %d: %s", host->job->rank,
                                  hk_last_error()),
                done);
    }
    host->nready++;
    while (host->nready < nranks) {
        HKI_TRY(status = take_round(host), done);
    }
    HKI_TRY(status = broadcast(host, HKI_PACKET_GO, -1), done);
    *ep_out = ep;
    ep = NULL;
done:
    close_file(files.world);
    if (ep != NULL) {
        ep->ops->close(ep);
    }
    return status;
}

static void dismiss_guests(host_t *host)
{
    for (int rank = 0; host->guests != NULL && rank < host->job->nranks; rank++) {
        if (host->guests[rank].fd >= 0) {
            (void)close(host->guests[rank].fd);
        }
        host->guests[rank].fd = -1;
    }
}

/** It has failed: tell those who come later, lest they wait in vain for the others. */
static void linger(host_t *host)
{
    const uint64_t end_ns = hki_clock_ns() + LINGER_NS;

    dismiss_guests(host); // they have been told; it may be file descriptors that are missing
    while (host->narrived < host->job->nranks && hki_clock_ns() < end_ns) {
        nfds_t n = 0;
        host->polls[n++] = (struct pollfd){.fd = host->listener, .events = POLLIN};
        for (int i = 0; i < host->nstrangers; i++) {
            host->polls[n++] = (struct pollfd){.fd = host->strangers[i].fd, .events = POLLIN};
        }
        (void)poll(host->polls, n, POLL_MS);
        if (accept_strangers(host) == HK_OK) {
            (void)hear_strangers(host); // only answers, now
        }
    }
}

/** Close the file of a rank's heap, but for that of this process. */
static void close_heap(const host_t *host, int fd)
{
    if (fd != host->job->heap.fd) {
        close_file(fd);
    }
}

static void host_fini(host_t *host)
{
    while (host->nstrangers > 0) {
        drop_stranger(host, host->nstrangers - 1);
    }
    dismiss_guests(host);
    (void)close(host->listener);
    hki_board_destroy(&host->board);
    hki_free(host->guests);
    for (int rank = 0; host->people != NULL && rank < host->job->nranks; rank++) {
        if (host->people[rank].heap_bytes != 0) {
            close_heap(host, host->people[rank].heap_fd);
        }
    }
    for (int i = 0; i < host->nheaps; i++) {
        close_heap(host, host->heaps[i]);
    }
    hki_free(host->heaps);
    hki_free(host->people);
    hki_free(host->is_ready);
    hki_free(host->polls);
}

hk_status_t hki_meeting_host(const hki_shm_job_t *job, int listener, const hki_packet_t *mine,
                             hki_endpoint_t **ep_out)
{
    const size_t nranks = (size_t)job->nranks;
    host_t host = {.job = job,
                   .mine = mine,
                   .listener = listener,
                   .deadline_ns = job->deadline_ns,
                   .bytes_max = mine->bytes_max,
                   .narrived = 1};
    hk_status_t status = HK_OK;

    host.guests = hki_calloc(nranks, sizeof(*host.guests));
    host.people = hki_calloc(nranks, sizeof(*host.people));
    host.is_ready = hki_calloc(nranks, sizeof(*host.is_ready));
    host.polls = hki_calloc(1 + STRANGERS_MAX + nranks, sizeof(*host.polls));
    for (size_t rank = 0; host.guests != NULL && rank < nranks; rank++) {
        host.guests[rank].fd = -1;
    }
    host.heaps = hki_calloc(nranks, sizeof(*host.heaps));
    if (host.guests == NULL || host.people == NULL || host.is_ready == NULL || host.polls == NULL ||
        host.heaps == NULL) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "meeting of %d ranks", job->nranks);
    } else {
        host.people[job->rank] = (hki_shm_person_t){.pid = mine->pid,
                                                    .token = mine->token,
                                                    .heap_bytes = job->heap.bytes,
                                                    .heap_fd = job->heap.fd};
        host.board = hki_board_find(job->nranks);
        status = hold_meeting(&host, ep_out);
        if (status != HK_OK && status != HK_ERR_TIMED_OUT) {
            linger(&host);
        }
    }
    host_fini(&host);
    return status;
}
