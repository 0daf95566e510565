/**
 * @file shm_test.c
 * @brief Method: every rank is a forked child that runs one of the bodies below and leaves what it
 *        found in memory that it shares with the main process, which does all checking. Children
 *        are killed and stopped here in earnest. A child that outlives its test is killed, and
 *        reported.
 */
#include "support/hk_test.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "transport/open.h"
#include "transport/shm/board.h"
#include "transport/shm/packet.h"

enum { RANKS_MAX = 9, CHILD_S_MAX = 20, MS = 1000000 };

/** What one rank found. */
typedef struct result {
    hk_status_t status;
    int failed_rank;
    uint64_t at_ns; /**< when */
    char text[512];
} result_t;

/** Shared by the main process and its children. */
typedef struct scene {
    result_t results[RANKS_MAX];
    _Atomic int arrived; /**< ranks that have come to the interesting point */
    _Atomic int may_go;
    char job[64];
    int nranks;
    int claimed_nranks[RANKS_MAX]; /**< 0: nranks */
    int open_timeout_ms;
    int laps;
    int single_copy;
} scene_t;

typedef void (*body_fn)(scene_t *scene, int rank);

static scene_t *g_scene;
static pid_t g_pids[RANKS_MAX];

static int set_up(void **state)
{
    static int number;

    (void)state;
    g_scene =
        mmap(NULL, sizeof(*g_scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (g_scene == MAP_FAILED) {
        return -1;
    }
    (void)snprintf(g_scene->job, sizeof(g_scene->job), "shm-test-%d-%d", (int)getpid(), number++);
    g_scene->open_timeout_ms = 10000;
    for (int rank = 0; rank < RANKS_MAX; rank++) {
        g_scene->results[rank].status = HK_ERR_INTERNAL; // until the child says otherwise
        g_pids[rank] = 0;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS_MAX; rank++) {
        if (g_pids[rank] > 0) {
            (void)kill(g_pids[rank], SIGKILL);
            (void)waitpid(g_pids[rank], NULL, 0);
        }
    }
    return munmap(g_scene, sizeof(*g_scene));
}

static void nap(void)
{
    (void)poll(NULL, 0, 1);
}

static void start(int rank, body_fn body)
{
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(CHILD_S_MAX);
        (void)signal(SIGSEGV, SIG_DFL); // cmocka would catch these, and go on to the next test
        (void)signal(SIGBUS, SIG_DFL);
        (void)signal(SIGABRT, SIG_DFL);
        body(g_scene, rank);
        _exit(0);
    }
    g_pids[rank] = pid;
}

static void start_all(int nranks, body_fn body)
{
    g_scene->nranks = nranks;
    for (int rank = 0; rank < nranks; rank++) {
        start(rank, body);
    }
}

/** Wait until the child has ended. @return its wait status */
static int finish(int rank)
{
    int ended = 0;

    assert_int_equal(waitpid(g_pids[rank], &ended, 0), g_pids[rank]);
    g_pids[rank] = 0;
    return ended;
}

static void finish_all_ok(int nranks)
{
    for (int rank = 0; rank < nranks; rank++) {
        const int ended = finish(rank);
        const result_t *result = &g_scene->results[rank];
        if (ended != 0 || result->status != HK_OK) {
            fail_msg("%d ranks, rank %d: ended %d, %s: %s", nranks, rank, ended,
                     hk_status_text(result->status), result->text);
        }
    }
}

static void wait_for_arrivals(int count)
{
    while (atomic_load(&g_scene->arrived) < count) {
        nap();
    }
}

/** The rank has this error, and its text holds all of these. */
static void assert_error(int rank, hk_status_t status, const char *part)
{
    const result_t *result = &g_scene->results[rank];

    if (result->status != status || strstr(result->text, part) == NULL) {
        fail_msg("rank %d: got %s: \"%s\", want %s with \"%s\"", rank,
                 hk_status_text(result->status), result->text, hk_status_text(status), part);
    }
}

/* What children do. */

static void note(scene_t *scene, int rank, hk_status_t status)
{
    result_t *result = &scene->results[rank];

    result->status = status;
    result->at_ns = hki_clock_ns();
    (void)snprintf(result->text, sizeof(result->text), "%s", hk_last_error());
}

static hk_status_t open_rank(const scene_t *scene, int rank, hki_endpoint_t **ep_out)
{
    const hki_transport_opts_t opts = {.nlanes = 2,
                                       .staging_bytes = 65536,
                                       .spin = -1,
                                       .open_timeout_ms = scene->open_timeout_ms,
                                       .single_copy = scene->single_copy};
    const int claimed = scene->claimed_nranks[rank];

    return hki_shm_open(&opts, scene->job, rank, claimed != 0 ? claimed : scene->nranks, ep_out);
}

static hk_status_t receive(hki_endpoint_t *ep, int peer, void *data, size_t bytes)
{
    hki_waiter_t waiter = {0};
    hki_message_t message;
    hk_status_t status;

    while ((status = ep->ops->peek(ep, 0, peer, &message)) == HK_IN_PROGRESS) {
        if ((status = ep->ops->wait(ep, &waiter, peer, 100 * MS)) != HK_OK) {
            return status;
        }
    }
    if (status == HK_OK) {
        if (message.bytes != bytes) {
            return HK_ERR_MISMATCH;
        }
        memcpy(data, message.payload, bytes);
        ep->ops->release(ep, 0, peer);
    }
    return status;
}

static hk_status_t transmit(hki_endpoint_t *ep, int peer, const void *data, size_t bytes)
{
    const hki_envelope_t envelope = {0};
    hki_waiter_t waiter = {0};
    hk_status_t status;
    uint64_t ticket;

    while ((status = ep->ops->send(ep, 0, peer, &envelope, data, bytes, 0, &ticket)) ==
           HK_IN_PROGRESS) {
        if ((status = ep->ops->wait(ep, &waiter, peer, 100 * MS)) != HK_OK) {
            return status;
        }
    }
    return status;
}

/** Numbers and larger payloads go round all ranks; each adds one. */
static hk_status_t go_round(hki_endpoint_t *ep, int laps)
{
    static uint64_t data[1000];
    const int next = (ep->rank + 1) % ep->nranks;
    const int before = (ep->rank + ep->nranks - 1) % ep->nranks;
    hk_status_t status = HK_OK;

    memset(data, 0, sizeof(data));
    for (int lap = 0; lap < laps && status == HK_OK; lap++) {
        const size_t bytes = lap % 2 == 0 ? 8 : sizeof(data);
        while ((status = ep->ops->begin_run(ep, 0)) == HK_IN_PROGRESS) {
            hki_waiter_t waiter = {0};
            if ((status = ep->ops->wait(ep, &waiter, next, MS)) != HK_OK) {
                return status;
            }
        }
        if (status == HK_OK && ep->rank != 0) {
            status = receive(ep, before, data, bytes);
        }
        data[bytes / 8 - 1]++;
        status = status == HK_OK ? transmit(ep, next, data, bytes) : status;
        if (status == HK_OK && ep->rank == 0) {
            status = receive(ep, before, data, bytes);
        }
    }
    return status;
}

static void body_round(scene_t *scene, int rank)
{
    hki_endpoint_t *ep = NULL;
    hk_status_t status = open_rank(scene, rank, &ep);

    if (status == HK_OK) {
        status = go_round(ep, scene->laps);
        note(scene, rank, status);
        ep->ops->close(ep);
    } else {
        note(scene, rank, status);
    }
}

/** Run until something fails. */
static void body_endless(scene_t *scene, int rank)
{
    hki_endpoint_t *ep = NULL;
    hk_status_t status = open_rank(scene, rank, &ep);
    hki_failure_t failure = {0};

    if (status == HK_OK) {
        atomic_fetch_add(&scene->arrived, 1);
        while (status == HK_OK) {
            status = go_round(ep, 2);
        }
        note(scene, rank, status);
        ep->ops->failure(ep, &failure);
        scene->results[rank].failed_rank = failure.rank;
        ep->ops->close(ep);
    } else {
        note(scene, rank, status);
    }
}

/** Wait for the next rank, in vain, for half a second; then look who is to blame. */
static void body_blame(scene_t *scene, int rank)
{
    hki_endpoint_t *ep = NULL;
    hki_waiter_t waiter = {0};
    char text[128];
    hk_status_t status = open_rank(scene, rank, &ep);

    if (status != HK_OK) {
        note(scene, rank, status);
        return;
    }
    atomic_fetch_add(&scene->arrived, 1);
    while (status == HK_OK && atomic_load(&scene->may_go) == 0) {
        status = ep->ops->wait(ep, &waiter, (rank + 1) % ep->nranks, MS);
    }
    scene->results[rank].failed_rank = ep->ops->blame(ep, text, sizeof(text));
    note(scene, rank, status);
    (void)snprintf(scene->results[rank].text, sizeof(scene->results[rank].text), "%s", text);
    atomic_fetch_add(&scene->arrived, 1);
    while (atomic_load(&scene->may_go) == 1) {
        nap();
    }
    ep->ops->close(ep);
}

/** Rank 0 sends a lot and exits at once, without closing; rank 1 comes late. */
static void body_send_and_exit(scene_t *scene, int rank)
{
    hki_endpoint_t *ep = NULL;
    uint64_t numbers[500];
    hk_status_t status = open_rank(scene, rank, &ep);

    for (uint64_t n = 0; n < 8 && status == HK_OK; n++) {
        if (rank == 0) {
            memset(numbers, (int)n, sizeof(numbers));
            status = transmit(ep, 1, numbers, sizeof(numbers));
        } else {
            while (n == 0 && atomic_load(&scene->may_go) == 0) {
                nap();
            }
            status = receive(ep, 0, numbers, sizeof(numbers));
            status = status == HK_OK && numbers[499] != n * UINT64_C(0x0101010101010101)
                         ? HK_ERR_FORMAT
                         : status;
        }
    }
    note(scene, rank, status);
    if (rank == 0) {
        exit(0);
    }
    if (status == HK_OK) {
        note(scene, rank, receive(ep, 0, numbers, 8)); // one too many
    }
    ep->ops->close(ep);
}

/** Shared memory: what one rank allocates, the other reads where it lies. */
static void body_memory(scene_t *scene, int rank)
{
    enum { BYTES = 1 << 20 };
    const hki_envelope_t envelope = {0};
    hki_endpoint_t *ep = NULL;
    hki_message_t message;
    hki_waiter_t waiter = {0};
    void *memory = NULL;
    uint64_t ticket = 0;
    hk_status_t status = open_rank(scene, rank, &ep);

    if (status == HK_OK && rank == 1) {
        HKI_TRY(status = ep->ops->mem_alloc(ep, BYTES, &memory), done);
        memset(memory, 77, BYTES);
        status = ep->ops->is_direct(ep, memory, BYTES) && !ep->ops->is_direct(ep, &ep, 8)
                     ? HK_OK
                     : HK_ERR_INTERNAL;
        HKI_TRY(status, done);
        HKI_TRY(status = ep->ops->send(ep, 0, 0, &envelope, memory, BYTES, 0, &ticket), done);
        while (!ep->ops->is_consumed(ep, 0, 0, ticket)) {
            HKI_TRY(status = ep->ops->wait(ep, &waiter, 0, MS), done);
        }
        ep->ops->mem_free(ep, memory);
    } else if (status == HK_OK) {
        while ((status = ep->ops->peek(ep, 0, 1, &message)) == HK_IN_PROGRESS) {
            HKI_TRY(status = ep->ops->wait(ep, &waiter, 1, MS), done);
        }
        const char *last = (const char *)message.payload + BYTES - 1;
        status = message.bytes == BYTES && message.is_direct && *last == 77 ? HK_OK : HK_ERR_FORMAT;
        ep->ops->release(ep, 0, 1);
    }
done:
    note(scene, rank, status);
    if (ep != NULL) {
        ep->ops->close(ep);
    }
}

/** Heap memory of rank 1, far more than may be staged: rank 0 fetches it, the second time after
 *  rank 1 was killed. */
static void body_fetch(scene_t *scene, int rank)
{
    enum { BYTES = 1 << 20 };
    const hki_envelope_t envelope = {0};
    hki_endpoint_t *ep = NULL;
    hki_message_t message;
    hki_waiter_t waiter = {0};
    char *memory = calloc(BYTES, 1);
    uint64_t ticket = 0;
    hk_status_t status = open_rank(scene, rank, &ep);

    for (int i = 0; i < 2 && status == HK_OK && rank == 1; i++) {
        memset(memory, 77 + i, BYTES);
        HKI_TRY(status = ep->ops->send(ep, 0, 0, &envelope, memory, BYTES, 0, &ticket), done);
        while (i == 1 || !ep->ops->is_consumed(ep, 0, 0, ticket)) {
            HKI_TRY(status = ep->ops->wait(ep, &waiter, 0, MS), done);
        }
    }
    for (int i = 0; i < 2 && status == HK_OK && rank == 0; i++) {
        while ((status = ep->ops->peek(ep, 0, 1, &message)) == HK_IN_PROGRESS) {
            HKI_TRY(status = ep->ops->wait(ep, &waiter, 1, MS), done);
        }
        atomic_fetch_add(&scene->arrived, i);
        while (i == 1 && atomic_load(&scene->may_go) == 0) {
            nap();
        }
        HKI_TRY(status = ep->ops->fetch(ep, 0, 1, 1, memory, BYTES - 1), done);
        status = message.bytes == BYTES && message.is_remote && message.payload == NULL &&
                         memory[BYTES - 2] == 77
                     ? HK_OK
                     : HK_ERR_FORMAT;
        ep->ops->release(ep, 0, 1);
    }
done:
    note(scene, rank, status);
    if (ep != NULL) {
        ep->ops->close(ep);
    }
    free(memory);
}

/** With files of at most 64 MiB, so much for all: 100 MiB cannot be had, 8 can, again and again. */
static void body_limit(scene_t *scene, int rank)
{
    const struct rlimit limit = {64 << 20, 64 << 20};
    hki_endpoint_t *ep = NULL;
    void *memory = NULL;
    hk_status_t status;

    (void)setrlimit(RLIMIT_FSIZE, &limit);
    status = open_rank(scene, rank, &ep);
    for (int i = 0; i < 8 && status == HK_OK; i++) {
        status = ep->ops->mem_alloc(ep, 8 << 20, &memory);
        if (status == HK_OK) {
            memset(memory, 1, 8 << 20);
            ep->ops->mem_free(ep, memory);
        }
    }
    if (status == HK_OK) {
        status = ep->ops->mem_alloc(ep, 100 << 20, &memory);
    }
    note(scene, rank, status);
    if (ep != NULL) {
        ep->ops->close(ep);
    }
}

static int count_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(directory) != NULL) {
        count++;
    }
    (void)closedir(directory);
    return count;
}

static void body_reopen(scene_t *scene, int rank)
{
    const int files = count_files();
    hk_status_t status = HK_OK;

    for (int i = 0; i < scene->laps && status == HK_OK; i++) {
        hki_endpoint_t *ep = NULL;
        status = open_rank(scene, rank, &ep);
        if (status == HK_OK) {
            status = go_round(ep, 2);
            ep->ops->close(ep);
        }
    }
    note(scene, rank, status == HK_OK && count_files() != files ? HK_ERR_LIMIT : status);
}

/** A forked child of a rank uses its endpoint, and exits; the rank goes on. */
static void body_fork(scene_t *scene, int rank)
{
    hki_endpoint_t *ep = NULL;
    hki_message_t message;
    int ended = 0;
    hk_status_t status = open_rank(scene, rank, &ep);

    if (status == HK_OK) {
        status = go_round(ep, 2);
    }
    if (status == HK_OK && fork() == 0) {
        const hk_status_t refused = ep->ops->peek(ep, 0, 0, &message);
        const bool is_clear = strstr(hk_last_error(), "forked") != NULL;
        (ep->ops->fail)(ep, HK_ERR_ABORTED, 0, "a child must not");
        ep->ops->close(ep);
        exit(refused == HK_ERR_ABORTED && is_clear ? 0 : 1);
    }
    (void)wait(&ended);
    status = status == HK_OK ? go_round(ep, 50) : status;
    note(scene, rank, status == HK_OK && ended != 0 ? HK_ERR_INTERNAL : status);
    if (ep != NULL) {
        ep->ops->close(ep);
    }
}

/* Tests. */

static void messages_go_round_any_number_of_processes(void **state)
{
    const int counts[] = {1, 2, 5, 9};

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        g_scene->laps = 200;
        start_all(counts[i], body_round);
        finish_all_ok(counts[i]);
        (void)tear_down(state);
        (void)set_up(state);
    }
}

static void memory_of_one_rank_is_read_by_the_other_where_it_lies(void **state)
{
    (void)state;
    start_all(2, body_memory);
    finish_all_ok(2);
}

static void memory_of_a_process_is_fetched_until_it_is_killed(void **state)
{
    (void)state;
    g_scene->single_copy = 1;
    start_all(2, body_fetch);
    wait_for_arrivals(1);
    assert_int_equal(kill(g_pids[1], SIGKILL), 0);
    assert_int_equal(finish(1), SIGKILL);
    atomic_store(&g_scene->may_go, 1);
    assert_int_equal(finish(0), 0);
    assert_error(0, HK_ERR_PEER_FAILED, "rank 1 (pid ");
}

static void single_copy_that_is_measured_or_off_changes_nothing_else(void **state)
{
    (void)state;
    g_scene->laps = 20;
    g_scene->single_copy = -1;
    start_all(5, body_round);
    finish_all_ok(5);
}

static void a_killed_rank_is_named_by_all_within_a_second(void **state)
{
    enum { NRANKS = 5, VICTIM = 2 };
    hki_board_t *board = NULL;
    char value[HKI_BOARD_VALUE_BYTES];
    char want[64];

    (void)state;
    assert_ok(hki_board_create(NRANKS, &board));
    hki_board_value(board, value);
    (void)setenv(HKI_BOARD_VARIABLE, value, 1);
    start_all(NRANKS, body_endless);
    (void)unsetenv(HKI_BOARD_VARIABLE);
    wait_for_arrivals(NRANKS);
    (void)snprintf(want, sizeof(want), "rank %d (pid %d) was killed by signal 9", VICTIM,
                   (int)g_pids[VICTIM]);
    const uint64_t killed_ns = hki_clock_ns();
    (void)kill(g_pids[VICTIM], SIGKILL);
    assert_int_equal(finish(VICTIM), SIGKILL);
    hki_board_set(board, VICTIM, HKI_BOARD_SIGNALED, SIGKILL);
    for (int rank = 0; rank < NRANKS; rank++) {
        if (rank != VICTIM) {
            assert_int_equal(finish(rank), 0);
            assert_error(rank, HK_ERR_PEER_FAILED, want);
            assert_int_equal(g_scene->results[rank].failed_rank, VICTIM);
            assert_in_range(g_scene->results[rank].at_ns - killed_ns, 0, 1000 * (uint64_t)MS);
        }
    }
    hki_board_destroy(&board);
}

static void a_stopped_rank_is_blamed(void **state)
{
    char want[64];

    (void)state;
    start_all(3, body_blame);
    wait_for_arrivals(3);
    (void)kill(g_pids[1], SIGSTOP);
    int ended = 0;
    assert_int_equal(waitpid(g_pids[1], &ended, WUNTRACED), g_pids[1]);
    atomic_store(&g_scene->may_go, 1);
    wait_for_arrivals(5);
    (void)snprintf(want, sizeof(want), "rank 1 (pid %d) is stopped", (int)g_pids[1]);
    (void)kill(g_pids[1], SIGCONT);
    atomic_store(&g_scene->may_go, 2);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(finish(rank), 0);
        if (rank != 1) {
            assert_error(rank, HK_OK, want);
            assert_int_equal(g_scene->results[rank].failed_rank, 1);
        }
    }
}

static void what_was_sent_before_an_exit_arrives(void **state)
{
    (void)state;
    start_all(2, body_send_and_exit);
    assert_int_equal(finish(0), 0);
    assert_error(0, HK_OK, "");
    atomic_store(&g_scene->may_go, 1);
    assert_int_equal(finish(1), 0);
    assert_error(1, HK_ERR_PEER_FAILED, "has exited without closing");
}

static void missing_ranks_are_listed_by_all_who_came(void **state)
{
    const int here[] = {1, 3, 4};

    (void)state;
    g_scene->nranks = 7;
    g_scene->open_timeout_ms = 300;
    for (size_t i = 0; i < ARRAY_LEN(here); i++) {
        start(here[i], body_round);
    }
    for (size_t i = 0; i < ARRAY_LEN(here); i++) {
        assert_int_equal(finish(here[i]), 0);
        assert_error(here[i], HK_ERR_TIMED_OUT, "arrived 1, 3-4; missing 0, 2, 5-6");
    }
}

static void another_number_of_ranks_is_an_error_for_all(void **state)
{
    (void)state;
    g_scene->claimed_nranks[2] = 4;
    start_all(3, body_round);
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(finish(rank), 0);
        assert_error(rank, HK_ERR_MISMATCH, "says the job has");
    }
}

/** Sockets that have the name of this scene's job: the host's, and one for each guest. */
static int count_sockets(void)
{
    FILE *file = fopen("/proc/net/unix", "r");
    char line[512];
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, g_scene->job) != NULL;
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

static void a_rank_that_dies_while_the_job_starts_is_named(void **state)
{
    for (int victim = 0; victim < 2; victim++) { // the host, and a guest
        char want[64];
        g_scene->nranks = 3;
        start(0, body_round);
        while (count_sockets() < 1) {
            nap();
        }
        start(1, body_round);
        while (count_sockets() < 2) {
            nap();
        }
        for (int i = 0; i < 100; i++) {
            nap(); // connected; and now it has had the time to say who it is
        }
        (void)snprintf(want, sizeof(want), "rank %d (pid %d) died while the job started", victim,
                       (int)g_pids[victim]);
        (void)kill(g_pids[victim], SIGKILL);
        assert_int_equal(finish(victim), SIGKILL);
        assert_int_equal(finish(1 - victim), 0);
        assert_error(1 - victim, HK_ERR_PEER_FAILED, want);
        (void)tear_down(state);
        (void)set_up(state);
    }
}

/** The address of this scene's job. */
static socklen_t job_address(struct sockaddr_un *address)
{
    const hki_shm_job_t job = {.name = g_scene->job};

    return hki_packet_address(&job, address);
}

static void strangers_at_the_socket_do_not_disturb(void **state)
{
    struct sockaddr_un address;
    const socklen_t bytes = job_address(&address);
    char garbage[2000];
    int silent[20];

    (void)state;
    memset(garbage, 'x', sizeof(garbage));
    g_scene->nranks = 3;
    g_scene->laps = 10;
    start(0, body_round);
    for (int i = 0; i < 1000; i++) {
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        while (connect(fd, (const void *)&address, bytes) != 0) {
            nap(); // rank 0 is not there yet
        }
        (void)send(fd, garbage, 1 + (size_t)i * 2 % sizeof(garbage), MSG_NOSIGNAL);
        (void)close(fd);
    }
    for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
        silent[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(silent[i], (const void *)&address, bytes), 0);
    }
    start(1, body_round);
    start(2, body_round);
    finish_all_ok(3);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
        (void)close(silent[i]);
    }
}

static void want_of_memory_is_an_error_and_no_signal(void **state)
{
    (void)state;
    start_all(2, body_limit);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(finish(rank), 0);
        assert_error(rank, HK_ERR_NO_MEMORY, "104857600 bytes needed");
    }
}

static void opening_again_and_again_leaks_no_file(void **state)
{
    (void)state;
    g_scene->laps = 200;
    start_all(2, body_reopen);
    finish_all_ok(2);
}

static void a_forked_child_is_refused_and_disturbs_nobody(void **state)
{
    (void)state;
    start_all(2, body_fork);
    finish_all_ok(2);
}

static void a_board_that_is_not_there_is_refused(void **state)
{
    hki_board_t *board = NULL;
    int code = 0;
    char value[HKI_BOARD_VALUE_BYTES];

    (void)state;
    assert_int_equal(hki_board_open("nonsense", 1, &board), HK_ERR_INVALID_ARG);
    assert_int_equal(hki_board_open("1:2:3", 1, &board), HK_ERR_INVALID_ARG);
    assert_int_equal(hki_board_open("999999999:3", 1, &board), HK_ERR_SYSTEM);
    assert_null(board);
    hki_board_t *mine = NULL;
    assert_ok(hki_board_create(3, &mine));
    hki_board_value(mine, value);
    assert_int_equal(hki_board_open(value, 1000, &board), HK_ERR_SYSTEM);
    assert_ok(hki_board_open(value, 3, &board));
    assert_int_equal(hki_board_get(board, 2, &code), HKI_BOARD_RUNNING);
    hki_board_set(mine, 2, HKI_BOARD_EXITED, 7);
    assert_int_equal(hki_board_get(board, 2, &code), HKI_BOARD_EXITED);
    assert_int_equal(code, 7);
    hki_board_destroy(&board);
    hki_board_destroy(&mine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(messages_go_round_any_number_of_processes),
        TEST(memory_of_one_rank_is_read_by_the_other_where_it_lies),
        TEST(memory_of_a_process_is_fetched_until_it_is_killed),
        TEST(single_copy_that_is_measured_or_off_changes_nothing_else),
        TEST(a_killed_rank_is_named_by_all_within_a_second),
        TEST(a_stopped_rank_is_blamed),
        TEST(what_was_sent_before_an_exit_arrives),
        TEST(missing_ranks_are_listed_by_all_who_came),
        TEST(another_number_of_ranks_is_an_error_for_all),
        TEST(a_rank_that_dies_while_the_job_starts_is_named),
        TEST(strangers_at_the_socket_do_not_disturb),
        TEST(want_of_memory_is_an_error_and_no_signal),
        TEST(opening_again_and_again_leaks_no_file),
        TEST(a_forked_child_is_refused_and_disturbs_nobody),
        TEST(a_board_that_is_not_there_is_refused),
    };
    return cmocka_run_group_tests_name("multiproc/shm", tests, NULL, NULL);
}
