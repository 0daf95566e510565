/**
 * @file cmocka.h
 * @brief The little of cmocka that test/unit/dtype uses, for processors that are only emulated
 *        (scripts/test_neon.sh): a failed assertion ends the program.
 */
#ifndef HK_PLAIN_CMOCKA_H
#define HK_PLAIN_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

static jmp_buf plain_skip;

#define cmocka_unit_test(f) \
    {                       \
#        f, f               \
    }
#define print_message(...) (void)printf(__VA_ARGS__)
#define skip()             longjmp(plain_skip, 1)
#define fail_msg(...)                       \
    do {                                    \
        (void)fprintf(stderr, __VA_ARGS__); \
        (void)fprintf(stderr, "\n");        \
        exit(1);                            \
    } while (0)
#define assert_true(c)                                               \
    do {                                                             \
        if (!(c)) {                                                  \
            fail_msg("%s:%d: not true: %s", __FILE__, __LINE__, #c); \
        }                                                            \
    } while (0)
#define assert_non_null(p)        assert_true((p) != NULL)
#define assert_int_equal(a, b)    assert_true((a) == (b))
#define assert_string_equal(a, b) assert_true(strcmp(a, b) == 0)

#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
    plain_run(name, tests, sizeof(tests) / sizeof((tests)[0]))

static inline int plain_run(const char *group, const struct CMUnitTest *tests, size_t ntests)
{
    for (size_t k = 0; k < ntests; k++) {
        if (setjmp(plain_skip) == 0) {
            tests[k].run(NULL);
            (void)printf("%s: %s: ok\n", group, tests[k].name);
        }
    }
    return 0;
}

#endif /* HK_PLAIN_CMOCKA_H */
