/* Method: HOCKET_SIMD is set, the choice made again, and the log counted and read. */
#include "support/hk_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hocket/comm.h>

#include "base/log.h"
#include "dtype/kernels.h"

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
    return 0;
}

static void none_is_always_there(void **state)
{
    (void)state;
    (void)setenv("HOCKET_SIMD", "none", 1);
    hki_simd_choose();
    assert_int_equal(hki_simd_level(), HKI_SIMD_NONE);
    assert_ptr_equal(hki_kernels(), hki_kernels_of(HKI_SIMD_NONE));
    assert_int_equal(hki_log_take_count(), 0);
}

static void what_is_not_a_level_is_named_once_and_the_best_taken(void **state)
{
    (void)state;
    (void)unsetenv("HOCKET_SIMD");
    hki_simd_choose();
    const hki_simd_t best = hki_simd_level();
    (void)setenv("HOCKET_SIMD", "sse9", 1);
    hki_simd_choose();
    assert_int_equal(hki_simd_level(), best);
    assert_int_equal(hki_log_take_count(), 1);
    assert_non_null(strstr(g_line, "sse9"));
    assert_non_null(strstr(g_line, "none, neon, avx2, avx512"));
}

static void a_level_the_machine_lacks_is_refused_and_nothing_changes(void **state)
{
    (void)state;
    (void)unsetenv("HOCKET_SIMD");
    hki_simd_choose();
    const hki_simd_t best = hki_simd_level();
    const hki_simd_t lacking = best == HKI_SIMD_NEON ? HKI_SIMD_AVX2 : HKI_SIMD_NEON;
    assert_false(hki_simd_force(lacking));
    assert_int_equal(hki_simd_level(), best);
    (void)setenv("HOCKET_SIMD", hki_simd_name(lacking), 1);
    hki_simd_choose();
    assert_int_equal(hki_log_take_count(), 1);
    assert_non_null(strstr(g_line, hki_simd_name(lacking)));
}

static void levels_have_names(void **state)
{
    (void)state;
    assert_string_equal(hki_simd_name(HKI_SIMD_AVX512), "avx512");
    assert_string_equal(hki_simd_name((hki_simd_t)9), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_always_there),
        cmocka_unit_test(what_is_not_a_level_is_named_once_and_the_best_taken),
        cmocka_unit_test(a_level_the_machine_lacks_is_refused_and_nothing_changes),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests_name("dtype/simd", tests, setup, NULL);
}
