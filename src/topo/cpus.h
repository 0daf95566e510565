/**
 * @file cpus.h
 * @brief The cores that this process may really use.
 */
#ifndef HKI_TOPO_CPUS_H
#define HKI_TOPO_CPUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { HKI_CPU_MASK_WORDS = 16 }; /* cores above 1023 are not told apart */

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

/** Logical cores that one rank may run on; all zero: not known. May be read while it is written. */
typedef struct hki_cpu_mask {
    _Atomic uint64_t words[HKI_CPU_MASK_WORDS];
} hki_cpu_mask_t;

/** Write down the affinity of the calling thread. */
void hki_cpu_mask_note(hki_cpu_mask_t *mask_out);

/**
 * Ranks that share a core of rank `self`, itself included, rounded up: every rank is thought to run
 * on each of its cores for an equal part of the time, and all together within the time quota of
 * the control group. Ranks whose cores are not known are thought to have the same as `self`.
 *
 * @param masks  (nranks,)
 */
int hki_ranks_per_core(const hki_cpu_mask_t *masks, int nranks, int self);
/** Would the cores of rank `self` not all be busy if all ranks were? @param masks  as above */
bool hki_has_spare_cores(const hki_cpu_mask_t *masks, int nranks, int self);

/**
 * For a thread that sleeps most of the time: ask to be run soon after each waking, also on a core
 * that another thread computes on, in exchange for short turns (Linux 6.12; before it, nothing
 * happens). It gets no larger share of the time.
 */
void hki_thread_hasten(void);

#endif /* HKI_TOPO_CPUS_H */
