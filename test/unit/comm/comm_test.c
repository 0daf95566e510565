/*
 * Life of communicators: deadlines, abort, closing, groups, arguments, memory that runs out. On
 * rank threads; what must not happen within a test's deadline is shown by another status.
 */
#include "support/hk_test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "threads.h"

static hk_status_t one_is_absent(test_rank_t *self)
{
    const float in = 1.0f;
    float out = 0.0f;

    if (self->rank == 1) {
        return HK_ERR_TIMED_OUT; // never calls
    }
    return hk_all_reduce(self->comm, &in, &out, 1, HK_F32, HK_SUM, NULL, NULL);
}

static void a_deadline_names_operation_and_missing_rank(void **state)
{
    hk_comm_opts_t opts = hk_comm_opts_default();
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    opts.timeout_ms = 50;
    test_ranks_run(&opts, 3, one_is_absent, NULL, ranks);
    test_ranks_expect(ranks, 3, HK_ERR_TIMED_OUT, "absent rank");
    for (int r = 0; r < 3; r += 2) {
        test_ranks_say(&ranks[r], 1, "operation 0, all_reduce count 1 f32 sum", "absent rank");
        test_ranks_say(&ranks[r], 1, "not called yet by rank 1", "absent rank");
        assert_int_equal(ranks[r].failed_rank, 1);
    }
}

static hk_status_t wait_for_nothing(test_rank_t *self)
{
    hk_coll_opts_t opts = hk_coll_opts_default();
    float out = 0.0f;

    opts.timeout_ms = 30;
    opts.tag = 7;
    return self->rank == 0 ? hk_recv(self->comm, &out, 1, HK_F32, 1, &opts, NULL)
                           : HK_ERR_TIMED_OUT;
}

static void the_deadline_of_a_receive_names_peer_and_tag(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, wait_for_nothing, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_ERR_TIMED_OUT, "receive");
    test_ranks_say(ranks, 1, "receive of 1 f32 with tag 7 from rank 1 (0 of 4 bytes done)",
                   "receive");
}

static hk_status_t abort_on_one(test_rank_t *self)
{
    if (self->rank == 0) {
        hk_comm_abort(self->comm, "no more");
    }
    return hk_barrier(self->comm, NULL, NULL);
}

static void abort_ends_all_ranks_with_the_reason(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 4, abort_on_one, NULL, ranks);
    test_ranks_expect(ranks, 4, HK_ERR_ABORTED, "abort");
    test_ranks_say(ranks, 4, "rank 0 aborted: no more", "abort");
}

static hk_status_t close_with_requests(test_rank_t *self)
{
    float out[4] = {0};
    hk_request_t *receive = NULL;
    hk_request_t *reduce = NULL;

    if (self->rank == 1) {
        (void)pthread_barrier_wait(self->barrier);
        const hk_status_t status = hk_barrier(self->comm, NULL, NULL);
        return status == HK_ERR_PEER_FAILED ? HK_ERR_ABORTED : HK_ERR_INTERNAL;
    }
    (void)!hk_recv(self->comm, out, 4, HK_F32, 1, NULL, &receive);
    (void)!hk_all_reduce(self->comm, out, out, 1, HK_F32, HK_SUM, NULL, &reduce);
    hk_comm_close(&self->comm);
    (void)pthread_barrier_wait(self->barrier);
    const hk_status_t first = hk_request_wait(&receive);
    const hk_status_t second = hk_request_test(&reduce);
    return first == second && receive == NULL && reduce == NULL ? first : HK_ERR_INTERNAL;
}

static void requests_outstanding_at_a_close_end_as_aborted(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];
    const size_t live = hki_alloc_live();

    (void)state;
    test_ranks_run(NULL, 2, close_with_requests, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_ERR_ABORTED, "close");
    assert_int_equal(hki_alloc_live(), live);
}

/** Two halves, reversed; then a group of two in one of them. */
static hk_status_t split_and_group(test_rank_t *self)
{
    hk_comm_t *half = NULL;
    hk_comm_t *pair = NULL;
    int32_t in = 1 << self->rank;
    int32_t out = 0;
    hk_status_t status =
        hk_comm_split(self->comm, self->rank == 4 ? -1 : self->rank % 2, -self->rank, &half);

    if (status != HK_OK || self->rank == 4) {
        return half == NULL ? status : HK_ERR_INTERNAL;
    }
    const int new_rank = (self->rank < 2) ? 1 : 0;
    if (hk_comm_rank(half) != new_rank || hk_comm_size(half) != 2) {
        return HK_ERR_INTERNAL;
    }
    status = hk_all_reduce(half, &in, &out, 1, HK_I32, HK_SUM, NULL, NULL);
    if (status == HK_OK && out != (self->rank % 2 == 0 ? 5 : 10)) {
        status = HK_ERR_INTERNAL;
    }
    hk_comm_close(&half);
    if (status == HK_OK && (self->rank == 3 || self->rank == 0)) {
        const int members[] = {3, 0};

        status = hk_comm_group(self->comm, members, 2, 5, &pair);
        if (status == HK_OK) {
            status = hk_all_reduce(pair, &in, &out, 1, HK_I32, HK_SUM, NULL, NULL);
        }
        if (status == HK_OK && (out != 9 || hk_comm_rank(pair) != (self->rank == 3 ? 0 : 1))) {
            status = HK_ERR_INTERNAL;
        }
        hk_comm_close(&pair);
    }
    return status;
}

static void split_and_group_involve_members_only(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 5, split_and_group, NULL, ranks);
    test_ranks_expect(ranks, 5, HK_OK, "groups");
}

/** An operation on one communicator goes on while this rank waits on another. */
static hk_status_t two_communicators(test_rank_t *self)
{
    hk_comm_t *other = NULL;
    hk_request_t *request = NULL;
    static const size_t count = 200000;
    float *data = calloc(count, sizeof(*data));
    hk_status_t status = hk_comm_split(self->comm, 0, 0, &other);

    // Rank 0 waits for `other` last, rank 1 first: both need progress on the one they do not wait
    // on.
    if (status == HK_OK) {
        status = hk_all_reduce(other, data, data, count, HK_F32, HK_SUM, NULL, &request);
    }
    if (status == HK_OK && self->rank == 0) {
        status = hk_barrier(self->comm, NULL, NULL);
    }
    if (status == HK_OK) {
        status = hk_request_wait(&request);
    }
    if (status == HK_OK && self->rank == 1) {
        status = hk_barrier(self->comm, NULL, NULL);
    }
    hk_comm_close(&other);
    free(data);
    return status;
}

static void waiting_on_one_communicator_moves_the_other(void **state)
{
    hk_comm_opts_t opts = hk_comm_opts_default();
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    opts.timeout_ms = 20000;
    test_ranks_run(&opts, 2, two_communicators, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_OK, "two communicators");
}

static hk_status_t bad_arguments(test_rank_t *self)
{
    hk_comm_t *c = self->comm;
    float in[8] = {0};
    float out[8] = {0};
    hk_request_t *request = NULL;
    hk_coll_opts_t opts = hk_coll_opts_default();
    const hk_dtype_t no_dtype = (hk_dtype_t)99;
    const hk_op_t no_op = (hk_op_t)99;
    int errors = 0;
    int calls = 0;

#define REFUSED(expr) (calls++, errors += (expr) == HK_ERR_INVALID_ARG)
    REFUSED(hk_all_reduce(NULL, in, out, 1, HK_F32, HK_SUM, NULL, NULL));
    REFUSED(hk_all_reduce(c, in, out, 1, no_dtype, HK_SUM, NULL, NULL));
    REFUSED(hk_all_reduce(c, in, out, 1, HK_F32, no_op, NULL, NULL));
    REFUSED(hk_all_reduce(c, in, out, 1, HK_F32, HK_BAND, NULL, NULL));
    REFUSED(hk_all_reduce(c, in, out, 1, HK_F32, HK_USER, NULL, NULL));
    REFUSED(hk_all_reduce(c, NULL, out, 1, HK_F32, HK_SUM, NULL, &request));
    REFUSED(hk_all_reduce(c, in, NULL, 1, HK_F32, HK_SUM, NULL, NULL));
    REFUSED(hk_all_reduce(c, in, in + 1, 4, HK_F32, HK_SUM, NULL, NULL));
    REFUSED(hk_all_reduce(c, in, out, SIZE_MAX / 2, HK_F32, HK_SUM, NULL, NULL));
    REFUSED(hk_broadcast(c, in, out, 1, HK_F32, -1, NULL, NULL));
    REFUSED(hk_broadcast(c, in, out, 1, HK_F32, self->nranks, NULL, NULL));
    REFUSED(hk_send(c, in, 1, HK_F32, self->nranks, NULL, NULL));
    REFUSED(hk_send(c, NULL, 1, HK_F32, 0, NULL, NULL));
    REFUSED(hk_recv(c, out, 1, no_dtype, 0, NULL, NULL));
    REFUSED(hk_all_gatherv(c, in, out, NULL, NULL, HK_F32, NULL, NULL));
    opts.algo = "magic";
    REFUSED(hk_all_reduce(c, in, out, 1, HK_F32, HK_SUM, &opts, NULL));
    opts.algo = "ring"; // keeps no order
    REFUSED(hk_all_reduce(c, in, out, 1, HK_F32, HK_SUM, &opts, NULL));
    opts = hk_coll_opts_default();
    opts.tag = -1;
    REFUSED(hk_send(c, in, 1, HK_F32, 0, &opts, NULL));
    opts.struct_size = 0;
    REFUSED(hk_all_reduce(c, in, out, 1, HK_F32, HK_SUM, &opts, NULL));
#undef REFUSED
    for (int i = 0; i < 8; i++) {
        errors -= out[i] != 0.0f;
    }
    if (errors != calls || request != NULL) {
        return HK_ERR_INTERNAL;
    }
    return hk_barrier(c, NULL, NULL); // it still works
}

static void bad_arguments_are_refused_and_harm_nothing(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 2, bad_arguments, NULL, ranks);
    test_ranks_expect(ranks, 2, HK_OK, "arguments");
}

static hk_status_t use_in_child(test_rank_t *self)
{
    int end = 0;
    const pid_t child = fork();

    if (child == 0) {
        const bool is_refused = hk_barrier(self->comm, NULL, NULL) == HK_ERR_INVALID_ARG;

        hk_comm_close(&self->comm);
        _exit(is_refused ? 0 : 1);
    }
    (void)waitpid(child, &end, 0);
    return end == 0 ? hk_barrier(self->comm, NULL, NULL) : HK_ERR_INTERNAL;
}

static void a_forked_child_is_refused_and_the_parent_goes_on(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, 1, use_in_child, NULL, ranks);
    test_ranks_expect(ranks, 1, HK_OK, "fork");
}

static void every_allocation_of_opening_and_a_call_may_fail(void **state)
{
    const size_t live = hki_alloc_live();
    size_t n = 0;
    bool has_failed = true;

    (void)state;
    while (has_failed) {
        hk_comm_t *comm = NULL;
        const int32_t in[3] = {1, 2, 3};
        int32_t out[3] = {0};

        n++;
        hki_alloc_fail_at(n);
        hk_status_t status = hk_comm_open_threads(NULL, 1, &comm);
        if (status == HK_OK) {
            status = hk_all_reduce(comm, in, out, 3, HK_I32, HK_SUM, NULL, NULL);
        }
        hki_alloc_fail_at(0);
        has_failed = status != HK_OK;
        if (has_failed && status != HK_ERR_NO_MEMORY) {
            fail_msg("allocation %zu fails: got \"%s\"", n, hk_status_text(status));
        }
        hk_comm_close(&comm);
        if (hki_alloc_live() > live + 1) { // + 1: what the process keeps for ever
            fail_msg("allocation %zu fails: %zu blocks are left", n, hki_alloc_live() - live);
        }
    }
    assert_true(n > 5);
}

static void null_handles_are_harmless(void **state)
{
    hk_comm_t *comm = NULL;
    hk_request_t *request = NULL;

    (void)state;
    hk_comm_close(&comm);
    hk_comm_close(NULL);
    hk_comm_abort(NULL, NULL);
    hk_mem_free(NULL, NULL);
    assert_int_equal(hk_comm_rank(NULL), -1);
    assert_int_equal(hk_comm_size(NULL), -1);
    assert_int_equal(hk_comm_failed_rank(NULL), -1);
    assert_int_equal(hk_comm_status(NULL), HK_ERR_INVALID_ARG);
    assert_ok(hk_request_wait(&request));
    assert_ok(hk_request_test(&request));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_names_operation_and_missing_rank),
        cmocka_unit_test(the_deadline_of_a_receive_names_peer_and_tag),
        cmocka_unit_test(abort_ends_all_ranks_with_the_reason),
        cmocka_unit_test(requests_outstanding_at_a_close_end_as_aborted),
        cmocka_unit_test(split_and_group_involve_members_only),
        cmocka_unit_test(waiting_on_one_communicator_moves_the_other),
        cmocka_unit_test(bad_arguments_are_refused_and_harm_nothing),
        cmocka_unit_test(a_forked_child_is_refused_and_the_parent_goes_on),
        cmocka_unit_test(every_allocation_of_opening_and_a_call_may_fail),
        cmocka_unit_test(null_handles_are_harmless),
    };

    return cmocka_run_group_tests_name("comm/comm", tests, NULL, NULL);
}
