/**
 * @file topo.h
 * @brief What the files of `hocket topo` share: the machine, and ranks placed on it.
 */
#ifndef HKI_TOOLS_HOCKET_TOPO_H
#define HKI_TOOLS_HOCKET_TOPO_H

#include <hocket/comm.h>

#include "launch.h"
#include "topo/hardware.h"

typedef struct hki_topo {
    int nranks;
    hki_bind_t bind;
    hki_hardware_t *hardware; /**< owned */
    int *cores;               /**< (core_count,) logical cores in the order of ranks; owned */
    int core_count;
    int usable;          /**< cores, by affinity and time quota */
    hk_comm_opts_t opts; /**< of the communicators that a job would open */
} hki_topo_t;

/** Where a rank runs; NULL: not bound, or its place is not known. */
const hki_cpu_t *hki_topo_place(const hki_topo_t *topo, int rank);

/** Most ranks that share one core. */
int hki_topo_ranks_per_core(const hki_topo_t *topo);

/* topo_limits.c */

/** Print what --verbose adds: limits, waiting, costs, shared memory. */
void hki_topo_print_limits(const hki_topo_t *topo);

#endif /* HKI_TOOLS_HOCKET_TOPO_H */
