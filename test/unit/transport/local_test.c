/**
 * @file local_test.c
 * @brief Method: all endpoints of a local world in one thread, message by message, where order
 *        matters; real threads (they return a status, the main thread checks it) for waiting.
 */
#include "support/hk_test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "transport/open.h"

enum { RANKS_MAX = 9, STAGING = 16384, HALF = STAGING / 2, LANES = 2 };

static const hki_transport_opts_t OPTS = {.nlanes = LANES, .staging_bytes = STAGING, .spin = -1};

static hki_endpoint_t *g_eps[RANKS_MAX];
static int g_nranks;

static void open_ranks(int nranks)
{
    assert_ok(hki_local_open(&OPTS, nranks, g_eps));
    g_nranks = nranks;
}

static int close_ranks(void **state)
{
    (void)state;
    for (int rank = 0; rank < g_nranks; rank++) {
        g_eps[rank]->ops->close(g_eps[rank]);
    }
    g_nranks = 0;
    return hki_alloc_live() == 0 ? 0 : -1;
}

static hk_status_t send_bytes(int from, int to, const void *data, size_t bytes, unsigned flags)
{
    const hki_envelope_t envelope = {.op_number = 7, .check = 8, .kind = 9};
    uint64_t ticket = 0;

    return g_eps[from]->ops->send(g_eps[from], 0, to, &envelope, data, bytes, flags, &ticket);
}

static hk_status_t peek(int at, int from, hki_message_t *message)
{
    return g_eps[at]->ops->peek(g_eps[at], 0, from, message);
}

static void release(int at, int from)
{
    g_eps[at]->ops->release(g_eps[at], 0, from);
}

/** One step of waiting of rank `at` for `peer`. */
static hk_status_t wait_step(int at, hki_waiter_t *waiter, int peer)
{
    return g_eps[at]->ops->wait(g_eps[at], waiter, peer, 1000);
}

static void fill(unsigned char *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)(seed * 31 + i * 7 + i / 256);
    }
}

static void payloads_of_all_sizes_and_ways_arrive(void **state)
{
    static unsigned char data[HALF];
    const unsigned ways[] = {0, HKI_SEND_COPIED};
    const size_t sizes[] = {0, 1, 8, 39, 40, 41, 64, 4095, HALF - 1, HALF};

    (void)state;
    open_ranks(2);
    for (size_t i = 0; i < ARRAY_LEN(sizes) * 2; i++) {
        const size_t bytes = sizes[i / 2];
        hki_message_t message;
        fill(data, bytes, (unsigned)i);
        assert_ok(g_eps[0]->ops->begin_run(g_eps[0], 0));
        assert_ok(send_bytes(0, 1, bytes == 0 ? NULL : data, bytes, ways[i % 2]));
        assert_ok(peek(1, 0, &message));
        if (message.bytes != bytes || (bytes != 0 && memcmp(message.payload, data, bytes) != 0)) {
            fail_msg("%zu bytes, flags %u: got %zu bytes or other content", bytes, ways[i % 2],
                     message.bytes);
        }
        assert_int_equal(message.is_direct, bytes > HKI_INLINE_BYTES_MAX && ways[i % 2] == 0);
        assert_int_equal(message.envelope.op_number, 7);
        assert_int_equal(message.envelope.check, 8);
        assert_int_equal(message.envelope.kind, 9);
        release(1, 0);
        assert_int_equal(peek(1, 0, &message), HK_IN_PROGRESS);
    }
}

static void a_full_ring_takes_no_more_until_messages_are_released(void **state)
{
    hki_message_t message;
    uint64_t sent = 0;
    uint64_t got = 0;

    (void)state;
    open_ranks(2);
    for (int round = 0; round < 100; round++) {
        while (send_bytes(0, 1, &sent, sizeof(sent), 0) == HK_OK) {
            sent++;
        }
        assert_int_equal(send_bytes(0, 1, &sent, sizeof(sent), 0), HK_IN_PROGRESS);
        assert_in_range(sent - got, 4, 64);
        while (peek(1, 0, &message) == HK_OK) {
            assert_memory_equal(message.payload, &got, sizeof(got));
            release(1, 0);
            got++;
        }
        assert_int_equal(got, sent);
        hki_waiter_t waiter = {0};
        assert_ok(wait_step(1, &waiter, 0)); // tells the sender what it has released
    }
}

static void a_direct_source_is_free_once_it_is_released(void **state)
{
    static unsigned char data[1000];
    const hki_envelope_t envelope = {0};
    hki_message_t message;
    uint64_t ticket = 0;

    (void)state;
    open_ranks(2);
    assert_true(g_eps[0]->ops->is_direct(g_eps[0], data, sizeof(data)));
    assert_ok(g_eps[0]->ops->send(g_eps[0], 1, 1, &envelope, data, sizeof(data), 0, &ticket));
    assert_ok(g_eps[1]->ops->peek(g_eps[1], 1, 0, &message));
    assert_ptr_equal(message.payload, data);
    assert_false(g_eps[0]->ops->is_consumed(g_eps[0], 1, 1, ticket));
    g_eps[1]->ops->release(g_eps[1], 1, 0);
    assert_true(g_eps[0]->ops->is_consumed(g_eps[0], 1, 1, ticket));
}

static void a_run_stages_up_to_half_and_waits_for_readers_of_its_half(void **state)
{
    static unsigned char data[HALF];
    hki_message_t message;

    (void)state;
    open_ranks(3);
    fill(data, HALF, 1);
    assert_ok(send_bytes(0, 1, data, HALF, HKI_SEND_COPIED));
    assert_ok(send_bytes(0, 2, data, HALF, HKI_SEND_COPIED)); // staged once for both
    data[0]++;
    assert_int_equal(send_bytes(0, 1, data, HALF, HKI_SEND_COPIED), HK_IN_PROGRESS);
    assert_ok(g_eps[0]->ops->begin_run(g_eps[0], 0));
    assert_ok(send_bytes(0, 1, data, HALF, HKI_SEND_COPIED));
    assert_int_equal(g_eps[0]->ops->begin_run(g_eps[0], 0), HK_IN_PROGRESS);
    assert_ok(peek(1, 0, &message));
    release(1, 0);
    assert_int_equal(g_eps[0]->ops->begin_run(g_eps[0], 0), HK_IN_PROGRESS);
    assert_ok(peek(2, 0, &message));
    data[0]--;
    assert_memory_equal(message.payload, data, HALF);
    release(2, 0);
    assert_ok(g_eps[0]->ops->begin_run(g_eps[0], 0));
    assert_int_equal(send_bytes(0, 1, data, HALF + 1, HKI_SEND_COPIED), HK_ERR_INTERNAL);
}

static void announcements_are_kept_for_a_while_and_never_confused(void **state)
{
    hki_announcement_t got;

    (void)state;
    open_ranks(2);
    assert_int_equal(g_eps[1]->ops->announced(g_eps[1], 0, 0, &got), HK_IN_PROGRESS);
    for (uint32_t n = 0; n < 200; n++) {
        const uint32_t op = n + UINT32_MAX - 100; // also across the wrap
        hki_announcement_t said = {.op_number = op, .check = n};
        (void)snprintf(said.signature, sizeof(said.signature), "op %u", op);
        g_eps[0]->ops->announce(g_eps[0], &said);
        assert_ok(g_eps[1]->ops->announced(g_eps[1], 0, op, &got));
        assert_memory_equal(&got, &said, sizeof(got));
        assert_int_equal(g_eps[1]->ops->announced(g_eps[1], 0, op + 1, &got), HK_IN_PROGRESS);
        if (n >= 64) {
            assert_ok(g_eps[1]->ops->announced(g_eps[1], 0, op - 63, &got));
            assert_int_equal(g_eps[1]->ops->announced(g_eps[1], 0, op - 64, &got), HK_ERR_LIMIT);
        }
    }
}

static void the_first_failure_stands_for_all(void **state)
{
    hki_failure_t failure;
    hki_message_t message;
    hki_waiter_t waiter = {0};

    (void)state;
    open_ranks(3);
    g_eps[0]->ops->failure(g_eps[0], &failure);
    assert_int_equal(failure.status, HK_OK);
    assert_false(g_eps[0]->ops->is_failed(g_eps[0]));
    (g_eps[1]->ops->fail)(g_eps[1], HK_ERR_MISMATCH, 2, "rank 2 differs");
    (g_eps[0]->ops->fail)(g_eps[0], HK_ERR_ABORTED, 0, "too late");
    for (int rank = 0; rank < 3; rank++) {
        g_eps[rank]->ops->failure(g_eps[rank], &failure);
        assert_int_equal(failure.status, HK_ERR_MISMATCH);
        assert_int_equal(failure.rank, 2);
        assert_string_equal(failure.text, "rank 2 differs");
        assert_true(g_eps[rank]->ops->is_failed(g_eps[rank]));
        assert_int_equal(peek(rank, 1, &message), HK_ERR_MISMATCH);
        assert_int_equal(send_bytes(rank, 1, NULL, 0, 0), HK_ERR_MISMATCH);
        assert_int_equal(wait_step(rank, &waiter, 1), HK_ERR_MISMATCH);
        assert_string_equal(hk_last_error(), "rank 2 differs");
    }
}

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

static void blame_finds_the_rank_that_does_not_wait(void **state)
{
    char text[128];
    hki_waiter_t waiter[3] = {{0}};

    (void)state;
    open_ranks(3);
    for (int i = 0; i < 2200; i++) { // long enough to be seen waiting
        assert_ok(wait_step(0, &waiter[0], 1));
        assert_ok(wait_step(1, &waiter[1], 2));
    }
    assert_int_equal(g_eps[0]->ops->blame(g_eps[0], text, sizeof(text)), 2);
    assert_string_equal(text, "rank 2 is busy elsewhere: it does not wait in this group");
    for (int i = 0; i < 2200; i++) {
        assert_ok(wait_step(2, &waiter[2], 0));
    }
    assert_int_equal(g_eps[0]->ops->blame(g_eps[0], text, sizeof(text)), -1);
}

static void shared_memory_is_zeroed_and_given_back(void **state)
{
    hki_endpoint_t *ep;
    unsigned char *first = NULL;
    void *all[50] = {NULL};

    (void)state;
    open_ranks(2);
    ep = g_eps[1];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            void *p = NULL;
            assert_ok(ep->ops->mem_alloc(ep, i * 1000, &p));
            assert_int_equal((uintptr_t)p % 4096, 0);
            for (size_t k = 0; k < i * 1000; k++) {
                assert_int_equal(((unsigned char *)p)[k], 0);
            }
            memset(p, 0xff, i * 1000);
            all[i] = p;
        }
        if (round == 0) {
            first = all[0];
        }
        assert_ptr_equal(all[0], first); // nothing is lost from round to round
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            ep->ops->mem_free(ep, all[(i * 7) % ARRAY_LEN(all)]);
        }
    }
    void *untouched = all;
    assert_int_equal(ep->ops->mem_alloc(ep, (size_t)1 << 50, &untouched), HK_ERR_NO_MEMORY);
    assert_ptr_equal(untouched, all);
    (void)hki_log_take_count();
    ep->ops->mem_free(ep, (char *)first + 4096);
    assert_int_equal(hki_log_take_count(), 1);
}

static void a_subgroup_of_members_in_any_order_works(void **state)
{
    const int ranks[] = {3, 0, 2};
    hki_endpoint_t *sub[3] = {NULL};
    const hki_envelope_t envelope = {0};
    hki_message_t message;
    uint64_t handle = 0;
    uint64_t ticket;

    (void)state;
    open_ranks(4);
    for (int round = 0; round < 20; round++) {
        assert_ok(g_eps[3]->ops->group_offer(g_eps[3], 3, &handle));
        for (int i = 0; i < 3; i++) {
            hki_endpoint_t *old = g_eps[ranks[i]];
            assert_ok(old->ops->group_join(old, ranks, 3, i, handle, &sub[i]));
            assert_int_equal(sub[i]->rank, i);
            assert_int_equal(sub[i]->nranks, 3);
        }
        assert_ok(sub[0]->ops->send(sub[0], 1, 2, &envelope, &round, sizeof(round), 0, &ticket));
        assert_ok(sub[2]->ops->peek(sub[2], 1, 0, &message));
        assert_memory_equal(message.payload, &round, sizeof(round));
        assert_int_equal(sub[2]->ops->peek(sub[2], 1, 1, &message), HK_IN_PROGRESS);
        for (int i = 0; i < 3; i++) {
            sub[(i + round) % 3]->ops->close(sub[(i + round) % 3]);
        }
    }
    hki_endpoint_t *untouched = g_eps[0];
    assert_int_equal(g_eps[0]->ops->group_join(g_eps[0], ranks, 3, 0, handle + 12345, &untouched),
                     HK_ERR_INTERNAL);
    assert_ptr_equal(untouched, g_eps[0]);
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

static void any_allocation_may_fail(void **state)
{
    hki_endpoint_t *eps[3] = {NULL};
    size_t n = 0;
    hk_status_t status = HK_ERR_NO_MEMORY;

    (void)state;
    while (status == HK_ERR_NO_MEMORY) {
        hki_alloc_fail_at(++n);
        status = hki_local_open(&OPTS, 3, eps);
        hki_alloc_fail_at(0);
        if (status != HK_OK) {
            assert_null(eps[0]);
            assert_int_equal(hki_alloc_live(), 0);
        }
    }
    assert_ok(status);
    assert_in_range(n, 10, 1000);
    for (int rank = 0; rank < 3; rank++) {
        eps[rank]->ops->close(eps[rank]);
    }
    assert_int_equal(hki_alloc_live(), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_ranks)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(payloads_of_all_sizes_and_ways_arrive),
        TEST(a_full_ring_takes_no_more_until_messages_are_released),
        TEST(a_direct_source_is_free_once_it_is_released),
        TEST(a_run_stages_up_to_half_and_waits_for_readers_of_its_half),
        TEST(announcements_are_kept_for_a_while_and_never_confused),
        TEST(the_first_failure_stands_for_all),
        TEST(waiting_for_a_closed_peer_fails_but_only_after_its_messages),
        TEST(blame_finds_the_rank_that_does_not_wait),
        TEST(shared_memory_is_zeroed_and_given_back),
        TEST(a_subgroup_of_members_in_any_order_works),
        TEST(threads_wait_for_one_another_without_losing_a_wake_up),
        TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("transport/local", tests, NULL, NULL);
}
