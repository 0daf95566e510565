/**
 * @file file_test.c
 * @brief Method: files longer than the room for them, and keys at the borders of lines.
 */
#include "unit/topo/root.h"

#include "topo/file.h"

static void reads_what_fits_and_ends_it(void **state)
{
    char path[128];
    char text[6];

    (void)state;
    root_write("/short", "abc");
    root_write("/long", "abcdefgh");
    (void)snprintf(path, sizeof(path), "%s/short", g_root);
    assert_int_equal(hki_file_read(path, text, sizeof(text)), 3);
    assert_string_equal(text, "abc");
    (void)snprintf(path, sizeof(path), "%s/long", g_root);
    assert_int_equal(hki_file_read(path, text, sizeof(text)), 5);
    assert_string_equal(text, "abcde");
    (void)snprintf(path, sizeof(path), "%s/none", g_root);
    assert_int_equal(hki_file_read(path, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

static void finds_a_key_only_at_the_start_of_a_line(void **state)
{
    const char *text = "xab 1\nab 2\nabc 3\nlast 18446744073709551615";

    (void)state;
    assert_int_equal(hki_text_number(text, "ab "), 2);
    assert_int_equal(hki_text_number(text, "xab"), 1);
    assert_int_equal(hki_text_number(text, "abc"), 3);
    assert_true(hki_text_number(text, "last") == UINT64_MAX);
    assert_true(hki_text_number(text, "none") == UINT64_MAX);
    assert_true(hki_text_number("", "ab") == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST(reads_what_fits_and_ends_it),
        cmocka_unit_test(finds_a_key_only_at_the_start_of_a_line),
    };
    return cmocka_run_group_tests_name("topo/file", tests, NULL, NULL);
}
