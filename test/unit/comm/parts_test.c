/*
 * Parts of the machine, as a communicator sees them. Method: an endpoint of which nothing is there
 * but the homes of its ranks.
 */
#include "support/hk_test.h"

#include "base/alloc.h"
#include "comm/fit.h"
#include "comm/parts.h"

enum { RANKS_MAX = 256 };

static hki_home_t g_homes[RANKS_MAX];

static hki_home_t home_of(const hki_endpoint_t *ep, int rank)
{
    assert_true(rank >= 0 && rank < ep->nranks);
    return g_homes[rank];
}

static const hki_endpoint_ops_t ops = {.home = home_of};

/** Ranks in equal blocks. */
static hki_endpoint_t fabricate(int nranks, int ncaches, int nmemories)
{
    for (int r = 0; r < nranks; r++) {
        g_homes[r].part[HKI_HOME_CACHE] = r * ncaches / nranks;
        g_homes[r].part[HKI_HOME_MEMORY] = r * nmemories / nranks;
    }
    return (hki_endpoint_t){.ops = &ops, .nranks = nranks};
}

static void assert_levels(const hki_endpoint_t *ep, bool has_caches, bool has_memories)
{
    hki_parts_t parts;

    assert_ok(hki_parts_init(&parts, ep));
    assert_int_equal(hki_parts_are(&parts, HKI_CROSS_CACHE), has_caches);
    assert_int_equal(hki_parts_are(&parts, HKI_CROSS_MEMORY), has_memories);
    hki_parts_fini(&parts);
    assert_int_equal(hki_alloc_live(), 0);
}

static void levels_count_where_there_is_something_to_tell_apart(void **state)
{
    hki_endpoint_t ep = fabricate(8, 4, 2);

    (void)state;
    assert_levels(&ep, true, true);
    ep = fabricate(8, 2, 1);
    assert_levels(&ep, true, false);
    ep = fabricate(8, 8, 4);
    assert_levels(&ep, false, true); // each rank has a cache of its own
    ep = fabricate(1, 1, 1);
    assert_levels(&ep, false, false);
    ep = fabricate(2, 2, 2);
    assert_levels(&ep, false, false);
    ep = fabricate(8, 4, 2);
    g_homes[7].part[HKI_HOME_CACHE] = -1; // somebody is not bound
    assert_levels(&ep, false, true);
    ep = fabricate(HKI_PARTS_RANKS_MAX, 2, 2);
    assert_levels(&ep, true, true);
    ep = fabricate(HKI_PARTS_RANKS_MAX + 1, 2, 2);
    assert_levels(&ep, false, false);
}

static void assert_near(const hki_endpoint_t *ep, int want)
{
    hki_parts_t parts;

    assert_ok(hki_parts_init(&parts, ep));
    assert_int_equal(parts.near_ranks, want);
    hki_parts_fini(&parts);
}

static void ranks_in_blocks_are_near_each_other(void **state)
{
    hki_endpoint_t ep = fabricate(8, 4, 2);

    (void)state;
    assert_near(&ep, 4); // of the outer level
    ep = fabricate(8, 4, 1);
    assert_near(&ep, 2);
    ep = fabricate(8, 1, 1);
    assert_near(&ep, 1);
    ep = fabricate(8, 8, 8);
    assert_near(&ep, 1);
    ep = fabricate(8, 1, 2);
    g_homes[3].part[HKI_HOME_MEMORY] = 1;
    assert_near(&ep, 1); // 3 and 5 are no blocks of 3
    g_homes[6].part[HKI_HOME_MEMORY] = 7;
    g_homes[7].part[HKI_HOME_MEMORY] = 7;
    assert_near(&ep, 3); // 3, 3 and 2 are
    g_homes[6].part[HKI_HOME_MEMORY] = 0;
    g_homes[7].part[HKI_HOME_MEMORY] = 0;
    assert_near(&ep, 1); // the first part comes again
    for (int r = 0; r < 8; r++) {
        g_homes[r].part[HKI_HOME_MEMORY] = r % 2;
    }
    assert_near(&ep, 1);
}

static void one_part_changes_no_cost(void **state)
{
    const hki_endpoint_t ep = fabricate(8, 1, 1);
    hki_parts_t parts;
    hki_costs_t costs;
    hki_costs_t preset;

    (void)state;
    hki_fit_preset("shm", 8, &preset);
    costs = preset;
    assert_ok(hki_parts_init(&parts, &ep));
    for (int coll = 0; coll < HKI_COLL_COUNT; coll++) {
        assert_ok(hki_parts_cross(&parts, (hki_coll_t)coll, &costs));
    }
    assert_memory_equal(&costs, &preset, sizeof(costs));
    hki_parts_fini(&parts);
}

static void a_collective_is_counted_once_and_alone(void **state)
{
    const hki_endpoint_t ep = fabricate(8, 4, 2);
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);
    hki_parts_t parts;
    hki_costs_t costs;

    (void)state;
    hki_fit_preset("shm", 8, &costs);
    assert_ok(hki_parts_init(&parts, &ep));
    assert_ok(hki_parts_cross(&parts, HKI_COLL_ALL_REDUCE, &costs));
    for (int i = 0; i < count; i++) {
        assert_int_equal(costs.far[i].ns > 0.0, algos[i].coll == HKI_COLL_ALL_REDUCE);
    }
    const size_t allocated = hki_alloc_live();
    hki_alloc_fail_at(1); // not again
    assert_ok(hki_parts_cross(&parts, HKI_COLL_ALL_REDUCE, &costs));
    hki_alloc_fail_at(0);
    assert_int_equal(hki_alloc_live(), allocated);
    hki_parts_fini(&parts);
}

static void any_allocation_may_fail(void **state)
{
    const hki_endpoint_t ep = fabricate(4, 2, 2);
    hki_costs_t costs;

    (void)state;
    for (int i = 1; i < 1000; i++) {
        hki_parts_t parts = {.nranks = 0};
        hki_fit_preset("shm", 4, &costs);
        hki_alloc_fail_at((size_t)i);
        hk_status_t status = hki_parts_init(&parts, &ep);
        if (status == HK_OK) {
            status = hki_parts_cross(&parts, HKI_COLL_BROADCAST, &costs);
        }
        hki_alloc_fail_at(0);
        hki_parts_fini(&parts);
        assert_int_equal(hki_alloc_live(), 0);
        if (status == HK_OK) {
            assert_true(i > 4);
            return;
        }
        assert_int_equal(status, HK_ERR_NO_MEMORY);
    }
    fail_msg("never succeeds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_count_where_there_is_something_to_tell_apart),
        cmocka_unit_test(ranks_in_blocks_are_near_each_other),
        cmocka_unit_test(one_part_changes_no_cost),
        cmocka_unit_test(a_collective_is_counted_once_and_alone),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("comm/parts", tests, NULL, NULL);
}
