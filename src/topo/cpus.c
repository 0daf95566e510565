/**
 * @file cpus.c
 * @brief Affinity mask and time quota.
 */
#include "topo/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "topo/cgroup.h"
#include "topo/file.h"

enum { PATH_BYTES = 2304, CPUS_MAX = 8192 };

#define TURN_NS  UINT64_C(100000) /* the shortest that the kernel grants */
#define ROUNDING 1e-6             /* thirds do not add up to one */

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
        const long long quota = strtoll(text, NULL, 10); // -1 or nothing: no limit
        if (quota > 0) {
            (void)snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
            (void)hki_file_read(path, text, sizeof(text));
            allowed = round_up(quota, strtoll(text, NULL, 10));
        }
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

void hki_cpu_mask_note(hki_cpu_mask_t *mask_out)
{
    int cpus[HKI_CPU_MASK_WORDS * 64];
    uint64_t words[HKI_CPU_MASK_WORDS] = {0};
    const int count = hki_cpus_list(cpus, HKI_CPU_MASK_WORDS * 64);

    for (int i = 0; i < count && i < HKI_CPU_MASK_WORDS * 64; i++) {
        if (cpus[i] < HKI_CPU_MASK_WORDS * 64) {
            words[cpus[i] / 64] |= UINT64_C(1) << (cpus[i] % 64);
        }
    }
    for (int i = 0; i < HKI_CPU_MASK_WORDS; i++) {
        atomic_store_explicit(&mask_out->words[i], words[i], memory_order_relaxed);
    }
}

/** Cores in a mask, and cores in both. */
static int count_common(const hki_cpu_mask_t *a, const hki_cpu_mask_t *b)
{
    int count = 0;

    for (int i = 0; i < HKI_CPU_MASK_WORDS; i++) {
        count += __builtin_popcountll(atomic_load_explicit(&a->words[i], memory_order_relaxed) &
                                      atomic_load_explicit(&b->words[i], memory_order_relaxed));
    }
    return count;
}

/** Ranks for each core of rank `self`. */
static double ranks_for_core(const hki_cpu_mask_t *masks, int nranks, int self)
{
    const int mine = count_common(&masks[self], &masks[self]);
    double load = 0.0; // of all my cores

    for (int rank = 0; rank < nranks; rank++) {
        const int theirs = count_common(&masks[rank], &masks[rank]);
        load += theirs == 0 ? 1.0 : (double)count_common(&masks[self], &masks[rank]) / theirs;
    }
    return load / (mine == 0 ? 1 : mine);
}

int hki_ranks_per_core(const hki_cpu_mask_t *masks, int nranks, int self)
{
    const int quota = hki_cpus_usable_at("", CPUS_MAX);
    const int by_quota = (nranks + quota - 1) / quota;
    const double share = ranks_for_core(masks, nranks, self);
    int by_cores = (int)share;

    by_cores += share > by_cores + ROUNDING ? 1 : 0;
    const int most = by_cores > by_quota ? by_cores : by_quota;
    return most < 1 ? 1 : most;
}

bool hki_has_spare_cores(const hki_cpu_mask_t *masks, int nranks, int self)
{
    return ranks_for_core(masks, nranks, self) < 1.0 - ROUNDING &&
           nranks < hki_cpus_usable_at("", CPUS_MAX);
}

/** The kernel's struct sched_attr, as far as every kernel that has the calls knows it. */
typedef struct attributes {
    uint32_t bytes;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t turn_ns; /**< of ordinary threads; other policies read it differently */
    uint64_t deadline_ns;
    uint64_t period_ns;
} attributes_t;

void hki_thread_hasten(void)
{
    attributes_t attributes = {.bytes = sizeof(attributes)};

    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) == 0 &&
        (attributes.policy == SCHED_OTHER || attributes.policy == SCHED_BATCH)) {
        attributes.turn_ns = TURN_NS;
        (void)syscall(SYS_sched_setattr, 0, &attributes, 0); // a wish: nothing depends on it
    }
}
