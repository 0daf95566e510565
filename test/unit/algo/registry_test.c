/**
 * @file registry_test.c
 * @brief Tests of src/algo/registry.c, build.c and cost.c.
 *
 * Method: properties of the table that others rely on, and the choice at sizes where it is plain
 * what is cheapest.
 */
#include "coll_case.h"

#include "algo/build.h"

static void names_are_unique_within_a_collective_and_found(void **state)
{
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);
    (void)state;

    assert_true(count > 25);
    for (int i = 0; i < count; i++) {
        assert_ptr_equal(hki_algo_find(algos[i].coll, algos[i].name), &algos[i]);
    }
    assert_null(hki_algo_find(HKI_COLL_BROADCAST, "ring"));
    assert_string_equal(hki_coll_name(HKI_COLL_ALL_TO_ALL), "all_to_all");
    assert_string_equal(hki_coll_name(HKI_COLL_COUNT), "?");
}

static hki_costs_t costs_of(const hki_cost_params_t *params)
{
    hki_costs_t costs;

    hki_costs_init(&costs, params);
    return costs;
}

static void every_collective_has_one_in_block_form_and_tree_order(void **state)
{
    const hki_costs_t costs =
        costs_of(&(hki_cost_params_t){.alpha_ns = 300, .beta_ns = 0.1, .gamma_ns = 0.05});
    (void)state;

    for (int coll = 0; coll < HKI_COLL_COUNT; coll++) {
        for (int nranks = 1; nranks <= 9; nranks++) {
            const hki_algo_t *algo =
                hki_algo_choose((hki_coll_t)coll, &costs, nranks, 1e3, false, true);

            assert_true(algo->coll == (hki_coll_t)coll && algo->is_block_form);
            assert_true(algo->is_tree_order);
        }
    }
}

static void latency_decides_small_sizes_and_bytes_large_ones(void **state)
{
    const hki_costs_t costs =
        costs_of(&(hki_cost_params_t){.alpha_ns = 1000, .beta_ns = 0.1, .gamma_ns = 0.1});
    const hki_coll_t coll = HKI_COLL_ALL_REDUCE;
    (void)state;

    assert_string_equal(hki_algo_choose(coll, &costs, 16, 8, false, false)->name, "doubling");
    assert_string_equal(hki_algo_choose(coll, &costs, 16, 1e8, false, false)->name, "halving");
    assert_string_equal(hki_algo_choose(HKI_COLL_BROADCAST, &costs, 16, 8, false, false)->name,
                        "binomial");
    assert_string_equal(hki_algo_choose(HKI_COLL_ALL_TO_ALL, &costs, 16, 8, false, false)->name,
                        "bruck");
    assert_string_equal(hki_algo_choose(HKI_COLL_ALL_TO_ALL, &costs, 16, 1e6, false, false)->name,
                        "direct");
}

static void an_algorithm_of_any_order_is_chosen_only_on_request(void **state)
{
    // only messages cost: in canonical order none has fewer than the ring's one on two ranks
    const hki_costs_t costs =
        costs_of(&(hki_cost_params_t){.alpha_ns = 1, .beta_ns = 1, .gamma_ns = 1});
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);
    (void)state;

    for (int coll = 0; coll < HKI_COLL_COUNT; coll++) {
        for (double bytes = 1; bytes < 1e9; bytes *= 10) {
            const hki_algo_t *algo =
                hki_algo_choose((hki_coll_t)coll, &costs, 5, bytes, false, false);
            const hki_algo_t *any =
                hki_algo_choose((hki_coll_t)coll, &costs, 5, bytes, true, false);

            assert_true(algo->is_tree_order);
            assert_true(hki_algo_time(any, &costs, 5, bytes) <=
                        hki_algo_time(algo, &costs, 5, bytes));
        }
    }
    for (int i = 0; i < count; i++) { // the ring is any, all else canonical
        const bool is_ring_sum =
            strcmp(algos[i].name, "ring") == 0 && algos[i].coll != HKI_COLL_ALL_GATHER;
        assert_int_equal(algos[i].is_tree_order, !is_ring_sum);
    }
}

static void trees_of_ranks_hold_together(void **state)
{
    (void)state;

    for (int nranks = 1; nranks <= 40; nranks++) {
        assert_int_equal(hki_tree_size(0, nranks), nranks);
        for (int v = 1; v < nranks; v++) {
            const int parent = hki_tree_parent(v);
            const int d = v - parent;

            assert_true(d > 0 && (d & (d - 1)) == 0 && d < hki_tree_reach(parent, nranks));
            assert_true(v + hki_tree_size(v, nranks) <= parent + hki_tree_size(parent, nranks));
        }
    }
    assert_int_equal(hki_rounds(1), 0);
    assert_int_equal(hki_rounds(5), 3);
    assert_int_equal(hki_power_floor(7), 4);
    assert_int_equal(hki_mod(-3, 5), 2);
}

static void scratch_that_overflows_is_refused(void **state)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_schedule_t *schedule = NULL;
    (void)state;

    opts.nranks = 4;
    opts.count = SIZE_MAX / 2;
    assert_int_equal(hki_all_gather_bruck(&opts, &schedule), HK_ERR_LIMIT);
    assert_null(schedule);
}

static void every_algorithm_refuses_a_rank_outside_the_group(void **state)
{
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);
    (void)state;

    for (int i = 0; i < count; i++) {
        hk_schedule_opts_t opts = hk_schedule_opts_default();
        hk_schedule_t *schedule = NULL;

        opts.nranks = 4;
        opts.rank = 4;
        opts.count = 8;
        assert_int_equal(algos[i].build(&opts, &schedule), HK_ERR_INVALID_ARG);
        assert_null(schedule);
    }
}

static void the_document_names_every_algorithm(void **state)
{
    hki_text_t text = {0};
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);
    (void)state;

    hki_algo_write_markdown(&text);
    for (int i = 0; i < count; i++) {
        assert_non_null(strstr(text.data, algos[i].text));
    }
    assert_non_null(strstr(text.data, "| `doubling` | small messages, many ranks; log2 P rounds | "
                                      "canonical | no | 3 | 3 n | 3 n |\n"));
    hki_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_within_a_collective_and_found),
        cmocka_unit_test(every_collective_has_one_in_block_form_and_tree_order),
        cmocka_unit_test(latency_decides_small_sizes_and_bytes_large_ones),
        cmocka_unit_test(an_algorithm_of_any_order_is_chosen_only_on_request),
        cmocka_unit_test(trees_of_ranks_hold_together),
        cmocka_unit_test(scratch_that_overflows_is_refused),
        cmocka_unit_test(every_algorithm_refuses_a_rank_outside_the_group),
        cmocka_unit_test(the_document_names_every_algorithm),
    };
    return cmocka_run_group_tests_name("algo/registry", tests, NULL, NULL);
}
