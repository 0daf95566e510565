/**
 * @file packet.h
 * @brief What ranks say to each other while they meet: packets of one size on a Unix socket.
 */
#ifndef HKI_TRANSPORT_SHM_PACKET_H
#define HKI_TRANSPORT_SHM_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/shm/world.h"

enum {
    HKI_PACKET_VERSION = 3,
    HKI_PACKET_FILES_MAX = 128, /**< with one packet */
    HKI_PACKET_TEXT_BYTES = 512,
    HKI_PACKET_SECRET_BYTES = 128,
};

typedef enum hki_packet_kind {
    HKI_PACKET_HELLO =
        1, /**< guest: who I am; the file of its heap comes along, if heap_bytes != 0 */
    HKI_PACKET_SEEN = 2,    /**< host: you belong here (rank, pid: the host's) */
    HKI_PACKET_WELCOME = 3, /**< host: all are here; the memory file comes along; nheaps */
    HKI_PACKET_READY = 4,   /**< guest: I have joined */
    HKI_PACKET_GO = 5,      /**< host: all have joined */
    HKI_PACKET_FAILED = 6,  /**< either: status, rank that caused it or -1, text */
    HKI_PACKET_HEAPS = 7,   /**< host, after WELCOME: files of heaps, nheaps of them, by rank */
} hki_packet_kind_t;

typedef struct hki_packet {
    uint64_t magic;
    uint32_t version;
    uint32_t kind;
    int32_t rank;
    int32_t pid;
    int32_t nranks;
    int32_t nlanes;
    int32_t status;
    int32_t nheaps;
    uint64_t staging_bytes;
    uint64_t heap_bytes;  /**< HELLO: of the sender's heap that others can map; 0: none */
    uint64_t bytes_max;   /**< largest mapping the sender can make */
    uint64_t deadline_ns; /**< of the sender; the clock is the same on all of a host */
    hki_token_t token;    /**< of the sender */
    unsigned char secret[HKI_PACKET_SECRET_BYTES]; /**< HELLO: HOCKET_SECRET, zero-padded */
    char text[HKI_PACKET_TEXT_BYTES];
} hki_packet_t;

/** A packet of this job and rank, without secret and text. */
hki_packet_t hki_packet(const hki_shm_job_t *job, hki_packet_kind_t kind);
/** Fill in the secret from the environment. @return HK_OK, HK_ERR_INVALID_ARG (too long) */
hk_status_t hki_packet_secret(hki_packet_t *packet);
/** Are the secrets equal? Takes as long for any two. */
bool hki_packet_same_secret(const hki_packet_t *a, const hki_packet_t *b);

/** Send, with a file if fd >= 0. Does not block, raises no signal. @return false: peer is gone */
bool hki_packet_send(int socket, const hki_packet_t *packet, int fd);
/**
 * Receive if there is something. Anything but a well-formed packet counts as the end.
 *
 * @param[out] fd_out  a file that came along, or -1; the caller's. May be NULL: none is taken
 * @return 1: received; 0: nothing there yet; -1: the peer is gone, or talks nonsense
 */
int hki_packet_receive(int socket, hki_packet_t *packet, int *fd_out);

/** The same with several files, 1 <= nfds <= HKI_PACKET_FILES_MAX.
 *  @return false: the peer is gone; errno ETOOMANYREFS, EAGAIN: too much is under way, try again */
bool hki_packet_send_files(int socket, const hki_packet_t *packet, const int *fds, int nfds);
/**
 * The same with several files.
 *
 * @param[out] fds        (nfds_max,) those that came along; the caller's
 * @param[out] nfds_out   how many; fewer than were sent: no file descriptors are left
 */
int hki_packet_receive_files(int socket, hki_packet_t *packet, int *fds, int nfds_max,
                             int *nfds_out);

/** Process and user at the other end of a connection. @return false: it cannot be told */
bool hki_packet_peer(int socket, int *pid_out, unsigned *uid_out);

struct sockaddr_un;
/** The abstract address where the ranks of a job meet; @return its length. */
unsigned hki_packet_address(const hki_shm_job_t *job, struct sockaddr_un *address_out);

#endif /* HKI_TRANSPORT_SHM_PACKET_H */
