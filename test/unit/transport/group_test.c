/**
 * @file group_test.c
 * @brief Method: memory and groups come and go many times; what is given back must be found again.
 */
#include "unit/transport/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void shared_memory_is_zeroed_and_given_back(void **state)
{
    hki_endpoint_t *ep;
    unsigned char *first = NULL;
    void *all[50] = {NULL};

    (void)state;
    open_ranks(2);
    ep = g_eps[1];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            void *p = NULL;
            assert_ok(ep->ops->mem_alloc(ep, i * 1000, &p));
            assert_int_equal((uintptr_t)p % 4096, 0);
            for (size_t k = 0; k < i * 1000; k++) {
                assert_int_equal(((unsigned char *)p)[k], 0);
            }
            memset(p, 0xff, i * 1000);
            all[i] = p;
        }
        if (round == 0) {
            first = all[0];
        }
        assert_ptr_equal(all[0], first); // nothing is lost from round to round
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            ep->ops->mem_free(ep, all[(i * 7) % ARRAY_LEN(all)]);
        }
    }
    void *untouched = all;
    assert_int_equal(ep->ops->mem_alloc(ep, (size_t)1 << 50, &untouched), HK_ERR_NO_MEMORY);
    assert_ptr_equal(untouched, all);
    (void)hki_log_take_count();
    ep->ops->mem_free(ep, (char *)first + 4096);
    assert_int_equal(hki_log_take_count(), 1);
}

static void a_subgroup_of_members_in_any_order_works(void **state)
{
    const int ranks[] = {3, 0, 2};
    hki_endpoint_t *sub[3] = {NULL};
    const hki_envelope_t envelope = {0};
    hki_message_t message;
    uint64_t handle = 0;
    uint64_t ticket;

    (void)state;
    open_ranks(4);
    for (int round = 0; round < 20; round++) {
        assert_ok(g_eps[3]->ops->group_offer(g_eps[3], 3, &handle));
        for (int i = 0; i < 3; i++) {
            hki_endpoint_t *old = g_eps[ranks[i]];
            assert_ok(old->ops->group_join(old, ranks, 3, i, handle, &sub[i]));
            assert_int_equal(sub[i]->rank, i);
            assert_int_equal(sub[i]->nranks, 3);
        }
        assert_ok(sub[0]->ops->send(sub[0], 1, 2, &envelope, &round, sizeof(round), 0, &ticket));
        assert_ok(sub[2]->ops->peek(sub[2], 1, 0, &message));
        assert_memory_equal(message.payload, &round, sizeof(round));
        assert_int_equal(sub[2]->ops->peek(sub[2], 1, 1, &message), HK_IN_PROGRESS);
        for (int i = 0; i < 3; i++) {
            sub[(i + round) % 3]->ops->close(sub[(i + round) % 3]);
        }
    }
    hki_endpoint_t *untouched = g_eps[0];
    assert_int_equal(g_eps[0]->ops->group_join(g_eps[0], ranks, 3, 0, handle + 12345, &untouched),
                     HK_ERR_INTERNAL);
    assert_ptr_equal(untouched, g_eps[0]);
}

/** Rank 1 closes while rank 0 may still read its memory; both times in both orders. */
static void lent_memory_comes_back_when_all_have_left(void **state)
{
    const int ranks[] = {0, 1};
    void *first = NULL;
    void *probe = NULL;

    (void)state;
    open_ranks(2);
    for (int round = 0; round < 40; round++) {
        hki_endpoint_t *sub[2] = {NULL};
        uint64_t handle = 0;
        void *lent = NULL;
        void *other = NULL;
        void *behind = NULL;
        void *again = NULL;

        assert_ok(g_eps[0]->ops->group_offer(g_eps[0], 2, &handle));
        for (int r = 0; r < 2; r++) {
            assert_ok(g_eps[r]->ops->group_join(g_eps[r], ranks, 2, r, handle, &sub[r]));
        }
        assert_ok(sub[1]->ops->mem_alloc(sub[1], 100000, &lent));
        assert_ok(g_eps[1]->ops->mem_alloc(g_eps[1], 4096, &behind)); // so that it leaves a hole
        memset(lent, 0x3c, 100000);
        if (round % 2 == 1) {
            sub[0]->ops->close(sub[0]);
        }
        sub[1]->ops->mem_lend(sub[1], lent);
        sub[1]->ops->close(sub[1]);
        if (round % 2 == 0) {
            assert_ok(g_eps[1]->ops->mem_alloc(g_eps[1], 100000, &other)); // not that one
            assert_ptr_not_equal(other, lent);
            for (size_t i = 0; i < 100000; i++) {
                assert_int_equal(((unsigned char *)lent)[i], 0x3c);
            }
            g_eps[1]->ops->mem_free(g_eps[1], other);
            sub[0]->ops->close(sub[0]);
        }
        // who takes the hole has it for good, whatever is swept later
        assert_ok(g_eps[1]->ops->mem_alloc(g_eps[1], 100000, &again));
        memset(again, 0x5d, 100000);
        assert_ok(g_eps[1]->ops->mem_alloc(g_eps[1], 2000000, &probe));
        for (size_t i = 0; i < 100000; i++) {
            assert_int_equal(((unsigned char *)again)[i], 0x5d);
        }
        g_eps[1]->ops->mem_free(g_eps[1], again);
        g_eps[1]->ops->mem_free(g_eps[1], behind);
        first = round == 0 ? probe : first;
        assert_ptr_equal(probe, first); // nothing is lost from round to round
        g_eps[1]->ops->mem_free(g_eps[1], probe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(shared_memory_is_zeroed_and_given_back),
        RANKS_TEST(lent_memory_comes_back_when_all_have_left),
        RANKS_TEST(a_subgroup_of_members_in_any_order_works),
    };
    return cmocka_run_group_tests_name("transport/group", tests, NULL, NULL);
}
