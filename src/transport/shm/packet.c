/**
 * @file packet.c
 * @brief Packets over SOCK_SEQPACKET: borders are kept, so that garbage cannot get out of step.
 */
#include "transport/shm/packet.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "transport/segment/world.h"

#define PACKET_MAGIC UINT64_C(0x7465656d746b6368)

enum { NAME_SHOWN_MAX = 48 };

hki_packet_t hki_packet(const hki_shm_job_t *job, hki_packet_kind_t kind)
{
    const hki_packet_t packet = {
        .magic = PACKET_MAGIC,
        .version = HKI_PACKET_VERSION,
        .kind = kind,
        .rank = job->rank,
        .pid = (int32_t)getpid(),
        .nranks = job->nranks,
        .nlanes = job->shape.nlanes,
        .staging_bytes = job->shape.staging_bytes,
        .bytes_max = hki_world_bytes_max(),
        .deadline_ns = job->deadline_ns,
        .token = hki_shm_token(job),
        .heap_bytes = kind == HKI_PACKET_HELLO ? job->heap.bytes : 0,
    };

    return packet;
}

hk_status_t hki_packet_secret(hki_packet_t *packet)
{
    const char *secret = getenv("HOCKET_SECRET");
    const size_t length = secret == NULL ? 0 : strlen(secret);

    if (length > sizeof(packet->secret)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "HOCKET_SECRET has %zu bytes; at most %zu are allowed",
                        length, sizeof(packet->secret));
    }
    if (length != 0) {
        memcpy(packet->secret, secret, length);
    }
    return HK_OK;
}

bool hki_packet_same_secret(const hki_packet_t *a, const hki_packet_t *b)
{
    unsigned difference = 0;

    for (size_t i = 0; i < sizeof(a->secret); i++) {
        difference |= (unsigned)(a->secret[i] ^ b->secret[i]);
    }
    return difference == 0;
}

/** Room for file descriptors beside a packet. */
typedef union file_message {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(HKI_PACKET_FILES_MAX * sizeof(int))];
} file_message_t;

bool hki_packet_send_files(int socket, const hki_packet_t *packet, const int *fds, int nfds)
{
    const size_t fd_bytes = (size_t)nfds * sizeof(*fds);
    hki_packet_t copy = *packet; // sendmsg() wants it writable
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof(copy)};
    file_message_t file = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    if (nfds > 0) {
        message.msg_control = file.bytes;
        message.msg_controllen = CMSG_SPACE(fd_bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fd_bytes);
        memcpy(CMSG_DATA(header), fds, fd_bytes);
    }
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(*packet);
}

bool hki_packet_send(int socket, const hki_packet_t *packet, int fd)
{
    return hki_packet_send_files(socket, packet, &fd, fd >= 0 ? 1 : 0);
}

/** The files that came along. Those beyond nfds_max are closed. @return how many are left */
static int take_files(struct msghdr *message, int *fds, int nfds_max)
{
    int nfds = 0;

    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd = -1;
            memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
            if (nfds < nfds_max) {
                fds[nfds++] = fd;
            } else {
                (void)close(fd);
            }
        }
    }
    return nfds;
}

int hki_packet_receive_files(int socket, hki_packet_t *packet, int *fds, int nfds_max,
                             int *nfds_out)
{
    struct iovec part = {.iov_base = packet, .iov_len = sizeof(*packet)};
    file_message_t file = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got;

    *nfds_out = 0;
    if (nfds_max > 0) {
        message.msg_control = file.bytes;
        message.msg_controllen = CMSG_SPACE((size_t)nfds_max * sizeof(int));
    }
    do {
        got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && (errno == EINTR || errno == ECONNRESET)); // told once; then what it said
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    const int nfds = got > 0 ? take_files(&message, fds, nfds_max) : 0;
    if (got != (ssize_t)sizeof(*packet) || packet->magic != PACKET_MAGIC) {
        for (int i = 0; i < nfds; i++) {
            (void)close(fds[i]);
        }
        return -1;
    }
    packet->text[sizeof(packet->text) - 1] = '\0';
    *nfds_out = nfds;
    return 1;
}

int hki_packet_receive(int socket, hki_packet_t *packet, int *fd_out)
{
    int fd = -1;
    int nfds = 0;
    const int got = hki_packet_receive_files(socket, packet, &fd, fd_out != NULL ? 1 : 0, &nfds);

    if (got == 1 && fd_out != NULL) {
        *fd_out = nfds == 1 ? fd : -1;
    }
    return got;
}

bool hki_packet_peer(int socket, int *pid_out, unsigned *uid_out)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
        return false;
    }
    *pid_out = (int)peer.pid;
    *uid_out = peer.uid;
    return true;
}

unsigned hki_packet_address(const hki_shm_job_t *job, struct sockaddr_un *address_out)
{
    uint64_t hash = UINT64_C(14695981039346656037); // FNV-1a: long names differ, too

    for (const char *at = job->name; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    }
    *address_out = (struct sockaddr_un){.sun_family = AF_UNIX};
    // A first byte of zero: the name lies in no file system, and goes with its socket.
    const int length = snprintf(address_out->sun_path + 1, sizeof(address_out->sun_path) - 1,
                                "hocket-%u-%.*s-%016llx", (unsigned)getuid(), NAME_SHOWN_MAX,
                                job->name, (unsigned long long)hash);
    return (unsigned)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}
