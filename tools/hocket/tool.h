/**
 * @file tool.h
 * @brief The subcommands of `hocket`, and what they share.
 */
#ifndef HKI_TOOLS_HOCKET_TOOL_H
#define HKI_TOOLS_HOCKET_TOOL_H

#include "base/options.h"

/** Exit statuses of the command itself; see the manual. */
enum {
    HKI_EXIT_FAILED = 1,
    HKI_EXIT_USAGE = 2,
    HKI_EXIT_NOT_EXECUTABLE = 126,
    HKI_EXIT_NOT_FOUND = 127,
};

/** A subcommand: its option table, and what runs it. argv[0] is its name. */
typedef struct hki_subcommand {
    const hki_command_t *command;
    int (*main)(int argc, char **argv);
} hki_subcommand_t;

extern const hki_subcommand_t hki_subcommand_run;
extern const hki_subcommand_t hki_subcommand_bench;
extern const hki_subcommand_t hki_subcommand_train;
extern const hki_subcommand_t hki_subcommand_topo;

/**
 * Parse a subcommand's options; print --help, or the one line that says what is wrong.
 *
 * @return -1: go on; else the exit status to end with
 */
int hki_tool_parse(const hki_command_t *command, int argc, char **argv, void *values,
                   hki_parsed_t *parsed_out);

/** Print hk_last_error(), the parser's or hki_option_refuse()'s line. @return HKI_EXIT_USAGE */
int hki_tool_usage(void);

/** Print "hocket NAME: " and hk_last_error(). @return HKI_EXIT_FAILED */
int hki_tool_failed(const hki_command_t *command);

/** Print " 0-3 8, 4-7": ranks with equal numbers in `parts`, (nranks,), side by side. */
void hki_tool_print_parts(const int *parts, int nranks);

#endif /* HKI_TOOLS_HOCKET_TOOL_H */
