/*
 * Situations of a communicator's life that other libraries hang or lie in: groups in any order,
 * deadlines of every kind of call, threads that use two communicators crosswise, closing while data
 * is read. On rank threads.
 */
#include "support/hk_test.h"

#include <stdlib.h>

#include "threads.h"

enum { LARGE = 100000, CROSS_CALLS = 300, DEADLINE_MS = 20 };

/** Sum of (1 << rank) over a group, and the place in it. */
static hk_status_t check_member(hk_comm_t *comm, int rank, int nranks, int32_t mine, int32_t want)
{
    int32_t out = 0;
    const hk_status_t status = hk_all_reduce(comm, &mine, &out, 1, HK_I32, HK_SUM, NULL, NULL);

    if (status != HK_OK) {
        return status;
    }
    return out == want && hk_comm_rank(comm) == rank && hk_comm_size(comm) == nranks
               ? HK_OK
               : HK_ERR_INTERNAL;
}

static hk_status_t join(test_rank_t *self, const int *members, int nmembers, hk_comm_t **comm_out)
{
    int32_t want = 0;
    int place = -1;
    hk_status_t status = hk_comm_group(self->comm, members, nmembers, 0, comm_out);

    for (int i = 0; i < nmembers; i++) {
        want += 1 << members[i];
        place = members[i] == self->rank ? i : place;
    }
    if (status == HK_OK) {
        status = check_member(*comm_out, place, nmembers, 1 << self->rank, want);
    }
    return status;
}

static hk_status_t make_groups(test_rank_t *self)
{
    static const int reversed[] = {3, 2, 1, 0};
    static const int low[] = {0, 1};
    static const int high[] = {2, 3};
    static const int odd[] = {1, 3};
    const int alone[] = {self->rank};
    const int *const half = self->rank < 2 ? low : high;
    hk_comm_t *made[6] = {NULL};
    hk_status_t status = HK_OK;

    // ranks 0 and 2 make the whole after the halves, in another order relative to `alone`
    if (self->rank % 2 == 0) {
        status = join(self, alone, 1, &made[0]);
    }
    status = status == HK_OK ? join(self, half, 2, &made[1]) : status;
    if (status == HK_OK && self->rank % 2 == 1) {
        status = join(self, odd, 2, &made[2]);
    }
    status = status == HK_OK ? join(self, reversed, 4, &made[3]) : status;
    status = status == HK_OK ? join(self, half, 2, &made[4]) : status; // the same members again
    if (status == HK_OK && self->rank % 2 == 1) {
        status = join(self, alone, 1, &made[5]);
    }
    for (int i = 0; i < 6; i++) {
        hk_comm_close(&made[i]);
    }
    return status == HK_OK ? hk_barrier(self->comm, NULL, NULL) : status;
}

static void groups_are_made_by_their_members_in_any_order(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 4, make_groups, NULL, ranks);
    test_ranks_expect(ranks, 4, HK_OK, "groups");
}

/** Call number `*cookie` of the list, with a deadline of its own, while rank 1 does nothing. */
static hk_status_t call_alone(test_rank_t *self)
{
    hk_coll_opts_t opts = hk_coll_opts_default();
    static const size_t counts[2] = {1, 2};
    float in[8] = {0};
    float out[8] = {0};
    hk_comm_t *c = self->comm;

    if (self->rank == 1) {
        return HK_ERR_TIMED_OUT;
    }
    opts.timeout_ms = DEADLINE_MS;
    switch (*(const int *)self->cookie) {
    case 0:
        return hk_broadcast(c, in, out, 3, HK_F32, 1, &opts, NULL);
    case 1:
        return hk_reduce(c, in, out, 3, HK_F32, HK_SUM, 0, &opts, NULL);
    case 2:
        return hk_all_reduce(c, in, out, 3, HK_F32, HK_SUM, &opts, NULL);
    case 3:
        return hk_reduce_scatter(c, in, out, 3, HK_F32, HK_SUM, &opts, NULL);
    case 4:
        return hk_all_gather(c, in, out, 3, HK_F32, &opts, NULL);
    case 5:
        return hk_gather(c, in, out, 3, HK_F32, 0, &opts, NULL);
    case 6:
        return hk_scatter(c, in, out, 3, HK_F32, 1, &opts, NULL);
    case 7:
        return hk_all_to_all(c, in, out, 3, HK_F32, &opts, NULL);
    case 8:
        return hk_barrier(c, &opts, NULL);
    case 9:
        return hk_recv(c, out, 3, HK_F32, 1, &opts, NULL);
    case 10:
        return hk_gatherv(c, in, out, counts, NULL, HK_F32, 0, &opts, NULL);
    case 11:
        return hk_scatterv(c, in, out, counts, NULL, HK_F32, 1, &opts, NULL);
    case 12:
        return hk_all_gatherv(c, in, out, counts, NULL, HK_F32, &opts, NULL);
    case 13:
        return hk_reduce_scatterv(c, in, out, counts, HK_F32, HK_SUM, &opts, NULL);
    case 14:
        return hk_all_to_allv(c, in, counts, NULL, out, counts, NULL, HK_F32, &opts, NULL);
    default:
        return HK_ERR_INTERNAL;
    }
}

static void every_call_obeys_its_own_deadline(void **state)
{
    static const char *const names[] = {"broadcast count 3 f32 root 1",
                                        "reduce count 3 f32 sum root 0",
                                        "all_reduce count 3 f32",
                                        "reduce_scatter count 3 f32",
                                        "all_gather count 3 f32",
                                        "gather count 3 f32 root 0",
                                        "scatter count 3 f32 root 1",
                                        "all_to_all count 3 f32",
                                        "barrier",
                                        "receive of 3 f32 with tag 0 from rank 1",
                                        "gatherv counts 1,2",
                                        "scatterv counts 1,2",
                                        "all_gatherv counts 1,2",
                                        "reduce_scatterv counts 1,2",
                                        "all_to_allv f32"};

    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(names); i++) {
        test_rank_t ranks[TEST_RANKS_MAX];

        test_ranks_run(NULL, 2, call_alone, &i, ranks);
        test_ranks_expect(ranks, 2, HK_ERR_TIMED_OUT, names[i]);
        test_ranks_say(ranks, 1, "rank 0: the deadline of ", names[i]);
        test_ranks_say(ranks, 1, names[i], names[i]);
        test_ranks_say(ranks, 1, "rank 1", names[i]);
        assert_int_equal(ranks[0].failed_rank, 1);
    }
}

static hk_status_t divide_alone(test_rank_t *self)
{
    const int members[] = {0, 1};
    hk_comm_t *made = NULL;

    if (self->rank == 1) {
        return HK_ERR_TIMED_OUT;
    }
    return *(const int *)self->cookie == 0 ? hk_comm_split(self->comm, 0, 0, &made)
                                           : hk_comm_group(self->comm, members, 2, 0, &made);
}

static void making_groups_obeys_the_deadline(void **state)
{
    hk_comm_opts_t opts = hk_comm_opts_default();

    (void)state;
    opts.timeout_ms = DEADLINE_MS;
    for (int i = 0; i < 2; i++) {
        test_rank_t ranks[TEST_RANKS_MAX];

        test_ranks_run(&opts, 2, divide_alone, &i, ranks);
        test_ranks_expect(ranks, 2, HK_ERR_TIMED_OUT, i == 0 ? "split" : "group");
    }
}

/** One of two threads of a rank: it uses both communicators, in its own order. */
typedef struct crosser {
    hk_comm_t *comm;
    hk_status_t status;
} crosser_t;

static void *cross(void *arg)
{
    crosser_t *self = arg;
    int32_t sum = 0;

    for (int32_t i = 0; i < CROSS_CALLS && self->status == HK_OK; i++) {
        self->status = hk_all_reduce(self->comm, &i, &sum, 1, HK_I32, HK_SUM, NULL, NULL);
        if (self->status == HK_OK && sum != 2 * i) {
            self->status = HK_ERR_INTERNAL;
        }
    }
    return NULL;
}

/** Rank 0's threads are started in the other order than rank 1's, and wait crosswise. */
static hk_status_t two_threads(test_rank_t *self)
{
    hk_comm_t *other = NULL;
    hk_status_t status = hk_comm_split(self->comm, 0, 0, &other);
    crosser_t crossers[2] = {{self->comm, HK_OK}, {other, HK_OK}};
    pthread_t thread;

    if (status != HK_OK) {
        return status;
    }
    if (pthread_create(&thread, NULL, cross, &crossers[self->rank]) != 0) {
        return HK_ERR_SYSTEM;
    }
    (void)cross(&crossers[1 - self->rank]);
    (void)pthread_join(thread, NULL);
    hk_comm_close(&other);
    return crossers[0].status != HK_OK ? crossers[0].status : crossers[1].status;
}

static void two_communicators_in_opposite_order_by_two_threads_complete(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, two_threads, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_OK, "two threads");
}

static void meet(test_rank_t *self)
{
    (void)pthread_barrier_wait(self->barrier);
}

/** Rank 0 closes while rank 1 has its data announced but not read, and overwrites it. */
static hk_status_t close_while_read(test_rank_t *self)
{
    float *data = calloc(LARGE, sizeof(*data));
    hk_request_t *request = NULL;
    hk_status_t status = data == NULL ? HK_ERR_NO_MEMORY : HK_OK;

    if (self->rank == 0 && status == HK_OK) {
        status = hk_send(self->comm, data, LARGE, HK_F32, 1, NULL, &request); // "may I?"
    }
    meet(self);
    if (self->rank == 1 && status == HK_OK) {
        status = hk_recv(self->comm, data, LARGE, HK_F32, 0, NULL, &request); // "yes"
    }
    meet(self);
    if (self->rank == 0) {
        (void)!hk_request_test(&request); // "here it is"
        hk_comm_close(&self->comm);
        status = hk_request_wait(&request);
        for (size_t i = 0; i < LARGE; i++) {
            data[i] = 666.0f;
        }
    }
    meet(self);
    if (self->rank == 1 && status == HK_OK) {
        status = hk_request_wait(&request);
        status = status == HK_OK && data[LARGE - 1] != 0.0f ? HK_ERR_INTERNAL : status;
        status = status == HK_ERR_PEER_FAILED ? HK_ERR_ABORTED : status;
    }
    meet(self);
    free(data);
    return status;
}

static void data_whose_sender_has_closed_is_not_taken_for_right(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, close_while_read, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_ERR_ABORTED, "close");
}

/** The last rank goes after the first call; the others go on, by lines that all read. */
static hk_status_t broadcast_to_one_that_leaves(test_rank_t *self)
{
    enum { CALLS = 1000 };
    hk_coll_opts_t opts = hk_coll_opts_default();
    const int calls = self->rank == self->nranks - 1 ? 1 : CALLS;
    hk_status_t status = HK_OK;
    float data = 1.0f;

    opts.algo = "direct";
    for (int i = 0; i < calls && status == HK_OK; i++) {
        status = hk_broadcast(self->comm, &data, &data, 1, HK_F32, 0, &opts, NULL);
    }
    if (self->rank == self->nranks - 1) {
        hk_comm_close(&self->comm);
        status = status == HK_OK ? HK_ERR_PEER_FAILED : status;
    }
    return status;
}

static void a_receiver_that_leaves_is_noticed_at_once(void **state)
{
    const int sizes[] = {3, 4, 16, 17, 20};
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        test_ranks_run(NULL, sizes[i], broadcast_to_one_that_leaves, NULL, ranks);
        test_ranks_expect(ranks, sizes[i], HK_ERR_PEER_FAILED, "one left");
    }
}

static hk_status_t fail_then_close(test_rank_t *self)
{
    float data = 0.0f;
    hk_request_t *request = NULL;

    (void)!hk_recv(self->comm, &data, 1, HK_F32, 1 - self->rank, NULL, &request);
    hk_comm_abort(self->comm, "over");
    const hk_status_t first = hk_barrier(self->comm, NULL, NULL);
    const hk_status_t second = hk_request_wait(&request);
    hk_comm_close(&self->comm);
    hk_comm_close(&self->comm);
    return first == second ? first : HK_ERR_INTERNAL;
}

static void an_error_then_close_twice_is_harmless(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, fail_then_close, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_ERR_ABORTED, "error, close, close");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_made_by_their_members_in_any_order),
        cmocka_unit_test(every_call_obeys_its_own_deadline),
        cmocka_unit_test(making_groups_obeys_the_deadline),
        cmocka_unit_test(two_communicators_in_opposite_order_by_two_threads_complete),
        cmocka_unit_test(data_whose_sender_has_closed_is_not_taken_for_right),
        cmocka_unit_test(a_receiver_that_leaves_is_noticed_at_once),
        cmocka_unit_test(an_error_then_close_twice_is_harmless),
    };

    return cmocka_run_group_tests_name("comm/cases_life", tests, NULL, NULL);
}
