/**
 * @file notice_test.c
 * @brief Method: more announcements than are kept, across the wrap of their numbers; ranks that
 *        wait and one that does not.
 */
#include "transport/segment/layout.h"
#include "unit/transport/ranks.h"

#include <stdio.h>

static void announcements_are_kept_for_a_while_and_never_confused(void **state)
{
    hki_announcement_t got;

    (void)state;
    open_ranks(2);
    assert_int_equal(g_eps[1]->ops->announced(g_eps[1], 0, 0, &got), HK_IN_PROGRESS);
    for (uint32_t n = 0; n < 3 * HKI_ANNOUNCEMENTS; n++) {
        const uint32_t op = n + UINT32_MAX - HKI_ANNOUNCEMENTS - 100; // also across the wrap
        hki_announcement_t said = {.op_number = op, .check = n, .call = n};
        (void)snprintf(said.signature, sizeof(said.signature), "op %u", op);
        g_eps[0]->ops->announce(g_eps[0], &said, true);
        assert_ok(g_eps[1]->ops->announced(g_eps[1], 0, op, &got));
        assert_memory_equal(&got, &said, sizeof(got));
        assert_int_equal(g_eps[1]->ops->announced(g_eps[1], 0, op + 1, &got), HK_IN_PROGRESS);
        if (n >= HKI_ANNOUNCEMENTS) {
            const uint32_t oldest = op - HKI_ANNOUNCEMENTS + 1;

            assert_ok(g_eps[1]->ops->announced(g_eps[1], 0, oldest, &got));
            assert_int_equal(g_eps[1]->ops->announced(g_eps[1], 0, oldest - 1, &got), HK_ERR_LIMIT);
        }
    }
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
    for (int i = 0; i < 2200; i++) { // all three, so that no sign of life grows old meanwhile
        assert_ok(wait_step(2, &waiter[2], 0));
        assert_ok(wait_step(0, &waiter[0], 1));
        assert_ok(wait_step(1, &waiter[1], 2));
    }
    assert_int_equal(g_eps[0]->ops->blame(g_eps[0], text, sizeof(text)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(announcements_are_kept_for_a_while_and_never_confused),
        RANKS_TEST(blame_finds_the_rank_that_does_not_wait),
    };
    return cmocka_run_group_tests_name("transport/notice", tests, NULL, NULL);
}
