/*
 * Loading libraries late. Method: the C library's own mathematics is the library that is always
 * there; what is missing must leave the outputs alone and be named in the reason.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/library.h"

#define MATHEMATICS "libm.so.6"

typedef double (*power_t)(double, double);

static void all_functions_wanted_can_be_called(void **state)
{
    power_t power = NULL;
    double (*root)(double) = NULL;
    const hki_symbol_t symbols[] = {{"pow", &power}, {"sqrt", &root}};
    char reason[HKI_LIBRARY_REASON_BYTES] = "unchanged";

    (void)state;
    assert_true(hki_library_load(MATHEMATICS, symbols, ARRAY_LEN(symbols), reason));
    assert_true(power(2.0, 5.0) == 32.0);
    assert_true(root(49.0) == 7.0);
    assert_string_equal(reason, "unchanged");
}

static void a_missing_library_is_named_in_the_reason(void **state)
{
    power_t power = NULL;
    const hki_symbol_t symbol = {"pow", &power};
    char reason[HKI_LIBRARY_REASON_BYTES] = "";

    (void)state;
    assert_false(hki_library_load("libhocket-is-not-here.so.7", &symbol, 1, reason));
    assert_null(power);
    assert_non_null(strstr(reason, "libhocket-is-not-here.so.7"));
}

static void one_missing_function_leaves_all_unset(void **state)
{
    power_t power = NULL;
    power_t other = NULL;
    const hki_symbol_t symbols[] = {{"pow", &power}, {"hocket_is_not_here", &other}};
    char reason[HKI_LIBRARY_REASON_BYTES] = "";

    (void)state;
    assert_false(hki_library_load(MATHEMATICS, symbols, ARRAY_LEN(symbols), reason));
    assert_null(power);
    assert_null(other);
    assert_non_null(strstr(reason, "hocket_is_not_here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_functions_wanted_can_be_called),
        cmocka_unit_test(a_missing_library_is_named_in_the_reason),
        cmocka_unit_test(one_missing_function_leaves_all_unset),
    };

    return cmocka_run_group_tests_name("base/library", tests, NULL, NULL);
}
