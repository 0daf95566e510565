/**
 * @file memory.c
 * @brief /proc/meminfo and the memory limits of control groups, version 1 and 2.
 */
#include "topo/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "topo/cgroup.h"
#include "topo/file.h"

enum { PATH_BYTES = 2304, KIB = 1024 };

#define NO_LIMIT (UINT64_C(1) << 60) /* version 1 says so by a number of pages near 2^63 bytes */

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

/** What one control group leaves; UINT64_MAX: all. Unused file pages do not count: they can go. The
 *  costly files are read only where there is a limit. */
static uint64_t left_by_group(const char *directory, const group_files_t *files)
{
    char path[PATH_BYTES];
    char text[HKI_FILE_TEXT_BYTES];
    const uint64_t limit = file_number(directory, files->limit);
    uint64_t used = limit >= NO_LIMIT ? UINT64_MAX : file_number(directory, files->used);

    if (used == UINT64_MAX) {
        return UINT64_MAX;
    }
    (void)snprintf(path, sizeof(path), "%s/memory.stat", directory);
    (void)hki_file_read(path, text, sizeof(text));
    const uint64_t droppable = hki_text_number(text, files->droppable);
    if (droppable != UINT64_MAX) {
        used -= droppable < used ? droppable : used;
    }
    return limit > used ? limit - used : 0;
}

/** Lower *cookie to what one control group leaves. */
static void lower_to_group(const char *directory, void *cookie)
{
    uint64_t *available = cookie;

    for (size_t i = 0; i < sizeof(g_versions) / sizeof(g_versions[0]); i++) {
        const uint64_t left = left_by_group(directory, &g_versions[i]);
        *available = left < *available ? left : *available;
    }
}

uint64_t hki_memory_available_at(const char *root)
{
    char path[PATH_BYTES];
    char text[HKI_FILE_TEXT_BYTES];
    uint64_t available = UINT64_MAX;

    (void)snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    (void)hki_file_read(path, text, sizeof(text));
    const uint64_t kib = hki_text_number(text, "MemAvailable:");
    if (kib != UINT64_MAX) {
        available = kib * KIB;
    }
    hki_cgroup_visit(root, "memory", lower_to_group, &available);
    return available;
}

uint64_t hki_memory_available(void)
{
    return hki_memory_available_at("");
}

uint64_t hki_memory_total(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}
