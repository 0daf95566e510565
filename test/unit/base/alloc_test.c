/* Method: sizes at the edges, the count of live blocks, and failures on request. */
#include "support/hk_test.h"

#include "base/alloc.h"

static void memory_is_zeroed_counted_and_given_back(void **state)
{
    const size_t live = hki_alloc_live();
    unsigned char *p = hki_calloc(100, 3);

    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(p[i], 0);
    }
    assert_int_equal(hki_alloc_live(), live + 1);
    hki_free(p);
    hki_free(NULL);
    assert_int_equal(hki_alloc_live(), live);
}

static void aligned_memory_is_aligned_and_zeroed(void **state)
{
    (void)state;
    for (size_t alignment = 64; alignment <= 4096; alignment *= 2) {
        unsigned char *p = hki_calloc_aligned(3, 33, alignment);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % alignment, 0);
        for (size_t i = 0; i < 99; i++) {
            assert_int_equal(p[i], 0);
        }
        hki_free(p);
    }
}

static void nothing_is_still_a_block(void **state)
{
    void *p = hki_calloc(0, 8);
    void *q = hki_calloc_aligned(0, 8, 64);

    (void)state;
    assert_non_null(p);
    assert_non_null(q);
    hki_free(p);
    hki_free(q);
}

static void a_product_that_overflows_is_refused(void **state)
{
    const size_t live = hki_alloc_live();

    (void)state;
    assert_null(hki_calloc(SIZE_MAX / 2, 3));
    assert_null(hki_calloc_aligned(SIZE_MAX / 2, 3, 64));
    assert_null(hki_calloc_aligned(SIZE_MAX - 8, 1, 64));
    assert_int_equal(hki_alloc_live(), live);
}

static void the_asked_allocation_fails_once(void **state)
{
    (void)state;
    hki_alloc_fail_at(2);
    void *first = hki_calloc(1, 1);
    assert_null(hki_calloc_aligned(1, 1, 64));
    void *third = hki_calloc(1, 1);
    assert_non_null(first);
    assert_non_null(third);
    hki_free(first);
    hki_free(third);
    hki_alloc_fail_at(1);
    hki_alloc_fail_at(0);
    first = hki_calloc(1, 1);
    assert_non_null(first);
    hki_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_counted_and_given_back),
        cmocka_unit_test(aligned_memory_is_aligned_and_zeroed),
        cmocka_unit_test(nothing_is_still_a_block),
        cmocka_unit_test(a_product_that_overflows_is_refused),
        cmocka_unit_test(the_asked_allocation_fails_once),
    };

    return cmocka_run_group_tests_name("base/alloc", tests, NULL, NULL);
}
