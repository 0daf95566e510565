/**
 * @file remote.c
 * @brief process_vm_readv(). One call reads at most INT_MAX bytes or so, and may read less.
 *
 * Its speed differs greatly: the kernel takes each page in turn, and copies with "rep movsb", which
 * on some processors is four times slower unless source and destination are equal modulo 64.
 */
#include "transport/shm/remote.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { MEASURED = 3, LINE_BYTES = 64 };

uint64_t *hki_remote_block(uint64_t value)
{
    uint64_t *block = hki_calloc_aligned(HKI_REMOTE_BLOCK_BYTES, 1, LINE_BYTES);

    if (block != NULL) {
        memset(block, 1, HKI_REMOTE_BLOCK_BYTES);
        *block = value;
    }
    return block;
}

int hki_remote_read(int pid, uint64_t address, void *into, size_t bytes)
{
    while (bytes != 0) {
        const struct iovec to = {.iov_base = into, .iov_len = bytes};
        const struct iovec from = {
            .iov_base = (void *)(uintptr_t)address, // NOLINT(performance-no-int-to-ptr)
            .iov_len = bytes};
        const ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

        if (got < 0) {
            return errno;
        }
        if (got == 0) {
            return EFAULT;
        }
        address += (uint64_t)got;
        into = (char *)into + got;
        bytes -= (size_t)got;
    }
    return 0;
}

int hki_remote_probe(int pid, const hki_token_t *token)
{
    uint64_t value = 0;
    const int error = hki_remote_read(pid, token->address, &value, sizeof(value));

    if (error == 0 && value != token->value) {
        return ESRCH;
    }
    return error;
}

bool hki_remote_pays(int pid, const hki_token_t *token, const uint64_t *own)
{
    char *into = hki_calloc_aligned(HKI_REMOTE_BLOCK_BYTES, 1, LINE_BYTES);
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX}; // reading, copying [ns]

    if (into == NULL) {
        return false;
    }
    for (int i = 0; i < 2 * MEASURED; i++) {
        const uint64_t start_ns = hki_clock_ns();

        if (i % 2 == 0 && hki_remote_read(pid, token->address, into, HKI_REMOTE_BLOCK_BYTES) != 0) {
            best[0] = UINT64_MAX;
            break;
        }
        if (i % 2 == 1) {
            memcpy(into, own, HKI_REMOTE_BLOCK_BYTES);
        }
        const uint64_t ns = hki_clock_ns() - start_ns;
        best[i % 2] = ns < best[i % 2] ? ns : best[i % 2];
    }
    hki_free(into);
    return best[0] != UINT64_MAX && best[0] / 2 < best[1];
}

void hki_remote_allow(void)
{
#ifdef PR_SET_PTRACER
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); // EINVAL where there is no yama
#endif
}
