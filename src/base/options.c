/*
 * Command-line options: getopt_long() splits the words, the table says what they mean. One setter a
 * kind turns a word into a value; defaults go through the same setters. What is refused is refused
 * in one line that names the command, the option, the value, the limit and the way out.
 */
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum {
    LONG_BASE = 1000, /* getopt_long() returns this + row for long options */
    WORD_BYTES = 64,  /* longest number or choice */
    NAME_BYTES = 32,  /* longest option name that is compared for a suggestion */
};

/** One row of one command: what the setters need for a value and for an error. */
typedef struct row {
    const hki_command_t *command;
    const hki_option_t *option;
} row_t;

typedef hk_status_t (*setter_t)(row_t row, const char *word, void *field);

static hk_status_t refuse(row_t row, const char *value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static hk_status_t refuse_v(row_t row, const char *value, const char *format, va_list args)
{
    char what[256];

    (void)vsnprintf(what, sizeof(what), format, args);
    if (row.option->hint != NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: --%s %.160s %s; %s", row.command->name,
                        row.option->name, value, what, row.option->hint);
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: --%s %.160s %s; see hocket %s --help",
                    row.command->name, row.option->name, value, what, row.command->name);
}

static hk_status_t refuse(row_t row, const char *value, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const hk_status_t status = refuse_v(row, value, format, args);
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

static hk_status_t refuse_range(row_t row, const char *word)
{
    double low;
    double high;

    limits(row.option, &low, &high);
    return refuse(row, word, "is not in %.12g..%.12g", low, high);
}

static hk_status_t set_int(row_t row, const char *word, void *field)
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

static hk_status_t set_double(row_t row, const char *word, void *field)
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

static hk_status_t set_size(row_t row, const char *word, void *field)
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
static hk_status_t add_range(row_t row, const char *part, hki_size_list_t *list)
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

static hk_status_t add_sizes(row_t row, const char *part, void *field)
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
static hk_status_t each_part(row_t row, const char *words, void *list,
                             hk_status_t (*add)(row_t, const char *, void *))
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

static hk_status_t set_sizes(row_t row, const char *word, void *field)
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

int hki_choice_find(const char *choices, const char *word)
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

static hk_status_t refuse_choice(row_t row, const char *word)
{
    size_t length = strlen(row.option->choices);

    length -= length > 0 && row.option->choices[length - 1] == '|';
    return refuse(row, word, "is not one of %.*s", (int)length, row.option->choices);
}

static hk_status_t set_choice(row_t row, const char *word, void *field)
{
    const int index = hki_choice_find(row.option->choices, word);

    if (index < 0) {
        return refuse_choice(row, word);
    }
    *(int *)field = index;
    return HK_OK;
}

static hk_status_t add_choice(row_t row, const char *part, void *field)
{
    hki_choice_list_t *list = field;
    const int index = hki_choice_find(row.option->choices, part);

    if (index < 0) {
        return refuse_choice(row, part);
    }
    if (list->count == HKI_CHOICES_MAX) {
        return refuse(row, part, "is one entry more than %d", HKI_CHOICES_MAX);
    }
    list->value[list->count++] = index;
    return HK_OK;
}

static hk_status_t set_choices(row_t row, const char *word, void *field)
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

static hk_status_t set_flag(row_t row, const char *word, void *field)
{
    (void)row;
    (void)word;
    *(bool *)field = true;
    return HK_OK;
}

static hk_status_t set_string(row_t row, const char *word, void *field)
{
    (void)row;
    *(const char **)field = word;
    return HK_OK;
}

static hk_status_t add_string(row_t row, const char *word, void *field)
{
    hki_string_list_t *list = field;

    if (list->count == HKI_STRINGS_MAX) {
        return refuse(row, word, "is one more than %d", HKI_STRINGS_MAX);
    }
    list->value[list->count++] = word;
    return HK_OK;
}

static hk_status_t set_value(row_t row, const char *word, void *values)
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

/** Letters that differ between two names: the edit distance of Levenshtein. */
static size_t distance(const char *a, const char *b)
{
    size_t line[NAME_BYTES + 1];
    const size_t b_length = strlen(b);

    if (strlen(a) > NAME_BYTES || b_length > NAME_BYTES) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b_length; j++) {
        line[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t corner = line[0];
        line[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            const size_t swap = corner + (a[i - 1] != b[j - 1]);
            const size_t step = (line[j] < line[j - 1] ? line[j] : line[j - 1]) + 1;
            corner = line[j];
            line[j] = swap < step ? swap : step;
        }
    }
    return line[b_length];
}

static hk_status_t refuse_unknown(const hki_command_t *command, const char *word)
{
    const char *best = NULL;
    size_t best_distance = 3; // more than two wrong letters is another word
    char name[NAME_BYTES + 1];

    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (const hki_option_t *o = command->options; word[1] == '-' && o->name != NULL; o++) {
        const size_t d = distance(name, o->name);
        if (d < best_distance && d < strlen(o->name)) {
            best_distance = d;
            best = o->name;
        }
    }
    if (best != NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: unknown option %.160s; did you mean --%s?",
                        command->name, word, best);
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: unknown option %.160s; see hocket %s --help",
                    command->name, word, command->name);
}

/** The row that getopt_long() means by `code`; -1: none, or --help. */
static int row_of(const hki_command_t *command, int code)
{
    if (code >= LONG_BASE) {
        return code - LONG_BASE;
    }
    for (int i = 0; command->options[i].name != NULL; i++) {
        if (code != 0 && command->options[i].letter == code) {
            return i;
        }
    }
    return -1;
}

/** getopt_long() returned `code`, '?' or ':'. */
static hk_status_t refuse_word(const hki_command_t *command, int code, char **argv)
{
    const int index = row_of(command, optopt);
    char word[] = {'-', (char)optopt, '\0'};

    if (optopt == 'h' || optopt == LONG_BASE - 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: --help takes no value", command->name);
    }
    if (index < 0) {
        return refuse_unknown(command, optopt != 0 ? word : argv[optind - 1]);
    }
    const hki_option_t *option = &command->options[index];
    if (code == ':') {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: --%s needs a value %s; %s", command->name,
                        option->name, option->arg,
                        option->hint != NULL ? option->hint : "none was given");
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket %s: --%s takes no value; write only --%s",
                    command->name, option->name, option->name);
}

/** The table in getopt_long()'s two forms. */
typedef struct getopt_form {
    char letters[2 * HKI_OPTIONS_MAX + 8];
    struct option longs[HKI_OPTIONS_MAX + 2];
} getopt_form_t;

static void make_form(const hki_command_t *command, getopt_form_t *form)
{
    size_t at = 0;
    int n = 0;

    form->letters[at++] = '+'; // stop at the first operand
    form->letters[at++] = ':'; // tell a missing value from an unknown option
    form->letters[at++] = 'h';
    for (; command->options[n].name != NULL; n++) {
        const hki_option_t *option = &command->options[n];
        const bool has_value = option->kind != HKI_OPTION_FLAG;
        HKI_ASSERT(n < HKI_OPTIONS_MAX);
        form->longs[n] = (struct option){
            .name = option->name,
            .has_arg = has_value ? required_argument : no_argument,
            .val = LONG_BASE + n,
        };
        if (option->letter != '\0') {
            form->letters[at++] = option->letter;
        }
        if (option->letter != '\0' && has_value) {
            form->letters[at++] = ':';
        }
    }
    form->letters[at] = '\0';
    form->longs[n] = (struct option){.name = "help", .val = LONG_BASE - 1};
    form->longs[n + 1] = (struct option){.name = NULL};
}

static hk_status_t set_presets(const hki_command_t *command, void *values)
{
    memset(values, 0, command->values_bytes);
    for (const hki_option_t *option = command->options; option->name != NULL; option++) {
        const row_t row = {command, option};
        if (option->preset != NULL && set_value(row, option->preset, values) != HK_OK) {
            return HK_ERR_INVALID_ARG;
        }
    }
    return HK_OK;
}

/** Set one option from optarg, and from the words after it if it takes several. */
static hk_status_t take(row_t row, int argc, char **argv, void *values, bool is_first)
{
    const bool is_list = row.option->kind == HKI_OPTION_STRINGS;
    hk_status_t status;

    if (is_list && is_first) {
        ((hki_string_list_t *)(void *)((char *)values + row.option->offset))->count = 0;
    }
    status = set_value(row, optarg, values);
    while (status == HK_OK && is_list && optind < argc && argv[optind][0] != '-') {
        status = set_value(row, argv[optind], values);
        optind++;
    }
    return status;
}

hk_status_t hki_options_parse(const hki_command_t *command, int argc, char **argv, void *values,
                              hki_parsed_t *parsed_out)
{
    hki_parsed_t parsed = {.operand_first = argc};
    getopt_form_t form;
    hk_status_t status = set_presets(command, values);
    int code;

    make_form(command, &form);
    optind = 0; // glibc: start anew
    opterr = 0;
    while (status == HK_OK &&
           (code = getopt_long(argc, argv, form.letters, form.longs, NULL)) != -1) {
        if (code == 'h' || code == LONG_BASE - 1) {
            parsed.wants_help = true;
            *parsed_out = parsed;
            return HK_OK;
        }
        if (code == '?' || code == ':') {
            return refuse_word(command, code, argv);
        }
        const int index = row_of(command, code);
        const row_t row = {command, &command->options[index]};
        const uint64_t bit = UINT64_C(1) << index;
        status = take(row, argc, argv, values, (parsed.given & bit) == 0);
        parsed.given |= bit;
    }
    if (status == HK_OK && command->operands == NULL && optind < argc) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "hocket %s: %.160s is not an option and no operand is taken; see hocket %s "
                        "--help",
                        command->name, argv[optind], command->name);
    }
    if (status == HK_OK) {
        parsed.operand_first = optind;
        *parsed_out = parsed;
    }
    return status;
}

/** The row of that name; the command's own code asks, so it must exist. */
static const hki_option_t *find(const hki_command_t *command, const char *name)
{
    const hki_option_t *option = command->options;

    while (option->name != NULL && strcmp(option->name, name) != 0) {
        option++;
    }
    HKI_ASSERT(option->name != NULL);
    return option;
}

bool hki_option_is_given(const hki_command_t *command, const hki_parsed_t *parsed, const char *name)
{
    return (parsed->given >> (find(command, name) - command->options)) & 1;
}

hk_status_t hki_option_refuse(const hki_command_t *command, const char *name, const char *value,
                              const char *format, ...)
{
    const row_t row = {command, find(command, name)};
    va_list args;

    va_start(args, format);
    const hk_status_t status = refuse_v(row, value, format, args);
    va_end(args);
    return status;
}
