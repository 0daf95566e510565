/*
 * The growing string against plain strings: appends over several growths, columns, line breaks, and
 * the sticky failure.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static void appends_keep_their_order_over_many_growths(void **state)
{
    hki_text_t text = {0};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        hki_text_add(&text, "%04d", i);
    }
    assert_int_equal(text.length, 8000);
    assert_int_equal(strlen(text.data), 8000);
    for (int i = 0; i < 2000; i++) {
        char want[16];
        (void)snprintf(want, sizeof(want), "%04d", i);
        assert_memory_equal(text.data + 4 * i, want, 4);
    }
    hki_text_fini(&text);
}

static void pads_to_a_column_of_the_last_line(void **state)
{
    hki_text_t text = {0};

    (void)state;
    hki_text_add(&text, "first\nab");
    hki_text_pad(&text, 4);
    hki_text_pad(&text, 2);
    assert_string_equal(text.data, "first\nab  ");
    hki_text_fini(&text);
}

static void wraps_words_before_the_width(void **state)
{
    hki_text_t text = {0};

    (void)state;
    hki_text_wrap(&text, "aaa bbb  ccc\nd eeeeeeeeeeeeeeee f", 2, 10);
    assert_string_equal(text.data, "  aaa bbb\n  ccc\n  d\n  eeeeeeeeeeeeeeee\n  f");
    hki_text_fini(&text);
}

static void clear_keeps_the_memory(void **state)
{
    hki_text_t text = {0};

    (void)state;
    hki_text_clear(&text);
    hki_text_add(&text, "x");
    hki_text_clear(&text);
    assert_int_equal(text.length, 0);
    assert_string_equal(text.data, "");
    assert_true(text.capacity > 0);
    hki_text_fini(&text);
    assert_int_equal(hki_alloc_live(), 0);
}

static void a_failed_allocation_stays_failed_and_keeps_what_was(void **state)
{
    char block[600];
    hki_text_t text = {0};

    (void)state;
    memset(block, 'b', sizeof(block));
    hki_text_add(&text, "kept");
    hki_alloc_fail_at(1);
    hki_text_append(&text, block, sizeof(block));
    hki_alloc_fail_at(0);
    hki_text_add(&text, "ignored");
    assert_true(text.is_failed);
    assert_string_equal(text.data, "kept");
    hki_text_fini(&text);
    assert_false(text.is_failed);
    assert_int_equal(hki_alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_keep_their_order_over_many_growths),
        cmocka_unit_test(pads_to_a_column_of_the_last_line),
        cmocka_unit_test(wraps_words_before_the_width),
        cmocka_unit_test(clear_keeps_the_memory),
        cmocka_unit_test(a_failed_allocation_stays_failed_and_keeps_what_was),
    };

    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
