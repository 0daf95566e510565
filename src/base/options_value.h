/**
 * @file options_value.h
 * @brief How one word becomes the value of one option. Internal to options*.c.
 */
#ifndef HKI_BASE_OPTIONS_VALUE_H
#define HKI_BASE_OPTIONS_VALUE_H

#include <stdarg.h>

#include "base/options.h"

/** One row of one command: what is needed for a value and for an error. */
typedef struct hki_option_row {
    const hki_command_t *command;
    const hki_option_t *option;
} hki_option_row_t;

/** Parse `word` into the row's field of `values`. @return HK_OK, HK_ERR_INVALID_ARG */
hk_status_t hki_option_set(hki_option_row_t row, const char *word, void *values);

enum { HKI_RANGE_BYTES = 128 };

/** "1 to 1024" where `between` is " to "; limits of whole numbers are whole numbers.
 *  @param[out] text  (HKI_RANGE_BYTES,) */
void hki_option_range(const hki_option_t *option, double low, double high, const char *between,
                      char *text);

/** hki_option_refuse() with a va_list. @return HK_ERR_INVALID_ARG */
hk_status_t hki_option_refuse_v(hki_option_row_t row, const char *value, const char *format,
                                va_list args) __attribute__((format(printf, 3, 0)));

#endif /* HKI_BASE_OPTIONS_VALUE_H */
