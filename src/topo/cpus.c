/**
 * @file cpus.c
 * @brief Affinity mask and time quota.
 */
#include "topo/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "topo/cgroup.h"
#include "topo/file.h"

enum { PATH_BYTES = 2304, CPUS_MAX = 8192 };

static int round_up(long long quota, long long period)
{
    return quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

/** Lower *cookie to the quota of one control group. */
static void lower_to_quota(const char *directory, void *cookie)
{
    int *cores = cookie;
    char path[PATH_BYTES];
    char text[64];
    int allowed = 0;

    (void)snprintf(path, sizeof(path), "%s/cpu.max", directory);
    if (hki_file_read(path, text, sizeof(text)) != 0) {
        char *end = text;
        const long long quota = strtoll(text, &end, 10); // "max 100000" gives 0: no limit
        allowed = round_up(quota, strtoll(end, NULL, 10));
    } else {
        (void)snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", directory);
        (void)hki_file_read(path, text, sizeof(text));
        const long long quota = strtoll(text, NULL, 10);
        (void)snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
        (void)hki_file_read(path, text, sizeof(text));
        allowed = round_up(quota, strtoll(text, NULL, 10));
    }
    if (allowed > 0 && allowed < *cores) {
        *cores = allowed;
    }
}

int hki_cpus_usable_at(const char *root, int affinity)
{
    int cores = affinity;

    hki_cgroup_visit(root, "cpu", lower_to_quota, &cores);
    return cores < 1 ? 1 : cores;
}

int hki_cpus_list(int *cpus_out, int cpus_max)
{
    union {
        cpu_set_t set; // too small for the largest machines by itself
        unsigned char bytes[CPUS_MAX / 8];
    } mask = {.bytes = {0}};
    int count = 0;

    if (sched_getaffinity(0, sizeof(mask), &mask.set) != 0) {
        return 0;
    }
    for (size_t cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (CPU_ISSET_S(cpu, sizeof(mask), &mask.set)) {
            if (count < cpus_max) {
                cpus_out[count] = (int)cpu;
            }
            count++;
        }
    }
    return count;
}

int hki_cpus_usable(void)
{
    return hki_cpus_usable_at("", hki_cpus_list(NULL, 0));
}

int hki_ranks_per_core(int nranks)
{
    const int cores = hki_cpus_usable();

    return (nranks + cores - 1) / cores;
}
