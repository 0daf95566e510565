/*
 * The progress thread in processes: `progress SCENE`. Ranks that must not call hocket wait for the
 * others at a pipe (a FIFO in the working folder).
 *
 *   absent   rank 0 starts operations on three communicators, and does nothing until all others
 *            have their results
 *   old      the same, on a kernel that cannot wait for several words
 *   killed   rank 1 is killed while rank 0 waits for it, without calling
 *   threads  how many threads there are, at each time, and that they block all signals
 *   idle     processor time of a second in which nothing is under way
 *   waiting  the same while a receive is under way
 *   fork     a child of a process with a thread opens a communicator of its own; another just exits
 *   exit     end without closing, with an operation under way
 *   none     no thread can be made: operations move in calls
 *
 * It ends with "rank R is right", or with a line that says what was wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <hocket/hocket.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "forbid.h"

enum { COUNT = 1 << 20, GROUPS = 3, SECOND_MS = 1000 };

#if !defined(SYS_futex_waitv)
#    define SYS_futex_waitv 449
#endif

static const char meeting[] = "meeting";

static hk_status_t wrong(const char *what)
{
    printf("wrong: %s: %s\n", what, hk_last_error());
    return HK_ERR_INTERNAL;
}

/** Tell rank 0 that this rank is done. */
static void meet(void)
{
    const int fd = open(meeting, O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, "", 1);
        (void)close(fd);
    }
}

/** Rank 0: wait until so many others are done, without calling hocket. */
static bool meet_all(int others)
{
    const int fd = open(meeting, O_RDWR | O_CLOEXEC); // also to write: so it never ends early
    char byte;
    int met = 0;

    while (fd >= 0 && met < others && read(fd, &byte, 1) == 1) {
        met++;
    }
    (void)close(fd);
    return met == others;
}

/** What is under way on one communicator. */
typedef struct started {
    int32_t sum[COUNT];
    int32_t sent[COUNT];
    int32_t received[COUNT];
    hk_request_t *requests[3];
} started_t;

static hk_status_t start(hk_comm_t *comm, started_t *s)
{
    const int rank = hk_comm_rank(comm);
    const int nranks = hk_comm_size(comm);

    for (int32_t i = 0; i < COUNT; i++) {
        s->sum[i] = i % 11 + rank;
        s->sent[i] = i + rank;
        s->received[i] = -1;
    }
    hk_status_t status = hk_recv(comm, s->received, COUNT, HK_I32, (rank + nranks - 1) % nranks,
                                 NULL, &s->requests[0]);
    if (status == HK_OK) {
        status = hk_send(comm, s->sent, COUNT, HK_I32, (rank + 1) % nranks, NULL, &s->requests[1]);
    }
    if (status == HK_OK) {
        status = hk_all_reduce(comm, s->sum, s->sum, COUNT, HK_I32, HK_SUM, NULL, &s->requests[2]);
    }
    return status == HK_OK ? HK_OK : wrong("start");
}

static hk_status_t finish(hk_comm_t *comm, started_t *s)
{
    const int32_t rank = hk_comm_rank(comm);
    const int32_t nranks = hk_comm_size(comm);
    const int32_t before = (rank + nranks - 1) % nranks;

    if (hk_request_wait_all(s->requests, 3) != HK_OK) {
        return wrong("wait");
    }
    for (int32_t i = 0; i < COUNT; i++) {
        if (s->sum[i] != i % 11 * nranks + nranks * (nranks - 1) / 2 ||
            s->received[i] != i + before) {
            return wrong("result");
        }
    }
    return HK_OK;
}

static hk_status_t scene_absent(hk_comm_t *comm)
{
    static started_t started[GROUPS];
    hk_comm_t *comms[GROUPS] = {comm, NULL, NULL};
    const bool is_absent = hk_comm_rank(comm) == 0;
    hk_status_t status = hk_comm_split(comm, 0, 0, &comms[1]);

    if (status == HK_OK) {
        status = hk_comm_split(comm, 0, -hk_comm_rank(comm), &comms[2]); // other ranks
    }
    for (int g = 0; g < GROUPS && status == HK_OK; g++) {
        status = start(comms[g], &started[g]);
    }
    if (status == HK_OK && is_absent && !meet_all(hk_comm_size(comm) - 1)) {
        status = wrong("meeting");
    }
    for (int g = 0; g < GROUPS && status == HK_OK; g++) {
        status = finish(comms[g], &started[g]);
    }
    if (!is_absent) {
        meet();
    }
    hk_comm_close(&comms[1]);
    hk_comm_close(&comms[2]);
    return status;
}

static hk_status_t scene_killed(hk_comm_t *comm)
{
    hk_request_t *request = NULL;
    int32_t value = 0;

    if (hk_comm_rank(comm) == 1) {
        (void)meet_all(1);
        (void)raise(SIGKILL);
    }
    hk_status_t status = hk_recv(comm, &value, 1, HK_I32, 1, NULL, &request);
    meet();
    while (status == HK_OK) { // this call only looks
        (void)poll(NULL, 0, 1);
        status = hk_comm_status(comm);
    }
    if (status != HK_ERR_PEER_FAILED || hk_request_wait(&request) != HK_ERR_PEER_FAILED) {
        return wrong("not noticed");
    }
    printf("rank 0 got: %s\n", hk_last_error());
    return HK_OK;
}

/** Something is under way: a receive of a rank's own. */
static hk_status_t start_own(hk_comm_t *comm, int32_t *value, hk_request_t **request)
{
    return hk_recv(comm, value, 1, HK_I32, hk_comm_rank(comm), NULL, request);
}

static hk_status_t finish_own(hk_comm_t *comm, int32_t *value, hk_request_t **request)
{
    const int32_t sent = *value + 1;
    const hk_status_t status = hk_send(comm, &sent, 1, HK_I32, hk_comm_rank(comm), NULL, NULL);

    if (status != HK_OK || hk_request_wait(request) != HK_OK || *value != sent) {
        return wrong("own receive");
    }
    return HK_OK;
}

/** Threads of this process; -1: one of them, besides the first, does not block a signal that can be
 *  blocked. */
static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;

    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[64];
        char line[256];
        unsigned long long blocked = 0;
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
            (void)sscanf(line, "SigBlk: %llx", &blocked);
        }
        if (file != NULL) {
            (void)fclose(file);
        }
        if (atoi(entry->d_name) != getpid() &&
            (~blocked & 0x7fffffff & ~(1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1))) != 0) {
            (void)closedir(folder);
            return -1;
        }
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count;
}

static hk_status_t scene_threads(hk_comm_t *comm)
{
    hk_comm_t *others[2] = {NULL, NULL};
    hk_request_t *requests[3] = {NULL};
    int32_t values[3] = {0};
    int counts[4];
    hk_status_t status = hk_comm_split(comm, 0, 0, &others[0]);

    if (status == HK_OK) {
        status = hk_comm_split(comm, 0, 0, &others[1]);
    }
    counts[0] = count_threads();
    if (status == HK_OK) {
        status = start_own(others[0], &values[0], &requests[0]);
    }
    counts[1] = count_threads();
    if (status == HK_OK) {
        status = start_own(others[1], &values[1], &requests[1]);
    }
    if (status == HK_OK) {
        status = start_own(comm, &values[2], &requests[2]);
    }
    counts[2] = count_threads();
    if (status == HK_OK) {
        status = finish_own(comm, &values[2], &requests[2]);
    }
    if (status == HK_OK) {
        status = finish_own(others[0], &values[0], &requests[0]);
    }
    hk_comm_close(&others[0]);
    hk_comm_close(&others[1]); // what is under way there is given up
    (void)!hk_request_wait(&requests[1]);
    counts[3] = count_threads();
    if (counts[0] != 1 || counts[1] != 2 || counts[2] != 2 || counts[3] != 2) {
        printf("wrong: %d, %d, %d, %d threads\n", counts[0], counts[1], counts[2], counts[3]);
        status = HK_ERR_INTERNAL;
    }
    return status;
}

static long processor_us(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000L + time.tv_nsec / 1000L;
}

static hk_status_t take_time(hk_comm_t *comm, bool is_waiting)
{
    hk_request_t *request = NULL;
    int32_t value = 0;
    hk_status_t status = start_own(comm, &value, &request);

    if (status == HK_OK && !is_waiting) {
        status = finish_own(comm, &value, &request);
    }
    const long start_us = processor_us();
    (void)poll(NULL, 0, SECOND_MS);
    printf("rank %d took %ld us\n", hk_comm_rank(comm), processor_us() - start_us);
    if (status == HK_OK && is_waiting) {
        status = finish_own(comm, &value, &request);
    }
    return status;
}

static hk_status_t scene_idle(hk_comm_t *comm)
{
    return take_time(comm, false);
}

static hk_status_t scene_waiting(hk_comm_t *comm)
{
    return take_time(comm, true);
}

/** What a child does. @return its exit status */
static int live_alone(void)
{
    hk_comm_opts_t opts = hk_comm_opts_default();
    hk_comm_t *comm = NULL;
    hk_request_t *request = NULL;
    int32_t value = 7;

    opts.rank = 0;
    opts.nranks = 1;
    if (hk_comm_open(&opts, &comm) != HK_OK || start_own(comm, &value, &request) != HK_OK ||
        count_threads() != 2 || finish_own(comm, &value, &request) != HK_OK) {
        return 2;
    }
    hk_comm_close(&comm);
    return count_threads() == 1 ? 0 : 3;
}

static hk_status_t scene_fork(hk_comm_t *comm)
{
    hk_request_t *request = NULL;
    int32_t value = 0;
    hk_status_t status = start_own(comm, &value, &request);

    for (int i = 0; i < 20 && status == HK_OK;
         i++) { // a child may come at any moment of the thread
        int end = 0;
        const pid_t child = fork();
        if (child == 0) {
            if (i % 2 == 0) {
                _exit(live_alone());
            }
            hk_comm_close(&comm);
            exit(0);
        }
        (void)waitpid(child, &end, 0);
        if (end != 0) {
            printf("wrong: child %d ended with %x\n", i, (unsigned)end);
            status = HK_ERR_INTERNAL;
        }
        if (status == HK_OK) {
            status = finish_own(comm, &value, &request);
        }
        if (status == HK_OK) {
            status = start_own(comm, &value, &request);
        }
    }
    return status == HK_OK ? finish_own(comm, &value, &request) : status;
}

static hk_status_t scene_exit(hk_comm_t *comm)
{
    static int32_t value;
    hk_request_t *request = NULL;

    if (start_own(comm, &value, &request) != HK_OK || count_threads() != 2) {
        return wrong("no thread");
    }
    printf("rank %d is right\n", hk_comm_rank(comm));
    (void)unlink(meeting);
    exit(0);
}

static hk_status_t scene_none(hk_comm_t *comm)
{
    hk_request_t *requests[2] = {NULL, NULL};
    int32_t values[2] = {0, 0};
    hk_status_t status = start_own(comm, &values[0], &requests[0]);

    if (status == HK_OK && count_threads() != 1) {
        return wrong("there is a thread");
    }
    if (status == HK_OK) {
        status = start_own(comm, &values[1], &requests[1]);
    }
    if (status == HK_OK) {
        status = finish_own(comm, &values[0], &requests[0]);
    }
    return status == HK_OK ? finish_own(comm, &values[1], &requests[1]) : status;
}

static const struct {
    const char *name;
    hk_status_t (*fn)(hk_comm_t *comm);
} scenes[] = {{"absent", scene_absent},   {"old", scene_absent}, {"killed", scene_killed},
              {"threads", scene_threads}, {"idle", scene_idle},  {"waiting", scene_waiting},
              {"fork", scene_fork},       {"exit", scene_exit},  {"none", scene_none}};

/** Before there is a communicator. */
static bool prepare(const char *scene, int rank)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (setenv("HOCKET_PROGRESS", "thread", 1) != 0) {
        return false;
    }
    if (rank == 0 && mkfifo(meeting, 0600) != 0 && errno != EEXIST) {
        return false;
    }
    if (strcmp(scene, "old") == 0) {
        return forbid(SYS_futex_waitv, ENOSYS);
    }
    return strcmp(scene, "none") != 0 || (forbid(SYS_clone3, EAGAIN) && forbid(SYS_clone, EAGAIN));
}

int main(int argc, char **argv)
{
    hk_comm_t *comm = NULL;
    const char *number = getenv("HOCKET_RANK");
    const int rank = number == NULL ? 0 : atoi(number);
    const char *scene = argc > 1 ? argv[1] : "";

    if (!prepare(scene, rank)) {
        printf("rank %d could not prepare\n", rank);
        return 1;
    }
    hk_status_t status = hk_comm_open(NULL, &comm);

    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && status == HK_OK; i++) {
        if (strcmp(scene, scenes[i].name) == 0) {
            status = scenes[i].fn(comm);
        }
    }
    if (status == HK_OK) {
        printf("rank %d is right\n", rank);
    } else {
        printf("rank %d failed: %s: %s\n", rank, hk_status_text(status), hk_last_error());
    }
    hk_comm_close(&comm);
    if (rank == 0) {
        (void)unlink(meeting);
    }
    return status == HK_OK ? 0 : 1;
}
