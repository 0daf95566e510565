/**
 * @file cpus.h
 * @brief The cores that this process may really use.
 */
#ifndef HKI_TOPO_CPUS_H
#define HKI_TOPO_CPUS_H

/**
 * Logical cores this process may use: those of its affinity mask, but no more than the time quota
 * of its control group (version 1 or 2) allows, rounded up. Never below 1.
 */
int hki_cpus_usable(void);

/** The same limit for `affinity` cores, with the control groups below `root` ("" in earnest). */
int hki_cpus_usable_at(const char *root, int affinity);

/** The logical cores of this process's affinity mask, in order. @return how many there are; at most
 *  `cpus_max` are written to cpus_out */
int hki_cpus_list(int *cpus_out, int cpus_max);

/** Ranks for each usable core, rounded up, at least 1. */
int hki_ranks_per_core(int nranks);

#endif /* HKI_TOPO_CPUS_H */
