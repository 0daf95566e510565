/**
 * @file cgroup.h
 * @brief The numbers of this process's control groups. Private to topo.
 */
#ifndef HKI_TOPO_CGROUP_H
#define HKI_TOPO_CGROUP_H

#include <stddef.h>
#include <stdint.h>

enum { HKI_FILE_TEXT_BYTES = 8192 };

/** Read the start of a small text file. @return bytes read, text ends with 0; 0 if it cannot be */
size_t hki_file_read(const char *path, char *text, size_t text_bytes);

/** The number after `key` at the start of a line: "MemTotal:  123 kB". UINT64_MAX if absent. */
uint64_t hki_text_number(const char *text, const char *key);

/**
 * Call `visit` for this process's group of `controller` and for each group above it, as limits of
 * all of them count. `directory` has no slash at its end. Version 2 and version 1 are looked at.
 */
void hki_cgroup_visit(const char *root, const char *controller,
                      void (*visit)(const char *directory, void *cookie), void *cookie);

#endif /* HKI_TOPO_CGROUP_H */
