/**
 * @file memfd.c
 * @brief memfd_create(), fallocate().
 */
#include "transport/shm/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "topo/memory.h"

#ifndef MFD_NOEXEC_SEAL
#    define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

hk_status_t hki_memfd_create(const char *label, uint64_t bytes, int *fd_out)
{
    struct rlimit limit;

    // going beyond this limit raises a signal
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
        return HKI_FAIL(HK_ERR_NO_MEMORY,
                        "memory file: %llu bytes needed, files may have %llu; see ulimit -f",
                        (unsigned long long)bytes, (unsigned long long)limit.rlim_cur);
    }
    int fd = memfd_create(label, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL) {
        fd = memfd_create(label, MFD_CLOEXEC); // an older kernel
    }
    if (fd < 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "memfd_create: %s%s", strerror(errno),
                        errno == ENOSYS ? "; Linux 3.17 or later is needed" : "");
    }
    if (ftruncate(fd, (off_t)bytes) != 0) {
        const int error = errno;
        (void)close(fd);
        return HKI_FAIL(HK_ERR_SYSTEM, "memory file of %llu bytes: %s", (unsigned long long)bytes,
                        strerror(error));
    }
    *fd_out = fd;
    return HK_OK;
}

static hk_status_t no_memory(uint64_t bytes, uint64_t available, const char *reason)
{
    return HKI_FAIL(HK_ERR_NO_MEMORY,
                    "shared memory: %llu bytes needed, about %llu available (%s); ask for less, or "
                    "raise the memory limit of the container",
                    (unsigned long long)bytes, (unsigned long long)available, reason);
}

/** @return 0, or an errno */
static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
    int error;

    do {
        error = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    } while (error == EINTR);
    return error;
}

hk_status_t hki_memfd_room(uint64_t bytes)
{
    const uint64_t available = hki_memory_available();

    return bytes <= available ? HK_OK
                              : no_memory(bytes, available, "free memory and control group limits");
}

hk_status_t hki_memfd_commit_parts(int fd, const hki_memfd_parts_t *parts)
{
    const uint64_t bytes = parts->bytes * (uint64_t)parts->count;
    // A control group that runs out kills instead of refusing, so look before.
    const hk_status_t status = hki_memfd_room(bytes);
    int error = 0;

    if (status != HK_OK) {
        return status;
    }
    for (int i = 0; i < parts->count && error == 0; i++) {
        error = allocate(fd, parts->offset + (uint64_t)i * parts->stride, parts->bytes);
    }
    if (error == ENOSPC || error == ENOMEM || error == EFBIG) {
        return no_memory(bytes, hki_memory_available(), strerror(error));
    }
    if (error != 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "fallocate of %llu bytes: %s", (unsigned long long)bytes,
                        strerror(error));
    }
    return HK_OK;
}

hk_status_t hki_memfd_commit(int fd, uint64_t offset, uint64_t bytes)
{
    const hki_memfd_parts_t whole = {.offset = offset, .bytes = bytes, .count = 1};

    return hki_memfd_commit_parts(fd, &whole);
}

void hki_memfd_decommit(int fd, uint64_t offset, uint64_t bytes)
{
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
}
