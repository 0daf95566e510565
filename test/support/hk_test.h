/**
 * @file hk_test.h
 * @brief Include this first in every unit test: cmocka, its prerequisites, and our helpers.
 */
#ifndef HK_TEST_H
#define HK_TEST_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hocket/base.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/** The call must succeed; on failure print the status text, not only its number. */
#define assert_ok(expr)                                         \
    do {                                                        \
        const hk_status_t status_ = (expr);                     \
        if (status_ != HK_OK) {                                 \
            fail_msg("%s: %s", #expr, hk_status_text(status_)); \
        }                                                       \
    } while (0)

#endif /* HK_TEST_H */
