/**
 * @file checker_test.c
 * @brief Tests of src/sched/checker.c on small schedules written as text.
 *
 * Method: two or three ranks with one fault that only one rule finds. The checker on real
 * algorithms, and on spoiled ones, is in test/unit/algo.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "sched/checker.h"
#include "sched/text.h"

enum { RANKS = 2 };

static hki_expect_t expect_sum(const void *cookie, int rank, int block)
{
    (void)cookie;
    (void)rank;
    (void)block;
    return (hki_expect_t){HKI_EXPECT_SUM, 0, 0};
}

static hki_expect_t expect_rank_0(const void *cookie, int rank, int block)
{
    (void)cookie;
    (void)rank;
    (void)block;
    return (hki_expect_t){HKI_EXPECT_COPY, 0, 0};
}

typedef struct proof {
    const char *alias;
    const char *steps[RANKS];
    hki_expect_t (*expect)(const void *cookie, int rank, int block); /* NULL: a barrier */
    hki_check_counts_t counts;
} proof_t;

/** Count 4, one block each, 4 of TMP and of ACC. */
static hk_status_t prove(proof_t *proof)
{
    hk_schedule_t *schedules[RANKS] = {NULL};
    hk_status_t status;

    for (int rank = 0; rank < RANKS; rank++) {
        hki_text_t text = {0};

        hki_text_add(&text,
                     "schedule t\nrank %d of 2 root 0 alias %s\ncount 4 in 1 out 1 tmp 4 acc 4\n%s",
                     rank, proof->alias, proof->steps[rank]);
        if (hki_schedule_parse(text.data, text.length, &schedules[rank]) != HK_OK) {
            fail_msg("%s", hk_last_error());
        }
        hki_text_fini(&text);
    }
    const hki_check_t check = {.schedules = (const hk_schedule_t *const *)schedules,
                               .nranks = RANKS,
                               .run_count = 4,
                               .is_barrier = proof->expect == NULL,
                               .expect = proof->expect};
    status = hki_schedules_check(&check, &proof->counts);
    for (int rank = 0; rank < RANKS; rank++) {
        hk_schedule_destroy(&schedules[rank]);
    }
    assert_int_equal(hki_alloc_live(), 0);
    return status;
}

static void refuses(proof_t proof, const char *text)
{
    if (prove(&proof) != HK_ERR_INVALID_ARG || strstr(hk_last_error(), text) == NULL) {
        fail_msg("got '%s', want '%s'", hk_last_error(), text);
    }
}

static void an_exchange_is_proven_and_counted(void **state)
{
    proof_t proof = {.alias = "none",
                     .steps = {"send 1 in[0][0:4]\nreduce out[0][0:4] = in[0][0:4] + rank 1",
                               "send 0 in[0][0:4]\nreduce out[0][0:4] = rank 0 + in[0][0:4]"},
                     .expect = expect_sum};
    (void)state;

    assert_ok(prove(&proof));
    assert_int_equal(proof.counts.messages, 2);
    assert_int_equal(proof.counts.elements, 8);
    assert_int_equal(proof.counts.rank_messages_max, 1);
    assert_int_equal(proof.counts.rank_elements_max, 4);
    assert_int_equal(proof.counts.capacity, 1);
    assert_true(proof.counts.chain_messages == 1 && proof.counts.chain_elements == 4 &&
                proof.counts.chain_reduced == 4);
}

static void the_same_in_place_deadlocks_unless_copied(void **state)
{
    proof_t proof = {.alias = "same",
                     .steps = {"send 1 in[0][0:4]\nreduce out[0][0:4] = in[0][0:4] + rank 1",
                               "send 0 in[0][0:4]\nreduce out[0][0:4] = rank 0 + in[0][0:4]"},
                     .expect = expect_sum};
    (void)state;

    refuses(proof, "deadlock");
    proof.steps[0] = "send 1 in[0][0:4] copied\nreduce out[0][0:4] = in[0][0:4] + rank 1";
    assert_ok(prove(&proof));
}

static void receives_before_sends_deadlock(void **state)
{
    const proof_t proof = {
        .alias = "none",
        .steps = {"recv 1 tmp[0:4]\nsend 1 in[0][0:4]", "recv 0 out[0][0:4]\nsend 0 in[0][0:4]"},
        .expect = expect_rank_0};
    (void)state;

    refuses(proof, "deadlock");
}

static void messages_that_need_room_for_two_say_so(void **state)
{
    proof_t proof = {.alias = "none",
                     .steps = {"send 1 in[0][0:2]\nsend 1 in[0][2:4]\nrecv 1 tmp[0:4]\n"
                               "copy out[0][0:4] in[0][0:4]",
                               "send 0 in[0][0:4]\nsend_token 0\nrecv 0 out[0][0:2]\n"
                               "recv 0 out[0][2:4]"},
                     .expect = expect_rank_0};
    (void)state;

    proof.steps[0] = "send 1 in[0][0:2]\nsend 1 in[0][2:4]\nrecv 1 tmp[0:4]\nrecv_token 1\n"
                     "copy out[0][0:4] in[0][0:4]";
    assert_ok(prove(&proof));
    assert_int_equal(proof.counts.capacity, 2);
}

static void unmatched_messages_are_refused(void **state)
{
    proof_t proof = {.alias = "none",
                     .steps = {"send 1 in[0][0:4]\ncopy out[0][0:4] in[0][0:4]", ""},
                     .expect = expect_rank_0};
    (void)state;

    refuses(proof, "rank 0 sends 1 messages to rank 1, which receives 0");
    proof.steps[1] = "recv 0 out[0][0:3]";
    refuses(proof, "rank 1 step 0: expects 3 elements from rank 0, whose step 0 sends 4");
    proof.steps[1] = "recv 0 acc[0:4]";
    refuses(proof, "expects 4 partial sums");
    proof.steps[1] = "recv_token 0";
    refuses(proof, "(a token)");
}

static void undefined_scratch_is_refused(void **state)
{
    proof_t proof = {.alias = "none",
                     .steps = {"send 1 tmp[0:4]", "recv 0 out[0][0:4]"},
                     .expect = expect_rank_0};
    (void)state;

    refuses(proof, "rank 0 step 0: reads scratch element 0 before it is written");
    proof.steps[0] = "copy tmp[0:3] in[0][0:3]\nsend 1 tmp[0:4]";
    refuses(proof, "scratch element 3");
    proof.steps[0] = "reduce out[0][0:4] = acc[0:4]";
    proof.steps[1] = "";
    refuses(proof, "scratch element 0");
}

static void rounding_twice_is_refused(void **state)
{
    proof_t proof = {.alias = "none",
                     .steps = {"reduce tmp[0:4] = in[0][0:4]\nsend 1 tmp[0:4]\nrecv 1 out[0][0:4]",
                               "reduce out[0][0:4] = rank 0 + in[0][0:4]\nsend 0 out[0][0:4]"},
                     .expect = expect_sum};
    (void)state;

    refuses(proof, "rank 1 step 0: operand 0 is no contribution");
    proof.steps[0] = "send 1 in[0][0:4]\nrecv 1 out[0][0:4]";
    assert_ok(prove(&proof));
}

static void the_wrong_order_or_element_is_refused(void **state)
{
    proof_t proof = {.alias = "none",
                     .steps = {"send 1 in[0][0:4]\nrecv 1 out[0][0:4]",
                               "reduce out[0][0:4] = in[0][0:4] + rank 0\nsend 0 out[0][0:4]"},
                     .expect = expect_sum};
    (void)state;

    refuses(proof, "OUT[0] element 0 ends wrong");
    proof.steps[0] = "send 1 in[0][0:2]\nsend 1 in[0][2:4]\nrecv 1 out[0][0:4]";
    proof.steps[1] = "copy tmp[0:2] in[0][2:4]\nreduce out[0][0:2] = rank 0 + tmp[0:2]\n"
                     "reduce out[0][2:4] = rank 0 + in[0][2:4]\nsend 0 out[0][0:4]";
    refuses(proof, "rank 1 step 1: sums elements 0 and 2");
}

static void a_barrier_without_word_from_all_is_refused(void **state)
{
    proof_t proof = {.alias = "none", .steps = {"send_token 1", "recv_token 0"}};
    (void)state;

    refuses(proof, "barrier: rank 0 ends without word from rank 1");
    proof.steps[0] = "send_token 1\nrecv_token 1";
    proof.steps[1] = "send_token 0\nrecv_token 0";
    assert_ok(prove(&proof));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_is_proven_and_counted),
        cmocka_unit_test(the_same_in_place_deadlocks_unless_copied),
        cmocka_unit_test(receives_before_sends_deadlock),
        cmocka_unit_test(messages_that_need_room_for_two_say_so),
        cmocka_unit_test(unmatched_messages_are_refused),
        cmocka_unit_test(undefined_scratch_is_refused),
        cmocka_unit_test(rounding_twice_is_refused),
        cmocka_unit_test(the_wrong_order_or_element_is_refused),
        cmocka_unit_test(a_barrier_without_word_from_all_is_refused),
    };
    return cmocka_run_group_tests_name("sched/checker", tests, NULL, NULL);
}
