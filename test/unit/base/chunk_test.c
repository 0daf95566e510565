/* Method: all counts and parts of a grid; the chunks must tile the range, nearly equal. */
#include "support/hk_test.h"

#include "base/chunk.h"

static void chunks_tile_the_range_and_differ_by_one_at_most(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 70; count++) {
        for (int parts = 1; parts <= 33; parts++) {
            size_t next = 0;
            for (int i = 0; i < parts; i++) {
                const hki_chunk_t chunk = hki_chunk(count, parts, i);
                const size_t base = count / (size_t)parts;
                if (chunk.offset != next || chunk.length < base || chunk.length > base + 1) {
                    fail_msg("%zu in %d, chunk %d: %zu at %zu", count, parts, i, chunk.length,
                             chunk.offset);
                }
                next += chunk.length;
            }
            assert_int_equal(next, count);
        }
    }
}

static void the_largest_count_does_not_overflow(void **state)
{
    const hki_chunk_t last = hki_chunk(SIZE_MAX, 7, 6);

    (void)state;
    assert_true(last.offset + last.length == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_tile_the_range_and_differ_by_one_at_most),
        cmocka_unit_test(the_largest_count_does_not_overflow),
    };

    return cmocka_run_group_tests_name("base/chunk", tests, NULL, NULL);
}
