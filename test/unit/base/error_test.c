/* Method: errors are born with HKI_FAIL and read back, also by another thread. */
#include "support/hk_test.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

static void a_failure_keeps_its_text_and_returns_its_status(void **state)
{
    (void)state;
    assert_int_equal(HKI_FAIL(HK_ERR_LIMIT, "%d of %s", 7, "ranks"), HK_ERR_LIMIT);
    assert_string_equal(hk_last_error(), "7 of ranks");
}

static void a_text_may_quote_the_one_before(void **state)
{
    (void)state;
    (void)HKI_FAIL(HK_ERR_LIMIT, "first");
    (void)HKI_FAIL(HK_ERR_IO, "second, after %s", hk_last_error());
    assert_string_equal(hk_last_error(), "second, after first");
    assert_int_equal(hki_fail_again(HK_ERR_IO, hk_last_error()), HK_ERR_IO);
    assert_string_equal(hk_last_error(), "second, after first");
}

static void a_long_text_is_cut_not_overrun(void **state)
{
    char text[5000];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    (void)HKI_FAIL(HK_ERR_IO, "%s", text);
    assert_in_range(strlen(hk_last_error()), 500, 1023);
    (void)hki_fail_again(HK_ERR_IO, text);
    assert_in_range(strlen(hk_last_error()), 500, 1023);
}

static void *text_of_a_new_thread(void *arg)
{
    *(bool *)arg = hk_last_error()[0] == '\0';
    return NULL;
}

static void each_thread_has_its_own_text(void **state)
{
    pthread_t thread;
    bool is_empty = false;

    (void)state;
    (void)HKI_FAIL(HK_ERR_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, text_of_a_new_thread, &is_empty), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_empty);
    assert_string_equal(hk_last_error(), "mine");
}

static hk_status_t try_it(hk_status_t status, bool *passed_out)
{
    HKI_TRY(status, done);
    *passed_out = true;
done:
    return status;
}

static void try_jumps_only_on_errors(void **state)
{
    bool passed = false;

    (void)state;
    assert_int_equal(try_it(HK_ERR_IO, &passed), HK_ERR_IO);
    assert_false(passed);
    assert_ok(try_it(HK_OK, &passed));
    assert_true(passed);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int status = -12; status <= 1; status++) {
        assert_string_not_equal(hk_status_text((hk_status_t)status), "unknown status");
    }
    assert_string_equal(hk_status_text((hk_status_t)99), "unknown status");
    assert_string_equal(hk_version(), HK_VERSION_STRING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_keeps_its_text_and_returns_its_status),
        cmocka_unit_test(a_text_may_quote_the_one_before),
        cmocka_unit_test(a_long_text_is_cut_not_overrun),
        cmocka_unit_test(each_thread_has_its_own_text),
        cmocka_unit_test(try_jumps_only_on_errors),
        cmocka_unit_test(every_status_has_a_text),
    };

    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
