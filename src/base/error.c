/*
 * Errors: the text of the last one is kept for each thread, and each is logged where it is born.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum { ERROR_TEXT_BYTES = 1024 };

static _Thread_local char g_last_error[ERROR_TEXT_BYTES];

const char *hk_status_text(hk_status_t status)
{
    switch (status) {
#define STATUS_CASE(name, value, text) \
    case HK_##name:                    \
        return text;
        HK_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    }
    return "unknown status";
}

const char *hk_last_error(void)
{
    return g_last_error;
}

const char *hk_version(void)
{
    return HK_VERSION_STRING;
}

hk_status_t hki_fail(hk_status_t status, const char *file, int line, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(g_last_error, text, sizeof(text)); // the arguments may have pointed into it
    hki_log(HKI_LOG_DEBUG, "error", "%s (%s, %s:%d)", text, hk_status_text(status), file, line);
    return status;
}

hk_status_t hki_fail_again(hk_status_t status, const char *text)
{
    if (text != g_last_error) {
        (void)snprintf(g_last_error, sizeof(g_last_error), "%s", text);
    }
    return status;
}

void hki_assert_failed(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "hocket: %s:%d: this must hold and does not: %s; please report it\n",
                  file, line, condition);
    abort();
}
