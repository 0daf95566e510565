/*
 * Slots, and messages that go through several of them. Method: sender and receiver are stepped by
 * hand, so that a message stands still in the middle, in each of the ways in which it can.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "p2p_pair.h"

enum { MESSAGE_BYTES = HKI_EAGER_BYTES - 100, SMALL_BYTES = 1000 };

static unsigned char g_out[MESSAGE_BYTES];
static unsigned char g_in[MESSAGE_BYTES];

static void fill(void)
{
    for (size_t i = 0; i < sizeof(g_out); i++) {
        g_out[i] = (unsigned char)(i * 31 + i / 251);
    }
    memset(g_in, 0, sizeof(g_in));
}

/** Fill slots of rank 0 that rank 1 leaves unread, so that a message of eight gets `tiles`. */
static int leave_slots(pair_t *pair, int tiles)
{
    const int count = HKI_SMALL_SLOTS / 2 - tiles; // half of them are for one peer

    for (int i = 0; i < count; i++) {
        hki_p2p_op_t op = pair_op(true, 1, 1, g_out, SMALL_BYTES);

        pair_post(pair, 0, &op);
        assert_true(op.is_done);
    }
    return count;
}

static void take_small(pair_t *pair, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned char small[SMALL_BYTES] = {0};
        hki_p2p_op_t op = pair_op(false, 0, 1, small, SMALL_BYTES);

        pair_post(pair, 1, &op);
        assert_true(op.is_done);
        assert_memory_equal(small, g_out, SMALL_BYTES);
    }
}

/** The receive is there before the message, after its first tiles, or after all. */
static void a_message_of_many_tiles_arrives_whenever_its_receive_is_posted(void **state)
{
    (void)state;
    for (int tiles = 1; tiles <= 8; tiles++) {
        for (int when = 0; when < 3; when++) {
            pair_t pair;
            hki_p2p_op_t send = pair_op(true, 1, 7, g_out, MESSAGE_BYTES);
            hki_p2p_op_t recv = pair_op(false, 0, 7, g_in, MESSAGE_BYTES);

            fill();
            pair_open(&pair, 3);
            if (when == 0) {
                pair_post(&pair, 1, &recv);
            }
            const int count = leave_slots(&pair, tiles);
            pair_post(&pair, 0, &send);
            assert_int_equal(send.is_done, tiles == 8);
            if (when == 1) {
                pair_post(&pair, 1, &recv);
                assert_int_equal(recv.is_done, tiles == 8);
            }
            pair_settle(&pair);
            if (when == 2) {
                assert_true(send.is_done);
                pair_post(&pair, 1, &recv);
            }
            if (!send.is_done || !recv.is_done || send.status != HK_OK || recv.status != HK_OK ||
                memcmp(g_in, g_out, MESSAGE_BYTES) != 0) {
                fail_msg("%d tiles at first, receive posted at time %d", tiles, when);
            }
            take_small(&pair, count);
            pair_close(&pair);
        }
    }
    assert_int_equal(hki_alloc_live(), 0);
}

static void a_peer_that_does_not_look_leaves_slots_to_others(void **state)
{
    pair_t pair;
    hki_p2p_op_t waiting = pair_op(true, 1, 1, g_out, SMALL_BYTES);

    (void)state;
    fill();
    pair_open(&pair, 3);
    (void)leave_slots(&pair, 0);
    pair_post(&pair, 0, &waiting);
    assert_false(waiting.is_done);
    for (int i = 0; i < HKI_SMALL_SLOTS / 2; i++) {
        hki_p2p_op_t op = pair_op(true, 2, 1, g_out, SMALL_BYTES);

        pair_post(&pair, 0, &op);
        assert_true(op.is_done);
    }
    pair_settle(&pair);
    assert_true(waiting.is_done && waiting.status == HK_OK);
    pair_close(&pair);
    assert_int_equal(hki_alloc_live(), 0);
}

static void a_message_cut_short_ends_with_the_group(void **state)
{
    pair_t pair;
    hki_p2p_op_t send = pair_op(true, 1, 7, g_out, MESSAGE_BYTES);
    hki_p2p_op_t recv = pair_op(false, 0, 7, g_in, MESSAGE_BYTES);

    (void)state;
    fill();
    pair_open(&pair, 3);
    pair_post(&pair, 1, &recv);
    (void)leave_slots(&pair, 2);
    pair_post(&pair, 0, &send);
    (void)hki_p2p_progress(pair.p2ps[1], true);
    assert_false(send.is_done);
    assert_false(recv.is_done);
    for (int r = 0; r < 3; r++) {
        hki_p2p_cancel(pair.p2ps[r], HK_ERR_ABORTED);
    }
    assert_true(send.is_done && send.status == HK_ERR_ABORTED);
    assert_true(recv.is_done && recv.status == HK_ERR_ABORTED);
    pair_close(&pair);
    assert_int_equal(hki_alloc_live(), 0);
}

/** The receiver has no memory to keep a message; both learn of it. */
static void want_of_memory_for_a_message_ends_the_group(void **state)
{
    pair_t pair;
    hki_p2p_op_t send = pair_op(true, 1, 7, g_out, MESSAGE_BYTES);
    hki_failure_t failure;

    (void)state;
    fill();
    pair_open(&pair, 2);
    pair_post(&pair, 0, &send);
    hki_alloc_fail_at(1);
    (void)hki_p2p_progress(pair.p2ps[1], true);
    hki_alloc_fail_at(0);
    pair.eps[0]->ops->failure(pair.eps[0], &failure);
    assert_int_equal(failure.status, HK_ERR_NO_MEMORY);
    assert_int_equal(failure.rank, 1);
    pair_close(&pair);
    assert_int_equal(hki_alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_many_tiles_arrives_whenever_its_receive_is_posted),
        cmocka_unit_test(a_peer_that_does_not_look_leaves_slots_to_others),
        cmocka_unit_test(a_message_cut_short_ends_with_the_group),
        cmocka_unit_test(want_of_memory_for_a_message_ends_the_group),
    };

    return cmocka_run_group_tests_name("comm/p2p_slots", tests, NULL, NULL);
}
