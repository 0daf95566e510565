/*
 * What a stranger may send to the socket where ranks meet: a packet is accepted only if it is
 * whole, and its text ends.
 */
#include "fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "transport/shm/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t live = hki_alloc_live();
    static hki_packet_t packet;
    int pair[2];
    int fd = -1;

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    if (size != 0) {
        FUZZ_CHECK(send(pair[0], data, size, MSG_NOSIGNAL) == (ssize_t)size);
    } else {
        FUZZ_CHECK(shutdown(pair[0], SHUT_WR) == 0);
    }
    if (hki_packet_receive(pair[1], &packet, &fd) == 1) {
        FUZZ_CHECK(size >= sizeof(packet));
        FUZZ_CHECK(memchr(packet.text, '\0', sizeof(packet.text)) != NULL);
    }
    FUZZ_CHECK(fd == -1); // none was sent
    FUZZ_CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
    FUZZ_CHECK(hki_alloc_live() == live);
    return 0;
}
