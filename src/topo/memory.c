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

/** Lower *cookie to what one control group leaves. Unused file pages do not count: they can go. */
static void lower_to_group(const char *directory, void *cookie)
{
    uint64_t *available = cookie;
    char path[PATH_BYTES];
    char text[HKI_FILE_TEXT_BYTES];
    uint64_t limit = file_number(directory, "memory.max");
    uint64_t used = file_number(directory, "memory.current");
    const char *droppable_key = "inactive_file ";

    if (limit == UINT64_MAX) {
        limit = file_number(directory, "memory.limit_in_bytes");
        used = file_number(directory, "memory.usage_in_bytes");
        droppable_key = "total_inactive_file ";
    }
    if (limit == UINT64_MAX || used == UINT64_MAX) {
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/memory.stat", directory);
    (void)hki_file_read(path, text, sizeof(text));
    const uint64_t droppable = hki_text_number(text, droppable_key);
    if (droppable != UINT64_MAX) {
        used -= droppable < used ? droppable : used;
    }
    const uint64_t left = limit > used ? limit - used : 0;
    *available = left < *available ? left : *available;
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
