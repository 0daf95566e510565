/**
 * @file machine.h
 * @brief What this machine is called, and where the user's measurements of it are kept.
 */
#ifndef HKI_TOPO_MACHINE_H
#define HKI_TOPO_MACHINE_H

#include <stddef.h>

#include <hocket/base.h>

enum { HKI_MACHINE_BYTES = 96 };

/** The processor's model as the kernel tells it, "Intel(R) Xeon(R) ..."; "unknown processor". */
void hki_machine_cpu(char model[HKI_MACHINE_BYTES]);

/** The model in the text of /proc/cpuinfo; the same fallback. */
void hki_machine_cpu_in(const char *cpuinfo, char model[HKI_MACHINE_BYTES]);

/** A name for files: the model in small letters, digits and '-', and the number of cores,
 *  "intel-r-xeon-r-platinum-8480-2". */
void hki_machine_key(const char *model, long cores, char key[HKI_MACHINE_BYTES]);

/**
 * The user's cache folder of hocket, $XDG_CACHE_HOME/hocket or ~/.cache/hocket. It may not exist.
 *
 * @return HK_OK, HK_ERR_UNSUPPORTED (neither variable is an absolute path, or it is too long; no
 *         text is stored)
 */
HK_NODISCARD hk_status_t hki_cache_folder(char *path, size_t path_bytes);

/** Make the folder and those above it. @return HK_OK, HK_ERR_IO */
HK_NODISCARD hk_status_t hki_folder_create(const char *path);

#endif /* HKI_TOPO_MACHINE_H */
