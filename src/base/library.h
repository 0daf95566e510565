/**
 * @file library.h
 * @brief Libraries of others that are loaded when they are first needed.
 *
 * The large numeric libraries take longer to load than a job of two ranks takes to start, and some
 * take address space for every core; programs that only communicate must not pay for that. So they
 * are not linked: the build notes the file (its soname), and a backend asks for what it needs.
 */
#ifndef HKI_BASE_LIBRARY_H
#define HKI_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/** A function wanted, and where its address goes. */
typedef struct hki_symbol {
    const char *name;
    void *pointer_out; /**< a pointer to a function; borrowed */
} hki_symbol_t;

enum { HKI_LIBRARY_REASON_BYTES = 256 };

/**
 * Load a library for the rest of the process's life, and look up its functions.
 *
 * @param file     soname, "libdnnl.so.2"; looked for where the system keeps libraries
 * @param symbols  (count,); written on success only
 * @param[out] reason  why it failed; written on failure only
 * @return false: it cannot be loaded, or lacks one of them
 */
bool hki_library_load(const char *file, const hki_symbol_t *symbols, size_t count,
                      char reason[HKI_LIBRARY_REASON_BYTES]);

#endif /* HKI_BASE_LIBRARY_H */
