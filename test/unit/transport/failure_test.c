/**
 * @file failure_test.c
 * @brief Method: two failures in a row; every call of every rank must report the first.
 */
#include "unit/transport/ranks.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(the_first_failure_stands_for_all),
    };
    return cmocka_run_group_tests_name("transport/failure", tests, NULL, NULL);
}
