/*
 * Values of options: one setter a kind turns a word into a value, within the limits of its row.
 */
#include "base/options_value.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { WORD_BYTES = 64 }; /* longest number or choice */

typedef hk_status_t (*setter_t)(hki_option_row_t row, const char *word, void *field);

hk_status_t hki_option_refuse_v(hki_option_row_t row, const char *value, const char *format,
                                va_list args)
{
    const char *gap = value == NULL ? "" : " ";
    char what[256];

    (void)vsnprintf(what, sizeof(what), format, args);
    if (row.option->hint != NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: --%s%s%.160s %s; %s", row.command->name,
                        row.option->name, gap, value == NULL ? "" : value, what, row.option->hint);
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: --%s%s%.160s %s; see hocket %s --help",
                    row.command->name, row.option->name, gap, value == NULL ? "" : value, what,
                    row.command->name);
}

__attribute__((format(printf, 3, 4))) static hk_status_t refuse(hki_option_row_t row,
                                                                const char *value,
                                                                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const hk_status_t status = hki_option_refuse_v(row, value, format, args);
    va_end(args);
    return status;
}

/** Limits of a row, those of the type where the table gives none. */
static void limits(const hki_option_t *option, double *low_out, double *high_out)
{
    const bool is_open = option->min == 0.0 && option->max == 0.0;

    *low_out = option->min;
    *high_out = option->max;
    if (is_open && option->kind == HKI_OPTION_INT) {
        *low_out = INT_MIN;
        *high_out = INT_MAX;
    } else if (is_open && option->kind == HKI_OPTION_DOUBLE) {
        *low_out = -HUGE_VAL;
        *high_out = HUGE_VAL;
    } else if (is_open) {
        *high_out = 9.2e18; // sizes: what off_t and ptrdiff_t can hold
    }
}

static bool is_outside(const hki_option_t *option, double value)
{
    double low;
    double high;

    limits(option, &low, &high);
    return value < low || value > high;
}

void hki_option_range(const hki_option_t *option, double low, double high, const char *between,
                      char *text)
{
    if (option->kind == HKI_OPTION_DOUBLE) {
        (void)snprintf(text, HKI_RANGE_BYTES, "%.12g%s%.12g", low, between, high);
    } else {
        (void)snprintf(text, HKI_RANGE_BYTES, "%.0f%s%.0f", low, between, high);
    }
}

static hk_status_t refuse_range(hki_option_row_t row, const char *word)
{
    char range[HKI_RANGE_BYTES];
    double low;
    double high;

    limits(row.option, &low, &high);
    hki_option_range(row.option, low, high, "..", range);
    return refuse(row, word, "is not in %s", range);
}

static hk_status_t set_int(hki_option_row_t row, const char *word, void *field)
{
    char *end;

    errno = 0;
    const long value = strtol(word, &end, 10);
    if (end == word || *end != '\0') {
        return refuse(row, word, "is not a whole number");
    }
    if (errno != 0 || is_outside(row.option, (double)value)) {
        return refuse_range(row, word);
    }
    *(int *)field = (int)value;
    return HK_OK;
}

static hk_status_t set_double(hki_option_row_t row, const char *word, void *field)
{
    char *end;
    const double value = strtod(word, &end);

    if (end == word || *end != '\0' || !isfinite(value)) {
        return refuse(row, word, "is not a number");
    }
    if (is_outside(row.option, value)) {
        return refuse_range(row, word);
    }
    *(double *)field = value;
    return HK_OK;
}

hk_status_t hki_size_parse(const char *word, size_t *bytes_out)
{
    static const char suffixes[] = "KMGT";
    char *end;

    if (*word < '0' || *word > '9') {
        return HK_ERR_FORMAT; // strtoull() would take a sign
    }
    errno = 0;
    unsigned long long value = strtoull(word, &end, 10);
    const char *suffix = *end == '\0' ? NULL : strchr(suffixes, *end == 'k' ? 'K' : *end);
    const int shift = suffix == NULL ? 0 : 10 * (int)(suffix - suffixes + 1);
    if (errno != 0 || (*end != '\0' && (suffix == NULL || end[1] != '\0'))) {
        return HK_ERR_FORMAT;
    }
    if (value > (SIZE_MAX >> shift)) {
        return HK_ERR_FORMAT;
    }
    *bytes_out = (size_t)value << shift;
    return HK_OK;
}

static hk_status_t set_size(hki_option_row_t row, const char *word, void *field)
{
    size_t value;

    if (hki_size_parse(word, &value) != HK_OK) {
        return refuse(row, word, "is not a size, a whole number with or without K, M, G");
    }
    if (is_outside(row.option, (double)value)) {
        return refuse_range(row, word);
    }
    *(size_t *)field = value;
    return HK_OK;
}

/** Copy `length` bytes to `out` (WORD_BYTES); false if they do not fit or are none. */
static bool copy_word(const char *at, size_t length, char *out)
{
    if (length == 0 || length >= WORD_BYTES) {
        return false;
    }
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

/** Append the sizes first, first * factor + step, ... <= last. */
static hk_status_t add_range(hki_option_row_t row, const char *part, hki_size_list_t *list)
{
    char copy[3][WORD_BYTES];
    size_t value[3];
    size_t length = strcspn(part, ":");

    for (int i = 0; i < 3; i++) {
        const bool has_mark = i == 2 && (*part == 'x' || *part == '+');
        if (!copy_word(part + has_mark, length - has_mark, copy[i]) || (i == 2 && !has_mark) ||
            hki_size_parse(copy[i], &value[i]) != HK_OK) {
            return refuse(row, part, "is not a range FIRST:LAST:xFACTOR or FIRST:LAST:+STEP");
        }
        if (i < 2) {
            part += length;
            part += *part == ':';
            length = strcspn(part, i == 0 ? ":" : "");
        }
    }
    const bool is_factor = *part == 'x';
    const size_t first = value[0];
    if ((is_factor && (value[2] < 2 || first == 0)) || (!is_factor && value[2] == 0) ||
        first > value[1]) {
        return refuse(row, part, "gives a range that never ends or is empty");
    }
    for (size_t at = first; at <= value[1];) {
        if (list->count == HKI_SIZES_MAX) {
            return refuse(row, part, "gives more than %d sizes", HKI_SIZES_MAX);
        }
        list->value[list->count++] = at;
        if (is_factor ? at > SIZE_MAX / value[2] : at > SIZE_MAX - value[2]) {
            break;
        }
        at = is_factor ? at * value[2] : at + value[2];
    }
    return HK_OK;
}

static hk_status_t add_sizes(hki_option_row_t row, const char *part, void *field)
{
    hki_size_list_t *list = field;
    size_t value;

    if (strchr(part, ':') != NULL) {
        return add_range(row, part, list);
    }
    if (hki_size_parse(part, &value) != HK_OK) {
        return refuse(row, part, "is not a size, a whole number with or without K, M, G");
    }
    if (list->count == HKI_SIZES_MAX) {
        return refuse(row, part, "is one size more than %d", HKI_SIZES_MAX);
    }
    list->value[list->count++] = value;
    return HK_OK;
}

/** Call `add` for every part of a list with commas. */
static hk_status_t each_part(hki_option_row_t row, const char *words, void *list,
                             hk_status_t (*add)(hki_option_row_t, const char *, void *))
{
    char part[WORD_BYTES];

    for (;;) {
        const size_t length = strcspn(words, ",");
        if (!copy_word(words, length, part)) {
            return refuse(row, words, length == 0 ? "has an empty entry" : "has too long an entry");
        }
        const hk_status_t status = add(row, part, list);
        if (status != HK_OK || words[length] == '\0') {
            return status;
        }
        words += length + 1;
    }
}

static hk_status_t set_sizes(hki_option_row_t row, const char *word, void *field)
{
    hki_size_list_t *list = field;

    list->count = 0;
    const hk_status_t status = each_part(row, word, list, add_sizes);
    for (size_t i = 0; status == HK_OK && i < list->count; i++) {
        if (is_outside(row.option, (double)list->value[i])) {
            char text[WORD_BYTES];
            (void)snprintf(text, sizeof(text), "%zu", list->value[i]);
            return refuse_range(row, text);
        }
    }
    return status;
}

int hki_option_choice(const char *choices, const char *word)
{
    const size_t word_length = strlen(word);

    for (int i = 0; *choices != '\0'; i++) {
        const size_t length = strcspn(choices, "|");
        if (length == word_length && memcmp(choices, word, length) == 0) {
            return i;
        }
        choices += length + (choices[length] == '|');
    }
    return -1;
}

static hk_status_t refuse_choice(hki_option_row_t row, const char *word)
{
    size_t length = strlen(row.option->choices);

    length -= length > 0 && row.option->choices[length - 1] == '|';
    return refuse(row, word, "is not one of %.*s", (int)length, row.option->choices);
}

static hk_status_t set_choice(hki_option_row_t row, const char *word, void *field)
{
    const int index = hki_option_choice(row.option->choices, word);

    if (index < 0) {
        return refuse_choice(row, word);
    }
    *(int *)field = index;
    return HK_OK;
}

static hk_status_t add_choice(hki_option_row_t row, const char *part, void *field)
{
    hki_choice_list_t *list = field;
    const int index = hki_option_choice(row.option->choices, part);

    if (index < 0) {
        return refuse_choice(row, part);
    }
    if (list->count == HKI_CHOICES_MAX) {
        return refuse(row, part, "is one entry more than %d", HKI_CHOICES_MAX);
    }
    list->value[list->count++] = index;
    return HK_OK;
}

static hk_status_t set_choices(hki_option_row_t row, const char *word, void *field)
{
    hki_choice_list_t *list = field;

    list->count = 0;
    if (strcmp(word, "all") != 0) {
        return each_part(row, word, list, add_choice);
    }
    for (const char *at = row.option->choices; *at != '\0' && list->count < HKI_CHOICES_MAX;) {
        at += strcspn(at, "|");
        at += *at == '|';
        list->value[list->count] = (int)list->count;
        list->count++;
    }
    return HK_OK;
}

static hk_status_t set_flag(hki_option_row_t row, const char *word, void *field)
{
    (void)row;
    (void)word;
    *(bool *)field = true;
    return HK_OK;
}

static hk_status_t set_string(hki_option_row_t row, const char *word, void *field)
{
    (void)row;
    *(const char **)field = word;
    return HK_OK;
}

static hk_status_t add_string(hki_option_row_t row, const char *word, void *field)
{
    hki_string_list_t *list = field;

    if (list->count == HKI_STRINGS_MAX) {
        return refuse(row, word, "is one more than %d", HKI_STRINGS_MAX);
    }
    list->value[list->count++] = word;
    return HK_OK;
}

hk_status_t hki_option_set(hki_option_row_t row, const char *word, void *values)
{
    static const setter_t setters[] = {
        [HKI_OPTION_FLAG] = set_flag,       [HKI_OPTION_INT] = set_int,
        [HKI_OPTION_DOUBLE] = set_double,   [HKI_OPTION_SIZE] = set_size,
        [HKI_OPTION_SIZES] = set_sizes,     [HKI_OPTION_STRING] = set_string,
        [HKI_OPTION_STRINGS] = add_string,  [HKI_OPTION_CHOICE] = set_choice,
        [HKI_OPTION_CHOICES] = set_choices,
    };

    return setters[row.option->kind](row, word, (char *)values + row.option->offset);
}
