/**
 * @file wait_test.c
 * @brief Method: a number travels round rings of real threads, more of them than cores; they return
 *        a status, which the main thread checks. A lost wake-up would cost 20 ms each time.
 */
#include "unit/transport/ranks.h"

#include <pthread.h>
#include <string.h>

static void waiting_for_a_closed_peer_fails_but_only_after_its_messages(void **state)
{
    hki_message_t message;
    hki_waiter_t waiter = {0};
    hk_status_t status = HK_OK;

    (void)state;
    open_ranks(3);
    assert_ok(send_bytes(2, 0, "bye", 4, 0));
    g_eps[2]->ops->close(g_eps[2]);
    g_nranks = 2;
    for (int i = 0; i < 5000; i++) {
        assert_ok(wait_step(1, &waiter, 0)); // nobody here waits for the one that has gone
    }
    waiter.rounds = 0;
    assert_ok(peek(0, 2, &message));
    assert_string_equal(message.payload, "bye");
    release(0, 2);
    for (int i = 0; i < 5000 && status == HK_OK; i++) {
        assert_int_equal(peek(0, 2, &message), HK_IN_PROGRESS);
        status = wait_step(0, &waiter, 2);
    }
    assert_int_equal(status, HK_ERR_PEER_FAILED);
    assert_string_equal(hk_last_error(), "rank 2 has closed the communicator");
}

/** The thread that serves many endpoints: arms, looks, sleeps elsewhere. */
static void what_a_peer_does_changes_an_armed_bell(void **state)
{
    hki_waiter_t waiter = {0};
    hki_message_t message;
    hki_bell_t bell;

    (void)state;
    open_ranks(3);
    assert_ok(g_eps[0]->ops->arm(g_eps[0], &waiter, 1, &bell));
    assert_int_equal(*bell.word, bell.value);
    assert_ok(send_bytes(1, 2, "x", 1, 0)); // not to this rank
    assert_int_equal(*bell.word, bell.value);
    assert_ok(send_bytes(1, 0, "x", 1, 0));
    assert_int_not_equal(*bell.word, bell.value);
    assert_ok(peek(0, 1, &message));
    release(0, 1);
    assert_ok(g_eps[0]->ops->arm(g_eps[0], &waiter, 1, &bell));
    assert_int_equal(*bell.word, bell.value);
    (g_eps[2]->ops->fail)(g_eps[2], HK_ERR_ABORTED, 2, "enough"); // not the macro
    assert_int_not_equal(*bell.word, bell.value);
    assert_int_equal(g_eps[0]->ops->arm(g_eps[0], &waiter, 1, &bell), HK_ERR_ABORTED);
    assert_string_equal(hk_last_error(), "enough");
}

static void arming_finds_who_has_gone_after_one_more_look(void **state)
{
    hki_waiter_t waiter = {0};
    hki_bell_t bell;

    (void)state;
    open_ranks(2);
    close_rank(1);
    do { // as long as it may sleep; a suspect is looked at again without
        assert_ok(g_eps[0]->ops->arm(g_eps[0], &waiter, 1, &bell));
    } while (*bell.word == bell.value);
    const hk_status_t status = g_eps[0]->ops->arm(g_eps[0], &waiter, 1, &bell);
    assert_int_equal(status, HK_ERR_PEER_FAILED);
    assert_string_equal(hk_last_error(), "rank 1 has closed the communicator");
}

static void a_forced_way_of_waiting_is_the_only_one(void **state)
{
    enum { STEPS = 3000 }; // more than any adaptive way takes before it sleeps
    static const int ways[] = {HKI_SPIN_ALWAYS, HKI_SPIN_YIELDS, HKI_SPIN_SLEEPS, HKI_SPIN_NEVER};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        hki_transport_opts_t opts = local_opts();
        hki_waiter_t waiter = {0};

        opts.spin = ways[i];
        assert_ok(hki_local_open(&opts, 2, g_eps));
        g_nranks = 2;
        for (int step = 0; step < STEPS; step++) {
            assert_ok(wait_step(0, &waiter, 1));
        }
        const hki_counts_t *counts = &g_eps[0]->counts;
        if ((counts->pauses != 0) != (ways[i] == HKI_SPIN_ALWAYS) ||
            (counts->yields != 0) != (ways[i] == HKI_SPIN_YIELDS || ways[i] == HKI_SPIN_NEVER) ||
            (counts->sleeps != 0) != (ways[i] == HKI_SPIN_SLEEPS || ways[i] == HKI_SPIN_NEVER)) {
            fail_msg("spin %d: %llu pauses, %llu yields, %llu sleeps", ways[i],
                     (unsigned long long)counts->pauses, (unsigned long long)counts->yields,
                     (unsigned long long)counts->sleeps);
        }
        assert_int_equal(close_ranks(NULL), 0);
    }
}

/* Threads. */

typedef struct ring_task {
    hki_endpoint_t *ep;
    int laps;
    hk_status_t status;
} ring_task_t;

/** Receive 8 bytes from `peer`, waiting. */
static hk_status_t receive(hki_endpoint_t *ep, int peer, uint64_t *value_out)
{
    hki_waiter_t waiter = {0};
    hki_message_t message;
    hk_status_t status;

    while ((status = ep->ops->peek(ep, 0, peer, &message)) == HK_IN_PROGRESS) {
        if ((status = ep->ops->wait(ep, &waiter, peer, UINT64_C(100000000))) != HK_OK) {
            return status;
        }
    }
    if (status == HK_OK) {
        memcpy(value_out, message.payload, sizeof(*value_out));
        ep->ops->release(ep, 0, peer);
    }
    return status;
}

/** A number travels round all ranks and grows by one at each. */
static void *run_ring(void *argument)
{
    ring_task_t *task = argument;
    hki_endpoint_t *ep = task->ep;
    const hki_envelope_t envelope = {0};
    const int next = (ep->rank + 1) % ep->nranks;
    const int before = (ep->rank + ep->nranks - 1) % ep->nranks;
    uint64_t value = 0;
    uint64_t ticket;

    for (int lap = 0; lap < task->laps && task->status == HK_OK; lap++) {
        if (ep->rank != 0 || lap != 0) {
            task->status = receive(ep, before, &value);
        }
        value++;
        if (task->status == HK_OK) {
            task->status = ep->ops->send(ep, 0, next, &envelope, &value, sizeof(value), 0, &ticket);
        }
    }
    if (task->status == HK_OK && ep->rank == 0) {
        task->status = receive(ep, before, &value);
        if (value != (uint64_t)task->laps * (uint64_t)ep->nranks) {
            task->status = HK_ERR_INTERNAL;
        }
    }
    return NULL;
}

static void threads_wait_for_one_another_without_losing_a_wake_up(void **state)
{
    (void)state;
    for (int nranks = 1; nranks <= RANKS_MAX; nranks += 2) {
        pthread_t threads[RANKS_MAX];
        ring_task_t tasks[RANKS_MAX];
        open_ranks(nranks);
        for (int rank = 0; rank < nranks; rank++) {
            tasks[rank] = (ring_task_t){.ep = g_eps[rank], .laps = 300};
            assert_int_equal(pthread_create(&threads[rank], NULL, run_ring, &tasks[rank]), 0);
        }
        for (int rank = 0; rank < nranks; rank++) {
            assert_int_equal(pthread_join(threads[rank], NULL), 0);
        }
        for (int rank = 0; rank < nranks; rank++) {
            if (tasks[rank].status != HK_OK) {
                fail_msg("%d ranks, rank %d: %s", nranks, rank, hk_status_text(tasks[rank].status));
            }
        }
        assert_int_equal(close_ranks(NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(waiting_for_a_closed_peer_fails_but_only_after_its_messages),
        RANKS_TEST(what_a_peer_does_changes_an_armed_bell),
        RANKS_TEST(arming_finds_who_has_gone_after_one_more_look),
        RANKS_TEST(a_forced_way_of_waiting_is_the_only_one),
        RANKS_TEST(threads_wait_for_one_another_without_losing_a_wake_up),
    };
    return cmocka_run_group_tests_name("transport/wait", tests, NULL, NULL);
}
