/**
 * @file process.c
 * @brief pidfd, and /proc/<pid>/stat: "pid (name) state parent ..."; field 22 is the start time.
 */
#include "transport/shm/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "topo/file.h"

#ifndef SYS_pidfd_open
#    define SYS_pidfd_open 434 /* the same on all architectures */
#endif

enum { STAT_BYTES = 1024, FIELDS_TO_START = 19 };

/** State letter and start time of a process. @return false: there is none */
static bool read_stat(int pid, char *state_out, uint64_t *started_out)
{
    char path[64];
    char text[STAT_BYTES];

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (hki_file_read(path, text, sizeof(text)) == 0) {
        return false;
    }
    const char *at = strrchr(text, ')'); // the name may hold anything
    if (at == NULL || at[1] == '\0') {
        return false;
    }
    *state_out = at[2];
    at += 2;
    for (int field = 0; field < FIELDS_TO_START && at != NULL; field++) {
        at = strchr(at + 1, ' ');
    }
    *started_out = at == NULL ? 0 : strtoull(at, NULL, 10);
    return true;
}

hk_status_t hki_process_watch(int pid, hki_process_t *process_out)
{
    hki_process_t process = {.pid = pid, .pidfd = -1};
    char state = 0;

    process.pidfd = (int)syscall(SYS_pidfd_open, pid, 0); // closed on exec by itself
    if (process.pidfd < 0) {
        switch (errno) {
        case ESRCH:
            return HKI_FAIL(HK_ERR_PEER_FAILED, "process %d has ended", pid);
        case EMFILE:
        case ENFILE:
            return HKI_FAIL(HK_ERR_LIMIT,
                            "no file descriptor is left to watch process %d; raise ulimit -n", pid);
        default: // an old kernel, or a sandbox
            if (!read_stat(pid, &state, &process.started)) {
                return HKI_FAIL(HK_ERR_SYSTEM,
                                "process %d cannot be watched: no pidfd, and no /proc", pid);
            }
        }
    }
    *process_out = process;
    return HK_OK;
}

void hki_process_unwatch(hki_process_t *process)
{
    if (process->pidfd >= 0) {
        (void)close(process->pidfd);
    }
    process->pidfd = -1;
}

bool hki_process_has_ended(const hki_process_t *process)
{
    char state = 0;
    uint64_t started = 0;

    return !read_stat(process->pid, &state, &started) || state == 'Z' || state == 'X' ||
           started != process->started;
}

bool hki_process_is_stopped(int pid)
{
    char state = 0;
    uint64_t started = 0;

    return read_stat(pid, &state, &started) && (state == 'T' || state == 't');
}
