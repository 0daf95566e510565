/*
 * What `hocket topo --verbose` adds: limits, how ranks wait, what messages cost, what memory a job
 * shares. Every figure comes from the function that the library itself decides by.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "comm/comm.h"
#include "comm/fit.h"
#include "comm/memory.h"
#include "topo.h"
#include "topo/cpus.h"
#include "topo/memory.h"
#include "transport/segment/layout.h"
#include "transport/segment/world.h"
#include "transport/shm/world.h"

enum { CPUS_MAX = 8192, PATH_BYTES = 4096 };

#define MIB ((double)(1 << 20))

/** @param result  of getrlimit() */
static void print_limit(const char *name, int result, const struct rlimit *limit,
                        const char *option)
{
    if (result != 0 || limit->rlim_cur == RLIM_INFINITY) {
        (void)printf("  %-22s no limit (ulimit %s)\n", name, option);
    } else {
        (void)printf("  %-22s %llu (ulimit %s)\n", name, (unsigned long long)limit->rlim_cur,
                     option);
    }
}

static void print_system_limits(void)
{
    const int quota = hki_cpus_usable_at("", CPUS_MAX);
    const int affinity = hki_cpus_list(NULL, 0);
    struct rlimit limit;

    (void)printf("\nlimits\n  %-22s %d logical cores\n", "affinity", affinity);
    if (quota == CPUS_MAX) {
        (void)printf("  %-22s no limit\n", "control group's time");
    } else {
        (void)printf("  %-22s %d cores\n", "control group's time", quota);
    }
    (void)printf("  %-22s %llu bytes, by the machine and its control groups\n", "memory available",
                 (unsigned long long)hki_memory_available());
    print_limit("address space [bytes]", getrlimit(RLIMIT_AS, &limit), &limit, "-v");
    print_limit("file size [bytes]", getrlimit(RLIMIT_FSIZE, &limit), &limit, "-f");
    print_limit("open files", getrlimit(RLIMIT_NOFILE, &limit), &limit, "-n");
    (void)printf("  %-22s not needed: shared memory has no name\n", "/dev/shm");
}

static void print_waiting(const hki_topo_t *topo)
{
    const int ranks = hki_topo_ranks_per_core(topo);

    (void)printf("\n%d ranks on %d cores\n  %-22s %d: ranks that wait %s\n", topo->nranks,
                 topo->usable, "ranks per core", ranks,
                 ranks == 1 ? "pause, yield, then sleep" : "yield, then sleep");
}

static void print_costs(const hki_topo_t *topo)
{
    const char *transport = topo->nranks == 1 ? "local" : "shm";
    char source[PATH_BYTES];
    hki_costs_t costs;

    hki_fit_find(transport, topo->nranks, &costs, source, sizeof(source));
    (void)printf("\ncosts of messages, transport %s\n", transport);
    (void)printf("  %-22s %.6g ns a message\n", "alpha", costs.common.alpha_ns);
    (void)printf("  %-22s %.6g ns a byte\n", "beta", costs.common.beta_ns);
    (void)printf("  %-22s %.6g ns a byte reduced\n", "gamma", costs.common.gamma_ns);
    (void)printf("  %-22s %.6g ns, where ranks share a core\n", "turn", costs.common.turn_ns);
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        (void)printf("  to another %-11s %.6g ns a message more, %.6g ns a byte at its border\n",
                     hki_fit_level_name(level), costs.cross[level].alpha_ns,
                     costs.cross[level].beta_ns);
    }
    if (source[0] == '\0') {
        (void)printf("  %-22s constants; hocket bench --fit -n %d measures them\n", "source",
                     topo->nranks);
    } else {
        (void)printf("  %-22s %s, by hocket bench --fit\n", "source", source);
    }
}

static void print_part(const char *name, uint64_t bytes, const char *when)
{
    (void)printf("  %-22s %10llu  %8.3f MiB  %s\n", name, (unsigned long long)bytes,
                 (double)bytes / MIB, when);
}

/** What hk_mem_alloc() can give each rank, and whether opening would work at all. */
static void print_room(const hki_topo_t *topo, const hki_comm_memory_t *memory)
{
    const uint64_t most = hki_world_bytes_max();
    const uint64_t control = hki_shm_control_bytes(topo->nranks);
    const uint64_t arena = hki_world_arena_bytes(topo->nranks, most > control ? most - control : 0);
    const uint64_t group = hki_layout(topo->nranks, HKI_LANES,
                                      hki_comm_lane_bytes(topo->opts.segment_bytes, topo->nranks))
                               .bytes;

    print_part("a job besides, once", control, "who its ranks are");
    (void)printf(
        "  address space          %llu bytes a rank, for communicators and hk_mem_alloc()\n",
        (unsigned long long)arena);
    if (arena < group) {
        (void)printf("  too little: rank 0 needs %llu to open; see ulimit -v and -f\n",
                     (unsigned long long)group);
    }
    const uint64_t needed = (memory->streams + memory->staging) * (uint64_t)topo->nranks;
    if (needed > hki_memory_available()) {
        (void)printf("  too little: %llu bytes of memory are needed to open\n",
                     (unsigned long long)needed);
    }
}

static void print_memory(const hki_topo_t *topo)
{
    const hki_comm_memory_t memory = hki_comm_memory(topo->nranks, topo->opts.segment_bytes);

    (void)printf("\nshared memory of each rank, for each communicator of %d ranks [bytes]\n",
                 topo->nranks);
    print_part("streams", memory.streams, "from the opening on");
    print_part("staging", memory.staging, "from the opening on; HOCKET_SEGMENT");
    print_part("scratch of sums", memory.scratch, "at most; when an algorithm first needs it");
    print_part("send and receive", memory.transfers, "at most; with the first send");
    print_part("together", memory.total, "at most");
    print_part("all ranks together", memory.total * (uint64_t)topo->nranks, "at most");
    print_room(topo, &memory);
}

void hki_topo_print_limits(const hki_topo_t *topo)
{
    print_system_limits();
    print_waiting(topo);
    print_costs(topo);
    print_memory(topo);
}
