/**
 * @file layout_test.c
 * @brief Method: for many shapes, the parts lie one after the other, on whole lines and pages, and
 *        every stream has a number of its own.
 */
#include "support/hk_test.h"

#include <string.h>

#include "transport/segment/arena.h"
#include "transport/segment/layout.h"

static void parts_follow_one_another_on_whole_lines(void **state)
{
    const int counts[] = {1, 2, 3, 16, 17, 33, 128, 129, 1024};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        for (int nlanes = 1; nlanes <= 4; nlanes++) {
            const uint64_t staging = 4 * HKI_ARENA_PAGE_BYTES;
            const uint64_t ranks = (uint64_t)counts[i];
            const uint64_t streams = ranks * ranks * (uint64_t)nlanes;
            const hki_layout_t layout = hki_layout(counts[i], nlanes, staging);
            assert_true(layout.bells >= sizeof(hki_head_t));
            assert_int_equal(layout.bells % HKI_LINE_BYTES, 0);
            assert_true(layout.blocks >= layout.bells + ranks * sizeof(uint32_t));
            assert_int_equal(layout.blocks % HKI_LINE_BYTES, 0);
            assert_int_equal(layout.consumed, layout.blocks + ranks * sizeof(hki_block_t));
            assert_int_equal(layout.lines, layout.consumed + streams * HKI_LINE_BYTES);
            const uint64_t rings = streams * layout.nlines * HKI_LINE_BYTES;
            assert_int_equal(layout.cast_consumed, layout.lines + rings);
            assert_true(layout.cast_lines >= layout.cast_consumed + streams * sizeof(uint64_t));
            assert_int_equal(layout.cast_lines % HKI_LINE_BYTES, 0);
            const uint64_t casts = ranks * (uint64_t)nlanes * layout.nlines * HKI_LINE_BYTES;
            assert_true(layout.staging >= layout.cast_lines + casts);
            assert_int_equal(layout.staging % HKI_ARENA_PAGE_BYTES, 0);
            assert_int_equal(layout.bytes, layout.staging + ranks * (uint64_t)nlanes * staging);
            assert_int_equal(layout.nlines & (layout.nlines - 1), 0);
            assert_true(layout.nlines >= 4);
        }
    }
}

static void every_stream_has_its_number(void **state)
{
    enum { NRANKS = 5, NLANES = 3, STREAMS = NRANKS * NRANKS * NLANES };
    unsigned char seen[STREAMS] = {0};

    (void)state;
    for (int lane = 0; lane < NLANES; lane++) {
        for (int from = 0; from < NRANKS; from++) {
            for (int to = 0; to < NRANKS; to++) {
                const size_t index = hki_stream_index(NRANKS, lane, from, to);
                assert_in_range(index, 0, STREAMS - 1);
                assert_int_equal(seen[index], 0);
                seen[index] = 1;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_follow_one_another_on_whole_lines),
        cmocka_unit_test(every_stream_has_its_number),
    };
    return cmocka_run_group_tests_name("transport/layout", tests, NULL, NULL);
}
