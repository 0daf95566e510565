/**
 * @file hardware.h
 * @brief Where the logical cores of this machine lie: cores, caches, memory domains, sockets.
 *
 * Told by hwloc where this build and this machine have it; HWLOC_SYNTHETIC and HWLOC_XMLFILE make
 * it tell of another machine. Without hwloc, all cores are taken to be alike: one domain, one
 * socket. hwloc is loaded only here (that takes some milliseconds): by the launcher that places
 * ranks and by `hocket topo`, never by a rank.
 */
#ifndef HKI_TOPO_HARDWARE_H
#define HKI_TOPO_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/base.h>

/** A logical core. Parts are counted from 0 in the order of nearness. */
typedef struct hki_cpu {
    int number; /**< the system's */
    int thread; /**< 0: the first of its core, 1: its sibling, ... */
    int core;
    int cache;  /**< the outermost that it has a share in */
    int domain; /**< memory that is near (NUMA) */
    int socket;
} hki_cpu_t;

enum { HKI_HARDWARE_SOURCE_BYTES = 64 };

typedef struct hki_hardware {
    hki_cpu_t *cpus; /**< (ncpus,) neighbours in the list are neighbours on the chip */
    int ncpus;
    int ncores;
    int ncaches;
    int ndomains;
    int nsockets;
    int cache_level;                        /**< of the outermost caches; 0: not known */
    uint64_t cache_bytes;                   /**< of the first outermost cache; 0: not known */
    uint64_t *domain_bytes;                 /**< (ndomains,) memory; 0: not known */
    bool is_mapped;                         /**< false: no more is known than numbers */
    bool is_fabricated;                     /**< not this machine */
    char source[HKI_HARDWARE_SOURCE_BYTES]; /**< "hwloc 2.9", "affinity; this build has no hwloc" */
} hki_hardware_t;

/** Look at this machine. Falls back to the affinity mask. @return HK_OK, HK_ERR_NO_MEMORY */
HK_NODISCARD hk_status_t hki_hardware_create(hki_hardware_t **hardware_out);

/** Do HWLOC_SYNTHETIC or HWLOC_XMLFILE ask for another machine than this one? */
bool hki_hardware_is_made_up(void);

/** A machine of which no more is known than the numbers of its logical cores, (ncpus,) ascending.
 *  @param source  copied */
HK_NODISCARD hk_status_t hki_hardware_flat(const int *cpus, int ncpus, const char *source,
                                           hki_hardware_t **hardware_out);

/** Accepts NULL, and what is half-built; sets NULL. */
void hki_hardware_destroy(hki_hardware_t **hardware);

/** The logical core with this number, or NULL. */
const hki_cpu_t *hki_hardware_find(const hki_hardware_t *hardware, int number);

/**
 * The order in which ranks take logical cores, one each: neighbours share a cache, then a domain;
 * second threads of cores come after all first ones. Those that the hardware does not know, last.
 *
 * @param allowed       (count,) numbers of the logical cores to be used
 * @param[out] order_out  (count,) the same numbers
 */
void hki_hardware_order(const hki_hardware_t *hardware, const int *allowed, int count,
                        int *order_out);

/* --- hardware_hwloc.c --- */

/** What hwloc tells. @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_UNSUPPORTED (no text is stored;
 *  `reason` tells: not in this build, not on this machine) */
HK_NODISCARD hk_status_t hki_hardware_hwloc(hki_hardware_t **hardware_out,
                                            char reason[HKI_HARDWARE_SOURCE_BYTES]);

/** An empty one with room for so many logical cores and as many domains; NULL: no memory. */
hki_hardware_t *hki_hardware_allocate(int ncpus);

#endif /* HKI_TOPO_HARDWARE_H */
