/*
 * The command `hocket`: finds the subcommand and hands over.
 */
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "tool.h"

typedef struct docs_values {
    bool is_manual;
    bool is_completion;
    bool is_algorithms;
} docs_values_t;

static const hki_option_t docs_options[] = {
    {.name = "manual",
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(docs_values_t, is_manual),
     .help = "print the manual page"},
    {.name = "completion",
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(docs_values_t, is_completion),
     .help = "print the bash completion"},
    {.name = "algorithms",
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(docs_values_t, is_algorithms),
     .help = "print the algorithms and their costs as Markdown"},
    {.name = NULL},
};

static const hki_command_t docs_command = {
    .name = "docs",
    .summary = "print what is generated from the option tables",
    .options = docs_options,
    .values_bytes = sizeof(docs_values_t),
    .is_hidden = true,
};

static int docs_main(int argc, char **argv);

static const hki_subcommand_t docs_subcommand = {&docs_command, docs_main};

/** Every subcommand, in the order of the help. */
static const hki_subcommand_t *const subcommands[] = {
    &hki_subcommand_run,  &hki_subcommand_bench, &hki_subcommand_train,
    &hki_subcommand_topo, &docs_subcommand,
};

enum { SUBCOMMAND_COUNT = sizeof(subcommands) / sizeof(subcommands[0]) };

static int docs_main(int argc, char **argv)
{
    const hki_command_t *commands[SUBCOMMAND_COUNT];
    docs_values_t values;
    hki_parsed_t parsed;
    hki_text_t text = {0};
    const int status = hki_tool_parse(&docs_command, argc, argv, &values, &parsed);

    if (status >= 0) {
        return status;
    }
    for (int i = 0; i < SUBCOMMAND_COUNT; i++) {
        commands[i] = subcommands[i]->command;
    }
    if (values.is_manual) {
        hki_options_manual(commands, SUBCOMMAND_COUNT, &text);
    }
    if (values.is_completion) {
        hki_options_completion(commands, SUBCOMMAND_COUNT, &text);
    }
    if (values.is_algorithms) {
        hki_algo_write_markdown(&text);
    }
    const bool is_ok = !text.is_failed && text.length > 0 && fputs(text.data, stdout) >= 0;
    hki_text_fini(&text);
    return is_ok ? 0 : HKI_EXIT_FAILED;
}

static int print_help(FILE *file)
{
    (void)fprintf(file, "hocket: distributed training over any number of ranks\n\n"
                        "usage: hocket COMMAND [OPTIONS]\n\ncommands:\n");
    for (int i = 0; i < SUBCOMMAND_COUNT; i++) {
        const hki_command_t *command = subcommands[i]->command;
        if (!command->is_hidden) {
            (void)fprintf(file, "  %-8s%s\n", command->name, command->summary);
        }
    }
    (void)fprintf(file,
                  "\nhocket COMMAND --help tells more; hocket --version prints the version.\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "hocket: no command was given; see hocket --help\n");
        return HKI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        return print_help(stdout);
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("hocket %s\n", hk_version());
        return 0;
    }
    for (int i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(argv[1], subcommands[i]->command->name) == 0) {
            return subcommands[i]->main(argc - 1, argv + 1);
        }
    }
    (void)fprintf(stderr,
                  "hocket: unknown command %.160s; commands are run, bench, train, topo; see "
                  "hocket --help\n",
                  argv[1]);
    return HKI_EXIT_USAGE;
}
