/*
 * What a rank takes of the machine: `frugal SCENE [MILLISECONDS]`.
 *
 *   memory   use everything a communicator has, then compare what the memory file takes with what
 *            hki_comm_memory() says, for one communicator and for two; rank 0 prints both
 *   opened   what a communicator needs from the opening on is real then: first use cannot fail
 *   idle     open, add, then do nothing for a time; each rank prints the processor time it took
 *   waiting  the same, but all ranks wait for rank 0 meanwhile
 *   send, scratch, split, alloc
 *            the first of its kind when no shared memory is left (a seccomp filter lets
 *            fallocate() fail); each rank prints the error it got
 *   open     rank 1 has no memory from the beginning
 *
 * It ends with "rank R is right", or with a line that says what was wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <hocket/hocket.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "algo/algo.h"
#include "algo/registry.h"
#include "comm/comm.h"
#include "comm/memory.h"
#include "forbid.h"

enum { COUNT = 1 << 18, BLOCK_BYTES = 512, IDLE_MS = 1000, PATH_BYTES = 64 };

static char in[4 * COUNT];
static char out[4 * COUNT];

static hk_status_t wrong(const char *what)
{
    printf("wrong: %s: %s\n", what, hk_last_error());
    return HK_ERR_INTERNAL;
}

static hk_status_t add(hk_comm_t *comm)
{
    const int32_t one = 1;
    int32_t sum = 0;
    const hk_status_t status = hk_all_reduce(comm, &one, &sum, 1, HK_I32, HK_SUM, NULL, NULL);

    return status == HK_OK && sum != hk_comm_size(comm) ? wrong("sum") : status;
}

/** One call of the collective by the named algorithm; the largest buffer is `in` or `out`. */
static hk_status_t call(hk_comm_t *comm, const hki_algo_t *algo, hk_dtype_t dtype)
{
    const size_t each = COUNT / (size_t)hk_comm_size(comm);
    hk_coll_opts_t opts = hk_coll_opts_default();

    opts.algo = algo->name;
    opts.order = HK_ORDER_ANY;
    switch (algo->coll) {
    case HKI_COLL_BROADCAST:
        return hk_broadcast(comm, in, out, COUNT, dtype, 0, &opts, NULL);
    case HKI_COLL_REDUCE:
        return hk_reduce(comm, in, out, COUNT, dtype, HK_SUM, 0, &opts, NULL);
    case HKI_COLL_SCATTER:
        return hk_scatter(comm, in, out, each, dtype, 0, &opts, NULL);
    case HKI_COLL_GATHER:
        return hk_gather(comm, in, out, each, dtype, 0, &opts, NULL);
    case HKI_COLL_ALL_GATHER:
        return hk_all_gather(comm, in, out, each, dtype, &opts, NULL);
    case HKI_COLL_REDUCE_SCATTER:
        return hk_reduce_scatter(comm, in, out, each, dtype, HK_SUM, &opts, NULL);
    case HKI_COLL_ALL_REDUCE:
        return hk_all_reduce(comm, in, out, COUNT, dtype, HK_SUM, &opts, NULL);
    case HKI_COLL_ALL_TO_ALL:
        return hk_all_to_all(comm, in, out, each, dtype, &opts, NULL);
    default:
        return hk_barrier(comm, &opts, NULL);
    }
}

/** All algorithms, and a message of every kind to the next rank. */
static hk_status_t use_all(hk_comm_t *comm)
{
    static const hk_dtype_t dtypes[] = {HK_F32, HK_BF16};
    static const size_t counts[] = {1, 1000, COUNT};
    const int next = (hk_comm_rank(comm) + 1) % hk_comm_size(comm);
    const int before = (hk_comm_rank(comm) + hk_comm_size(comm) - 1) % hk_comm_size(comm);
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);
    hk_status_t status = HK_OK;

    for (int i = 0; i < 2 * count && status == HK_OK; i++) {
        status = call(comm, &algos[i / 2], dtypes[i % 2]);
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && status == HK_OK; i++) {
        hk_request_t *requests[2] = {NULL, NULL};
        status = hk_send(comm, in, counts[i], HK_F32, next, NULL, &requests[0]);
        if (status == HK_OK) {
            status = hk_recv(comm, out, counts[i], HK_F32, before, NULL, &requests[1]);
        }
        if (status == HK_OK) {
            status = hk_request_wait_all(requests, 2);
        }
    }
    return status;
}

/** What the job's memory file takes [bytes]; 0: there is none. */
static uint64_t file_bytes(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t bytes = 0;

    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[PATH_BYTES];
        char target[PATH_BYTES] = "";
        struct stat info;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%.16s", entry->d_name);
        if (readlink(path, target, sizeof(target) - 1) > 0 &&
            strncmp(target, "/memfd:hocket", 13) == 0 && strstr(target, "board") == NULL &&
            stat(path, &info) == 0) {
            bytes += (uint64_t)info.st_blocks * BLOCK_BYTES;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return bytes;
}

static hk_status_t compare(hk_comm_t *comm, int ncomms)
{
    const uint64_t ranks = (uint64_t)hk_comm_size(comm);
    const hki_comm_memory_t memory = hki_comm_memory((int)ranks, 0);
    const uint64_t most = (uint64_t)ncomms * ranks * memory.total + 65536; // and the table of ranks
    hk_status_t status = hk_barrier(comm, NULL, NULL);
    const uint64_t taken = file_bytes();

    if (status == HK_OK && hk_comm_rank(comm) == 0) {
        printf("%d communicators take %llu of %llu\n", ncomms, (unsigned long long)taken,
               (unsigned long long)most);
    }
    if (status == HK_OK && (taken > most || taken < most / 10 * 9)) {
        status = wrong("memory");
    }
    return status == HK_OK ? hk_barrier(comm, NULL, NULL) : status;
}

static hk_status_t scene_memory(hk_comm_t *comm, int ms)
{
    hk_comm_t *second = NULL;
    hk_status_t status = use_all(comm);

    (void)ms;
    if (status == HK_OK) {
        status = compare(comm, 1);
    }
    if (status == HK_OK) {
        status = hk_comm_split(comm, 0, hk_comm_rank(comm), &second);
    }
    if (status == HK_OK) {
        status = use_all(second);
    }
    if (status == HK_OK) {
        status = compare(comm, 2);
    }
    hk_comm_close(&second);
    return status;
}

static hk_status_t scene_opened(hk_comm_t *comm, int ms)
{
    const uint64_t ranks = (uint64_t)hk_comm_size(comm);
    const hki_comm_memory_t memory = hki_comm_memory((int)ranks, 0);
    const uint64_t least = ranks * (memory.streams + memory.staging) - ranks; // it was rounded up
    const hk_status_t status = hk_barrier(comm, NULL, NULL);
    const uint64_t taken = file_bytes();

    (void)ms;
    if (status == HK_OK && taken < least) {
        printf("%llu of %llu are real\n", (unsigned long long)taken, (unsigned long long)least);
        return wrong("memory");
    }
    return status;
}

static long processor_us(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000L + time.tv_nsec / 1000L;
}

static hk_status_t take_time(hk_comm_t *comm, int ms, bool is_waiting)
{
    const int rank = hk_comm_rank(comm);
    hk_status_t status = add(comm);
    const long start = processor_us();

    if (rank == 0 || !is_waiting) {
        (void)poll(NULL, 0, ms);
    }
    if (is_waiting && status == HK_OK) {
        status = hk_barrier(comm, NULL, NULL);
    }
    printf("rank %d took %ld us of %d ms\n", rank, processor_us() - start, ms);
    return status;
}

static hk_status_t scene_idle(hk_comm_t *comm, int ms)
{
    return take_time(comm, ms, false);
}

static hk_status_t scene_waiting(hk_comm_t *comm, int ms)
{
    return take_time(comm, ms, true);
}

/** From now on no memory file gets any more memory. */
static bool fill_memory(void)
{
    return forbid(SYS_fallocate, ENOSPC);
}

/** The first call is right; then rank 0 has no memory left for the first of another kind. Rank 1
 *  may learn that while it still is in the first. */
static hk_status_t run_out(hk_comm_t *comm, hk_status_t (*use)(hk_comm_t *comm))
{
    const int rank = hk_comm_rank(comm);
    hk_status_t status = add(comm);

    if (rank == 0 && (status != HK_OK || !fill_memory())) {
        return wrong("start");
    }
    if (status == HK_OK) {
        status = use(comm);
    }
    if (status == HK_OK) {
        return wrong("no error");
    }
    printf("rank %d got: %s\n", rank, hk_last_error());
    return HK_OK;
}

static hk_status_t use_transfers(hk_comm_t *comm)
{
    if (hk_comm_rank(comm) == 0) {
        return hk_send(comm, in, 1000, HK_F32, 1, NULL, NULL);
    }
    return hk_recv(comm, out, 1000, HK_F32, 0, NULL, NULL);
}

static hk_status_t use_scratch(hk_comm_t *comm)
{
    hk_coll_opts_t opts = hk_coll_opts_default();

    opts.algo = "halving";
    return hk_all_reduce(comm, in, out, COUNT, HK_F32, HK_SUM, &opts, NULL);
}

static hk_status_t use_split(hk_comm_t *comm)
{
    hk_comm_t *second = NULL;
    const hk_status_t status = hk_comm_split(comm, 0, hk_comm_rank(comm), &second);

    hk_comm_close(&second);
    return status;
}

static hk_status_t scene_split(hk_comm_t *comm, int ms)
{
    (void)ms;
    return run_out(comm, use_split);
}

static hk_status_t scene_send(hk_comm_t *comm, int ms)
{
    (void)ms;
    return run_out(comm, use_transfers);
}

static hk_status_t scene_scratch(hk_comm_t *comm, int ms)
{
    (void)ms;
    return run_out(comm, use_scratch);
}

/** Want of memory for the user is the user's affair: the communicator goes on. */
static hk_status_t scene_alloc(hk_comm_t *comm, int ms)
{
    void *memory = NULL;
    hk_status_t status = add(comm);

    (void)ms;
    if (status != HK_OK || !fill_memory()) {
        return wrong("start");
    }
    if (hk_mem_alloc(comm, 100000, &memory) != HK_ERR_NO_MEMORY || memory != NULL) {
        return wrong("no error");
    }
    printf("rank %d got: %s\n", hk_comm_rank(comm), hk_last_error());
    return add(comm);
}

static const struct {
    const char *name;
    hk_status_t (*fn)(hk_comm_t *comm, int ms);
} scenes[] = {{"memory", scene_memory},   {"opened", scene_opened}, {"idle", scene_idle},
              {"waiting", scene_waiting}, {"send", scene_send},     {"scratch", scene_scratch},
              {"split", scene_split},     {"alloc", scene_alloc}};

int main(int argc, char **argv)
{
    hk_comm_t *comm = NULL;
    const char *number = getenv("HOCKET_RANK");
    const int rank = number == NULL ? 0 : atoi(number);

    if (argc > 1 && strcmp(argv[1], "open") == 0 && rank == 1 && !fill_memory()) {
        printf("no filter\n");
        return 1;
    }
    hk_status_t status = hk_comm_open(NULL, &comm);

    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && status == HK_OK; i++) {
        if (argc > 1 && strcmp(argv[1], scenes[i].name) == 0) {
            status = scenes[i].fn(comm, argc > 2 ? atoi(argv[2]) : IDLE_MS);
        }
    }
    if (status == HK_OK) {
        printf("rank %d is right\n", rank);
    } else {
        printf("rank %d failed: %s: %s\n", rank, hk_status_text(status), hk_last_error());
    }
    hk_comm_close(&comm);
    return status == HK_OK ? 0 : 1;
}
