/*
 * Command-line options: getopt_long() splits the words, the table says what they mean, and
 * options_value.c turns words into values; defaults go the same way. What is refused is refused in
 * one line that names the command, the option, the value, the limit and the way out.
 */
#include "base/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options_value.h"

enum {
    LONG_BASE = 1000, /* getopt_long() returns this + row for long options */
    NAME_BYTES = 32,  /* longest option name that is compared for a suggestion */
};

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
        const hki_option_row_t row = {command, option};
        if (option->preset != NULL && hki_option_set(row, option->preset, values) != HK_OK) {
            return HK_ERR_INVALID_ARG;
        }
    }
    return HK_OK;
}

/** Set one option from optarg, and from the words after it if it takes several. */
static hk_status_t take(hki_option_row_t row, int argc, char **argv, void *values, bool is_first)
{
    const bool is_list = row.option->kind == HKI_OPTION_STRINGS;
    hk_status_t status;

    if (is_list && is_first) {
        ((hki_string_list_t *)(void *)((char *)values + row.option->offset))->count = 0;
    }
    status = hki_option_set(row, optarg, values);
    while (status == HK_OK && is_list && optind < argc && argv[optind][0] != '-') {
        status = hki_option_set(row, argv[optind], values);
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
        const hki_option_row_t row = {command, &command->options[index]};
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
    const hki_option_row_t row = {command, find(command, name)};
    va_list args;

    va_start(args, format);
    const hk_status_t status = hki_option_refuse_v(row, value, format, args);
    va_end(args);
    return status;
}
