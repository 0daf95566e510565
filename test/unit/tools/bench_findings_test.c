/*
 * Contradictions in measured rows: each kind is found, and what noise explains is not.
 */
#include "support/hk_test.h"

#include <string.h>

#include "hocket/bench_findings.h"

enum { FOUND_MAX = 8 };

static hki_bench_row_t row(int coll, size_t bytes, double time_us)
{
    return (hki_bench_row_t){.what = {.coll = coll, .dtype = HK_F32, .op = HK_SUM},
                             .bytes = bytes,
                             .time_us = time_us,
                             .algo = "direct"};
}

static size_t find(const hki_bench_row_t *rows, size_t count, hki_finding_t *found)
{
    return hki_findings_get(rows, count, found, FOUND_MAX);
}

static void a_whole_slower_than_its_parts_is_found(void **state)
{
    const hki_bench_row_t rows[] = {
        row(HKI_COLL_REDUCE, 8, 1.0),     row(HKI_COLL_REDUCE, 64, 1.1),
        row(HKI_COLL_BROADCAST, 8, 1.0),  row(HKI_COLL_BROADCAST, 64, 1.1),
        row(HKI_COLL_ALL_REDUCE, 8, 2.1), row(HKI_COLL_ALL_REDUCE, 64, 3.0),
        row(HKI_COLL_ALL_GATHER, 8, 9.0), row(HKI_COLL_GATHER, 8, 1.0),
    };
    hki_finding_t found[FOUND_MAX];

    (void)state;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 2);
    assert_int_equal(found[0].kind, HKI_FINDING_PARTS);
    assert_int_equal(found[0].rows[0], 5);
    assert_int_equal(found[0].rows[1], 1);
    assert_int_equal(found[0].rows[2], 3);
    assert_int_equal(found[1].rows[0], 6);
}

static void a_barrier_slower_than_a_small_all_reduce_is_found(void **state)
{
    hki_bench_row_t rows[] = {row(HKI_COLL_BARRIER, 0, 2.0), row(HKI_COLL_ALL_REDUCE, 8, 1.0),
                              row(HKI_COLL_ALL_REDUCE, 64, 1.0)};
    hki_finding_t found[FOUND_MAX];

    (void)state;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 1);
    assert_int_equal(found[0].kind, HKI_FINDING_BARRIER);
    rows[0].time_us = 1.05;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 0);
}

static void falls_and_jumps_between_neighbours_are_found(void **state)
{
    const hki_bench_row_t rows[] = {
        row(HKI_COLL_BROADCAST, 8, 2.0),    row(HKI_COLL_BROADCAST, 64, 1.0), // falls
        row(HKI_COLL_BROADCAST, 128, 4.0),  // 4 times for 2 times the size
        row(HKI_COLL_BROADCAST, 1024, 9.0), // less than its size explains
        row(HKI_COLL_REDUCE, 8, 1.0),       // another collective is no neighbour
    };
    hki_finding_t found[FOUND_MAX];

    (void)state;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 2);
    assert_int_equal(found[0].kind, HKI_FINDING_FALL);
    assert_int_equal(found[0].rows[0], 0);
    assert_int_equal(found[1].kind, HKI_FINDING_JUMP);
    assert_int_equal(found[1].rows[0], 1);
    assert_int_equal(found[1].rows[1], 2);
}

/** A size of a table where a byte of a collective and of copies take so long [ns]. */
static hki_bench_row_t byte_row(size_t bytes, double byte_ns, double copy_ns, double double_copy_ns)
{
    hki_bench_row_t made = row(HKI_COLL_ALL_REDUCE, bytes, (double)bytes * byte_ns / 1e3);

    made.copy_us = (double)bytes * copy_ns / 1e3;
    made.double_copy_us = 2.0 * (double)bytes * double_copy_ns / 1e3;
    return made;
}

static void a_jump_that_memory_makes_is_not_found(void **state)
{
    // a collective of 256 KiB still fits the second-level cache, so does a copy; 2 MiB do not
    hki_bench_row_t rows[] = {byte_row(32768, 0.10, 0.03, 0.03), byte_row(262144, 0.11, 0.03, 0.06),
                              byte_row(2097152, 0.44, 0.10, 0.12),
                              byte_row(16777216, 0.50, 0.12, 0.12)};
    hki_finding_t found[FOUND_MAX];

    (void)state;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 0);
    rows[1].copy_us = 0.0; // without the copy's time nothing explains it
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 1);
}

static void a_jump_beyond_what_memory_makes_is_found(void **state)
{
    // the collective jumps one size before memory does, or further than it
    const hki_bench_row_t early[] = {byte_row(32768, 0.10, 0.03, 0.03),
                                     byte_row(262144, 0.44, 0.03, 0.05),
                                     byte_row(2097152, 0.50, 0.10, 0.12)};
    const hki_bench_row_t far[] = {byte_row(32768, 0.10, 0.03, 0.03),
                                   byte_row(262144, 0.11, 0.03, 0.06),
                                   byte_row(2097152, 0.80, 0.10, 0.12)};
    hki_finding_t found[FOUND_MAX];

    (void)state;
    assert_int_equal(find(early, ARRAY_LEN(early), found), 1);
    assert_int_equal(found[0].kind, HKI_FINDING_JUMP);
    assert_int_equal(found[0].rows[0], 0);
    assert_int_equal(find(far, ARRAY_LEN(far), found), 1);
    assert_int_equal(found[0].kind, HKI_FINDING_JUMP);
    assert_int_equal(found[0].rows[1], 2);
}

static void memory_that_gets_cheaper_allows_no_less(void **state)
{
    // small copies cost their call: a byte of 64 costs less than one of 8
    const hki_bench_row_t rows[] = {byte_row(8, 1.0, 0.5, 0.4), byte_row(64, 1.4, 0.1, 0.1)};
    hki_finding_t found[FOUND_MAX];

    (void)state;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 0);
}

static void types_and_operations_are_not_mixed(void **state)
{
    hki_bench_row_t rows[] = {row(HKI_COLL_REDUCE, 8, 5.0), row(HKI_COLL_REDUCE, 64, 1.0),
                              row(HKI_COLL_REDUCE, 512, 1.0)};
    hki_finding_t found[FOUND_MAX];

    (void)state;
    rows[1].what.dtype = HK_BF16;
    rows[2].what.op = HK_MAX;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 0);
}

static void noise_explains_a_difference(void **state)
{
    hki_bench_row_t rows[] = {row(HKI_COLL_REDUCE, 8, 2.0), row(HKI_COLL_REDUCE, 64, 1.0)};
    hki_finding_t found[FOUND_MAX];

    (void)state;
    rows[1].noise_us = 0.4;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 1);
    rows[0].noise_us = 0.1;
    assert_int_equal(find(rows, ARRAY_LEN(rows), found), 0);
}

static void each_kind_is_described_with_its_times(void **state)
{
    const hki_bench_row_t rows[] = {row(HKI_COLL_ALL_REDUCE, 8, 4.25),
                                    row(HKI_COLL_REDUCE, 16, 2.5), row(HKI_COLL_BROADCAST, 8, 1.0)};
    static const char *const wants[] = {
        [HKI_FINDING_PARTS] = "all_reduce f32 of 8 bytes takes 4.25 us, reduce and broadcast "
                              "together 3.50 us",
        [HKI_FINDING_BARRIER] = "barrier takes 4.25 us, reduce of 16 bytes 2.50 us",
        [HKI_FINDING_FALL] = "all_reduce f32 of 8 bytes (direct) takes 4.25 us, more than 16 bytes "
                             "(direct), 2.50 us",
        [HKI_FINDING_JUMP] = "all_reduce f32 jumps from 4.25 us at 8 bytes (direct) to 2.50 us at "
                             "16 (direct): 0.6 times for 2.0 times the size, of which a "
                             "byte of memory takes 1.0 times as long",
    };

    (void)state;
    for (size_t kind = 0; kind < ARRAY_LEN(wants); kind++) {
        char text[256];
        hki_finding_describe((hki_finding_kind_t)kind, rows, text, sizeof(text));
        assert_string_equal(text, wants[kind]);
    }
}

static void no_more_are_written_than_there_is_room_for(void **state)
{
    const hki_bench_row_t rows[] = {row(HKI_COLL_REDUCE, 8, 9.0), row(HKI_COLL_REDUCE, 16, 5.0),
                                    row(HKI_COLL_REDUCE, 32, 1.0)};
    hki_finding_t found[2] = {[1] = {.row_count = 77}};

    (void)state;
    assert_int_equal(hki_findings_get(rows, ARRAY_LEN(rows), found, 1), 1);
    assert_int_equal(found[1].row_count, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_slower_than_its_parts_is_found),
        cmocka_unit_test(a_barrier_slower_than_a_small_all_reduce_is_found),
        cmocka_unit_test(falls_and_jumps_between_neighbours_are_found),
        cmocka_unit_test(a_jump_that_memory_makes_is_not_found),
        cmocka_unit_test(a_jump_beyond_what_memory_makes_is_found),
        cmocka_unit_test(memory_that_gets_cheaper_allows_no_less),
        cmocka_unit_test(types_and_operations_are_not_mixed),
        cmocka_unit_test(noise_explains_a_difference),
        cmocka_unit_test(each_kind_is_described_with_its_times),
        cmocka_unit_test(no_more_are_written_than_there_is_room_for),
    };

    return cmocka_run_group_tests_name("tools/bench_findings", tests, NULL, NULL);
}
