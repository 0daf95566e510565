/*
 * `hocket topo`: the machine as hocket sees it, as a table of logical cores with the ranks that
 * --bind core puts there, and as a matrix of what every two ranks share.
 */
#include "topo.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/env.h"
#include "tool.h"
#include "topo/cpus.h"
#include "topo/machine.h"
#include "topo/memory.h"

enum { CPUS_MAX = 8192, RANKS_MAX = 1024, MATRIX_RANKS_MAX = 32, NAME_BYTES = 65 };

#define GIB ((double)(1 << 30))
#define MIB ((double)(1 << 20))

typedef struct topo_values {
    int nranks;
    int bind;
    bool is_verbose;
} topo_values_t;

static const hki_option_t topo_options[] = {
    {.name = "ranks",
     .letter = 'n',
     .kind = HKI_OPTION_INT,
     .arg = "N",
     .preset = "0",
     .max = RANKS_MAX,
     .offset = offsetof(topo_values_t, nranks),
     .help = "for a job of so many ranks; 0: as many as there are cores to use",
     .hint = "say how many ranks, e.g. -n 4"},
    {.name = "bind",
     .kind = HKI_OPTION_CHOICE,
     .arg = "WHERE",
     .preset = "core",
     .choices = HKI_BIND_CHOICES,
     .offset = offsetof(topo_values_t, bind),
     .help = "as hocket run --bind: show where ranks go",
     .hint = "write --bind none for ranks that are not pinned"},
    {.name = "verbose",
     .letter = 'v',
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(topo_values_t, is_verbose),
     .help = "also limits, ranks per core, costs of messages, and shared memory"},
    {.name = NULL},
};

static const hki_command_t topo_command = {
    .name = "topo",
    .summary = "show the machine, where ranks go, and what they share",
    .description =
        "The first table has a line for each logical core: the socket, the memory domain (NUMA), "
        "the outermost cache and the core it is part of, and the ranks that --bind core puts "
        "there. The second shows what every two ranks share: t one logical core, c a core, $ a "
        "cache, m a memory domain, s a socket, . the host. Both are by hwloc where this build and "
        "this machine have it; HWLOC_SYNTHETIC and HWLOC_XMLFILE make it tell of another machine. "
        "Without hwloc all cores are taken to be alike.\n\n"
        "--verbose adds the limits that count, how many ranks share a core, alpha, beta and gamma, "
        "by which algorithms are chosen, with their source, and the shared memory of each rank and "
        "communicator, computed by the functions that allocate it.",
    .options = topo_options,
    .values_bytes = sizeof(topo_values_t),
};

const hki_cpu_t *hki_topo_place(const hki_topo_t *topo, int rank)
{
    return topo->bind == HKI_BIND_NONE
               ? NULL
               : hki_hardware_find(topo->hardware, topo->cores[rank % topo->core_count]);
}

int hki_topo_ranks_per_core(const hki_topo_t *topo)
{
    const int by_cores = (topo->nranks + topo->core_count - 1) / topo->core_count;
    const int by_quota = (topo->nranks + topo->usable - 1) / topo->usable;

    return by_cores > by_quota ? by_cores : by_quota;
}

/** "0, 4, 8": the ranks on the logical core at this place of the order; -1: none. */
static void print_ranks(const hki_topo_t *topo, int place)
{
    for (int rank = place; place >= 0 && rank < topo->nranks; rank += topo->core_count) {
        (void)printf("%s%d", rank == place ? "" : ", ", rank);
    }
    (void)printf("\n");
}

static int place_of(const hki_topo_t *topo, int number)
{
    for (int place = 0; place < topo->core_count; place++) {
        if (topo->cores[place] == number) {
            return place;
        }
    }
    return -1;
}

static void print_machine(const hki_topo_t *topo)
{
    const hki_hardware_t *hardware = topo->hardware;
    char host[NAME_BYTES] = "this host";
    char model[HKI_MACHINE_BYTES];

    (void)gethostname(host, sizeof(host) - 1);
    hki_machine_cpu(model);
    (void)printf("%s: %s, %.1f GiB of memory, %.1f GiB available\n", host, model,
                 (double)hki_memory_total() / GIB, (double)hki_memory_available() / GIB);
    (void)printf("by %s: sockets %d, memory domains %d, caches %d", hardware->source,
                 hardware->nsockets, hardware->ndomains, hardware->ncaches);
    if (hardware->cache_level > 0) {
        (void)printf(" (L%d, %.1f MiB)", hardware->cache_level,
                     (double)hardware->cache_bytes / MIB);
    }
    (void)printf(", cores %d, logical cores %d\n\n", hardware->ncores, hardware->ncpus);
}

static void print_cores(const hki_topo_t *topo)
{
    const hki_hardware_t *hardware = topo->hardware;

    (void)printf("socket domain   memory  cache   core thread number  ranks\n");
    for (int i = 0; i < hardware->ncpus; i++) {
        const hki_cpu_t *cpu = &hardware->cpus[i];
        const int place = place_of(topo, cpu->number);
        char memory[16] = "-";

        if (hardware->domain_bytes[cpu->domain] != 0) {
            (void)snprintf(memory, sizeof(memory), "%.1fG",
                           (double)hardware->domain_bytes[cpu->domain] / GIB);
        }
        (void)printf("%6d %6d %8s %6d %6d %6d %6d  ", cpu->socket, cpu->domain, memory, cpu->cache,
                     cpu->core, cpu->thread, cpu->number);
        if (place < 0) {
            (void)printf("not to be used\n");
        } else {
            print_ranks(topo, topo->bind == HKI_BIND_NONE ? -1 : place);
        }
    }
}

/** What two logical cores share: the closest of all. */
static char shared(const hki_cpu_t *a, const hki_cpu_t *b)
{
    if (a == NULL || b == NULL) {
        return '?';
    }
    if (a->number == b->number) {
        return 't';
    }
    if (a->core == b->core) {
        return 'c';
    }
    if (a->cache == b->cache) {
        return '$';
    }
    if (a->domain == b->domain) {
        return 'm';
    }
    return a->socket == b->socket ? 's' : '.';
}

static void print_matrix(const hki_topo_t *topo)
{
    if (topo->bind == HKI_BIND_NONE || topo->nranks < 2) {
        return;
    }
    if (topo->nranks > MATRIX_RANKS_MAX) {
        (void)printf("\nwhat ranks share is shown for up to %d ranks\n", MATRIX_RANKS_MAX);
        return;
    }
    (void)printf("\nwhat ranks share: t a logical core, c a core, $ a cache, m a memory domain, "
                 "s a socket, . the host\n    ");
    for (int rank = 0; rank < topo->nranks; rank++) {
        (void)printf("%3d", rank);
    }
    for (int row = 0; row < topo->nranks; row++) {
        (void)printf("\n%4d", row);
        for (int column = 0; column < topo->nranks; column++) {
            const char letter = shared(hki_topo_place(topo, row), hki_topo_place(topo, column));
            (void)printf("%3c", row == column ? ' ' : letter);
        }
    }
    (void)printf("\n");
}

/** "ranks by cache: 0-3, 4-7", and the same for memory domains: what algorithms are chosen by. */
static void print_parts(const hki_topo_t *topo)
{
    static const char *const names[] = {"cache", "memory domain"};
    int parts[RANKS_MAX];

    if (topo->bind == HKI_BIND_NONE || topo->nranks < 2) {
        return;
    }
    for (int level = 0; level < 2; level++) {
        for (int rank = 0; rank < topo->nranks; rank++) {
            const hki_cpu_t *cpu = hki_topo_place(topo, rank);
            const int outer = cpu == NULL ? -1 : cpu->domain;
            parts[rank] = cpu == NULL || level == 1 ? outer : cpu->cache;
        }
        (void)printf("%sranks by %s:", level == 0 ? "\n" : "", names[level]);
        hki_tool_print_parts(parts, topo->nranks);
        (void)printf("\n");
    }
}

/** The logical cores ranks may use: of a fabricated machine all, else those of the affinity.
 *  @param[out] allowed  (CPUS_MAX,) */
static int list_allowed(const hki_hardware_t *hardware, int *allowed)
{
    if (!hardware->is_fabricated) {
        return hki_cpus_list(allowed, CPUS_MAX);
    }
    for (int i = 0; i < hardware->ncpus && i < CPUS_MAX; i++) {
        allowed[i] = hardware->cpus[i].number;
    }
    return hardware->ncpus;
}

static hk_status_t order_cores(hki_topo_t *topo)
{
    const hki_hardware_t *hardware = topo->hardware;
    int *allowed = hki_calloc(CPUS_MAX, sizeof(*allowed));

    topo->cores = hki_calloc(CPUS_MAX, sizeof(*topo->cores));
    if (allowed == NULL || topo->cores == NULL) {
        hki_free(allowed);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "list of %d cores", CPUS_MAX);
    }
    const int count = list_allowed(hardware, allowed);
    hk_status_t status = HK_OK;
    if (count < 1 || count > CPUS_MAX) {
        status = HKI_FAIL(HK_ERR_LIMIT, "%d logical cores; 1 to %d can be shown", count, CPUS_MAX);
    } else {
        hki_hardware_order(hardware, allowed, count, topo->cores);
        topo->core_count = count;
        topo->usable = hardware->is_fabricated ? count : hki_cpus_usable();
    }
    hki_free(allowed);
    return status;
}

static hk_status_t create(const topo_values_t *values, hki_topo_t *topo)
{
    hk_status_t status;

    topo->bind = (hki_bind_t)values->bind;
    topo->opts = hk_comm_opts_default();
    HKI_TRY(status = hki_env_options(&topo->opts), fail);
    HKI_TRY(status = hki_hardware_create(&topo->hardware), fail);
    HKI_TRY(status = order_cores(topo), fail);
    topo->nranks = values->nranks > 0 ? values->nranks : topo->usable;
    topo->nranks = topo->nranks < RANKS_MAX ? topo->nranks : RANKS_MAX;
fail:
    return status;
}

static int topo_main(int argc, char **argv)
{
    topo_values_t values;
    hki_parsed_t parsed;
    hki_topo_t topo = {.nranks = 0};
    int status = hki_tool_parse(&topo_command, argc, argv, &values, &parsed);

    if (status >= 0) {
        return status;
    }
    if (create(&values, &topo) != HK_OK) {
        status = hki_tool_failed(&topo_command);
    } else {
        print_machine(&topo);
        print_cores(&topo);
        print_parts(&topo);
        print_matrix(&topo);
        if (values.is_verbose) {
            hki_topo_print_limits(&topo);
        }
        status = fflush(stdout) == 0 ? 0 : HKI_EXIT_FAILED;
    }
    hki_hardware_destroy(&topo.hardware);
    hki_free(topo.cores);
    return status;
}

const hki_subcommand_t hki_subcommand_topo = {&topo_command, topo_main};
