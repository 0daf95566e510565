/*
 * The short way. Method: two ranks on one thread; whatever is in the way of an operation must send
 * it the long way, with nothing done and nothing lost.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "p2p_pair.h"

enum { BYTES = 24, LARGE_BYTES = 2000 };

static unsigned char g_out[LARGE_BYTES] = {1, 2, 3, 4, 5, 6, 7};
static unsigned char g_in[LARGE_BYTES];

static hk_status_t now(pair_t *pair, int rank, bool is_send, uint32_t tag, size_t bytes)
{
    const hki_p2p_op_t op =
        pair_op(is_send, 1 - rank, tag, is_send ? (void *)g_out : (void *)g_in, bytes);

    return hki_p2p_now(pair->p2ps[rank], &op);
}

/** Post a receive of what must be there already, the long way. */
static void take(pair_t *pair, int rank, uint32_t tag, size_t bytes)
{
    hki_p2p_op_t op = pair_op(false, 1 - rank, tag, g_in, bytes);

    pair_post(pair, rank, &op);
    assert_true(op.is_done && op.status == HK_OK);
}

static void what_is_there_is_taken_at_once(void **state)
{
    pair_t pair;

    (void)state;
    pair_open(&pair, 2);
    hki_p2p_op_t first = pair_op(true, 1, 0, g_out, LARGE_BYTES); // its slots
    pair_post(&pair, 0, &first);
    take(&pair, 1, 0, LARGE_BYTES);
    for (int i = 0; i < 100; i++) {
        const size_t bytes = i % 3 == 0 ? 0 : i % 3 == 1 ? BYTES : LARGE_BYTES;

        g_out[0] = (unsigned char)i;
        g_in[0] = 255;
        assert_ok(now(&pair, 0, true, (uint32_t)i, bytes));
        assert_ok(now(&pair, 1, false, (uint32_t)i, bytes));
        assert_int_equal(g_in[0], bytes == 0 ? 255 : i);
    }
    assert_int_equal(now(&pair, 1, false, 0, BYTES), HK_IN_PROGRESS); // nothing is there
    pair_close(&pair);
    assert_int_equal(hki_alloc_live(), 0);
}

static void another_message_at_the_head_stays_there(void **state)
{
    pair_t pair;

    (void)state;
    pair_open(&pair, 2);
    assert_ok(now(&pair, 0, true, 5, BYTES));
    assert_int_equal(now(&pair, 1, false, 6, BYTES), HK_IN_PROGRESS);     // tag
    assert_int_equal(now(&pair, 1, false, 5, BYTES - 1), HK_IN_PROGRESS); // count
    hki_p2p_op_t other = pair_op(false, 0, 5, g_in, BYTES);
    other.dtype = HK_I8;
    assert_int_equal(hki_p2p_now(pair.p2ps[1], &other), HK_IN_PROGRESS);
    assert_ok(now(&pair, 1, false, 5, BYTES));
    pair_close(&pair);
}

static void who_came_before_is_served_before(void **state)
{
    pair_t pair;

    (void)state;
    pair_open(&pair, 2);
    hki_p2p_op_t posted = pair_op(false, 0, 5, g_in, BYTES);
    pair_post(&pair, 1, &posted);
    assert_ok(now(&pair, 0, true, 5, BYTES));
    assert_int_equal(now(&pair, 1, false, 5, BYTES), HK_IN_PROGRESS);
    pair_settle(&pair);
    assert_true(posted.is_done);
    // a message that was kept comes before those that are still on their way
    assert_ok(now(&pair, 0, true, 5, BYTES));
    pair_settle(&pair);
    assert_ok(now(&pair, 0, true, 5, 0));
    assert_int_equal(now(&pair, 1, false, 5, 0), HK_IN_PROGRESS);
    take(&pair, 1, 5, BYTES);
    assert_ok(now(&pair, 1, false, 5, 0));
    pair_close(&pair);
    assert_int_equal(hki_alloc_live(), 0);
}

static void a_full_stream_makes_sends_queue(void **state)
{
    pair_t pair;
    int sent = 0;

    (void)state;
    pair_open(&pair, 2);
    while (now(&pair, 0, true, 5, (size_t)(sent % BYTES)) == HK_OK) {
        sent++;
    }
    hki_p2p_op_t queued = pair_op(true, 1, 5, g_out, (size_t)(sent % BYTES));
    pair_post(&pair, 0, &queued);
    assert_false(queued.is_done);
    take(&pair, 1, 5, 0);
    (void)hki_p2p_progress(pair.p2ps[1], true); // makes room; but the other is first
    assert_int_equal(now(&pair, 0, true, 5, BYTES), HK_IN_PROGRESS);
    pair_settle(&pair);
    assert_true(queued.is_done);
    for (int i = 1; i <= sent; i++) {
        take(&pair, 1, 5, (size_t)(i % BYTES));
    }
    pair_close(&pair);
    assert_int_equal(hki_alloc_live(), 0);
}

static void what_is_not_short_goes_the_long_way(void **state)
{
    pair_t pair;
    static unsigned char large[HKI_TILE_BYTES + 1];
    const hki_p2p_op_t long_send = pair_op(true, 1, 0, large, sizeof(large));
    const hki_p2p_op_t to_oneself = pair_op(true, 0, 0, large, BYTES);

    (void)state;
    pair_open(&pair, 2);
    assert_int_equal(hki_p2p_now(pair.p2ps[0], &long_send), HK_IN_PROGRESS);
    assert_int_equal(hki_p2p_now(pair.p2ps[0], &to_oneself), HK_IN_PROGRESS);
    assert_int_equal(now(&pair, 0, true, 0, LARGE_BYTES), HK_IN_PROGRESS); // no slots yet
    (pair.eps[1]->ops->fail)(pair.eps[1], HK_ERR_ABORTED, 1, "the test");  // fail is a macro
    assert_int_equal(now(&pair, 0, true, 0, BYTES), HK_ERR_ABORTED);
    assert_int_equal(now(&pair, 0, false, 0, BYTES), HK_ERR_ABORTED);
    hki_p2p_cancel(pair.p2ps[0], HK_ERR_ABORTED);
    assert_int_equal(now(&pair, 0, true, 0, BYTES), HK_IN_PROGRESS); // post tells why
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_taken_at_once),
        cmocka_unit_test(another_message_at_the_head_stays_there),
        cmocka_unit_test(who_came_before_is_served_before),
        cmocka_unit_test(a_full_stream_makes_sends_queue),
        cmocka_unit_test(what_is_not_short_goes_the_long_way),
    };

    return cmocka_run_group_tests_name("comm/p2p_now", tests, NULL, NULL);
}
