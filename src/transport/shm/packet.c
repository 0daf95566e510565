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

/** Room for one file descriptor beside a packet. */
typedef union file_message {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} file_message_t;

bool hki_packet_send(int socket, const hki_packet_t *packet, int fd)
{
    hki_packet_t copy = *packet; // sendmsg() wants it writable
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof(copy)};
    file_message_t file = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    if (fd >= 0) {
        message.msg_control = file.bytes;
        message.msg_controllen = sizeof(file.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof(*packet);
}

/** The file that came along, or -1. */
static int take_file(struct msghdr *message)
{
    int fd = -1;

    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
            header->cmsg_len == CMSG_LEN(sizeof(int))) {
            memcpy(&fd, CMSG_DATA(header), sizeof(fd));
        }
    }
    return fd;
}

int hki_packet_receive(int socket, hki_packet_t *packet, int *fd_out)
{
    struct iovec part = {.iov_base = packet, .iov_len = sizeof(*packet)};
    file_message_t file = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got;

    if (fd_out != NULL) {
        message.msg_control = file.bytes;
        message.msg_controllen = sizeof(file.bytes);
    }
    do {
        got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    const int fd = got > 0 && fd_out != NULL ? take_file(&message) : -1;
    if (got != (ssize_t)sizeof(*packet) || packet->magic != PACKET_MAGIC) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    packet->text[sizeof(packet->text) - 1] = '\0';
    if (fd_out != NULL) {
        *fd_out = fd;
    }
    return 1;
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
