/**
 * @file hardware.c
 * @brief The list of logical cores, and the order in which ranks take them.
 */
#include "topo/hardware.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "topo/cpus.h"

enum { CPUS_MAX = 8192 };

hki_hardware_t *hki_hardware_allocate(int ncpus)
{
    hki_hardware_t *hardware = hki_calloc(1, sizeof(*hardware));

    if (hardware == NULL) {
        return NULL;
    }
    hardware->cpus = hki_calloc((size_t)ncpus, sizeof(*hardware->cpus));
    hardware->domain_bytes = hki_calloc((size_t)ncpus, sizeof(*hardware->domain_bytes));
    if (hardware->cpus == NULL || hardware->domain_bytes == NULL) {
        hki_hardware_destroy(&hardware);
    }
    return hardware;
}

void hki_hardware_destroy(hki_hardware_t **hardware)
{
    if (*hardware != NULL) {
        hki_free((*hardware)->cpus);
        hki_free((*hardware)->domain_bytes);
        hki_free(*hardware);
        *hardware = NULL;
    }
}

hk_status_t hki_hardware_flat(const int *cpus, int ncpus, const char *source,
                              hki_hardware_t **hardware_out)
{
    hki_hardware_t *hardware = hki_hardware_allocate(ncpus);

    if (hardware == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "map of %d cores", ncpus);
    }
    for (int i = 0; i < ncpus; i++) {
        hardware->cpus[i] = (hki_cpu_t){.number = cpus[i], .core = i};
    }
    hardware->ncpus = ncpus;
    hardware->ncores = ncpus;
    hardware->ncaches = 1;
    hardware->ndomains = 1;
    hardware->nsockets = 1;
    (void)snprintf(hardware->source, sizeof(hardware->source), "%s", source);
    *hardware_out = hardware;
    return HK_OK;
}

bool hki_hardware_is_made_up(void)
{
    return getenv("HWLOC_SYNTHETIC") != NULL || getenv("HWLOC_XMLFILE") != NULL;
}

hk_status_t hki_hardware_create(hki_hardware_t **hardware_out)
{
    char reason[HKI_HARDWARE_SOURCE_BYTES] = "";
    hk_status_t status = hki_hardware_hwloc(hardware_out, reason);

    if (status != HK_ERR_UNSUPPORTED) {
        return status;
    }
    int *cpus = hki_calloc(CPUS_MAX, sizeof(*cpus));
    if (cpus == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "map of cores, %zu bytes", CPUS_MAX * sizeof(*cpus));
    }
    int count = hki_cpus_list(cpus, CPUS_MAX);
    count = count > CPUS_MAX ? CPUS_MAX : count;
    status = hki_hardware_flat(cpus, count == 0 ? 1 : count, reason, hardware_out);
    hki_free(cpus);
    return status;
}

const hki_cpu_t *hki_hardware_find(const hki_hardware_t *hardware, int number)
{
    for (int i = 0; i < hardware->ncpus; i++) {
        if (hardware->cpus[i].number == number) {
            return &hardware->cpus[i];
        }
    }
    return NULL;
}

static bool has_number(const int *numbers, int count, int number)
{
    for (int i = 0; i < count; i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

/** Of the allowed logical cores of this core that come before number `cpu` in the list, how many?
 *  What is not allowed does not count: the sibling of a forbidden thread is the first. */
static int turn_of(const hki_hardware_t *hardware, int cpu, const int *allowed, int count)
{
    int turn = 0;

    for (int i = cpu - 1; i >= 0 && hardware->cpus[i].core == hardware->cpus[cpu].core; i--) {
        turn += has_number(allowed, count, hardware->cpus[i].number) ? 1 : 0;
    }
    return turn;
}

void hki_hardware_order(const hki_hardware_t *hardware, const int *allowed, int count,
                        int *order_out)
{
    int used = 0;
    bool is_more = true;

    for (int turn = 0; is_more; turn++) {
        is_more = false;
        for (int i = 0; i < hardware->ncpus; i++) {
            const int number = hardware->cpus[i].number;
            const bool is_allowed = has_number(allowed, count, number);
            const int its_turn = is_allowed ? turn_of(hardware, i, allowed, count) : -1;
            is_more |= its_turn > turn;
            if (its_turn == turn) {
                order_out[used++] = number;
            }
        }
    }
    for (int i = 0; i < count; i++) {
        if (hki_hardware_find(hardware, allowed[i]) == NULL) {
            order_out[used++] = allowed[i];
        }
    }
}
