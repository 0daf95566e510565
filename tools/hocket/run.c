/*
 * `hocket run`: start a program as several ranks.
 */
#include <stddef.h>

#include "base/error.h"
#include "launch.h"
#include "preload.h"
#include "tool.h"

typedef struct run_values {
    int nranks;
    int bind;
    double timeout_s;
    double grace_s;
    bool has_prefix;
    bool is_quiet;
    bool has_shared_heap;
    size_t shared_heap_min;
} run_values_t;

static const hki_option_t run_options[] = {
    {.name = "ranks",
     .letter = 'n',
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "1",
     .min = 1,
     .max = 1024,
     .offset = offsetof(run_values_t, nranks),
     .help = "how many ranks to start",
     .hint = "say how many ranks to start, e.g. -n 4"},
    {.name = "bind",
     .kind = HKI_OPTION_CHOICE,
     .arg = "WHERE",
     .preset = "none",
     .choices = HKI_BIND_CHOICES,
     .offset = offsetof(run_values_t, bind),
     .help = "core: pin rank i to core i mod n of the n cores that this process may use, taken in "
             "the order in which they share caches and memory; see hocket topo",
     .hint = "write --bind core to pin each rank"},
    {.name = "timeout",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "SECONDS",
     .min = 0.001,
     .max = 1e6,
     .offset = offsetof(run_values_t, timeout_s),
     .help =
         "deadline of every wait for another rank (HOCKET_TIMEOUT); without it the program's own",
     .hint = "give seconds, e.g. --timeout 30"},
    {.name = "grace",
     .kind = HKI_OPTION_DOUBLE,
     .arg = "SECONDS",
     .preset = "2",
     .min = 0,
     .max = 1e6,
     .offset = offsetof(run_values_t, grace_s),
     .help = "how long the other ranks have to end after one has failed, before SIGTERM and then "
             "SIGKILL",
     .hint = "give seconds, e.g. --grace 2"},
    {.name = "prefix",
     .letter = 'p',
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(run_values_t, has_prefix),
     .help = "begin each line of output with its rank, \"[3] \""},
    {.name = "quiet",
     .letter = 'q',
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(run_values_t, is_quiet),
     .help = "do not report ranks that fail; the exit status still tells"},
    {.name = "shared-heap",
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(run_values_t, has_shared_heap),
     .help = "give the ranks a malloc() whose large blocks all ranks can read, so that collectives "
             "on them copy nothing, in programs as they are"},
    {.name = "shared-heap-min",
     .kind = HKI_OPTION_SIZE,
     .arg = "BYTES",
     .preset = "64K",
     .min = 4096,
     .max = 1099511627776.0,
     .offset = offsetof(run_values_t, shared_heap_min),
     .help = "with --shared-heap: smaller blocks come from the C library's malloc()",
     .hint = "give bytes, 4K or more, e.g. --shared-heap-min 1M"},
    {.name = NULL},
};

static const hki_command_t run_command = {
    .name = "run",
    .summary = "start a program as several ranks on this host",
    .operands = "PROGRAM [ARGUMENT...]",
    .description =
        "Each rank finds its place in HOCKET_RANK and HOCKET_NRANKS, which hk_comm_open() reads. "
        "Output is written in whole lines. Standard input goes to rank 0, unless it is a terminal. "
        "SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed on.\n\n"
        "When a rank exits with another status than 0, or is killed, the other ranks learn it at "
        "once, have --grace seconds to end with an error of their own, and are then ended.\n\n"
        "--shared-heap loads libhocket_malloc.so before each rank's program (LD_PRELOAD), and so "
        "before all that it starts. Blocks from the shared heap take memory at once, not when they "
        "are first touched; a forked child gets copies of its parent's. Programs with a malloc() "
        "of their own, also sanitizers, cannot use it.",
    .options = run_options,
    .values_bytes = sizeof(run_values_t),
};

static int run_main(int argc, char **argv)
{
    run_values_t values;
    hki_parsed_t parsed;
    const int status = hki_tool_parse(&run_command, argc, argv, &values, &parsed);

    if (status >= 0) {
        return status;
    }
    if (parsed.operand_first == argc) {
        (void)HKI_FAIL(HK_ERR_INVALID_ARG, "hocket run: no program was given; write it after the "
                                           "options, e.g. hocket run -n 4 ./prog");
        return hki_tool_usage();
    }
    if (values.has_shared_heap && hki_preload_malloc(values.shared_heap_min) != HK_OK) {
        return hki_tool_failed(&run_command);
    }
    const hki_launch_opts_t opts = {
        .command = "run",
        .nranks = values.nranks,
        .bind = (hki_bind_t)values.bind,
        .timeout_s = values.timeout_s,
        .grace_s = values.grace_s,
        .has_prefix = values.has_prefix,
        .is_quiet = values.is_quiet,
        .argv = argv + parsed.operand_first,
    };

    return hki_launch(&opts);
}

const hki_subcommand_t hki_subcommand_run = {&run_command, run_main};
