/**
 * @file world_test.c
 * @brief Tests of src/transport/segment/world.[ch]: where others find memory of this process. The
 *        life of worlds is tested through their users, group_test.c and local_test.c.
 *
 * Method: a world with borders at chosen addresses, at which nothing lies; hki_world_locate() is
 * asked about ranges on both sides of each.
 */
#include "support/hk_test.h"

#include "transport/segment/world.h"

enum { WORLD = 0x100000, WORLD_BYTES = 0x10000, SPAN_BYTES = 0x50000 };
enum { HEAP = 0x900000, HEAP_BYTES = 0x20000, HEAP_OFFSET = 0x30000 };

static void *at(uintptr_t address)
{
    return (void *)address; // NOLINT(performance-no-int-to-ptr): an address without memory
}

static hki_world_t world_of(uint64_t heap_bytes)
{
    return (hki_world_t){.base = at(WORLD),
                         .bytes = WORLD_BYTES,
                         .span_bytes = SPAN_BYTES,
                         .heap_base = heap_bytes == 0 ? NULL : at(HEAP),
                         .heap_bytes = heap_bytes,
                         .heap_offset = HEAP_OFFSET};
}

/** A range of `bytes` bytes at `address` lies at `offset`; -1: is not seen. */
static void assert_at(const hki_world_t *world, uintptr_t address, size_t bytes, int64_t offset)
{
    uint64_t found = 0;
    const bool is_seen = hki_world_locate(world, at(address), bytes, &found);

    if (is_seen != (offset >= 0) || (is_seen && found != (uint64_t)offset)) {
        fail_msg("%zu bytes at %#zx: got %d, %#llx, want %#llx", bytes, (size_t)address,
                 (int)is_seen, (unsigned long long)found, (unsigned long long)offset);
    }
}

static void finds_the_world_and_what_is_behind_it(void **state)
{
    const hki_world_t world = world_of(0);
    (void)state;

    assert_at(&world, WORLD, 1, 0);
    assert_at(&world, WORLD + 0x777, 100, 0x777);
    assert_at(&world, WORLD, SPAN_BYTES, 0);
    assert_at(&world, WORLD + SPAN_BYTES - 1, 1, SPAN_BYTES - 1);
    assert_at(&world, WORLD - 1, 2, -1);
    assert_at(&world, WORLD - 1, 1, -1);
    assert_at(&world, WORLD + SPAN_BYTES - 1, 2, -1);
    assert_at(&world, WORLD, SPAN_BYTES + 1, -1);
    assert_at(&world, WORLD + 1, SIZE_MAX, -1);
    assert_at(&world, 1, 1, -1);
    assert_at(&world, UINTPTR_MAX, 1, -1);
}

static void finds_the_heap_where_the_others_have_it(void **state)
{
    const hki_world_t world = world_of(HEAP_BYTES);
    (void)state;

    assert_at(&world, HEAP, 1, HEAP_OFFSET);
    assert_at(&world, HEAP + 5, HEAP_BYTES - 5, HEAP_OFFSET + 5);
    assert_at(&world, HEAP + HEAP_BYTES - 1, 1, HEAP_OFFSET + HEAP_BYTES - 1);
    assert_at(&world, HEAP + HEAP_BYTES - 1, 2, -1);
    assert_at(&world, HEAP + HEAP_BYTES, 1, -1);
    assert_at(&world, HEAP - 1, 2, -1);
    assert_at(&world, HEAP + 8, SIZE_MAX - 4, -1);
    assert_at(&world, WORLD + 9, 3, 9); // the world is still seen
}

static void finds_no_heap_where_there_is_none(void **state)
{
    const hki_world_t world = world_of(0);
    (void)state;

    assert_at(&world, HEAP, 1, -1);
    assert_at(&world, 0, 0, -1);
    assert_at(&world, 0, 1, -1);
}

static void sees_everything_among_threads(void **state)
{
    hki_world_t world = world_of(0);
    uint64_t offset = 0;
    (void)state;

    world.is_private = true;
    assert_at(&world, WORLD + 5, SIZE_MAX, 5);
    assert_true(hki_world_locate(&world, at(WORLD - 3), 1, &offset));
    assert_int_equal(offset, UINT64_MAX - 2); // wraps, as stated
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_world_and_what_is_behind_it),
        cmocka_unit_test(finds_the_heap_where_the_others_have_it),
        cmocka_unit_test(finds_no_heap_where_there_is_none),
        cmocka_unit_test(sees_everything_among_threads),
    };
    return cmocka_run_group_tests_name("transport/world", tests, NULL, NULL);
}
