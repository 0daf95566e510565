/**
 * @file hardware_hwloc.c
 * @brief The map of this machine by hwloc 2. Method: its list of processing units is in the order
 *        of nearness, so a part (core, cache, domain, socket) is a new one whenever it differs from
 *        that of the unit before.
 */
#include "topo/hardware.h"

#include <stdio.h>

#if defined(HKI_HWLOC_FILE)
#    include <hwloc.h>

#    include "base/error.h"
#    include "base/library.h"

/** The functions used. */
typedef struct hwloc_calls {
    int (*init)(hwloc_topology_t *);
    int (*load)(hwloc_topology_t);
    void (*destroy)(hwloc_topology_t);
    int (*type_depth)(hwloc_topology_t, hwloc_obj_type_t);
    unsigned (*count)(hwloc_topology_t, int);
    hwloc_obj_t (*get)(hwloc_topology_t, int, unsigned);
    int (*is_thissystem)(hwloc_topology_t);
} hwloc_calls_t;

/** What one processing unit is part of. */
typedef struct parts {
    hwloc_obj_t core;
    hwloc_obj_t cache;
    hwloc_obj_t domain;
    hwloc_obj_t socket;
} parts_t;

static bool get_calls(hwloc_calls_t *calls, char *reason)
{
    const hki_symbol_t symbols[] = {{"hwloc_topology_init", &calls->init},
                                    {"hwloc_topology_load", &calls->load},
                                    {"hwloc_topology_destroy", &calls->destroy},
                                    {"hwloc_get_type_depth", &calls->type_depth},
                                    {"hwloc_get_nbobjs_by_depth", &calls->count},
                                    {"hwloc_get_obj_by_depth", &calls->get},
                                    {"hwloc_topology_is_thissystem", &calls->is_thissystem}};

    return hki_library_load(HKI_HWLOC_FILE, symbols, sizeof(symbols) / sizeof(symbols[0]), reason);
}

static bool is_data_cache(hwloc_obj_type_t type)
{
    return type >= HWLOC_OBJ_L1CACHE && type <= HWLOC_OBJ_L5CACHE;
}

/** Memory beside this object, behind any cache of its own. */
static hwloc_obj_t memory_of(hwloc_obj_t object)
{
    hwloc_obj_t memory = object->memory_first_child;

    while (memory != NULL && memory->type != HWLOC_OBJ_NUMANODE) {
        memory = memory->memory_first_child;
    }
    return memory;
}

static parts_t parts_of(hwloc_obj_t unit)
{
    parts_t parts = {.core = unit}; // where hwloc knows no cores, each unit is one

    for (hwloc_obj_t at = unit; at != NULL; at = at->parent) {
        if (at->type == HWLOC_OBJ_CORE) {
            parts.core = at;
        } else if (is_data_cache(at->type)) {
            parts.cache = at; // the outermost comes last
        } else if (at->type == HWLOC_OBJ_PACKAGE) {
            parts.socket = at;
        }
        if (parts.domain == NULL) {
            parts.domain = memory_of(at);
        }
    }
    return parts;
}

/** Number the parts of the next unit, the `n`th. */
static void add_unit(hki_hardware_t *hardware, int n, int number, const parts_t *parts,
                     const parts_t *before)
{
    hki_cpu_t *cpu = &hardware->cpus[n];
    const bool is_first = n == 0;
    const bool is_new_domain = is_first || parts->domain != before->domain;

    hardware->ncores += is_first || parts->core != before->core;
    hardware->ncaches += is_first || parts->cache != before->cache;
    hardware->ndomains += is_new_domain;
    hardware->nsockets += is_first || parts->socket != before->socket;
    *cpu = (hki_cpu_t){.number = number,
                       .core = hardware->ncores - 1,
                       .cache = hardware->ncaches - 1,
                       .domain = hardware->ndomains - 1,
                       .socket = hardware->nsockets - 1};
    if (!is_first && cpu->core == cpu[-1].core) {
        cpu->thread = cpu[-1].thread + 1;
    }
    if (is_new_domain && parts->domain != NULL) {
        hardware->domain_bytes[cpu->domain] = parts->domain->attr->numanode.local_memory;
    }
    if (is_first && parts->cache != NULL) {
        hardware->cache_level = (int)parts->cache->attr->cache.depth;
        hardware->cache_bytes = parts->cache->attr->cache.size;
    }
}

static hk_status_t read_topology(const hwloc_calls_t *calls, hwloc_topology_t topology,
                                 hki_hardware_t **hardware_out)
{
    const int depth = calls->type_depth(topology, HWLOC_OBJ_PU);
    const int ncpus = (int)calls->count(topology, depth);
    hki_hardware_t *hardware = hki_hardware_allocate(ncpus);
    parts_t before = {.core = NULL};

    if (hardware == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "map of %d cores", ncpus);
    }
    for (int i = 0; i < ncpus; i++) {
        const hwloc_obj_t unit = calls->get(topology, depth, (unsigned)i);
        const parts_t parts = parts_of(unit);
        add_unit(hardware, i, (int)unit->os_index, &parts, &before);
        before = parts;
    }
    hardware->ncpus = ncpus;
    hardware->is_mapped = true;
    hardware->is_fabricated = calls->is_thissystem(topology) == 0;
    (void)snprintf(hardware->source, sizeof(hardware->source), "hwloc%s",
                   hardware->is_fabricated ? ", a fabricated machine" : "");
    *hardware_out = hardware;
    return HK_OK;
}

hk_status_t hki_hardware_hwloc(hki_hardware_t **hardware_out,
                               char reason[HKI_HARDWARE_SOURCE_BYTES])
{
    hwloc_calls_t calls;
    hwloc_topology_t topology = NULL;
    char why[HKI_LIBRARY_REASON_BYTES];
    hk_status_t status = HK_ERR_UNSUPPORTED;

    if (!get_calls(&calls, why)) {
        (void)snprintf(reason, HKI_HARDWARE_SOURCE_BYTES, "affinity; no %s here", HKI_HWLOC_FILE);
        return HK_ERR_UNSUPPORTED;
    }
    (void)snprintf(reason, HKI_HARDWARE_SOURCE_BYTES, "affinity; hwloc found nothing out");
    if (calls.init(&topology) != 0) {
        return HK_ERR_UNSUPPORTED;
    }
    if (calls.load(topology) == 0) {
        status = read_topology(&calls, topology, hardware_out);
    }
    calls.destroy(topology);
    return status;
}

#else

hk_status_t hki_hardware_hwloc(hki_hardware_t **hardware_out,
                               char reason[HKI_HARDWARE_SOURCE_BYTES])
{
    (void)hardware_out;
    (void)snprintf(reason, HKI_HARDWARE_SOURCE_BYTES, "affinity; this build has no hwloc");
    return HK_ERR_UNSUPPORTED;
}

#endif
