/*
 * hk_conformance: every collective against a plain reference, on one transport.
 *
 *     hk_conformance --transport local|shm [--ranks 2,3,5] [--grid quick|full|none] [--mix 200]
 *                    [--memory turn|private|shared] [--path single-copy] [--parts 2] [--seed 1]
 *
 * Exit status 0: all right; 1: something is wrong, and stderr says what; 2: wrong arguments; 77:
 * this machine does not have the path.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "grid.h"
#include "path.h"
#include "ranks.h"

enum { MIX_MAX = 1000000000 };

typedef struct arguments {
    const char *transport;
    const char *ranks;
    const path_t *path; /**< or NULL */
    int nparts;         /**< of the machine, as processes believe */
    grid_t grid;
} arguments_t;

/** Number of `text` among `count` words, or -1. */
static int word_of(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static int usage(const char *what)
{
    fprintf(stderr,
            "hk_conformance: %s; usage: hk_conformance --transport local|shm [--ranks N,N] "
            "[--grid quick|full|none] [--mix COUNT] [--memory turn|private|shared] [--path %s] "
            "[--parts N] [--seed N]\n",
            what, path_names());
    return 2;
}

/** Sets one option. @return false: there is none like that */
static bool set_option(arguments_t *args, const char *name, const char *value)
{
    static const char *const transports[] = {"local", "shm"};
    static const char *const sizes[] = {"quick", "full", "none"};
    static const char *const memories[] = {"turn", "private", "shared"};
    char *end = NULL;
    int word = 0;

    if (strcmp(name, "--transport") == 0) {
        word = word_of(value, transports, 2);
        args->transport = value;
    } else if (strcmp(name, "--ranks") == 0) {
        args->ranks = value;
    } else if (strcmp(name, "--grid") == 0) {
        word = word_of(value, sizes, 3);
        args->grid.size = (grid_size_t)word;
    } else if (strcmp(name, "--memory") == 0) {
        word = word_of(value, memories, 3);
        args->grid.memory = (memory_t)word;
    } else if (strcmp(name, "--path") == 0) {
        args->path = path_find(value);
        word = args->path == NULL ? -1 : 0;
    } else if (strcmp(name, "--mix") == 0) {
        const long count = strtol(value, &end, 10);
        word = end == value || *end != '\0' || count < 0 || count > MIX_MAX ? -1 : 0;
        args->grid.mix_count = (int)count;
    } else if (strcmp(name, "--parts") == 0) {
        args->nparts = (int)strtol(value, &end, 10);
        word = end == value || *end != '\0' || args->nparts < 1 ? -1 : 0;
        ranks_divide(args->nparts);
    } else if (strcmp(name, "--seed") == 0) {
        args->grid.seed = strtoull(value, &end, 10);
        word = end == value || *end != '\0' ? -1 : 0;
    } else {
        return false;
    }
    return word >= 0;
}

/** Does the communicator know of the parts that its ranks were told of? */
static bool is_divided(const arguments_t *args, const hk_comm_t *comm)
{
    const int told = ranks_in_part(comm->nranks);
    const int want = told == comm->nranks ? 1 : told;

    if (args->nparts > 1 && comm->parts.near_ranks != want) {
        fprintf(stderr, "rank %d: %d ranks are near each other, not %d\n", comm->rank,
                comm->parts.near_ranks, want);
        return false;
    }
    return true;
}

/** What every rank does. */
static bool rank_run(hk_comm_t *comm, const void *cookie)
{
    const arguments_t *args = cookie;
    const grid_t *grid = &args->grid;

    return is_divided(args, comm) && (grid->size == GRID_NONE || grid_run(comm, grid)) &&
           (grid->size == GRID_NONE || args->path == NULL ||
            path_was_taken(args->path, comm)) && // of the grid: the mix uses all kinds of memory
           (grid->mix_count == 0 || mix_run(comm, grid));
}

int main(int argc, char **argv)
{
    arguments_t args = {.transport = "local",
                        .ranks = "1,2,3,4,5,6,7,8,9,12,16,17,33",
                        .grid = {.seed = 1, .mix_count = 60}};

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc || !set_option(&args, argv[i], argv[i + 1])) {
            return usage(argv[i]);
        }
    }
    args.grid.is_one_process = strcmp(args.transport, "local") == 0;
    if (args.grid.is_one_process && args.nparts > 1) {
        return usage("--parts is for processes");
    }
    if (args.path != NULL && path_force(args.path, &args.grid) != 0) {
        return PATH_SKIPPED;
    }
    for (const char *at = args.ranks; *at != '\0';) {
        char *end = NULL;
        const long nranks = strtol(at, &end, 10);

        if (end == at || nranks < 1 || nranks > RANKS_RUN_MAX || (*end != ',' && *end != '\0')) {
            return usage(args.ranks);
        }
        if (!ranks_run(args.transport, (int)nranks, rank_run, &args)) {
            fprintf(stderr, "hk_conformance: %s, %ld ranks, seed %llu: FAILED\n", args.transport,
                    nranks, (unsigned long long)args.grid.seed);
            return 1;
        }
        printf("%s, %ld ranks: all right\n", args.transport, nranks);
        (void)fflush(stdout);
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}
