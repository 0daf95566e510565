/*
 * The list of cases that `hocket bench --vs` hands to each system: read one by one, and refused
 * where it is something else.
 */
#include "support/hk_test.h"

#include <string.h>

#include "hocket/bench.h"

static void cases_are_read_one_after_the_other(void **state)
{
    const char *text = "all_reduce:f32:1024,send_recv:bf16:0";
    hki_bench_cell_t cell;

    (void)state;
    assert_true(hki_bench_cell_read(&text, &cell));
    assert_int_equal(cell.coll, HKI_COLL_ALL_REDUCE);
    assert_int_equal(cell.dtype, HK_F32);
    assert_int_equal(cell.bytes, 1024);
    assert_string_equal(text, "send_recv:bf16:0");
    assert_true(hki_bench_cell_read(&text, &cell));
    assert_int_equal(cell.coll, HKI_BENCH_SEND_RECV);
    assert_int_equal(cell.dtype, HK_BF16);
    assert_int_equal(cell.bytes, 0);
    assert_string_equal(text, "");
}

static void what_is_not_a_case_is_refused_and_changes_nothing(void **state)
{
    static const char *const others[] = {
        "",
        "all_reduce",
        "all_reduce:f32",
        "all_reduce:f32:",
        "all_reduce:f32:x",
        "all_reduce:f33:8",
        "reduce_all:f32:8",
        "all_reduce:f32:8;",
        "all_reduce:f32:99999999999999",
        "a_name_that_is_longer_than_any_collective:f32:8",
        ",all_reduce:f32:8",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        const char *text = others[i];
        hki_bench_cell_t cell = {.bytes = 77};
        if (hki_bench_cell_read(&text, &cell) || text != others[i] || cell.bytes != 77) {
            fail_msg("\"%s\" was read as %zu bytes", others[i], cell.bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_read_one_after_the_other),
        cmocka_unit_test(what_is_not_a_case_is_refused_and_changes_nothing),
    };

    return cmocka_run_group_tests_name("tools/bench_cases", tests, NULL, NULL);
}
