/*
 * Plans: the cache, tiles that fit, and that nothing is allocated for an operation whose kind was
 * seen before.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "comm/comm.h"
#include "exec/brief.h"

enum { MANY = 3 * HKI_PLANS_SETS * HKI_PLANS_WAYS };

static hk_comm_t *open_one(size_t segment_bytes)
{
    hk_comm_opts_t opts = hk_comm_opts_default();
    hk_comm_t *comm = NULL;

    opts.segment_bytes = segment_bytes;
    assert_ok(hk_comm_open_threads(&opts, 1, &comm));
    return comm;
}

static hki_plan_key_t key_of(uint64_t count)
{
    const hki_plan_key_t key = {.count = count,
                                .coll = HKI_COLL_ALL_REDUCE,
                                .dtype = HK_F32,
                                .op = HK_SUM,
                                .alias = HK_ALIAS_NONE,
                                .order = HK_ORDER_TREE};

    return key;
}

static void equal_keys_share_a_plan(void **state)
{
    hk_comm_t *comm = open_one(0);
    const hki_plan_key_t key = key_of(10);
    hki_plan_key_t other = key;
    hki_plan_t *first = NULL;
    hki_plan_t *second = NULL;
    hki_plan_t *third = NULL;

    (void)state;
    other.dtype = HK_I32;
    assert_ok(hki_plan_get(comm, &key, &first));
    assert_ok(hki_plan_get(comm, &other, &second));
    assert_ok(hki_plan_get(comm, &key, &third));
    assert_ptr_equal(first, third);
    assert_ptr_not_equal(first, second);
    assert_int_not_equal(first->check, second->check);
    assert_int_equal(first->users, 2);
    hki_plan_put(first);
    hki_plan_put(second);
    hki_plan_put(third);
    hk_comm_close(&comm);
}

static void the_cache_is_bounded_and_keeps_plans_in_use(void **state)
{
    const size_t live = hki_alloc_live();
    hk_comm_t *comm = open_one(0);
    hki_plan_t *kept[MANY];
    size_t most = 0;

    (void)state;
    for (uint64_t i = 0; i < MANY; i++) { // all in use: none may be thrown out
        const hki_plan_key_t key = key_of(i + 1);

        assert_ok(hki_plan_get(comm, &key, &kept[i]));
    }
    for (uint64_t i = 0; i < MANY; i++) {
        assert_int_equal(kept[i]->key.count, i + 1);
        hki_plan_put(kept[i]);
    }
    for (uint64_t i = 0; i < 3 * MANY; i++) {
        const hki_plan_key_t key = key_of(i + 1);
        hki_plan_t *plan = NULL;

        assert_ok(hki_plan_get(comm, &key, &plan));
        hki_plan_put(plan);
        most = hki_alloc_live() > most ? hki_alloc_live() : most;
        if (i == MANY) {
            most = hki_alloc_live();
        }
    }
    assert_in_range(hki_alloc_live(), 1, most);
    hk_comm_close(&comm);
    assert_in_range(hki_alloc_live(), 0, live + 1);
}

static void a_kind_of_operation_allocates_only_once(void **state)
{
    hk_comm_t *comm = open_one(0);
    int32_t in[7] = {1, 2, 3, 4, 5, 6, 7};
    int32_t out[7] = {0};
    const size_t counts[] = {7};

    (void)state;
    for (int round = 0; round < 3; round++) {
        hki_alloc_fail_at(round == 0 ? 0 : 1); // any allocation would fail
        assert_ok(hk_all_reduce(comm, in, out, 7, HK_I32, HK_SUM, NULL, NULL));
        assert_ok(hk_all_reduce(comm, in, in, 7, HK_I32, HK_MAX, NULL, NULL));
        assert_ok(hk_broadcast(comm, in, out, 7, HK_I32, 0, NULL, NULL));
        assert_ok(hk_all_gatherv(comm, in, out, counts, NULL, HK_I32, NULL, NULL));
        assert_ok(hk_barrier(comm, NULL, NULL));
        hki_alloc_fail_at(0);
    }
    assert_memory_equal(in, out, sizeof(in));
    hk_comm_close(&comm);
}

static void tiles_are_equal_and_fit_half_of_the_staging_memory(void **state)
{
    const uint64_t counts[] = {1, 1000, 100003, 1000000};
    int algo_count = 0;
    const hki_algo_t *algos = hki_algo_all(&algo_count);
    hk_comm_t *comms[5] = {NULL};
    hk_comm_opts_t opts = hk_comm_opts_default();

    (void)state;
    opts.segment_bytes = 256 << 10;
    assert_ok(hk_comm_open_threads(&opts, 5, comms));
    for (int a = 0; a < algo_count; a++) {
        for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
            hki_plan_key_t key = key_of(counts[c]);
            hki_plan_t *plans[5];

            key.coll = (uint8_t)algos[a].coll;
            key.algo = &algos[a];
            key.order = HK_ORDER_ANY;
            for (int r = 0; r < 5; r++) {
                const hk_status_t status = hki_plan_get(comms[r], &key, &plans[r]);

                if (status != HK_OK) {
                    fail_msg("%s by %s, count %zu: %s", hki_coll_name(algos[a].coll), algos[a].name,
                             (size_t)counts[c], hk_last_error());
                }
                assert_int_equal(plans[r]->tile_count, plans[0]->tile_count);
                assert_int_equal(plans[r]->check, plans[0]->check);
            }
            const size_t tiles = plans[0]->ntiles;
            const size_t tile = plans[0]->tile_count;
            if ((tiles - 1) * tile >= counts[c] || tiles * tile < counts[c] ||
                tiles * tile - counts[c] >= tile + tiles) {
                fail_msg("%s by %s, count %zu: %zu tiles of %zu", hki_coll_name(algos[a].coll),
                         algos[a].name, (size_t)counts[c], tiles, tile);
            }
            for (int r = 0; r < 5; r++) {
                hki_plan_put(plans[r]);
            }
        }
    }
    for (int r = 0; r < 5; r++) {
        hk_comm_close(&comms[r]);
    }
}

static void a_barrier_goes_by_the_algorithm_that_is_asked_for(void **state)
{
    const char *const names[] = {"direct", "dissemination", "tree"};
    hk_comm_t *comms[3] = {NULL};
    hki_plan_key_t key = {.coll = HKI_COLL_BARRIER};

    (void)state;
    assert_ok(hk_comm_open_threads(NULL, 3, comms));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        hki_plan_t *plan = NULL;

        key.algo = hki_algo_find(HKI_COLL_BARRIER, names[i]);
        assert_ok(hki_plan_get(comms[1], &key, &plan));
        assert_non_null(strstr(plan->schedule->name, names[i]));
        assert_non_null(plan->brief);
        hki_plan_put(plan);
    }
    for (int r = 0; r < 3; r++) {
        hk_comm_close(&comms[r]);
    }
}

/** Casts: see hki_schedule_is_cast(). */
static void calls_of_few_bytes_are_cast_where_all_send_to_all(void **state)
{
    const struct {
        hki_coll_t coll;
        const char *algo;
        bool is_cast;
    } cases[] = {
        {HKI_COLL_ALL_REDUCE, "direct", true},    {HKI_COLL_BROADCAST, "direct", true},
        {HKI_COLL_ALL_GATHER, "direct", true},    {HKI_COLL_BARRIER, "direct", true},
        {HKI_COLL_ALL_REDUCE, "doubling", false}, {HKI_COLL_SCATTER, "direct", false},
        {HKI_COLL_GATHER, "direct", false},       {HKI_COLL_ALL_TO_ALL, "direct", false},
    };

    (void)state;
    for (int nranks = 2; nranks <= 5; nranks++) {
        hk_comm_t *comms[5] = {NULL};

        assert_ok(hk_comm_open_threads(NULL, nranks, comms));
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            hki_plan_key_t key = key_of(cases[i].coll == HKI_COLL_BARRIER ? 0 : 2);
            hki_plan_t *plan = NULL;

            key.coll = (uint8_t)cases[i].coll;
            key.algo = hki_algo_find(cases[i].coll, cases[i].algo);
            assert_ok(hki_plan_get(comms[1], &key, &plan));
            assert_non_null(plan->brief);
            assert_int_equal(plan->brief->is_cast, cases[i].is_cast && nranks > 2);
            hki_plan_put(plan);
        }
        for (int r = 0; r < nranks; r++) {
            hk_comm_close(&comms[r]);
        }
    }
}

static void signatures_are_readable(void **state)
{
    hk_comm_t *comm = open_one(0);
    hki_plan_key_t key = key_of(5);
    hki_plan_t *plan = NULL;

    (void)state;
    assert_ok(hki_plan_get(comm, &key, &plan));
    assert_ptr_equal(strstr(plan->signature, "all_reduce count 5 f32 sum ("), plan->signature);
    hki_plan_put(plan);
    key.coll = HKI_COLL_BROADCAST;
    assert_ok(hki_plan_get(comm, &key, &plan));
    assert_ptr_equal(strstr(plan->signature, "broadcast count 5 f32 root 0 ("), plan->signature);
    assert_false(plan->hears_all);
    assert_false(plan->is_agreed);
    hki_plan_put(plan);
    hk_comm_close(&comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_keys_share_a_plan),
        cmocka_unit_test(the_cache_is_bounded_and_keeps_plans_in_use),
        cmocka_unit_test(a_kind_of_operation_allocates_only_once),
        cmocka_unit_test(tiles_are_equal_and_fit_half_of_the_staging_memory),
        cmocka_unit_test(a_barrier_goes_by_the_algorithm_that_is_asked_for),
        cmocka_unit_test(calls_of_few_bytes_are_cast_where_all_send_to_all),
        cmocka_unit_test(signatures_are_readable),
    };

    return cmocka_run_group_tests_name("comm/plan", tests, NULL, NULL);
}
