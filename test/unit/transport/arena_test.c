/**
 * @file arena_test.c
 * @brief Method: random gets and puts against a map of pages, one byte each; at the end all must be
 *        one free extent again.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "transport/segment/arena.h"

enum { PAGE = HKI_ARENA_PAGE_BYTES, PAGES = 200, FIRST_PAGE = 3, HELD_MAX = 40 };

static hki_arena_t g_arena;

static int set_up(void **state)
{
    (void)state;
    return hki_arena_init(&g_arena, (uint64_t)FIRST_PAGE * PAGE, (uint64_t)PAGES * PAGE) == HK_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    hki_arena_fini(&g_arena);
    return hki_alloc_live() == 0 ? 0 : -1;
}

/** Mark pages as `mark`; all must have been !mark, and lie in the arena. */
static void paint(unsigned char *map, uint64_t offset, uint64_t pages, unsigned char mark)
{
    assert_int_equal(offset % PAGE, 0);
    const uint64_t first = offset / PAGE - FIRST_PAGE;
    assert_in_range(first + pages, pages, PAGES);
    for (uint64_t page = first; page < first + pages; page++) {
        if (map[page] == mark) {
            fail_msg("page %d was %d already", (int)page, mark);
        }
        map[page] = mark;
    }
}

static void never_hands_out_a_page_twice_and_loses_none(void **state)
{
    unsigned char map[PAGES] = {0};
    uint64_t offsets[HELD_MAX];
    uint64_t pages[HELD_MAX] = {0};
    uint64_t random = 12345;
    int served = 0;
    int aligned = 0;

    (void)state;
    for (int step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const size_t i = random >> 33 & 0x3f;
        if (i >= HELD_MAX) {
            continue;
        }
        if (pages[i] != 0) {
            assert_int_equal(hki_arena_put(&g_arena, offsets[i]), pages[i] * PAGE);
            paint(map, offsets[i], pages[i], 0);
            pages[i] = 0;
        } else {
            const uint64_t bytes = 1 + (random >> 40) % (20 * PAGE);
            const uint64_t alignment = (uint64_t)PAGE << (random >> 60) % 4;
            if (hki_arena_get(&g_arena, bytes, alignment, &offsets[i]) == HK_OK) {
                pages[i] = (bytes + PAGE - 1) / PAGE;
                paint(map, offsets[i], pages[i], 1);
                aligned += offsets[i] % alignment == 0;
                served++;
            } else {
                assert_true(hki_arena_largest(&g_arena) < bytes);
            }
        }
    }
    assert_in_range(aligned, served / 2, served - 1); // not where there was no room so
    for (size_t i = 0; i < HELD_MAX; i++) {
        if (pages[i] != 0) {
            assert_int_equal(hki_arena_put(&g_arena, offsets[i]), pages[i] * PAGE);
        }
    }
    assert_int_equal(hki_arena_largest(&g_arena), (uint64_t)PAGES * PAGE);
}

static void what_cannot_be_is_refused(void **state)
{
    uint64_t offset = 77;

    (void)state;
    assert_int_equal(hki_arena_get(&g_arena, 0, PAGE, &offset), HK_ERR_NO_MEMORY);
    assert_int_equal(hki_arena_get(&g_arena, UINT64_MAX, PAGE, &offset), HK_ERR_NO_MEMORY);
    assert_int_equal(hki_arena_get(&g_arena, (uint64_t)PAGES * PAGE + 1, PAGE, &offset),
                     HK_ERR_NO_MEMORY);
    assert_non_null(strstr(hk_last_error(), "819201 bytes needed")); // as asked, not rounded
    assert_int_equal(offset, 77);
    assert_int_equal(hki_arena_put(&g_arena, (uint64_t)FIRST_PAGE * PAGE), 0);
    assert_null(hki_arena_find(&g_arena, (uint64_t)FIRST_PAGE * PAGE));
}

static void all_of_it_can_be_had_at_once(void **state)
{
    uint64_t offset = 0;
    uint64_t none = 77;

    (void)state;
    assert_ok(hki_arena_get(&g_arena, (uint64_t)PAGES * PAGE, PAGE, &offset));
    assert_int_equal(offset, FIRST_PAGE * PAGE);
    assert_int_equal(hki_arena_largest(&g_arena), 0);
    assert_int_equal(hki_arena_get(&g_arena, 1, PAGE, &none), HK_ERR_NO_MEMORY);
    assert_int_equal(hki_arena_find(&g_arena, offset)->bytes, PAGES * PAGE);
    assert_int_equal(hki_arena_put(&g_arena, offset), PAGES * PAGE);
}

static void alignment_is_given_up_where_there_is_no_room(void **state)
{
    uint64_t offset = 0;

    (void)state;
    assert_ok(hki_arena_get(&g_arena, PAGE, (uint64_t)64 * PAGE, &offset));
    assert_int_equal(offset, 64 * PAGE);
    assert_true(hki_arena_put(&g_arena, offset) != 0);
    assert_ok(hki_arena_get(&g_arena, (uint64_t)PAGES * PAGE, (uint64_t)64 * PAGE, &offset));
    assert_int_equal(offset, FIRST_PAGE * PAGE);
    assert_true(hki_arena_put(&g_arena, offset) != 0);
}

static void its_book_may_fail_to_grow(void **state)
{
    hki_arena_t other = {0};
    uint64_t offset = 77;

    (void)state;
    hki_alloc_fail_at(1);
    assert_int_equal(hki_arena_get(&g_arena, 1, PAGE, &offset), HK_ERR_NO_MEMORY);
    for (size_t n = 1; n <= 2; n++) { // what is left over lies on both sides
        hki_alloc_fail_at(n);
        assert_int_equal(hki_arena_get(&g_arena, 1, (uint64_t)16 * PAGE, &offset),
                         HK_ERR_NO_MEMORY);
    }
    hki_alloc_fail_at(1);
    assert_int_equal(hki_arena_init(&other, 0, PAGE), HK_ERR_NO_MEMORY);
    hki_alloc_fail_at(0);
    assert_int_equal(offset, 77);
    assert_int_equal(hki_arena_largest(&g_arena), (uint64_t)PAGES * PAGE);
}

/** What was marked for its old owner must not be for the new one. */
static void reused_memory_has_no_marks(void **state)
{
    uint64_t first = 0;
    uint64_t behind = 0;
    uint64_t again = 0;

    (void)state;
    assert_ok(hki_arena_get(&g_arena, (uint64_t)3 * PAGE, PAGE, &first));
    assert_ok(hki_arena_get(&g_arena, PAGE, PAGE, &behind)); // so that a hole is left
    hki_arena_find(&g_arena, first)->is_retired = true;
    hki_arena_find(&g_arena, first)->is_lent = true;
    assert_true(hki_arena_put(&g_arena, first) != 0);
    assert_ok(hki_arena_get(&g_arena, (uint64_t)3 * PAGE, PAGE, &again));
    assert_true(again == first);
    assert_false(hki_arena_find(&g_arena, again)->is_retired);
    assert_false(hki_arena_find(&g_arena, again)->is_lent);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(never_hands_out_a_page_twice_and_loses_none),
        TEST(what_cannot_be_is_refused),
        TEST(all_of_it_can_be_had_at_once),
        TEST(alignment_is_given_up_where_there_is_no_room),
        TEST(its_book_may_fail_to_grow),
        TEST(reused_memory_has_no_marks),
    };
    return cmocka_run_group_tests_name("transport/arena", tests, NULL, NULL);
}
