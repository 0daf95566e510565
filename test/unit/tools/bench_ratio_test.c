/*
 * The table of `hocket bench --vs`, from lines as the drivers print them: medians, ratios, targets,
 * and the forms in which it is written.
 */
#include "support/hk_test.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "hocket/bench_ratio.h"

#define LINE(coll, bytes, us)                                                        \
    "{\"coll\":\"" coll "\",\"dtype\":\"f32\",\"bytes\":" #bytes ",\"time_us\":" #us \
    ",\"samples\":5,\"in_place\":true}\n"

static void add(hki_vs_table_t *table, int system, const char *lines, size_t want)
{
    size_t added = 99;

    assert_ok(hki_vs_add(table, 2, system, lines, &added));
    assert_int_equal(added, want);
}

/** Two sizes of all_reduce: hocket 3 turns, Open MPI 2, MPICH 1. */
static void fill(hki_vs_table_t *table)
{
    add(table, HKI_VS_PRIVATE, LINE("all_reduce", 8, 0.5) LINE("all_reduce", 65536, 30), 2);
    add(table, HKI_VS_PRIVATE, LINE("all_reduce", 8, 9.5) LINE("all_reduce", 65536, 18), 2);
    add(table, HKI_VS_PRIVATE, LINE("all_reduce", 8, 0.4) LINE("all_reduce", 65536, 19), 2);
    add(table, HKI_VS_SHARED, LINE("all_reduce", 65536, 5), 1);
    add(table, HKI_VS_OPENMPI, LINE("all_reduce", 8, 1.0) LINE("all_reduce", 65536, 22), 2);
    add(table, HKI_VS_OPENMPI, LINE("all_reduce", 8, 2.0) LINE("all_reduce", 65536, 18), 2);
    add(table, HKI_VS_MPICH, LINE("all_reduce", 8, 1.6), 1);
    assert_int_equal(table->count, 2);
}

static void a_median_of_medians_is_compared_with_the_fastest_peer(void **state)
{
    hki_vs_table_t table = {0};

    (void)state;
    fill(&table);
    assert_true(hki_vs_time(&table.rows[0], HKI_VS_PRIVATE) == 0.5);
    assert_true(hki_vs_time(&table.rows[0], HKI_VS_OPENMPI) == 1.5); // of two: their mean
    assert_true(hki_vs_time(&table.rows[0], HKI_VS_GLOO) == 0.0);
    assert_int_equal(hki_vs_best(&table.rows[0]), HKI_VS_OPENMPI);
    assert_true(hki_vs_ratio(&table.rows[1], HKI_VS_PRIVATE) == 19.0 / 20.0);
    assert_true(hki_vs_ratio(&table.rows[1], HKI_VS_SHARED) == 0.25);
    hki_vs_fini(&table);
}

static void without_peers_there_is_no_ratio(void **state)
{
    hki_vs_table_t table = {0};
    hki_text_t text = {0};
    size_t asked = 9;
    size_t reached = 9;

    (void)state;
    add(&table, HKI_VS_PRIVATE, LINE("gather", 8, 1.0), 1);
    assert_int_equal(hki_vs_best(&table.rows[0]), -1);
    assert_true(hki_vs_ratio(&table.rows[0], HKI_VS_PRIVATE) == 0.0);
    hki_vs_count(&table, &asked, &reached);
    assert_int_equal(asked, 0);
    assert_int_equal(reached, 0);
    hki_vs_print(&table, 0, false, &text);
    assert_null(strchr(text.data, '('));
    hki_text_fini(&text);
    hki_vs_fini(&table);
}

static void targets_depend_on_ranks_size_collective_and_memory(void **state)
{
    static const struct {
        hki_vs_row_t row;
        double private_ratio;
        double shared_ratio;
    } wants[] = {
        {{.nranks = 2, .coll = "all_reduce", .bytes = 8}, 0.65, 0.0},
        {{.nranks = 8, .coll = "all_reduce", .bytes = 65536}, 0.4, 0.3},
        {{.nranks = 4, .coll = "all_reduce", .bytes = 16777216}, 0.9, 0.5},
        {{.nranks = 3, .coll = "all_reduce", .bytes = 8}, 1.0, 0.0},
        {{.nranks = 2, .coll = "gather", .bytes = 1024}, 1.0, 0.0},
        {{.nranks = 2, .coll = "gather", .bytes = 65536}, 1.0, 1.0 / 1.5},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        const double own = hki_vs_target(&wants[i].row, HKI_VS_PRIVATE);
        const double shared = hki_vs_target(&wants[i].row, HKI_VS_SHARED);
        if (own != wants[i].private_ratio || shared != wants[i].shared_ratio) {
            fail_msg("%s, %d ranks, %zu bytes: %g and %g", wants[i].row.coll, wants[i].row.nranks,
                     wants[i].row.bytes, own, shared);
        }
    }
}

static void missed_targets_are_marked_and_counted(void **state)
{
    hki_vs_table_t table = {0};
    hki_text_t text = {0};
    size_t asked = 0;
    size_t reached = 0;

    (void)state;
    fill(&table);
    add(&table, HKI_VS_OPENMPI, LINE("reduce", 8, 1.0), 1);
    add(&table, HKI_VS_PRIVATE, LINE("reduce", 8, 1.25), 1);
    hki_vs_print(&table, 0, true, &text);
    assert_non_null(strstr(text.data, "| 2 | all_reduce | f32 | 65536 | 20.0 | - | - | 19.0 | 5.00"
                                      " |   0.95 (0.95) |   0.25 (0.35) |\n"));
    assert_non_null(strstr(text.data, "1.25 (1.00) ! |"));
    hki_vs_count(&table, &asked, &reached);
    assert_int_equal(asked, 4); // all_reduce: 2 private, 1 shared; reduce: 1 private
    assert_int_equal(reached, 3);
    hki_text_fini(&text);
    hki_vs_fini(&table);
}

static void what_is_not_a_line_of_the_table_is_skipped(void **state)
{
    static const char *const others[] = {
        "",
        "\n\n",
        "mpirun: a warning\n",
        "{\n",
        "{\"coll\":\"all_reduce\"}\n",
        "{\"coll\":\"all_reduce\",\"dtype\":\"f32\",\"bytes\":8,\"time_us\":-1}\n",
        "{\"coll\":\"all_reduce\",\"dtype\":\"f32\",\"bytes\":-8,\"time_us\":1}\n",
        "{\"coll\":\"all_reduce\",\"dtype\":7,\"bytes\":8,\"time_us\":1}\n",
        "{\"coll\":\"a_name_longer_than_any_other\",\"dtype\":\"f32\",\"bytes\":8,\"time_us\":1}\n",
    };
    hki_vs_table_t table = {0};
    size_t added = 9;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        add(&table, HKI_VS_GLOO, others[i], 0);
    }
    assert_ok(hki_vs_add(&table, 2, HKI_VS_GLOO, NULL, &added));
    assert_int_equal(added, 0);
    assert_int_equal(table.count, 0);
    add(&table, HKI_VS_GLOO, "noise\n" LINE("reduce", 8, 1) "{\"coll\":\"red", 1);
    hki_vs_fini(&table);
}

/** A line with the time that its case took. */
static void add_turn(hki_vs_table_t *table, int system, double us, double took_s)
{
    char line[200];

    (void)snprintf(line, sizeof(line),
                   "{\"coll\":\"reduce\",\"dtype\":\"f32\",\"bytes\":8,\"time_us\":%g,"
                   "\"took_s\":%g}\n",
                   us, took_s);
    add(table, system, line, 1);
}

static void a_peer_far_from_the_fastest_takes_two_turns(void **state)
{
    hki_vs_table_t table = {0};
    size_t far = 9;
    size_t spent = 9;

    (void)state;
    add_turn(&table, HKI_VS_OPENMPI, 3.0, 0.1);
    add_turn(&table, HKI_VS_OPENMPI, 2.0, 0.1);
    add_turn(&table, HKI_VS_GLOO, 99.0, 0.1);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_GLOO, 1.0), HKI_VS_ON); // one turn is luck
    add_turn(&table, HKI_VS_GLOO, 12.5, 0.1);
    add_turn(&table, HKI_VS_MPICH, 99.0, 0.1);
    add_turn(&table, HKI_VS_MPICH, 11.5, 0.1); // less than 4 times 3 us
    add_turn(&table, HKI_VS_PRIVATE, 99.0, 0.1);
    add_turn(&table, HKI_VS_PRIVATE, 99.0, 0.1);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_GLOO, 1.0), HKI_VS_TOO_FAR);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_MPICH, 1.0), HKI_VS_ON);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_OPENMPI, 1.0), HKI_VS_ON);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_PRIVATE, 1.0), HKI_VS_ON);
    hki_vs_short(&table, 3, 1.0, &far, &spent);
    assert_int_equal(far, 1);
    assert_int_equal(spent, 0);
    hki_vs_short(&table, 2, 1.0, &far, &spent); // it took all that were asked for
    assert_int_equal(far, 0);
    hki_vs_fini(&table);
}

static void who_has_used_up_the_patience_has_had_three_turns(void **state)
{
    hki_vs_table_t table = {0};
    size_t far = 9;
    size_t spent = 9;

    (void)state;
    add_turn(&table, HKI_VS_SHARED, 1.0, 5.0);
    add_turn(&table, HKI_VS_SHARED, 1.0, 5.0);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_SHARED, 10.0), HKI_VS_ON);
    add_turn(&table, HKI_VS_SHARED, 1.0, 0.0);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_SHARED, 10.0), HKI_VS_SPENT);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_SHARED, 10.5), HKI_VS_ON);
    hki_vs_short(&table, 5, 10.0, &far, &spent);
    assert_int_equal(far, 0);
    assert_int_equal(spent, 1);
    hki_vs_fini(&table);
}

static void a_planned_row_is_there_once_and_empty(void **state)
{
    const hki_vs_row_t key = {.nranks = 2, .coll = "reduce", .dtype = "f32", .bytes = 8};
    hki_vs_table_t table = {0};

    (void)state;
    assert_ok(hki_vs_plan(&table, &key));
    assert_ok(hki_vs_plan(&table, &key));
    assert_int_equal(table.count, 1);
    assert_int_equal(hki_vs_judge(table.rows, HKI_VS_MPICH, 1.0), HKI_VS_ON);
    add_turn(&table, HKI_VS_MPICH, 1.0, 0.0);
    assert_int_equal(table.count, 1);
    hki_vs_fini(&table);
}

static void wrong_elements_are_added_up_and_turns_are_limited(void **state)
{
    static const char *const line =
        "{\"coll\":\"reduce\",\"dtype\":\"f32\",\"bytes\":8,\"time_us\":1,\"wrong\":3}\n";
    hki_vs_table_t table = {0};

    (void)state;
    for (int i = 0; i < HKI_VS_ALTERNATIONS_MAX; i++) {
        add(&table, HKI_VS_PRIVATE, line, 1);
    }
    add(&table, HKI_VS_PRIVATE, line, 0);
    assert_int_equal(table.wrong, 3 * HKI_VS_ALTERNATIONS_MAX);
    hki_vs_fini(&table);
}

static void the_json_holds_times_and_ratios(void **state)
{
    hki_vs_table_t table = {0};
    hki_text_t text = {0};

    (void)state;
    fill(&table);
    assert_ok(hki_vs_json(&table, "a \"machine\"", &text));
    cJSON *root = cJSON_Parse(text.data);
    assert_non_null(root);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "rows"), 0);
    const cJSON *times = cJSON_GetObjectItem(row, "times_us");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(times, "hocket private")), 3);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "best_peer")), "openmpi");
    assert_true(cJSON_GetObjectItem(row, "private_must")->valuedouble == 0.65);
    cJSON_Delete(root);
    hki_text_fini(&text);
    hki_vs_fini(&table);
}

static void a_document_keeps_what_stands_around_the_table(void **state)
{
    hki_text_t once = {0};
    hki_text_t twice = {0};
    hki_text_t fresh = {0};

    (void)state;
    hki_vs_splice("# Title\n", "old\n", &once);
    hki_text_add(&once, "after\n");
    hki_vs_splice(once.data, "new\n", &twice);
    assert_string_equal(twice.data, "# Title\n\n<!-- hocket bench --vs: begin -->\n\nnew\n\n"
                                    "<!-- hocket bench --vs: end -->\nafter\n");
    hki_vs_splice("", "new\n", &fresh);
    assert_true(strncmp(fresh.data, "<!--", 4) == 0);
    hki_text_fini(&once);
    hki_text_fini(&twice);
    hki_text_fini(&fresh);
}

static void memory_may_run_out(void **state)
{
    hki_vs_table_t table = {0};
    size_t added = 9;

    (void)state;
    hki_alloc_fail_at(1);
    assert_int_equal(hki_vs_add(&table, 2, HKI_VS_GLOO, LINE("reduce", 8, 1), &added),
                     HK_ERR_NO_MEMORY);
    hki_alloc_fail_at(0);
    assert_int_equal(added, 9);
    hki_vs_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_median_of_medians_is_compared_with_the_fastest_peer),
        cmocka_unit_test(without_peers_there_is_no_ratio),
        cmocka_unit_test(targets_depend_on_ranks_size_collective_and_memory),
        cmocka_unit_test(missed_targets_are_marked_and_counted),
        cmocka_unit_test(what_is_not_a_line_of_the_table_is_skipped),
        cmocka_unit_test(a_peer_far_from_the_fastest_takes_two_turns),
        cmocka_unit_test(who_has_used_up_the_patience_has_had_three_turns),
        cmocka_unit_test(a_planned_row_is_there_once_and_empty),
        cmocka_unit_test(wrong_elements_are_added_up_and_turns_are_limited),
        cmocka_unit_test(the_json_holds_times_and_ratios),
        cmocka_unit_test(a_document_keeps_what_stands_around_the_table),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests_name("tools/bench_ratio", tests, NULL, NULL);
}
