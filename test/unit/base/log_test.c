/* Method: lines go to a callback that keeps the last one; settings are given as in HK_LOG. */
#include "support/hk_test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <hocket/comm.h>

#include "base/log.h"

static char g_line[4096];
static int g_nlines;

static void line_keep(const char *line, void *cookie)
{
    assert_ptr_equal(cookie, &g_nlines);
    (void)snprintf(g_line, sizeof(g_line), "%s", line);
    g_nlines++;
}

static int setup(void **state)
{
    (void)state;
    hk_log_set(line_keep, &g_nlines);
    (void)hki_log_configure(NULL);
    (void)hki_log_take_count();
    hki_log_set_rank(0, 0);
    g_nlines = 0;
    return 0;
}

static void by_default_warnings_are_written_and_infos_are_not(void **state)
{
    (void)state;
    hki_log(HKI_LOG_INFO, "exec", "not this");
    assert_int_equal(g_nlines, 0);
    hki_log(HKI_LOG_WARN, "exec", "%d steps", 61);
    assert_string_equal(g_line, "hocket exec warn: 61 steps");
    assert_int_equal(hki_log_take_count(), 1);
    assert_int_equal(hki_log_take_count(), 0);
}

static void a_line_names_the_rank_of_the_thread(void **state)
{
    (void)state;
    hki_log_set_rank(3, 8);
    hki_log(HKI_LOG_ERROR, "shm", "gone");
    assert_string_equal(g_line, "hocket 3/8 shm error: gone");
}

static void a_component_has_its_own_level(void **state)
{
    (void)state;
    assert_true(hki_log_configure("exec:trace,transport:debug"));
    assert_true(hki_log_is_on(HKI_LOG_TRACE, "exec"));
    assert_true(hki_log_is_on(HKI_LOG_DEBUG, "transport"));
    assert_false(hki_log_is_on(HKI_LOG_TRACE, "transport"));
    assert_false(hki_log_is_on(HKI_LOG_INFO, "comm"));
    assert_true(hki_log_configure("info,exec:error"));
    assert_true(hki_log_is_on(HKI_LOG_INFO, "comm"));
    assert_false(hki_log_is_on(HKI_LOG_WARN, "exec"));
}

static void what_is_not_understood_is_named_once_and_changes_nothing(void **state)
{
    static const char *const bad[] = {"verbose", "exec:loud", ":info", "info,,exec:debug", "exec:"};

    (void)state;
    assert_true(hki_log_configure("info"));
    for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
        g_nlines = 0;
        assert_false(hki_log_configure(bad[k]));
        assert_int_equal(g_nlines, 1);
        assert_non_null(strstr(g_line, bad[k]));
        assert_non_null(strstr(g_line, "error, warn, info, debug, trace"));
        assert_true(hki_log_is_on(HKI_LOG_INFO, "exec"));
    }
    (void)hki_log_take_count();
}

static void a_long_message_with_line_ends_stays_one_line(void **state)
{
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[10] = '\n';
    text[sizeof(text) - 1] = '\0';
    hki_log(HKI_LOG_WARN, "exec", "%s", text);
    assert_null(strchr(g_line, '\n'));
    assert_in_range(strlen(g_line), 2000, 2048);
}

static void *hundred_lines(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        hki_log(HKI_LOG_WARN, "exec", "%d", i);
    }
    return NULL;
}

static void threads_may_log_at_once(void **state)
{
    pthread_t threads[4];

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(threads); k++) {
        assert_int_equal(pthread_create(&threads[k], NULL, hundred_lines, NULL), 0);
    }
    for (size_t k = 0; k < ARRAY_LEN(threads); k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
    }
    assert_int_equal(g_nlines, 400);
    assert_int_equal(hki_log_take_count(), 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(by_default_warnings_are_written_and_infos_are_not, setup),
        cmocka_unit_test_setup(a_line_names_the_rank_of_the_thread, setup),
        cmocka_unit_test_setup(a_component_has_its_own_level, setup),
        cmocka_unit_test_setup(what_is_not_understood_is_named_once_and_changes_nothing, setup),
        cmocka_unit_test_setup(a_long_message_with_line_ends_stays_one_line, setup),
        cmocka_unit_test_setup(threads_may_log_at_once, setup),
    };

    return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
