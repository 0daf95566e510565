/*
 * The paths. Method: a path is an environment variable, the kind of memory the cases use, and what
 * the counts of the endpoint must say afterwards: a variable that is ignored, or a way that quietly
 * gives way to another, fails the run.
 */
#include "path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "dtype/kernels.h"

/** What is counted. */
typedef enum counted {
    STAGED = 1 << 0,
    DIRECT = 1 << 1,
    REMOTE = 1 << 2,
    PAUSES = 1 << 3,
    YIELDS = 1 << 4,
    SLEEPS = 1 << 5,
    ARMS = 1 << 6,
} counted_t;

struct path {
    const char *name;
    const char *variable;
    const char *value;
    memory_t memory;
    unsigned wanted;    /**< the count that must not be 0 */
    unsigned forbidden; /**< counts that must be */
};

static const path_t paths[] = {
    // Scratch is always direct, and what a schedule asks to be copied is always staged. Where
    // single copy is on for all sizes, whatever else cannot go direct is remote.
    {"single-copy", "HOCKET_SINGLE_COPY", "on", MEMORY_PRIVATE, REMOTE, 0},
    {"staging", "HOCKET_SINGLE_COPY", "off", MEMORY_PRIVATE, STAGED, REMOTE},
    {"shared", "HOCKET_SINGLE_COPY", "on", MEMORY_SHARED, DIRECT, REMOTE},
    {"spin", "HOCKET_SPIN", "1", MEMORY_TURN, PAUSES, YIELDS | SLEEPS},
    {"yield", "HOCKET_SPIN", "2", MEMORY_TURN, YIELDS, PAUSES | SLEEPS},
    {"sleep", "HOCKET_SPIN", "3", MEMORY_TURN, SLEEPS, PAUSES | YIELDS},
    {"thread", "HOCKET_PROGRESS", "thread", MEMORY_TURN, ARMS, 0},
    {"none", "HOCKET_SIMD", "none", MEMORY_TURN, 0, 0},
    {"neon", "HOCKET_SIMD", "neon", MEMORY_TURN, 0, 0},
    {"avx2", "HOCKET_SIMD", "avx2", MEMORY_TURN, 0, 0},
    {"avx512", "HOCKET_SIMD", "avx512", MEMORY_TURN, 0, 0},
};

enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

const path_t *path_find(const char *name)
{
    for (int i = 0; i < PATHS; i++) {
        if (strcmp(paths[i].name, name) == 0) {
            return &paths[i];
        }
    }
    return NULL;
}

const char *path_names(void)
{
    static char names[256];

    names[0] = '\0';
    for (int i = 0; i < PATHS; i++) {
        const size_t used = strlen(names);

        (void)snprintf(names + used, sizeof(names) - used, "%s%s", i == 0 ? "" : "|",
                       paths[i].name);
    }
    return names;
}

static bool is_simd(const path_t *path)
{
    return strcmp(path->variable, "HOCKET_SIMD") == 0;
}

/** Is there a level of this name here? */
static bool has_simd(const char *name)
{
    for (int level = HKI_SIMD_NONE; level <= HKI_SIMD_AVX512; level++) {
        if (strcmp(hki_simd_name((hki_simd_t)level), name) == 0) {
            return hki_kernels_of((hki_simd_t)level) != NULL;
        }
    }
    return false;
}

int path_force(const path_t *path, grid_t *grid)
{
    if (is_simd(path) && !has_simd(path->value)) {
        printf("skipped: this processor or build has no %s\n", path->value);
        return PATH_SKIPPED;
    }
    if (setenv(path->variable, path->value, 1) != 0) {
        perror("setenv");
        abort();
    }
    grid->memory = path->memory;
    return 0;
}

/** Which counts are not 0. */
static unsigned counted(const hki_counts_t *counts)
{
    return (counts->sent[HKI_PAYLOAD_STAGED] != 0 ? STAGED : 0u) |
           (counts->sent[HKI_PAYLOAD_DIRECT] != 0 ? DIRECT : 0u) |
           (counts->sent[HKI_PAYLOAD_REMOTE] != 0 ? REMOTE : 0u) |
           (counts->pauses != 0 ? PAUSES : 0u) | (counts->yields != 0 ? YIELDS : 0u) |
           (counts->sleeps != 0 ? SLEEPS : 0u) | (counts->arms != 0 ? ARMS : 0u);
}

bool path_was_taken(const path_t *path, hk_comm_t *comm)
{
    hki_lock_take(&comm->lock); // a progress thread may still count
    const hki_counts_t copy = comm->ep->counts;
    hki_lock_give(&comm->lock);
    const hki_counts_t *counts = &copy;
    const char *level = hki_simd_name(hki_simd_level());
    const unsigned seen = counted(counts);

    if (is_simd(path)) {
        if (strcmp(level, path->value) != 0) {
            fprintf(stderr, "rank %d: reduced with %s, not %s\n", comm->rank, level, path->value);
            return false;
        }
        return true;
    }
    if (comm->nranks > 1 && ((seen & path->wanted) == 0 || (seen & path->forbidden) != 0)) {
        fprintf(stderr,
                "rank %d: not (only) by path %s: sent %llu staged, %llu direct, %llu remote; "
                "waited by %llu pauses, %llu yields, %llu sleeps; %llu arms\n",
                comm->rank, path->name, (unsigned long long)counts->sent[HKI_PAYLOAD_STAGED],
                (unsigned long long)counts->sent[HKI_PAYLOAD_DIRECT],
                (unsigned long long)counts->sent[HKI_PAYLOAD_REMOTE],
                (unsigned long long)counts->pauses, (unsigned long long)counts->yields,
                (unsigned long long)counts->sleeps, (unsigned long long)counts->arms);
        return false;
    }
    return true;
}
