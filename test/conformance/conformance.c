/*
 * hk_conformance: every collective against a plain reference, on one transport.
 *
 *     hk_conformance --transport local|shm [--ranks 2,3,5] [--grid quick|full] [--mix 200] [--seed
 *     1]
 *
 * Exit status 0: all right; 1: something is wrong, and stderr says what; 2: wrong arguments.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "ranks.h"

typedef struct arguments {
    const char *transport;
    const char *ranks;
    grid_t grid;
} arguments_t;

static int usage(const char *what)
{
    fprintf(stderr,
            "hk_conformance: %s; usage: hk_conformance --transport local|shm [--ranks N,N] "
            "[--grid quick|full] [--mix COUNT] [--seed N]\n",
            what);
    return 2;
}

static int parse(int argc, char **argv, arguments_t *args)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i];
        const char *value = argv[i + 1];

        if (strcmp(name, "--transport") == 0 &&
            (strcmp(value, "local") == 0 || strcmp(value, "shm") == 0)) {
            args->transport = value;
        } else if (strcmp(name, "--ranks") == 0) {
            args->ranks = value;
        } else if (strcmp(name, "--grid") == 0 &&
                   (strcmp(value, "quick") == 0 || strcmp(value, "full") == 0)) {
            args->grid.is_full = strcmp(value, "full") == 0;
        } else if (strcmp(name, "--mix") == 0) {
            args->grid.mix_count = (int)strtol(value, NULL, 10);
        } else if (strcmp(name, "--seed") == 0) {
            args->grid.seed = strtoull(value, NULL, 10);
        } else {
            return usage(name);
        }
    }
    return argc % 2 == 0 ? usage(argv[argc - 1]) : 0;
}

int main(int argc, char **argv)
{
    arguments_t args = {.transport = "local",
                        .ranks = "1,2,3,4,5,6,7,8,9,12,16,17,33",
                        .grid = {.is_full = false, .seed = 1, .mix_count = 60}};
    const int wrong = parse(argc, argv, &args);
    const char *at = args.ranks;

    if (wrong != 0) {
        return wrong;
    }
    while (*at != '\0') {
        char *end = NULL;
        const long nranks = strtol(at, &end, 10);

        if (end == at || nranks < 1 || nranks > 64 || (*end != ',' && *end != '\0')) {
            return usage(args.ranks);
        }
        if (!ranks_run(args.transport, (int)nranks, grid_run, &args.grid) ||
            (args.grid.mix_count != 0 &&
             !ranks_run(args.transport, (int)nranks, mix_run, &args.grid))) {
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
