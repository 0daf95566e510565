/**
 * @file file.h
 * @brief Reading the small text files in which the kernel tells its numbers.
 */
#ifndef HKI_TOPO_FILE_H
#define HKI_TOPO_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { HKI_FILE_TEXT_BYTES = 8192 };

/** Read the start of a small text file. @return bytes read, text ends with 0; 0 if it cannot be */
size_t hki_file_read(const char *path, char *text, size_t text_bytes);

/** The number after `key` at the start of a line: "MemTotal:  123 kB". UINT64_MAX if absent. */
uint64_t hki_text_number(const char *text, const char *key);

#endif /* HKI_TOPO_FILE_H */
