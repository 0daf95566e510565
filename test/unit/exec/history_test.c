/*
 * Histories of ranks on a fake network: what differs once differs for ever, the first difference is
 * the one that is told, and room is made only by comparing.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include "exec/history.h"
#include "unit/exec/fake.h"

enum { NRANKS = 3, MANY = 1000 };

typedef struct rank {
    fake_endpoint_t ep;
    hki_history_t history;
} rank_t;

/** Ranks that have announced nothing. */
static void ranks_init(fake_net_t *net, rank_t ranks[NRANKS])
{
    memset(net, 0, sizeof(*net));
    net->nranks = NRANKS;
    for (int r = 0; r < NRANKS; r++) {
        ranks[r] = (rank_t){.ep = fake_endpoint(net, r)};
    }
}

/** Rank r calls `call` as operation `number`. */
static void say(rank_t *rank, uint32_t number, uint32_t call)
{
    hki_op_t op = {.op_number = number, .check = call};

    (void)snprintf(op.announcement.signature, HKI_SIGNATURE_BYTES, "call %u", (unsigned)call);
    hki_history_add(&rank->history, &op);
    rank->ep.base.ops->announce(&rank->ep.base, &op.announcement, false);
}

static void equal_calls_have_equal_histories_and_order_counts(void **state)
{
    static fake_net_t net;
    rank_t ranks[NRANKS];

    (void)state;
    ranks_init(&net, ranks);
    const uint32_t calls[NRANKS][3] = {{1, 2, 3}, {1, 2, 3}, {2, 1, 3}};
    for (int r = 0; r < NRANKS; r++) {
        for (uint32_t k = 0; k < 3; k++) {
            say(&ranks[r], k, calls[r][k]);
        }
    }
    assert_int_equal(ranks[0].history.chain, ranks[1].history.chain);
    assert_int_not_equal(ranks[0].history.chain, ranks[2].history.chain);
}

static void the_first_difference_is_told_whenever_it_is_found(void **state)
{
    static fake_net_t net;

    (void)state;
    for (uint32_t odd = 0; odd < 10; odd++) {
        rank_t ranks[NRANKS];
        char both[64];
        int done = 0;

        ranks_init(&net, ranks);
        for (int r = 0; r < NRANKS; r++) {
            for (uint32_t k = 0; k < 10; k++) {
                say(&ranks[r], k, k == odd && r == 1 ? 77 : 5);
            }
        }
        assert_int_equal(hki_history_compare(&ranks[0].history, &ranks[0].ep.base, 9, &done),
                         HK_ERR_MISMATCH);
        assert_int_equal(done, 1);
        assert_int_equal(net.failure.rank, 1);
        (void)snprintf(both, sizeof(both), "rank 1 called call 77 as operation %u, rank 0 called",
                       (unsigned)odd);
        assert_non_null(strstr(net.failure.text, both));
    }
}

static void the_blame_goes_to_the_rank_that_is_alone(void **state)
{
    static fake_net_t net;
    rank_t ranks[NRANKS];
    int done = 0;

    (void)state;
    ranks_init(&net, ranks);
    for (int r = 0; r < NRANKS; r++) {
        say(&ranks[r], 0, r == 2 ? 9 : 4);
    }
    assert_int_equal(hki_history_compare(&ranks[2].history, &ranks[2].ep.base, 0, &done),
                     HK_ERR_MISMATCH);
    assert_int_equal(net.failure.rank, 2);
}

static void comparing_waits_for_the_slowest_and_goes_on_there(void **state)
{
    static fake_net_t net;
    rank_t ranks[NRANKS];
    int done = 0;

    (void)state;
    ranks_init(&net, ranks);
    say(&ranks[0], 0, 4);
    say(&ranks[1], 0, 4);
    assert_int_equal(hki_history_compare(&ranks[0].history, &ranks[0].ep.base, 0, &done),
                     HK_IN_PROGRESS);
    assert_int_equal(done, 2);
    say(&ranks[2], 0, 4);
    assert_ok(hki_history_compare(&ranks[0].history, &ranks[0].ep.base, 0, &done));
    assert_int_equal(ranks[0].history.compared, 1);
    done = 0;
    assert_ok(hki_history_compare(&ranks[0].history, &ranks[0].ep.base, 0, &done)); // known
    assert_int_equal(done, NRANKS);
}

static void a_rank_runs_ahead_of_the_others_by_a_bounded_number(void **state)
{
    static fake_net_t net;
    rank_t ranks[NRANKS];
    uint32_t number = 0;

    (void)state;
    ranks_init(&net, ranks);
    while (hki_history_make_room(&ranks[0].history, &ranks[0].ep.base, number) == HK_OK) {
        say(&ranks[0], number, 4);
        number++;
        assert_in_range(number, 1, MANY);
    }
    assert_int_equal(number, HKI_STARTED_MAX);
    for (uint32_t k = 0; k < number; k++) { // now the others come
        say(&ranks[1], k, 4);
        say(&ranks[2], k, 4);
    }
    assert_ok(hki_history_make_room(&ranks[0].history, &ranks[0].ep.base, number));
    hki_history_agree(&ranks[0].history, 1000); // heard in a collective
    assert_ok(hki_history_make_room(&ranks[0].history, &ranks[0].ep.base, 1000 + HKI_STARTED_MAX));
}

static void a_look_sees_differences_and_waits_for_nobody(void **state)
{
    static fake_net_t net;
    rank_t ranks[NRANKS];

    (void)state;
    ranks_init(&net, ranks);
    assert_ok(hki_history_look(&ranks[0].history, &ranks[0].ep.base, NULL)); // nothing called
    say(&ranks[0], 0, 4);
    assert_ok(hki_history_look(&ranks[0].history, &ranks[0].ep.base, NULL));
    say(&ranks[2], 0, 3);
    assert_int_equal(hki_history_look(&ranks[0].history, &ranks[0].ep.base, NULL), HK_ERR_MISMATCH);
}

static void a_message_from_an_older_operation_tells_where_it_began(void **state)
{
    static fake_net_t net;
    rank_t ranks[NRANKS];

    (void)state;
    ranks_init(&net, ranks);
    for (uint32_t k = 0; k < 5; k++) {
        say(&ranks[0], k, 4);
    }
    for (uint32_t k = 0; k < 3; k++) { // rank 1 is behind, and called something else
        say(&ranks[1], k, k == 1 ? 8 : 4);
    }
    assert_int_equal(hki_history_fail_message(&ranks[0].ep.base, 4, 1, 2), HK_ERR_MISMATCH);
    assert_non_null(strstr(net.failure.text, "rank 1 called call 8 as operation 1, rank 0"));
    memset(&net.failure, 0, sizeof(net.failure));
    assert_int_equal(hki_history_fail_message(&ranks[0].ep.base, 4, 2, 4), HK_ERR_MISMATCH);
    assert_non_null(strstr(net.failure.text, "no part of operation 4, call 4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_calls_have_equal_histories_and_order_counts),
        cmocka_unit_test(the_first_difference_is_told_whenever_it_is_found),
        cmocka_unit_test(the_blame_goes_to_the_rank_that_is_alone),
        cmocka_unit_test(comparing_waits_for_the_slowest_and_goes_on_there),
        cmocka_unit_test(a_rank_runs_ahead_of_the_others_by_a_bounded_number),
        cmocka_unit_test(a_look_sees_differences_and_waits_for_nobody),
        cmocka_unit_test(a_message_from_an_older_operation_tells_where_it_began),
    };

    return cmocka_run_group_tests_name("exec/history", tests, NULL, NULL);
}
