/**
 * @file error.h
 * @brief How errors are born (HKI_FAIL) and passed on (HKI_TRY), and what must hold (HKI_ASSERT).
 */
#ifndef HKI_BASE_ERROR_H
#define HKI_BASE_ERROR_H

#include <hocket/base.h>

/** Note where and why an error was born, log it, return `status`. Callers only pass it on. */
#define HKI_FAIL(status, ...) hki_fail((status), __FILE__, __LINE__, __VA_ARGS__)

/** Jump to `label` unless the call succeeds. Variable and label are in plain sight. */
#define HKI_TRY(assignment, label)   \
    do {                             \
        if ((assignment) != HK_OK) { \
            goto label;              \
        }                            \
    } while (0)

/** A fault of the library itself: say where, and stop the program. On in release. */
#define HKI_ASSERT(condition)                                  \
    do {                                                       \
        if (!(condition)) {                                    \
            hki_assert_failed(#condition, __FILE__, __LINE__); \
        }                                                      \
    } while (0)

/** The same in inner loops: debug builds only. */
#ifdef NDEBUG
#    define HKI_DASSERT(condition) ((void)0)
#else
#    define HKI_DASSERT(condition) HKI_ASSERT(condition)
#endif

hk_status_t hki_fail(hk_status_t status, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Store `text` for hk_last_error() without logging: an error that was born elsewhere (another
 *  rank, another thread) and is reported here. @return status */
hk_status_t hki_fail_again(hk_status_t status, const char *text);

_Noreturn void hki_assert_failed(const char *condition, const char *file, int line);

#endif /* HKI_BASE_ERROR_H */
