/*
 * What the subcommands share: how options are parsed and errors shown.
 */
#include "tool.h"

#include <stdio.h>

int hki_tool_parse(const hki_command_t *command, int argc, char **argv, void *values,
                   hki_parsed_t *parsed_out)
{
    hki_text_t text = {0};

    if (hki_options_parse(command, argc, argv, values, parsed_out) != HK_OK) {
        return hki_tool_usage();
    }
    if (!parsed_out->wants_help) {
        return -1;
    }
    hki_options_help(command, &text);
    if (!text.is_failed) {
        (void)fputs(text.data, stdout);
    }
    hki_text_fini(&text);
    return fflush(stdout) == 0 ? 0 : HKI_EXIT_FAILED;
}

int hki_tool_usage(void)
{
    (void)fprintf(stderr, "%s\n", hk_last_error());
    return HKI_EXIT_USAGE;
}

int hki_tool_failed(const hki_command_t *command)
{
    (void)fprintf(stderr, "hocket %s: %s\n", command->name, hk_last_error());
    return HKI_EXIT_FAILED;
}

/** "0-3 8", the ranks of the part that `first` is in. */
static void print_part(const int *parts, int nranks, int first)
{
    for (int rank = first; rank < nranks; rank++) {
        int last = rank;
        if (parts[rank] != parts[first]) {
            continue;
        }
        while (last + 1 < nranks && parts[last + 1] == parts[first]) {
            last++;
        }
        (void)printf(last == rank ? " %d" : " %d-%d", rank, last);
        rank = last;
    }
}

void hki_tool_print_parts(const int *parts, int nranks)
{
    for (int rank = 0; rank < nranks; rank++) {
        bool is_first = true;

        for (int before = 0; before < rank; before++) {
            is_first = is_first && parts[before] != parts[rank];
        }
        if (is_first) {
            (void)printf("%s", rank == 0 ? "" : ",");
            print_part(parts, nranks, rank);
        }
    }
}
