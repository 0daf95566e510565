/**
 * @file home.h
 * @brief Which part of the machine a rank runs on: its outermost cache and its memory domain.
 *
 * The launcher tells ranks that it binds, in HOCKET_DOMAIN, by the map of hardware.h. Others look
 * themselves, at a few files of the kernel; that takes some ten microseconds.
 */
#ifndef HKI_TOPO_HOME_H
#define HKI_TOPO_HOME_H

#include <stdint.h>

#include <hocket/base.h>

#define HKI_HOME_VARIABLE "HOCKET_DOMAIN"

/** Kinds of parts, from the inner to the outer. */
enum {
    HKI_HOME_CACHE,  /**< cores behind one outermost cache */
    HKI_HOME_MEMORY, /**< cores that have the same memory near (NUMA) */
    HKI_HOME_LEVELS,
};

enum { HKI_HOME_TEXT_BYTES = 32 };

/** The number of the part at each level. Numbers mean nothing but: equal, the same part. -1: not
 *  known, or several. */
typedef struct hki_home {
    int32_t part[HKI_HOME_LEVELS];
} hki_home_t;

/** Nothing is known. */
static inline hki_home_t hki_home_unknown(void)
{
    return (hki_home_t){.part = {-1, -1}};
}

/** Where this process may run: as HOCKET_DOMAIN says, else as the kernel says of its affinity. */
hki_home_t hki_home_find(void);

/** What the kernel says of these logical cores, (ncpus,), in the files below `root` ("" in
 *  earnest). */
hki_home_t hki_home_look(const char *root, const int *cpus, int ncpus);

/** "3:1", cache and memory domain. */
void hki_home_format(const hki_home_t *home, char text[HKI_HOME_TEXT_BYTES]);
/** The other way. @return HK_OK, HK_ERR_INVALID_ARG (no text is stored; *home_out is untouched) */
HK_NODISCARD hk_status_t hki_home_parse(const char *text, hki_home_t *home_out);

#endif /* HKI_TOPO_HOME_H */
