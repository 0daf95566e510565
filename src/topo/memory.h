/**
 * @file memory.h
 * @brief How much memory this machine has, and how much this process may still take.
 */
#ifndef HKI_TOPO_MEMORY_H
#define HKI_TOPO_MEMORY_H

#include <stdint.h>

/** Memory of this machine [bytes]. */
uint64_t hki_memory_total(void);

/** Memory that this process may still take without trouble [bytes]: what is free or can be freed,
 *  in the machine and within the limit of this process's control group. An estimate. */
uint64_t hki_memory_available(void);

/** The same, read below `root` ("" in earnest): <root>/proc/meminfo, <root>/sys/fs/cgroup/... */
uint64_t hki_memory_available_at(const char *root);

#endif /* HKI_TOPO_MEMORY_H */
