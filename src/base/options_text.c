/*
 * What is written from the option tables: the text of --help, the manual page, the completion.
 */
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/options_value.h"

enum {
    HELP_COLUMN = 28, /* where the text of an option starts in --help */
    HELP_WIDTH = 90,
};

static bool has_limits(const hki_option_t *option)
{
    return (option->kind == HKI_OPTION_INT || option->kind == HKI_OPTION_DOUBLE ||
            option->kind == HKI_OPTION_SIZE || option->kind == HKI_OPTION_SIZES) &&
           (option->min != 0.0 || option->max != 0.0);
}

/** "how many; 1 to 1024; default 1": help, choices, limits and default of a row. */
static void add_words(const hki_option_t *option, hki_text_t *text)
{
    hki_text_add(text, "%s", option->help);
    if (option->choices != NULL) {
        size_t length = strlen(option->choices);
        length -= length > 0 && option->choices[length - 1] == '|';
        hki_text_add(text, "; %s", option->kind == HKI_OPTION_CHOICES ? "all, or any of " : "");
        for (size_t i = 0; i < length; i++) {
            const bool is_bar = option->choices[i] == '|';
            hki_text_append(text, is_bar ? ", " : &option->choices[i], is_bar ? 2 : 1);
        }
    }
    if (has_limits(option)) {
        char range[HKI_RANGE_BYTES];
        hki_option_range(option, option->min, option->max, " to ", range);
        hki_text_add(text, "; %s", range);
    }
    if (option->preset != NULL) {
        hki_text_add(text, "; default %s", option->preset);
    }
}

/** "-n, --ranks N". */
static void add_form(const hki_option_t *option, hki_text_t *text)
{
    if (option->letter != '\0') {
        hki_text_add(text, "-%c, ", option->letter);
    }
    hki_text_add(text, "--%s", option->name);
    if (option->arg != NULL) {
        hki_text_add(text, " %s%s", option->arg, option->kind == HKI_OPTION_STRINGS ? "..." : "");
    }
}

static const hki_option_t help_row = {
    .name = "help", .letter = 'h', .kind = HKI_OPTION_FLAG, .help = "print this and stop"};

/** Row `index` of the table and, after its last, the row of --help; then NULL. */
static const hki_option_t *row_at(const hki_command_t *command, size_t index)
{
    size_t count = 0;

    while (command->options[count].name != NULL) {
        count++;
    }
    if (index < count) {
        return &command->options[index];
    }
    return index == count ? &help_row : NULL;
}

static void help_option(const hki_option_t *option, hki_text_t *text)
{
    hki_text_t words = {0};
    hki_text_t form = {0};

    add_words(option, &words);
    add_form(option, &form);
    if (words.is_failed || form.is_failed) {
        text->is_failed = true;
    } else {
        hki_text_add(text, "%s%s", option->letter != '\0' ? "  " : "      ", form.data);
        if (form.length + (option->letter != '\0' ? 2 : 6) + 1 >= HELP_COLUMN) {
            hki_text_append(text, "\n", 1);
        }
        hki_text_wrap(text, words.data, HELP_COLUMN, HELP_WIDTH);
        hki_text_append(text, "\n", 1);
    }
    hki_text_fini(&words);
    hki_text_fini(&form);
}

void hki_options_help(const hki_command_t *command, hki_text_t *text)
{
    const hki_option_t *option;

    hki_text_add(text, "hocket %s: %s\n\nusage: hocket %s [OPTIONS]%s%s\n", command->name,
                 command->summary, command->name, command->operands != NULL ? " " : "",
                 command->operands != NULL ? command->operands : "");
    if (command->description != NULL) {
        hki_text_append(text, "\n", 1);
        hki_text_wrap(text, command->description, 0, HELP_WIDTH);
        hki_text_append(text, "\n", 1);
    }
    hki_text_add(text, "\noptions:\n");
    for (size_t i = 0; (option = row_at(command, i)) != NULL; i++) {
        if (!option->is_hidden) {
            help_option(option, text);
        }
    }
}

/** Append text that troff must not read as commands. */
static void man_escape(hki_text_t *text, const char *words)
{
    for (size_t i = 0; words[i] != '\0'; i++) {
        const bool is_line_start = text->length == 0 || text->data[text->length - 1] == '\n';
        if (is_line_start && (words[i] == '.' || words[i] == '\'')) {
            hki_text_add(text, "\\&");
        }
        if (words[i] == '\n' && words[i + 1] == '\n') {
            hki_text_add(text, "\n.PP\n");
            i++;
        } else if (words[i] == '-') {
            hki_text_add(text, "\\-");
        } else if (words[i] == '\\') {
            hki_text_add(text, "\\e");
        } else {
            hki_text_append(text, &words[i], 1);
        }
    }
}

static void man_option(const hki_option_t *option, hki_text_t *text)
{
    hki_text_t words = {0};
    hki_text_t form = {0};

    add_form(option, &form);
    add_words(option, &words);
    if (words.is_failed || form.is_failed) {
        text->is_failed = true;
    } else {
        hki_text_add(text, ".TP\n.B ");
        man_escape(text, form.data);
        hki_text_add(text, "\n");
        man_escape(text, words.data);
        hki_text_add(text, ".\n");
    }
    hki_text_fini(&words);
    hki_text_fini(&form);
}

static void man_command(const hki_command_t *command, hki_text_t *text)
{
    const hki_option_t *option;

    hki_text_add(text, ".SS hocket %s [OPTIONS]%s%s\n", command->name,
                 command->operands != NULL ? " " : "",
                 command->operands != NULL ? command->operands : "");
    man_escape(text, command->summary);
    hki_text_add(text, ".\n");
    if (command->description != NULL) {
        hki_text_add(text, ".PP\n");
        man_escape(text, command->description);
        hki_text_add(text, "\n");
    }
    for (size_t i = 0; (option = row_at(command, i)) != NULL; i++) {
        if (!option->is_hidden) {
            man_option(option, text);
        }
    }
}

void hki_options_manual(const hki_command_t *const *commands, size_t count, hki_text_t *text)
{
    hki_text_add(text,
                 ".\\\" Written by `hocket docs --manual` from the option tables; do not edit.\n"
                 ".TH HOCKET 1 \"\" \"hocket " HK_VERSION_STRING "\" \"User Commands\"\n"
                 ".SH NAME\nhocket \\- distributed training over any number of ranks\n"
                 ".SH SYNOPSIS\n.B hocket\nCOMMAND [OPTIONS]\n.br\n"
                 ".B hocket \\-\\-version\n.br\n.B hocket \\-\\-help\n.SH COMMANDS\n");
    for (size_t i = 0; i < count; i++) {
        if (!commands[i]->is_hidden) {
            man_command(commands[i], text);
        }
    }
    hki_text_add(text, ".SH EXIT STATUS\n0: success. 1: the work failed. 2: bad usage; one line on "
                       "stderr names the value and the way out.\n"
                       "127: the program of hocket run was not found. Otherwise hocket run and the "
                       "commands that start ranks\nend with the status of the rank that failed "
                       "first, 128 + N for signal N.\n");
}

/** "all|any" as "all any". */
static void add_choices(const hki_option_t *option, hki_text_t *text)
{
    for (const char *at = option->choices; *at != '\0'; at++) {
        hki_text_append(text, *at == '|' ? " " : at, 1);
    }
}

static void complete_command(const hki_command_t *command, hki_text_t *text)
{
    const hki_option_t *option;

    hki_text_add(text, "    %s)\n        case \"$previous\" in\n", command->name);
    for (size_t i = 0; (option = row_at(command, i)) != NULL; i++) {
        if (!option->is_hidden && option->choices != NULL) {
            hki_text_add(text, "        --%s) words=\"", option->name);
            add_choices(option, text);
            hki_text_add(text, "\" ;;\n");
        }
    }
    hki_text_add(text, "        *) words=\"");
    for (size_t i = 0; (option = row_at(command, i)) != NULL; i++) {
        if (!option->is_hidden) {
            hki_text_add(text, "%s--%s", i == 0 ? "" : " ", option->name);
        }
    }
    hki_text_add(text, "\" ;;\n        esac\n        ;;\n");
}

void hki_options_completion(const hki_command_t *const *commands, size_t count, hki_text_t *text)
{
    hki_text_add(text, "# Written by `hocket docs --completion` from the option tables; do not "
                       "edit.\n"
                       "_hocket()\n{\n"
                       "    local word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
                       "    local previous=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
                       "    local words=\"\"\n\n"
                       "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"");
    for (size_t i = 0; i < count; i++) {
        if (!commands[i]->is_hidden) {
            hki_text_add(text, "%s ", commands[i]->name);
        }
    }
    hki_text_add(text, "--help --version\"\n    fi\n    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < count; i++) {
        if (!commands[i]->is_hidden) {
            complete_command(commands[i], text);
        }
    }
    hki_text_add(text, "    esac\n"
                       "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                       "}\n"
                       "complete -o default -F _hocket hocket\n");
}
