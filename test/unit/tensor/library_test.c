/*
 * Loading libraries late. Method: the C library's own mathematics is the library that is always
 * there; what is missing must leave the outputs alone and say so in one warning.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include <hocket/comm.h>

#include "base/log.h"
#include "tensor/library.h"

#define MATHEMATICS "libm.so.6"

typedef double (*power_t)(double, double);

static char g_line[1024];

static void line_keep(const char *line, void *cookie)
{
    (void)cookie;
    (void)snprintf(g_line, sizeof(g_line), "%s", line);
}

static int setup(void **state)
{
    (void)state;
    hk_log_set(line_keep, NULL);
    (void)hki_log_take_count();
    g_line[0] = '\0';
    return 0;
}

static void all_functions_wanted_can_be_called(void **state)
{
    power_t power = NULL;
    double (*root)(double) = NULL;
    const hki_symbol_t symbols[] = {{"pow", &power}, {"sqrt", &root}};

    (void)state;
    assert_true(hki_library_load(MATHEMATICS, symbols, ARRAY_LEN(symbols)));
    assert_true(power(2.0, 5.0) == 32.0);
    assert_true(root(49.0) == 7.0);
    assert_int_equal(hki_log_take_count(), 0);
}

static void a_missing_library_is_named_in_a_warning(void **state)
{
    power_t power = NULL;
    const hki_symbol_t symbol = {"pow", &power};

    (void)state;
    assert_false(hki_library_load("libhocket-is-not-here.so.7", &symbol, 1));
    assert_null(power);
    assert_int_equal(hki_log_take_count(), 1);
    assert_non_null(strstr(g_line, "libhocket-is-not-here.so.7"));
}

static void one_missing_function_leaves_all_unset(void **state)
{
    power_t power = NULL;
    power_t other = NULL;
    const hki_symbol_t symbols[] = {{"pow", &power}, {"hocket_is_not_here", &other}};

    (void)state;
    assert_false(hki_library_load(MATHEMATICS, symbols, ARRAY_LEN(symbols)));
    assert_null(power);
    assert_null(other);
    assert_int_equal(hki_log_take_count(), 1);
    assert_non_null(strstr(g_line, "hocket_is_not_here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_functions_wanted_can_be_called, setup),
        cmocka_unit_test_setup(a_missing_library_is_named_in_a_warning, setup),
        cmocka_unit_test_setup(one_missing_function_leaves_all_unset, setup),
    };

    return cmocka_run_group_tests_name("tensor/library", tests, NULL, NULL);
}
