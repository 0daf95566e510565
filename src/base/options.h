/**
 * @file options.h
 * @brief Command-line options as a table: one row an option, which feeds the parser, --help, the
 *        manual page and the shell completion, so that they cannot disagree.
 *
 * A command has one table and one struct of values; a row says where in the struct its value goes
 * (offsetof). Defaults are written as a user would write them and parsed by the same code. Every
 * command also has -h, --help. Options stand before operands.
 *
 *     typedef struct { int ranks; hki_size_list_t sizes; } values_t;
 *     static const hki_option_t table[] = {
 *         {.name = "ranks", .letter = 'n', .kind = HKI_OPTION_INT, .arg = "N", .preset = "1",
 *          .min = 1, .max = 1024, .offset = offsetof(values_t, ranks),
 *          .help = "how many ranks to start", .hint = "say how many, e.g. -n 4"},
 *         {.name = NULL},
 *     };
 */
#ifndef HKI_BASE_OPTIONS_H
#define HKI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/base.h>

#include "base/text.h"

/** Limits of one command line. */
enum {
    HKI_OPTIONS_MAX = 62,   /**< rows of a table */
    HKI_SIZES_MAX = 128,    /**< entries of a size list */
    HKI_STRINGS_MAX = 1024, /**< entries of a string list */
    HKI_CHOICES_MAX = 32,   /**< entries of a choice list */
};

/** HKI_OPTION_SIZES: "8,64K,1M", or "8:128M:x4" (times 4), or "8:64:+8" (plus 8). */
typedef struct hki_size_list {
    size_t count;
    size_t value[HKI_SIZES_MAX];
} hki_size_list_t;

/** HKI_OPTION_STRINGS: the arguments up to the next option; repeating the option appends. */
typedef struct hki_string_list {
    size_t count;
    const char *value[HKI_STRINGS_MAX]; /**< borrowed from argv */
} hki_string_list_t;

/** HKI_OPTION_CHOICES: indices into the choices, in the order given. */
typedef struct hki_choice_list {
    size_t count;
    int value[HKI_CHOICES_MAX];
} hki_choice_list_t;

/** What an option takes, and the type of its field. */
typedef enum hki_option_kind {
    HKI_OPTION_FLAG,    /**< nothing; bool */
    HKI_OPTION_INT,     /**< a whole number; int */
    HKI_OPTION_DOUBLE,  /**< a finite number; double */
    HKI_OPTION_SIZE,    /**< a whole number with K, M, G (1024s); size_t */
    HKI_OPTION_SIZES,   /**< several of these; hki_size_list_t */
    HKI_OPTION_STRING,  /**< text; const char *, borrowed from argv; NULL without a default */
    HKI_OPTION_STRINGS, /**< several; hki_string_list_t */
    HKI_OPTION_CHOICE,  /**< one of `choices`; int, its index */
    HKI_OPTION_CHOICES, /**< "f32,bf16", or "all"; hki_choice_list_t */
} hki_option_kind_t;

typedef struct hki_option {
    const char *name; /**< "ranks" for --ranks; NULL ends the table */
    char letter;      /**< 'n' for -n, or 0 */
    hki_option_kind_t kind;
    size_t offset;       /**< of the field in the values */
    const char *arg;     /**< what the argument is called, "N", "FILE"; not for flags */
    const char *preset;  /**< default as a user would write it; NULL: zero, empty, NULL */
    const char *choices; /**< "core|none"; one '|' at the end is ignored */
    double min, max;     /**< limits, inclusive, of numbers; both 0: those of the type */
    const char *help;    /**< what it does; without a full stop */
    const char *hint; /**< the way out, added to errors: "say how many, e.g. -n 4"; may be NULL */
    bool is_hidden;   /**< parsed, but not in the help, the manual or the completion */
} hki_option_t;

typedef struct hki_command {
    const char *name;        /**< "run" */
    const char *summary;     /**< one line, lower case, no full stop */
    const char *operands;    /**< "PROGRAM [ARGUMENT...]"; NULL: takes none */
    const char *description; /**< paragraphs between empty lines; may be NULL */
    const hki_option_t *options;
    size_t values_bytes; /**< sizeof the struct of values */
    bool is_hidden;      /**< not in the manual or the completion */
} hki_command_t;

/** What a parse found besides the values. */
typedef struct hki_parsed {
    bool wants_help;   /**< -h or --help was given; nothing after it was looked at */
    int operand_first; /**< index of the first operand in argv, argc if there is none */
    uint64_t given;    /**< for hki_option_is_given() */
} hki_parsed_t;

/**
 * Parse argv[1] ... against a command's table. Uses getopt_long(): one thread at a time.
 *
 * @param[out] values  zeroed, then defaults and options are written; after an error it is undefined
 * @return HK_OK, HK_ERR_INVALID_ARG: hk_last_error() is one line for the user, "hocket run: ..."
 */
HK_NODISCARD hk_status_t hki_options_parse(const hki_command_t *command, int argc, char **argv,
                                           void *values, hki_parsed_t *parsed_out);

/** Was the option given on the command line (true), or is its value the default? */
bool hki_option_is_given(const hki_command_t *command, const hki_parsed_t *parsed,
                         const char *name);

/**
 * Refuse a value that only the command itself can judge, in the words of the parser:
 * "hocket train: --mesh data=3 does not divide ...; hint".
 *
 * @param name   name of an option of the table
 * @param value  NULL: the option as such is refused
 * @return HK_ERR_INVALID_ARG
 */
hk_status_t hki_option_refuse(const hki_command_t *command, const char *name, const char *value,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/** A size with K, M, G suffix. @return HK_OK, HK_ERR_FORMAT (no text is stored) */
HK_NODISCARD hk_status_t hki_size_parse(const char *word, size_t *bytes_out);

/** Index of `word` in "a|b|c", or -1. */
int hki_option_choice(const char *choices, const char *word);

/** The text of --help. */
void hki_options_help(const hki_command_t *command, hki_text_t *text);

/** The manual page of all commands, in man(7) macros. */
void hki_options_manual(const hki_command_t *const *commands, size_t count, hki_text_t *text);

/** The bash completion of all commands. */
void hki_options_completion(const hki_command_t *const *commands, size_t count, hki_text_t *text);

#endif /* HKI_BASE_OPTIONS_H */
