/*
 * Sends and receives. Method: the situations that hang or corrupt in other libraries, each on rank
 * threads; data is a function of (sender, tag, element).
 */
#include "support/hk_test.h"

#include <stdlib.h>

#include "threads.h"

/** What element i of the message with this tag from this rank is. */
static uint32_t datum(int rank, int tag, size_t i)
{
    return (uint32_t)rank * 0x01000193u ^ (uint32_t)tag * 0x9E3779B1u ^ (uint32_t)i * 2654435761u;
}

static void fill(uint32_t *data, size_t count, int rank, int tag)
{
    for (size_t i = 0; i < count; i++) {
        data[i] = datum(rank, tag, i);
    }
}

/** HK_ERR_INTERNAL stands for "wrong data" in the status of a rank. */
static hk_status_t check(const uint32_t *data, size_t count, int rank, int tag)
{
    for (size_t i = 0; i < count; i++) {
        if (data[i] != datum(rank, tag, i)) {
            return HK_ERR_INTERNAL;
        }
    }
    return HK_OK;
}

static hk_coll_opts_t tagged(int tag)
{
    hk_coll_opts_t opts = hk_coll_opts_default();

    opts.tag = tag;
    return opts;
}

enum { MANY = 10000, MANY_COUNT = 4 };

/** Rank 0 sends tags upwards, rank 1 receives them downwards; all are outstanding at once. */
static hk_status_t many_in_opposite_orders(test_rank_t *self)
{
    hk_request_t **requests = calloc(MANY, sizeof(*requests));
    uint32_t *data = calloc(MANY, MANY_COUNT * sizeof(*data));
    hk_status_t status = requests == NULL || data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    for (int k = 0; k < MANY && status == HK_OK; k++) {
        const int tag = self->rank == 0 ? k : MANY - 1 - k;
        const hk_coll_opts_t opts = tagged(tag);
        uint32_t *mine = data + (size_t)tag * MANY_COUNT;

        if (self->rank == 0) {
            fill(mine, MANY_COUNT, 0, tag);
            status = hk_send(self->comm, mine, MANY_COUNT, HK_U32, 1, &opts, &requests[k]);
        } else {
            status = hk_recv(self->comm, mine, MANY_COUNT, HK_U32, 0, &opts, &requests[k]);
        }
    }
    if (status == HK_OK) {
        status = hk_request_wait_all(requests, MANY);
    }
    for (int tag = 0; tag < MANY && status == HK_OK; tag++) {
        status = check(data + (size_t)tag * MANY_COUNT, MANY_COUNT, 0, tag);
    }
    free(requests);
    free(data);
    return status;
}

static void ten_thousand_messages_match_in_opposite_orders(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, many_in_opposite_orders, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_OK, "10000 messages");
}

/** What goes round. */
typedef struct ring {
    size_t count;
    bool is_shared;
} ring_t;

static uint32_t *memory_get(hk_comm_t *comm, const ring_t *ring)
{
    void *memory = NULL;

    if (!ring->is_shared) {
        return calloc(ring->count + 1, sizeof(uint32_t));
    }
    return hk_mem_alloc(comm, (ring->count + 1) * sizeof(uint32_t), &memory) == HK_OK ? memory
                                                                                      : NULL;
}

static void memory_put(hk_comm_t *comm, const ring_t *ring, uint32_t *memory)
{
    if (ring->is_shared) {
        hk_mem_free(comm, memory);
    } else {
        free(memory);
    }
}

/** All send to the right before they receive from the left. */
static hk_status_t ring_of_sends(test_rank_t *self)
{
    const ring_t *ring = self->cookie;
    const size_t count = ring->count;
    const int right = (self->rank + 1) % self->nranks;
    const int left = (self->rank + self->nranks - 1) % self->nranks;
    uint32_t *out = memory_get(self->comm, ring);
    uint32_t *in = memory_get(self->comm, ring);
    hk_request_t *request = NULL;
    hk_status_t status = in == NULL || out == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    if (status == HK_OK) {
        fill(out, count, self->rank, 0);
        status = hk_send(self->comm, out, count, HK_U32, right, NULL, &request);
    }
    if (status == HK_OK) {
        status = hk_recv(self->comm, in, count, HK_U32, left, NULL, NULL);
    }
    if (status == HK_OK) {
        status = hk_request_wait(&request);
    }
    if (status == HK_OK) {
        status = check(in, count, left, 0);
    }
    memory_put(self->comm, ring, in);
    memory_put(self->comm, ring, out);
    return status;
}

static void a_ring_of_sends_before_receives_completes(void **state)
{
    const size_t counts[] = {0, 1, 10, 11, 2048, 2049, 4096, 16384, 16385, 50000, 300000};
    const int nranks[] = {1, 2, 5};

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(nranks) * ARRAY_LEN(counts); i++) {
        const ring_t ring = {.count = counts[i / 2 % ARRAY_LEN(counts)], .is_shared = i % 2 == 1};
        const int n = nranks[i / 2 / ARRAY_LEN(counts)];
        test_rank_t ranks[TEST_RANKS_MAX];
        char where[64];

        (void)snprintf(where, sizeof(where), "%d ranks, %zu elements%s", n, ring.count,
                       ring.is_shared ? ", shared" : "");
        test_ranks_run(NULL, n, ring_of_sends, &ring, ranks);
        test_ranks_expect(ranks, n, HK_OK, where);
    }
}

/** A blocking receive stands behind one that was posted before. */
static hk_status_t receive_behind(test_rank_t *self)
{
    uint32_t first = 10 * (uint32_t)(1 - self->rank);
    uint32_t second = 11 * (uint32_t)(1 - self->rank);
    hk_request_t *request = NULL;
    hk_status_t status;

    if (self->rank == 0) {
        (void)pthread_barrier_wait(self->barrier);
        status = hk_send(self->comm, &first, 1, HK_U32, 1, NULL, NULL);
        return status == HK_OK ? hk_send(self->comm, &second, 1, HK_U32, 1, NULL, NULL) : status;
    }
    status = hk_recv(self->comm, &first, 1, HK_U32, 0, NULL, &request);
    (void)pthread_barrier_wait(self->barrier);
    if (status == HK_OK) {
        status = hk_recv(self->comm, &second, 1, HK_U32, 0, NULL, NULL);
    }
    if (status == HK_OK) {
        status = hk_request_wait(&request);
    }
    return status == HK_OK && (first != 10 || second != 11) ? HK_ERR_INTERNAL : status;
}

static void a_blocking_receive_gets_what_comes_after_those_posted(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, receive_behind, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_OK, "receives");
}

/** Two messages with the same tag keep their order, and another tag may overtake them. */
static hk_status_t order_by_tag(test_rank_t *self)
{
    const hk_coll_opts_t one = tagged(1);
    const hk_coll_opts_t two = tagged(2);
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;

    if (self->rank == 0) {
        const uint32_t values[] = {10, 11, 20};

        (void)!hk_send(self->comm, &values[0], 1, HK_U32, 1, &one, NULL);
        (void)!hk_send(self->comm, &values[1], 1, HK_U32, 1, &one, NULL);
        return hk_send(self->comm, &values[2], 1, HK_U32, 1, &two, NULL);
    }
    (void)!hk_recv(self->comm, &c, 1, HK_U32, 0, &two, NULL);
    (void)!hk_recv(self->comm, &a, 1, HK_U32, 0, &one, NULL);
    (void)!hk_recv(self->comm, &b, 1, HK_U32, 0, &one, NULL);
    return a == 10 && b == 11 && c == 20 ? HK_OK : HK_ERR_INTERNAL;
}

static void messages_with_one_tag_keep_their_order(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, order_by_tag, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_OK, "order");
}

/** What the receiver of 3 elements asks for instead. */
typedef struct wrong {
    size_t sent;
    size_t received;
    hk_dtype_t dtype;
} wrong_t;

static hk_status_t send_wrong(test_rank_t *self)
{
    const wrong_t *wrong = self->cookie;
    const size_t room = 20000;
    uint32_t *data = calloc(room, sizeof(*data));
    hk_status_t status = data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    if (self->rank == 0 && status == HK_OK) {
        fill(data, room, 0, 0);
        status = hk_send(self->comm, data, wrong->sent, HK_U32, 1, NULL, NULL);
    } else if (status == HK_OK) {
        status = hk_recv(self->comm, data, wrong->received, wrong->dtype, 0, NULL, NULL);
        for (size_t i = 0; i < room; i++) {
            status = data[i] != 0 ? HK_ERR_INTERNAL : status; // partial data
        }
    }
    if (status == HK_OK) { // a short send is done before it is received
        status = hk_barrier(self->comm, NULL, NULL);
    }
    free(data);
    return status;
}

static void a_different_count_or_type_is_an_error_on_both_sides(void **state)
{
    const wrong_t wrongs[] = {{3, 4, HK_U32},        {3, 2, HK_U32},        {3, 3, HK_F32},
                              {3, 0, HK_U32},        {0, 3, HK_U32},        {2000, 2001, HK_U32},
                              {10000, 9999, HK_U32}, {10000, 10000, HK_I32}};

    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(wrongs); w++) {
        test_rank_t ranks[TEST_RANKS_MAX];
        char where[64];

        (void)snprintf(where, sizeof(where), "%zu sent, %zu received", wrongs[w].sent,
                       wrongs[w].received);
        test_ranks_run(NULL, 2, send_wrong, &wrongs[w], ranks);
        test_ranks_expect(ranks, 2, HK_ERR_MISMATCH, where);
        test_ranks_say(ranks, 2, "rank 0 sends count", where);
    }
}

/** Rank 0 sends and closes; rank 1 receives only after that. */
static hk_status_t send_and_leave(test_rank_t *self)
{
    const size_t count = *(const size_t *)self->cookie;
    uint32_t *data = calloc(count, sizeof(*data));
    hk_status_t status = data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    if (self->rank == 0 && status == HK_OK) {
        fill(data, count, 0, 0);
        status = hk_send(self->comm, data, count, HK_U32, 1, NULL, NULL);
        hk_comm_close(&self->comm);
    }
    (void)pthread_barrier_wait(self->barrier);
    if (self->rank == 1 && status == HK_OK) {
        status = hk_recv(self->comm, data, count, HK_U32, 0, NULL, NULL);
        status = status == HK_OK ? check(data, count, 0, 0) : status;
    }
    free(data);
    return status;
}

static void a_message_arrives_after_its_sender_has_left(void **state)
{
    const size_t counts[] = {1, 100, 2048, 2049, 16384};

    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
        test_rank_t ranks[TEST_RANKS_MAX];
        char where[64];

        (void)snprintf(where, sizeof(where), "%zu elements", counts[c]);
        test_ranks_run(NULL, 2, send_and_leave, &counts[c], ranks);
        test_ranks_expect(ranks, 2, HK_OK, where);
    }
}

/** Rank 0 closes while what it sends, from memory that rank 1 sees, has not been received. */
static hk_status_t leave_unread(test_rank_t *self)
{
    const ring_t ring = {.count = 30000, .is_shared = true};
    uint32_t *data = memory_get(self->comm, &ring);
    hk_request_t *request = NULL;
    hk_status_t status = data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    if (self->rank == 0 && status == HK_OK) {
        fill(data, ring.count, 0, 0);
        status = hk_send(self->comm, data, ring.count, HK_U32, 1, NULL, &request);
        hk_comm_close(&self->comm);
        (void)pthread_barrier_wait(self->barrier);
        return status == HK_OK ? hk_request_wait(&request) : status;
    }
    (void)pthread_barrier_wait(self->barrier);
    if (status == HK_OK) {
        status = hk_recv(self->comm, data, ring.count, HK_U32, 0, NULL, NULL);
    }
    for (size_t i = 0; data != NULL && i < ring.count; i++) {
        status = data[i] != 0 ? HK_ERR_INTERNAL : status;
    }
    return status;
}

static void what_a_sender_has_left_is_not_read(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, leave_unread, NULL, ranks);
    test_ranks_expect(&ranks[0], 1, HK_ERR_ABORTED, "sender");
    test_ranks_expect(&ranks[1], 1, HK_ERR_PEER_FAILED, "receiver");
}

/** A receive is under way while collectives go on, and the other way round. */
static hk_status_t across_collectives(test_rank_t *self)
{
    const int other = 1 - self->rank;
    uint32_t in = 0;
    uint32_t out = datum(self->rank, 0, 0);
    uint32_t sum = 0;
    hk_request_t *requests[3] = {NULL, NULL, NULL};
    hk_status_t status = hk_recv(self->comm, &in, 1, HK_U32, other, NULL, &requests[0]);

    if (status == HK_OK) {
        status = hk_all_reduce(self->comm, &out, &sum, 1, HK_U32, HK_SUM, NULL, &requests[1]);
    }
    if (status == HK_OK) {
        status = hk_barrier(self->comm, NULL, NULL);
    }
    if (status == HK_OK) {
        status = hk_send(self->comm, &out, 1, HK_U32, other, NULL, &requests[2]);
    }
    if (status == HK_OK) {
        status = hk_request_wait_all(requests, 3);
    }
    const bool is_right = in == datum(other, 0, 0) && sum == out + in;
    return status == HK_OK && !is_right ? HK_ERR_INTERNAL : status;
}

static void sends_and_collectives_do_not_wait_for_each_other(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, across_collectives, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_OK, "mixed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_messages_match_in_opposite_orders),
        cmocka_unit_test(a_ring_of_sends_before_receives_completes),
        cmocka_unit_test(messages_with_one_tag_keep_their_order),
        cmocka_unit_test(a_blocking_receive_gets_what_comes_after_those_posted),
        cmocka_unit_test(a_different_count_or_type_is_an_error_on_both_sides),
        cmocka_unit_test(a_message_arrives_after_its_sender_has_left),
        cmocka_unit_test(what_a_sender_has_left_is_not_read),
        cmocka_unit_test(sends_and_collectives_do_not_wait_for_each_other),
    };

    return cmocka_run_group_tests_name("comm/p2p", tests, NULL, NULL);
}
