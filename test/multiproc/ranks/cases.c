/*
 * One rank of a job in which something odd happens: `cases SCENE`. It ends with "rank R is right"
 * or "rank R failed F: TEXT".
 *
 *   hello       open, add, close
 *   behind      broadcast; rank 0 closes when done, while rank 2 has stopped itself
 *   send_exit   rank 0 sends and calls exit() without closing; rank 1 receives after that
 *   unfinished  rank 1 calls exit() while its operation is under way
 *   abort       rank 1 aborts, the others wait
 *   fork        children of all ranks use, exit, execute; the ranks go on
 *   many        ten thousand messages, received in another order than sent
 *   flat        new buffers, counts and groups in each call, and no more memory for it
 *   large       more than 2^32 bytes and 2^31 elements in one call
 *   stand       rank 1 prints "rank 1 stands in PID" and stands still, the others wait for it
 *
 * With CASES_FORBID set, a seccomp filter forbids pidfd_open() and process_vm_readv(), as some
 * containers do.
 */
#include <errno.h>
#include <fcntl.h>
#include <hocket/hocket.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 10000, BEHIND_COUNT = 500000, LOOKS = 5000, FLAT_CALLS = 2000, LATE_COUNT = 4000000 };

static hk_status_t wrong(const char *what)
{
    printf("wrong: %s\n", what);
    fflush(stdout);
    return HK_ERR_INTERNAL;
}

static hk_status_t add(hk_comm_t *comm)
{
    const int32_t in = 1 + hk_comm_rank(comm);
    const int32_t n = hk_comm_size(comm);
    int32_t out = 0;
    const hk_status_t status = hk_all_reduce(comm, &in, &out, 1, HK_I32, HK_SUM, NULL, NULL);

    return status == HK_OK && out != n * (n + 1) / 2 ? wrong("sum") : status;
}

static hk_status_t scene_hello(hk_comm_t **comm)
{
    return add(*comm);
}

static hk_status_t check_ramp(const float *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (data[i] != (float)(i % 1000)) {
            return wrong("element");
        }
    }
    return HK_OK;
}

/** Look at the request until file "closed" is there, and many times more. */
static hk_status_t look_on(hk_request_t **request)
{
    hk_status_t status = HK_IN_PROGRESS;

    while (access("closed", F_OK) != 0 && status == HK_IN_PROGRESS) {
        status = hk_request_test(request);
    }
    for (int i = 0; i < LOOKS && status == HK_IN_PROGRESS; i++) {
        status = hk_request_test(request);
    }
    (void)unlink("closed");
    if (status == HK_IN_PROGRESS) {
        printf("rank 1 still waits\n");
        fflush(stdout);
        status = hk_request_wait(request);
    }
    return status;
}

static hk_status_t scene_behind(hk_comm_t **comm)
{
    hk_coll_opts_t opts = hk_coll_opts_default();
    hk_request_t *request = NULL;
    float *data = calloc(BEHIND_COUNT, sizeof(*data));
    int32_t word = 0;
    const int rank = hk_comm_rank(*comm);
    hk_status_t status = data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    opts.algo = "chain";
    for (size_t i = 0; data != NULL && rank == 0 && i < BEHIND_COUNT; i++) {
        data[i] = (float)(i % 1000);
    }
    if (status == HK_OK && rank == 0) { // rank 2 has called and finds nothing yet
        status = hk_recv(*comm, &word, 1, HK_I32, 2, NULL, NULL);
    }
    if (status == HK_OK) {
        status = hk_broadcast(*comm, data, data, BEHIND_COUNT, HK_F32, 0, &opts, &request);
    }
    if (status == HK_OK && rank == 2) {
        status = hk_send(*comm, &word, 1, HK_I32, 0, NULL, NULL);
    }
    if (status == HK_OK && rank == 2) {
        printf("rank 2 stops in %d\n", (int)getpid());
        fflush(stdout);
        (void)raise(SIGSTOP);
    }
    if (status == HK_OK && rank == 1) {
        status = look_on(&request);
    }
    if (status == HK_OK) {
        status = hk_request_wait(&request);
    }
    if (rank == 0) {
        hk_comm_close(comm);
        (void)close(open("closed", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
    status = status == HK_OK ? check_ramp(data, BEHIND_COUNT) : status;
    free(data);
    return status;
}

static void wait_until_gone(int pid)
{
    while (kill(pid, 0) == 0) {
        (void)poll(NULL, 0, 1);
    }
}

static hk_status_t scene_send_exit(hk_comm_t **comm)
{
    static const size_t counts[] = {1, 10, 100, 2000};
    static float data[2000];
    const int rank = hk_comm_rank(*comm);
    int32_t pid = (int32_t)getpid();
    hk_status_t status = rank == 0 ? hk_send(*comm, &pid, 1, HK_I32, 1, NULL, NULL)
                                   : hk_recv(*comm, &pid, 1, HK_I32, 0, NULL, NULL);

    if (rank == 1 && status == HK_OK) {
        wait_until_gone(pid);
    }
    for (size_t c = 0; c < 4 && status == HK_OK; c++) {
        for (size_t i = 0; i < counts[c]; i++) {
            data[i] = rank == 0 ? (float)(i % 1000) : -1.0f;
        }
        status = rank == 0 ? hk_send(*comm, data, counts[c], HK_F32, 1, NULL, NULL)
                           : hk_recv(*comm, data, counts[c], HK_F32, 0, NULL, NULL);
        status = status == HK_OK ? check_ramp(data, counts[c]) : status;
    }
    if (rank == 0 && status == HK_OK) {
        printf("rank 0 is right\n");
        exit(0);
    }
    return status;
}

static hk_status_t scene_unfinished(hk_comm_t **comm)
{
    hk_request_t *request = NULL;
    float *data = calloc(LATE_COUNT, sizeof(*data));
    hk_status_t status = add(*comm);

    if (status == HK_OK && data != NULL) {
        status = hk_all_reduce(*comm, data, data, LATE_COUNT, HK_F32, HK_SUM, NULL, &request);
    }
    if (hk_comm_rank(*comm) == 1) {
        exit(0);
    }
    status = status == HK_OK ? hk_request_wait(&request) : status;
    free(data);
    return status;
}

static hk_status_t scene_abort(hk_comm_t **comm)
{
    const hk_status_t status = add(*comm);

    if (status == HK_OK && hk_comm_rank(*comm) == 1) {
        hk_comm_abort(*comm, "enough of it");
    }
    return status == HK_OK ? hk_barrier(*comm, NULL, NULL) : status;
}

/** A child that does `what`. @return did it end with status 0? */
static int child_ends_well(hk_comm_t *comm, int what)
{
    int ended = 0;
    const pid_t pid = fork();

    if (pid == 0 && what == 0) {
        exit(0); // runs the library's destructors
    }
    if (pid == 0 && what == 1) {
        (void)execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    if (pid == 0) {
        const hk_status_t status = hk_barrier(comm, NULL, NULL);
        hk_comm_abort(comm, "a child must not");
        hk_comm_close(&comm);
        exit(status == HK_ERR_INVALID_ARG && strstr(hk_last_error(), "child") != NULL ? 0 : 1);
    }
    return waitpid(pid, &ended, 0) == pid && ended == 0;
}

static hk_status_t scene_fork(hk_comm_t **comm)
{
    hk_status_t status = add(*comm);

    for (int what = 0; what < 3 && status == HK_OK; what++) {
        fflush(stdout);
        status = child_ends_well(*comm, what) ? add(*comm) : wrong("child");
    }
    return status;
}

/** Number i has a size of its own: inline, eager, and sometimes large. */
static size_t many_count(int i)
{
    return i % 1000 == 7 ? 5000 : i % 10 == 3 ? 300 : (size_t)(i % 8);
}

static hk_status_t scene_many(hk_comm_t **comm)
{
    hk_request_t **requests = calloc(2 * (size_t)MANY, sizeof(*requests));
    uint32_t *data = calloc((size_t)MANY * 5000, sizeof(*data)); // touched where it is used only
    static uint32_t out[5000];
    const int other = 1 - hk_comm_rank(*comm);
    hk_status_t status = requests == NULL || data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    for (size_t i = 0; i < 5000; i++) {
        out[i] = (uint32_t)i;
    }
    for (int k = 0; k < MANY && status == HK_OK; k++) {
        const int to = k;
        const int from = MANY - 1 - k;
        hk_coll_opts_t opts = hk_coll_opts_default();
        opts.tag = from;
        status = hk_recv(*comm, data + (size_t)from * 5000, many_count(from), HK_U32, other, &opts,
                         &requests[k]);
        opts.tag = to;
        if (status == HK_OK) {
            status = hk_send(*comm, out, many_count(to), HK_U32, other, &opts, &requests[MANY + k]);
        }
    }
    status = status == HK_OK ? hk_request_wait_all(requests, 2 * (size_t)MANY) : status;
    for (int i = 0; i < MANY && status == HK_OK; i++) {
        if (memcmp(data + (size_t)i * 5000, out, many_count(i) * sizeof(*out)) != 0) {
            status = wrong("message");
        }
    }
    free(data);
    free(requests);
    return status;
}

static long resident_pages(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        pages = 0;
    }
    (void)(file != NULL && fclose(file));
    return pages;
}

/** One call with buffers and a count that were never used before. */
static hk_status_t flat_call(hk_comm_t *comm, int i)
{
    const size_t count = 1 + (size_t)i * 7 % 20011;
    hk_comm_t *group = NULL;
    void *shared = NULL;
    float *data = calloc(count, sizeof(*data));
    hk_status_t status = data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    if (status == HK_OK) {
        status = hk_all_reduce(comm, data, data, count, HK_F32, HK_SUM, NULL, NULL);
    }
    if (status == HK_OK && i % 16 == 0) {
        status = hk_mem_alloc(comm, count * sizeof(*data), &shared);
    }
    if (status == HK_OK && shared != NULL) {
        status = hk_broadcast(comm, shared, shared, count, HK_F32, i % 2, NULL, NULL);
    }
    if (status == HK_OK && i % 64 == 0) {
        status = hk_comm_split(comm, 0, -hk_comm_rank(comm), &group);
    }
    status = status == HK_OK && group != NULL ? add(group) : status;
    hk_comm_close(&group);
    hk_mem_free(comm, shared);
    free(data);
    return status;
}

static hk_status_t scene_flat(hk_comm_t **comm)
{
    hk_status_t status = HK_OK;
    long before = 0;

    for (int i = 0; i < FLAT_CALLS && status == HK_OK; i++) {
        before = i == FLAT_CALLS / 2 ? resident_pages() : before;
        status = flat_call(*comm, i);
    }
    printf("rank %d grew by %ld pages\n", hk_comm_rank(*comm), resident_pages() - before);
    return status;
}

/** A byte that differs from its neighbours, also 2^31 and 2^32 further on. */
static uint8_t byte_at(size_t i)
{
    return (uint8_t)((i * 2654435761U + (i >> 31) * 101) >> 13);
}

static void fill_bytes(uint8_t *data, size_t bytes, uint8_t plus)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)(byte_at(i) + plus);
    }
}

static hk_status_t check_bytes(const uint8_t *data, size_t bytes, uint8_t times)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != (uint8_t)(byte_at(i) * times)) {
            return wrong("byte");
        }
    }
    return HK_OK;
}

/** A long step is done: the test waits for lines. */
static hk_status_t tell(hk_status_t status, const char *what)
{
    printf("%s: %s\n", what, hk_status_text(status));
    fflush(stdout);
    return status;
}

static hk_status_t pass_bytes(hk_comm_t *comm, uint8_t *data, size_t bytes)
{
    if (hk_comm_rank(comm) == 0) {
        return hk_send(comm, data, bytes, HK_U8, 1, NULL, NULL);
    }
    memset(data, 0, bytes);
    return hk_recv(comm, data, bytes, HK_U8, 0, NULL, NULL);
}

/** 5 GB from rank 0 to rank 1 by broadcast, then by a message; then a sum of 2^31 + 5 elements. */
static hk_status_t scene_large(hk_comm_t **comm)
{
    static const size_t bytes = 5000000007;
    static const size_t elements = (UINT64_C(1) << 31) + 5;
    uint8_t *data = malloc(bytes);
    hk_status_t status = data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    if (status == HK_OK) {
        fill_bytes(data, bytes, hk_comm_rank(*comm) == 0 ? 0 : 1);
        status = tell(hk_broadcast(*comm, data, data, bytes, HK_U8, 0, NULL, NULL), "broadcast");
    }
    status = status == HK_OK ? tell(check_bytes(data, bytes, 1), "right") : status;
    status = status == HK_OK ? tell(pass_bytes(*comm, data, bytes), "message") : status;
    status = status == HK_OK ? tell(check_bytes(data, bytes, 1), "right") : status;
    if (status == HK_OK) {
        status = hk_all_reduce(*comm, data, data, elements, HK_U8, HK_SUM, NULL, NULL);
        status = tell(status, "sum");
    }
    status = status == HK_OK ? check_bytes(data, elements, 2) : status;
    free(data);
    return status;
}

static hk_status_t scene_stand(hk_comm_t **comm)
{
    hk_status_t status = add(*comm);

    if (status == HK_OK && hk_comm_rank(*comm) == 1) {
        printf("rank 1 stands in %d\n", (int)getpid());
        fflush(stdout);
        for (;;) {
            (void)pause();
        }
    }
    return status == HK_OK ? hk_barrier(*comm, NULL, NULL) : status;
}

/** These calls fail with EPERM and ENOSYS from now on. */
static int forbid_calls(void)
{
    enum { PIDFD_OPEN = 434 }; // on all architectures
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PIDFD_OPEN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(PIDFD_OPEN, getpid(), 0) == -1 && errno == ENOSYS;
}

typedef hk_status_t (*scene_fn)(hk_comm_t **comm);

static const struct {
    const char *name;
    scene_fn fn;
} scenes[] = {{"hello", scene_hello},         {"behind", scene_behind},
              {"send_exit", scene_send_exit}, {"unfinished", scene_unfinished},
              {"abort", scene_abort},         {"fork", scene_fork},
              {"many", scene_many},           {"flat", scene_flat},
              {"large", scene_large},         {"stand", scene_stand}};

int main(int argc, char **argv)
{
    hk_comm_t *comm = NULL;

    if (getenv("CASES_FORBID") != NULL && !forbid_calls()) {
        printf("no filter\n");
        return 1;
    }
    hk_status_t status = hk_comm_open(NULL, &comm);
    const char *number = getenv("HOCKET_RANK");
    const int rank = number == NULL ? 0 : atoi(number);

    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]) && status == HK_OK; i++) {
        if (argc > 1 && strcmp(argv[1], scenes[i].name) == 0) {
            status = scenes[i].fn(&comm);
            break;
        }
    }
    if (status == HK_OK) {
        printf("rank %d is right\n", rank);
    } else {
        printf("rank %d failed %d: %s: %s\n", rank, comm != NULL ? hk_comm_failed_rank(comm) : -2,
               hk_status_text(status), hk_last_error());
    }
    fflush(stdout);
    hk_comm_close(&comm);
    return status == HK_OK ? 0 : 1;
}
