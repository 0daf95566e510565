/**
 * @file heap_test.c
 * @brief Tests of tools/malloc/heap.c.
 *
 * Method: a small heap beside the heap of this process. Blocks are filled with numbers of their
 * own, and looked at later; what memory the heap's file takes, fstat() tells. What happens at a
 * fork is tested in test/multiproc/malloc_test.c.
 */
#include "support/hk_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heap.h"

#define MIB ((size_t)1 << 20)

enum { PAGE = HKI_HEAP_PAGE_BYTES, BLOCKS_MAX = 64, THREADS = 4, ROUNDS = 300, WORDS = 8 };

static hki_heap_t g_heap;

static int set_up(void **state)
{
    (void)state;
    return hki_heap_open(&g_heap, 64 * MIB) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    hki_heap_close(&g_heap);
    return 0;
}

/** Memory that the heap's file takes [bytes]. */
static size_t real_bytes(void)
{
    struct stat info;

    assert_int_equal(fstat(g_heap.fd, &info), 0);
    return (size_t)info.st_blocks * 512;
}

static char *get(size_t bytes)
{
    bool is_zero = false;

    return hki_heap_get(&g_heap, bytes, 1, &is_zero);
}

static void fill(char *block, size_t bytes, int value)
{
    memset(block, value, bytes);
}

static void assert_filled(const char *block, size_t bytes, int value, const char *what)
{
    for (size_t i = 0; i < bytes; i++) {
        if (block[i] != (char)value) {
            fail_msg("%s, %zu bytes, byte %zu: got %d, want %d", what, bytes, i, block[i], value);
        }
    }
}

static void gives_blocks_of_every_size_and_alignment(void **state)
{
    static const size_t sizes[] = {1, PAGE - 1, PAGE, PAGE + 1, 65536, 100000, MIB, 5 * MIB + 1};
    char *blocks[BLOCKS_MAX];
    size_t have[BLOCKS_MAX];
    int n = 0;
    (void)state;

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t alignment = 1; alignment <= 2 * MIB && n < BLOCKS_MAX; alignment *= 32) {
            bool is_zero = false;
            char *block = hki_heap_get(&g_heap, sizes[s], alignment, &is_zero);
            assert_non_null(block);
            assert_int_equal((uintptr_t)block % (alignment > PAGE ? alignment : PAGE), 0);
            assert_true(hki_heap_owns(&g_heap, block));
            assert_true(hki_heap_owns(&g_heap, block + sizes[s] - 1));
            assert_true(hki_heap_block_bytes(&g_heap, block) >= sizes[s]);
            assert_true(hki_heap_block_bytes(&g_heap, block) < sizes[s] + PAGE);
            if (is_zero) {
                assert_filled(block, sizes[s], 0, "a fresh block");
            }
            fill(block, sizes[s], n);
            blocks[n] = block;
            have[n++] = sizes[s];
        }
    }
    for (int i = 0; i < n; i++) {
        assert_filled(blocks[i], have[i], i, "a block among others");
        hki_heap_put(&g_heap, blocks[i]);
    }
}

static void refuses_what_it_has_no_room_for(void **state)
{
    bool is_zero = false;
    (void)state;

    assert_null(get(0));
    assert_null(get(64 * MIB));
    assert_null(get(SIZE_MAX));
    assert_null(get(SIZE_MAX - PAGE));
    assert_null(hki_heap_get(&g_heap, PAGE, (size_t)1 << 40, &is_zero));
    char *most = get(64 * MIB - PAGE);
    assert_non_null(most);
    assert_null(get(1));
    assert_false(hki_heap_resize(&g_heap, most, 64 * MIB));
    assert_false(hki_heap_resize(&g_heap, most, SIZE_MAX));
    hki_heap_put(&g_heap, most);
    char *again = get(1);
    assert_non_null(again);
    hki_heap_put(&g_heap, again);
}

static void cuts_and_grows_where_it_can(void **state)
{
    char *first = get(4 * PAGE);
    char *second = get(2 * PAGE);
    (void)state;

    fill(first, 4 * PAGE, 7);
    assert_int_equal(second - first, 4 * PAGE);
    assert_false(hki_heap_resize(&g_heap, first, 5 * PAGE));
    assert_true(hki_heap_resize(&g_heap, first, 2 * PAGE + 1));
    assert_int_equal(hki_heap_block_bytes(&g_heap, first), 3 * PAGE);
    assert_true(hki_heap_resize(&g_heap, first, 4 * PAGE));
    assert_filled(first, 3 * PAGE, 7, "what was kept");
    assert_true(hki_heap_resize(&g_heap, second, 3 * MIB)); // beyond what had been made real
    fill(second, 3 * MIB, 9);
    assert_filled(first, 3 * PAGE, 7, "the neighbour");
    hki_heap_put(&g_heap, first);
    hki_heap_put(&g_heap, second);
}

static void takes_memory_early_and_gives_it_back(void **state)
{
    (void)state;
    assert_int_equal(real_bytes(), 0);
    char *small = get(3 * PAGE);
    assert_in_range(real_bytes(), 3 * PAGE, 2 * MIB);
    char *large = get(50 * MIB);
    assert_true(real_bytes() >= 50 * MIB);
    hki_heap_put(&g_heap, large);
    assert_true(real_bytes() <= 53 * MIB); // some is kept, up to a limit
    large = get(20 * MIB);
    char *other = get(40 * MIB); // there is no room but where the first one was
    assert_non_null(large);
    assert_non_null(other);
    fill(large, 20 * MIB, 1);
    fill(other, 40 * MIB, 2);
    assert_filled(large, 20 * MIB, 1, "beside another");
    hki_heap_put(&g_heap, large);
    hki_heap_put(&g_heap, other);
    hki_heap_put(&g_heap, small);
    assert_true(real_bytes() <= 64 * MIB);
}

static void says_truly_that_a_block_is_zero(void **state)
{
    int fresh = 0;
    (void)state;

    for (int i = 0; i < 200; i++) {
        const size_t bytes = (size_t)(1 + i % 7) * 300000;
        bool is_zero = false;
        char *block = hki_heap_get(&g_heap, bytes, 1, &is_zero);
        assert_non_null(block);
        if (is_zero) {
            assert_filled(block, bytes, 0, "said to be zero");
            fresh++;
        }
        fill(block, bytes, 1);
        hki_heap_put(&g_heap, block);
    }
    assert_true(fresh >= 1);
}

static void serves_nobody_without_its_file(void **state)
{
    char path[] = "/tmp/hocket_heap_XXXXXX";
    char *block = get(MIB);
    (void)state;

    fill(block, MIB, 3);
    assert_true(hki_heap_is_shared(&g_heap));
    const int other = mkstemp(path);
    assert_true(other >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(dup2(other, g_heap.fd), g_heap.fd); // as daemons do to all of theirs
    assert_false(hki_heap_is_shared(&g_heap));
    assert_null(get(MIB));
    assert_filled(block, MIB, 3, "a block from before");
    assert_false(hki_heap_resize(&g_heap, block, 20 * MIB));
    hki_heap_put(&g_heap, block);
    assert_int_equal(lseek(other, 0, SEEK_END), 0); // nothing was done to the other file
    assert_int_equal(close(other), 0);
}

static void stays_within_the_limits_of_the_process(void **state)
{
    struct rlimit old;
    hki_heap_t heap;
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit low = {.rlim_cur = 20 * MIB + 1, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    const bool is_open = hki_heap_open(&heap, 64 * MIB);
    low.rlim_cur = PAGE;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    hki_heap_t none;
    const bool is_open_too = hki_heap_open(&none, 64 * MIB);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_true(is_open);
    assert_int_equal(heap.bytes, 5 * MIB); // leaving the rest to the program
    assert_false(is_open_too);
    hki_heap_close(&heap);
}

/** A thread: blocks of its own, with its number in them. */
static void *churn(void *cookie)
{
    const int self = *(const int *)cookie;
    uint32_t draws = (uint32_t)self * 7919U + 1;
    char *blocks[WORDS] = {NULL};
    size_t bytes[WORDS] = {0};
    uintptr_t faults = 0;

    for (int round = 0; round < ROUNDS; round++) {
        draws = draws * 1664525U + 1013904223U;
        const int i = (int)(draws >> 8) % WORDS;
        if (blocks[i] != NULL) {
            faults += blocks[i][0] != (char)self || blocks[i][bytes[i] - 1] != (char)self;
            hki_heap_put(&g_heap, blocks[i]);
        }
        bytes[i] = 1 + (draws >> 12) % (MIB / 2);
        blocks[i] = get(bytes[i]);
        if (blocks[i] != NULL) {
            blocks[i][0] = (char)self;
            blocks[i][bytes[i] - 1] = (char)self;
            const size_t less = bytes[i] / 2 + 1;
            if (round % 3 == 0 && hki_heap_resize(&g_heap, blocks[i], less)) {
                bytes[i] = less;
                blocks[i][less - 1] = (char)self;
            }
        }
    }
    for (int i = 0; i < WORDS; i++) {
        if (blocks[i] != NULL) {
            hki_heap_put(&g_heap, blocks[i]);
        }
    }
    return (void *)faults; // NOLINT(performance-no-int-to-ptr)
}

static void serves_several_threads(void **state)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    (void)state;

    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *faults = NULL;
        assert_int_equal(pthread_join(threads[i], &faults), 0);
        assert_null(faults);
    }
    assert_int_equal(g_heap.pages.counts[HKI_RUN_USED], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_blocks_of_every_size_and_alignment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_it_has_no_room_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_and_grows_where_it_can, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_memory_early_and_gives_it_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_truly_that_a_block_is_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(serves_nobody_without_its_file, set_up, tear_down),
        cmocka_unit_test(stays_within_the_limits_of_the_process),
        cmocka_unit_test_setup_teardown(serves_several_threads, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("malloc/heap", tests, NULL, NULL);
}
