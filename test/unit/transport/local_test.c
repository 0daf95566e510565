/**
 * @file local_test.c
 * @brief Method: open with every allocation failing in turn.
 */
#include "unit/transport/ranks.h"

static void any_allocation_may_fail(void **state)
{
    const hki_transport_opts_t opts = local_opts();
    hki_endpoint_t *eps[3] = {NULL};
    size_t n = 0;
    hk_status_t status = HK_ERR_NO_MEMORY;

    (void)state;
    while (status == HK_ERR_NO_MEMORY) {
        hki_alloc_fail_at(++n);
        status = hki_local_open(&opts, 3, eps);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("transport/local", tests, NULL, NULL);
}
