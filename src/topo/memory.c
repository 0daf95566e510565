/**
 * @file memory.c
 * @brief /proc/meminfo and the memory limits of control groups, version 1 and 2.
 *
 * Which groups limit this process is looked up at most once a second: a loop of allocations reads
 * the files of use alone.
 */
#include "topo/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "topo/cgroup.h"
#include "topo/file.h"

enum {
    PATH_BYTES = 2304,
    DIRECTORY_BYTES = 2048,
    KIB = 1024,
    LIMITS_MAX = 8, /**< groups with a limit that are remembered, usually none or one */
};

#define NO_LIMIT   (UINT64_C(1) << 60) /* version 1 says so by a number of pages near 2^63 bytes */
#define REFRESH_NS UINT64_C(1000000000)

/** A file that holds one number; UINT64_MAX for "max" or if there is none. */
static uint64_t file_number(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    char text[64];

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (hki_file_read(path, text, sizeof(text)) == 0 || text[0] < '0' || text[0] > '9') {
        return UINT64_MAX;
    }
    return strtoull(text, NULL, 10);
}

/** The files of one version of control groups. */
typedef struct group_files {
    const char *limit;
    const char *used;
    const char *droppable; /**< its key in memory.stat */
} group_files_t;

static const group_files_t g_versions[] = {
    {"memory.max", "memory.current", "inactive_file "},
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

/** A control group with a limit. */
typedef struct limit {
    char directory[DIRECTORY_BYTES];
    const group_files_t *files;
    uint64_t bytes;
} limit_t;

/** All of them. */
typedef struct limits {
    limit_t all[LIMITS_MAX];
    int count;
    uint64_t rest; /**< what those that found no room above leave now; UINT64_MAX: there are none */
} limits_t;

/** What one control group leaves; UINT64_MAX: all. Unused file pages do not count: they can go. */
static uint64_t left_by_group(const limit_t *limit)
{
    char path[PATH_BYTES];
    char text[HKI_FILE_TEXT_BYTES];
    uint64_t used = file_number(limit->directory, limit->files->used);

    if (used == UINT64_MAX) {
        return UINT64_MAX;
    }
    (void)snprintf(path, sizeof(path), "%s/memory.stat", limit->directory);
    (void)hki_file_read(path, text, sizeof(text));
    const uint64_t droppable = hki_text_number(text, limit->files->droppable);
    if (droppable != UINT64_MAX) {
        used -= droppable < used ? droppable : used;
    }
    return limit->bytes > used ? limit->bytes - used : 0;
}

/** Note the limits of one control group. */
static void add_limits(const char *directory, void *cookie)
{
    limits_t *limits = cookie;

    for (size_t i = 0; i < sizeof(g_versions) / sizeof(g_versions[0]); i++) {
        limit_t limit = {.files = &g_versions[i],
                         .bytes = file_number(directory, g_versions[i].limit)};

        if (limit.bytes >= NO_LIMIT) {
            continue;
        }
        (void)snprintf(limit.directory, sizeof(limit.directory), "%s", directory);
        if (limits->count < LIMITS_MAX) {
            limits->all[limits->count++] = limit;
        } else {
            const uint64_t left = left_by_group(&limit);
            limits->rest = left < limits->rest ? left : limits->rest;
        }
    }
}

static void find_limits(const char *root, limits_t *limits)
{
    limits->count = 0;
    limits->rest = UINT64_MAX;
    hki_cgroup_visit(root, "memory", add_limits, limits);
}

/** What machine and control groups leave now. */
static uint64_t available_within(const char *root, const limits_t *limits)
{
    char path[PATH_BYTES];
    char text[HKI_FILE_TEXT_BYTES];
    uint64_t available = limits->rest;

    (void)snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    (void)hki_file_read(path, text, sizeof(text));
    const uint64_t kib = hki_text_number(text, "MemAvailable:");
    if (kib != UINT64_MAX && kib * KIB < available) {
        available = kib * KIB;
    }
    for (int i = 0; i < limits->count; i++) {
        const uint64_t left = left_by_group(&limits->all[i]);
        available = left < available ? left : available;
    }
    return available;
}

uint64_t hki_memory_available_at(const char *root)
{
    limits_t limits;

    find_limits(root, &limits);
    return available_within(root, &limits);
}

uint64_t hki_memory_available(void)
{
    static hki_lock_t lock; // only tried: a forked child may have a copy that is held
    static limits_t limits;
    static uint64_t found_ns; // 0: never

    if (!hki_lock_try(&lock)) {
        return hki_memory_available_at("");
    }
    const uint64_t now_ns = hki_clock_ns();
    if (found_ns == 0 || limits.rest != UINT64_MAX || now_ns - found_ns >= REFRESH_NS) {
        find_limits("", &limits);
        found_ns = now_ns;
    }
    const uint64_t available = available_within("", &limits);
    hki_lock_give(&lock);
    return available;
}

uint64_t hki_memory_total(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}
