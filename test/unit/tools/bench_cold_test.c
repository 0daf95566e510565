/*
 * The rotation of --cold: every place has its turn once before any comes again, for grids of sizes;
 * places do not overlap and lie in the memory that is there.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "hocket/bench.h"

static void all_places_have_their_turn_before_one_comes_again(void **state)
{
    static const size_t arenas[] = {64, 4096, 10000, 65536};
    static const size_t buffers[] = {1, 8, 64, 65, 100, 4096, 5000, 65536, 100000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(arenas) * ARRAY_LEN(buffers); i++) {
        const size_t arena = arenas[i / ARRAY_LEN(buffers)];
        const size_t buffer = buffers[i % ARRAY_LEN(buffers)];
        hki_rotation_t rotation = hki_rotation_get(arena, buffer);
        char *seen = hki_calloc(rotation.places, 1);
        assert_non_null(seen);
        for (size_t turn = 0; turn < rotation.places; turn++) {
            if (rotation.place >= rotation.places || seen[rotation.place] != 0) {
                fail_msg("arena %zu, buffer %zu: turn %zu takes place %zu of %zu", arena, buffer,
                         turn, rotation.place, rotation.places);
            }
            seen[rotation.place] = 1;
            hki_rotation_next(&rotation);
        }
        assert_int_equal(rotation.place, 0);
        hki_free(seen);
    }
}

static void places_fill_the_arena_and_hold_a_buffer_each(void **state)
{
    static const size_t buffers[] = {1, 64, 100, 4096, 65536, 100000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(buffers); i++) {
        const hki_rotation_t rotation = hki_rotation_get(65536, buffers[i]);
        const size_t used = (rotation.places - 1) * rotation.stride + buffers[i];
        if (rotation.stride < buffers[i] || used > 65536 + buffers[i] ||
            rotation.places * rotation.stride < 65536) {
            fail_msg("buffer %zu: %zu places of %zu bytes", buffers[i], rotation.places,
                     rotation.stride);
        }
    }
}

static void neighbours_in_time_are_no_neighbours_in_memory(void **state)
{
    hki_rotation_t rotation = hki_rotation_get(1 << 20, 8);
    size_t before = rotation.place;

    (void)state;
    for (int turn = 0; turn < 1000; turn++) {
        hki_rotation_next(&rotation);
        const size_t gap =
            rotation.place > before ? rotation.place - before : before - rotation.place;
        assert_true(gap > rotation.places / 4);
        before = rotation.place;
    }
}

static void without_an_arena_the_place_stays(void **state)
{
    hki_rotation_t rotations[] = {hki_rotation_get(0, 100), hki_rotation_get(4096, 0)};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rotations); i++) {
        hki_rotation_next(&rotations[i]);
        assert_int_equal(rotations[i].place * rotations[i].stride, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_places_have_their_turn_before_one_comes_again),
        cmocka_unit_test(places_fill_the_arena_and_hold_a_buffer_each),
        cmocka_unit_test(neighbours_in_time_are_no_neighbours_in_memory),
        cmocka_unit_test(without_an_arena_the_place_stays),
    };

    return cmocka_run_group_tests_name("tools/bench_cold", tests, NULL, NULL);
}
