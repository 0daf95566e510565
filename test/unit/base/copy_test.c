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

/** A few bytes ahead modulo 4096, where long copies go another way; and just outside of that. */
static void copies_are_whole_wherever_they_are_to(void **state)
{
    static const size_t lengths[] = {0, 1, 1023, 2047, 2048, 2049, 3072, 5000};
    static const size_t places[] = {0, 1, 16, 63, 64, 4095};
    static _Alignas(4096) unsigned char from[8192];
    static _Alignas(4096) unsigned char into[3 * 4096];
    static unsigned char want[3 * 4096];

    (void)state;
    for (size_t i = 0; i < sizeof(from); i++) {
        from[i] = (unsigned char)(i * 7 + i / 256);
    }
    for (size_t k = 0; k < ARRAY_LEN(lengths) * ARRAY_LEN(places); k++) {
        const size_t length = lengths[k / ARRAY_LEN(places)];
        const size_t place = places[k % ARRAY_LEN(places)];

        memset(into, 0xEE, sizeof(into));
        memset(want, 0xEE, sizeof(want));
        memcpy(want + place, from, length);
        hki_copy(into + place, from, length);
        if (memcmp(into, want, sizeof(into)) != 0) {
            fail_msg("%zu bytes to a place %zu behind a page", length, place);
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
        cmocka_unit_test(copies_are_whole_wherever_they_are_to),
        cmocka_unit_test(large_copies_are_whole),
    };

    return cmocka_run_group_tests_name("base/copy", tests, NULL, NULL);
}
