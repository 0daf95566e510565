/*
 * Every length up to some lines at every alignment of both sides, and one large copy: all bytes
 * arrive, and none around them changes.
 */
#include "support/hk_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/copy.h"

enum { LENGTH_MAX = 260, LINE = 64, ROOM = LENGTH_MAX + 3 * LINE, LARGE = 1 << 20 };

static void every_byte_arrives_and_no_other_changes(void **state)
{
    _Alignas(LINE) unsigned char from[ROOM];
    _Alignas(LINE) unsigned char into[ROOM];
    unsigned char want[ROOM];

    (void)state;
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (unsigned char)(i * 7 + 1);
    }
    for (size_t length = 0; length <= LENGTH_MAX; length++) {
        for (size_t place = 0; place < LINE; place += 3) {
            const size_t other = (place * 5 + length) % LINE;

            memset(into, 0xEE, sizeof(into));
            memset(want, 0xEE, sizeof(want));
            memcpy(want + LINE + place, from + other, length);
            hki_copy_stream(into + LINE + place, from + other, length);
            assert_memory_equal(into, want, ROOM);
            memset(into, 0xEE, sizeof(into));
            hki_copy_few(into + LINE + place, from + other, length);
            assert_memory_equal(into, want, ROOM);
        }
    }
}

static void large_copies_are_whole(void **state)
{
    unsigned char *from = malloc(LARGE);
    unsigned char *into = calloc(LARGE, 1);

    (void)state;
    assert_non_null(from);
    assert_non_null(into);
    for (size_t i = 0; i < LARGE; i++) {
        from[i] = (unsigned char)(i ^ (i >> 8) ^ (i >> 16));
    }
    hki_copy_stream(into + 5, from + 3, LARGE - 9);
    assert_memory_equal(into + 5, from + 3, LARGE - 9);
    assert_int_equal(into[4], 0);
    assert_int_equal(into[LARGE - 4], 0);
    free(from);
    free(into);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_arrives_and_no_other_changes),
        cmocka_unit_test(large_copies_are_whole),
    };

    return cmocka_run_group_tests_name("base/copy", tests, NULL, NULL);
}
