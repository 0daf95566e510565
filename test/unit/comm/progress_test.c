/*
 * The progress thread. Method: a rank starts operations and then does not call hocket at all until
 * its peers, who wait for these operations in calls of their own, have got their results: only a
 * thread can have moved them. Ranks meet at barriers of the system, not at clocks.
 */
#include "support/hk_test.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "comm/comm.h"
#include "threads.h"

enum { COUNT = 1 << 20, GROUPS = 5, ROUNDS = 200 };

static hk_comm_opts_t threaded(int timeout_ms)
{
    hk_comm_opts_t opts = hk_comm_opts_default();

    opts.progress = HK_PROGRESS_THREAD;
    opts.timeout_ms = timeout_ms;
    return opts;
}

/** What a rank that does not call has started. */
typedef struct started {
    int32_t *data; /**< (COUNT,) */
    hk_request_t *request;
} started_t;

static hk_status_t start_sum(hk_comm_t *comm, int32_t value, started_t *started)
{
    started->data = calloc(COUNT, sizeof(*started->data));
    started->request = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        started->data[i] = value + (int32_t)(i % 7);
    }
    return hk_all_reduce(comm, started->data, started->data, COUNT, HK_I32, HK_SUM, NULL,
                         &started->request);
}

/** Wait for it; all elements must be value + i % 7 times the number of ranks. */
static hk_status_t end_sum(started_t *started, int32_t value, int32_t nranks)
{
    hk_status_t status = hk_request_wait(&started->request);

    for (size_t i = 0; i < COUNT && status == HK_OK; i++) {
        if (started->data[i] != value + nranks * (int32_t)(i % 7)) {
            status = HK_ERR_INTERNAL;
        }
    }
    free(started->data);
    return status;
}

/** Rank 0 starts a sum and does nothing until all others have it. */
static hk_status_t sum_of_an_absent_rank(test_rank_t *self)
{
    const int32_t all = (1 << self->nranks) - 1;
    started_t sum;
    hk_status_t status = start_sum(self->comm, 1 << self->rank, &sum);

    if (self->rank == 0) {
        (void)pthread_barrier_wait(self->barrier);
        return status == HK_OK ? end_sum(&sum, all, self->nranks) : status;
    }
    status = status == HK_OK ? end_sum(&sum, all, self->nranks) : status;
    (void)pthread_barrier_wait(self->barrier);
    return status;
}

static void operations_move_while_their_caller_computes(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    const size_t live = hki_alloc_live();

    (void)state;
    for (int nranks = 2; nranks <= 5; nranks++) {
        test_rank_t ranks[TEST_RANKS_MAX];

        test_ranks_run(&opts, nranks, sum_of_an_absent_rank, NULL, ranks);
        test_ranks_expect(ranks, nranks, HK_OK, "absent");
        assert_int_equal(hki_alloc_live(), live);
    }
}

static void without_the_thread_they_do_not(void **state)
{
    hk_comm_opts_t opts = threaded(50);
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    opts.progress = HK_PROGRESS_NONE;
    test_ranks_run(&opts, 2, sum_of_an_absent_rank, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_ERR_TIMED_OUT, "no thread");
}

/** The same on many communicators at once, with sends and receives in between: the ranks that wait
 *  do so in different orders. */
static hk_status_t many_communicators(test_rank_t *self)
{
    const int next = (self->rank + 1) % self->nranks;
    const int before = (self->rank + self->nranks - 1) % self->nranks;
    const int32_t all = (1 << self->nranks) - 1;
    hk_comm_t *comms[GROUPS] = {NULL};
    started_t sums[GROUPS];
    hk_request_t *passed[2 * GROUPS] = {NULL};
    char *parcels[2 * GROUPS] = {NULL};
    hk_status_t status = HK_OK;

    for (int g = 0; g < GROUPS && status == HK_OK; g++) {
        status = hk_comm_split(self->comm, 0, self->rank, &comms[g]);
    }
    for (int g = 0; g < GROUPS && status == HK_OK; g++) {
        parcels[2 * g] = calloc(COUNT, 1);
        parcels[2 * g + 1] = calloc(COUNT, 1);
        memset(parcels[2 * g], 16 * self->rank + g, COUNT);
        status = hk_recv(comms[g], parcels[2 * g + 1], COUNT, HK_U8, before, NULL, &passed[2 * g]);
        if (status == HK_OK) {
            status =
                hk_send(comms[g], parcels[2 * g], COUNT, HK_U8, next, NULL, &passed[2 * g + 1]);
        }
        if (status == HK_OK) {
            status = start_sum(comms[g], 1 << self->rank, &sums[g]);
        }
    }
    if (self->rank == 0) {
        (void)pthread_barrier_wait(self->barrier);
    }
    for (int i = 0; i < GROUPS && status == HK_OK; i++) {
        const int g = self->rank % 2 == 0 ? i : GROUPS - 1 - i;
        status = end_sum(&sums[g], all, self->nranks);
    }
    if (status == HK_OK) {
        status = hk_request_wait_all(passed, ARRAY_LEN(passed));
    }
    for (int g = 0; g < GROUPS && status == HK_OK; g++) {
        for (size_t i = 0; i < COUNT; i++) {
            status = parcels[2 * g + 1][i] == 16 * before + g ? status : HK_ERR_INTERNAL;
        }
    }
    if (self->rank != 0) {
        (void)pthread_barrier_wait(self->barrier);
    }
    for (int g = 0; g < GROUPS; g++) {
        free(parcels[2 * g]);
        free(parcels[2 * g + 1]);
        hk_comm_close(&comms[g]);
    }
    return status;
}

static void one_thread_serves_all_communicators(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(&opts, 3, many_communicators, NULL, ranks);
    test_ranks_expect(ranks, 3, HK_OK, "many");
}

/** Every way of ending a request, with small blocking calls in between, while the thread is at
 *  it. */
static hk_status_t mixed_calls(test_rank_t *self)
{
    hk_status_t status = HK_OK;

    for (int round = 0; round < ROUNDS && status == HK_OK; round++) {
        const size_t count = (size_t)(1 + round % 5 * 3000);
        int32_t big[2][12001];
        int32_t one = 1 << self->rank;
        hk_request_t *requests[2] = {NULL, NULL};

        for (size_t i = 0; i < count; i++) {
            big[0][i] = 1 << self->rank;
            big[1][i] = round;
        }
        status =
            hk_all_reduce(self->comm, big[0], big[0], count, HK_I32, HK_SUM, NULL, &requests[0]);
        if (status == HK_OK) {
            status = hk_broadcast(self->comm, big[1], big[1], count, HK_I32, round % self->nranks,
                                  NULL, &requests[1]);
        }
        if (status == HK_OK && round % 3 != 0) {
            status = hk_all_reduce(self->comm, &one, &one, 1, HK_I32, HK_SUM, NULL, NULL);
        }
        hk_status_t tested = round % 2 == 0 && status == HK_OK ? HK_IN_PROGRESS : status;
        while (tested == HK_IN_PROGRESS) {
            tested = hk_request_test(&requests[1]);
        }
        status = status == HK_OK ? tested : status;
        if (status == HK_OK) {
            status = hk_request_wait_all(requests, 2);
        }
        const int32_t all = (1 << self->nranks) - 1;
        if (status == HK_OK && (big[0][count - 1] != all || big[1][count - 1] != round ||
                                (round % 3 != 0 && one != all))) {
            status = HK_ERR_INTERNAL;
        }
    }
    return status;
}

static void calls_and_thread_do_not_get_into_each_others_way(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    for (int nranks = 1; nranks <= 3; nranks++) {
        test_ranks_run(&opts, nranks, mixed_calls, NULL, ranks);
        test_ranks_expect(ranks, nranks, HK_OK, "mixed");
    }
}

/** Rank 0 starts what cannot end in time, and does nothing. Rank 1 has no deadline of its own. */
static hk_status_t late_receive(test_rank_t *self)
{
    hk_coll_opts_t opts = hk_coll_opts_default();
    hk_request_t *request = NULL;
    int32_t value = 0;

    if (self->rank == 1) {
        opts.timeout_ms = -1;
        const hk_status_t status = hk_barrier(self->comm, &opts, NULL);
        (void)pthread_barrier_wait(self->barrier);
        return status;
    }
    opts.timeout_ms = 30;
    opts.tag = 7;
    const hk_status_t status = hk_recv(self->comm, &value, 1, HK_I32, 1, &opts, &request);
    (void)pthread_barrier_wait(self->barrier);
    return status == HK_OK ? hk_request_wait(&request) : status;
}

static void the_thread_finds_deadlines(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(&opts, 2, late_receive, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_ERR_TIMED_OUT, "late");
    test_ranks_say(ranks, 2, "receive of 1 i32 with tag 7 from rank 1 (0 of 4 bytes done)", "late");
}

/** All wait for the first to fail, without calling; then they ask for their requests. */
static hk_status_t different_calls(test_rank_t *self)
{
    hk_coll_opts_t opts = hk_coll_opts_default();
    hk_request_t *request = NULL;
    int32_t values[4] = {0};

    opts.timeout_ms = -1;
    hk_status_t status = hk_all_reduce(self->comm, values, values, self->rank == 1 ? 4 : 3, HK_I32,
                                       HK_SUM, &opts, &request);
    if (self->rank == 1) {
        status = status == HK_OK ? hk_request_wait(&request) : status;
        (void)pthread_barrier_wait(self->barrier);
        return status;
    }
    (void)pthread_barrier_wait(self->barrier);
    return status == HK_OK ? hk_request_test(&request) : status;
}

static void the_thread_finds_differences(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(&opts, 3, different_calls, NULL, ranks);
    test_ranks_expect(ranks, 3, HK_ERR_MISMATCH, "differences");
    test_ranks_say(ranks, 3, "all_reduce count 4 i32 sum", "differences");
    test_ranks_say(ranks, 3, "all_reduce count 3 i32 sum", "differences");
}

static hk_status_t close_under_way(test_rank_t *self)
{
    hk_request_t *requests[2] = {NULL, NULL};
    int32_t values[2] = {0};
    hk_status_t status = hk_recv(self->comm, &values[0], 1, HK_I32, self->rank, NULL, &requests[0]);

    if (status == HK_OK) {
        status = hk_recv(self->comm, &values[1], 1, HK_I32, self->rank, NULL, &requests[1]);
    }
    hk_comm_close(&self->comm);
    const hk_status_t first = hk_request_wait(&requests[0]);
    const hk_status_t second = hk_request_test(&requests[1]);
    return status == HK_OK && first == second ? first : HK_ERR_INTERNAL;
}

static void closing_ends_the_thread_and_what_is_under_way(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    const size_t live = hki_alloc_live();
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(&opts, 3, close_under_way, NULL, ranks);
    test_ranks_expect(ranks, 3, HK_ERR_ABORTED, "close");
    assert_int_equal(hki_alloc_live(), live);
}

/** Is there a thread in this communicator's domain? */
static bool is_running(const hk_comm_t *comm)
{
    return atomic_load(&comm->domain->progress.is_running);
}

static void the_thread_starts_with_the_first_request_that_is_not_done(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    hk_comm_t *comm = NULL;
    hk_request_t *request = NULL;
    const int32_t in = 3;
    int32_t out = 0;

    (void)state;
    assert_ok(hk_comm_open_threads(&opts, 1, &comm));
    assert_ok(hk_all_reduce(comm, &in, &out, 1, HK_I32, HK_SUM, NULL, NULL));
    assert_ok(hk_all_reduce(comm, &in, &out, 1, HK_I32, HK_SUM, NULL, &request));
    assert_ok(hk_request_wait(&request));
    assert_false(is_running(comm));
    assert_ok(hk_recv(comm, &out, 1, HK_I32, 0, NULL, &request));
    assert_true(is_running(comm));
    assert_ok(hk_send(comm, &in, 1, HK_I32, 0, NULL, NULL));
    assert_ok(hk_request_wait(&request));
    assert_int_equal(out, 3);
    hk_comm_close(&comm);
}

static void nobody_gets_a_thread_without_asking(void **state)
{
    static const hk_progress_t modes[] = {HK_PROGRESS_NONE, HK_PROGRESS_AUTO};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        hk_comm_opts_t opts = threaded(60000);
        hk_comm_t *comm = NULL;
        hk_request_t *request = NULL;
        const int32_t in = 3;
        int32_t out = 0;

        opts.progress = modes[i];
        assert_ok(hk_comm_open_threads(&opts, 1, &comm));
        assert_ok(hk_recv(comm, &out, 1, HK_I32, 0, NULL, &request));
        const bool is_wanted = modes[i] == HK_PROGRESS_AUTO && comm->ep->has_spare_cores;
        assert_int_equal(is_running(comm), is_wanted);
        assert_ok(hk_send(comm, &in, 1, HK_I32, 0, NULL, NULL));
        assert_ok(hk_request_wait(&request));
        assert_int_equal(out, 3);
        hk_comm_close(&comm);
    }
}

static void unknown_modes_are_refused(void **state)
{
    static const int bad[] = {-1, 3};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        hk_comm_opts_t opts = hk_comm_opts_default();
        hk_comm_t *comm = NULL;

        opts.progress = (hk_progress_t)bad[i];
        assert_int_equal(hk_comm_open_threads(&opts, 1, &comm), HK_ERR_INVALID_ARG);
        assert_null(comm);
    }
}

static void every_allocation_may_fail(void **state)
{
    const hk_comm_opts_t opts = threaded(60000);
    const size_t live = hki_alloc_live();
    size_t n = 0;
    bool has_failed = true;

    (void)state;
    while (has_failed) {
        hk_comm_t *comm = NULL;
        hk_request_t *request = NULL;
        const int32_t in = 3;
        int32_t out = 0;

        n++;
        hki_alloc_fail_at(n);
        hk_status_t status = hk_comm_open_threads(&opts, 1, &comm);
        if (status == HK_OK) {
            status = hk_recv(comm, &out, 1, HK_I32, 0, NULL, &request);
        }
        if (status == HK_OK) {
            status = hk_send(comm, &in, 1, HK_I32, 0, NULL, NULL);
        }
        hki_alloc_fail_at(0);
        has_failed = status != HK_OK;
        if (has_failed && status != HK_ERR_NO_MEMORY) {
            fail_msg("allocation %zu fails: got \"%s\"", n, hk_status_text(status));
        }
        const hk_status_t end = has_failed ? HK_OK : hk_request_wait(&request);
        hk_comm_close(&comm);
        (void)!hk_request_wait(&request); // an orphan, or none
        if (end != HK_OK || out != (has_failed ? 0 : 3) || hki_alloc_live() > live) {
            fail_msg("allocation %zu fails: \"%s\", got %d, %zu blocks are left", n,
                     hk_status_text(end), (int)out, hki_alloc_live() - live);
        }
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_move_while_their_caller_computes),
        cmocka_unit_test(without_the_thread_they_do_not),
        cmocka_unit_test(one_thread_serves_all_communicators),
        cmocka_unit_test(calls_and_thread_do_not_get_into_each_others_way),
        cmocka_unit_test(the_thread_finds_deadlines),
        cmocka_unit_test(the_thread_finds_differences),
        cmocka_unit_test(closing_ends_the_thread_and_what_is_under_way),
        cmocka_unit_test(the_thread_starts_with_the_first_request_that_is_not_done),
        cmocka_unit_test(nobody_gets_a_thread_without_asking),
        cmocka_unit_test(unknown_modes_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("comm/progress", tests, NULL, NULL);
}
