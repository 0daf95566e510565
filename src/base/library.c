/**
 * @file library.c
 * @brief dlopen() and dlsym().
 */
#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bool hki_library_load(const char *file, const hki_symbol_t *symbols, size_t count,
                      char reason[HKI_LIBRARY_REASON_BYTES])
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    bool is_complete = library != NULL;

    for (size_t i = 0; is_complete && i < count; i++) {
        is_complete = dlsym(library, symbols[i].name) != NULL;
    }
    if (!is_complete) {
        (void)snprintf(reason, HKI_LIBRARY_REASON_BYTES, "%s", dlerror());
        if (library != NULL) {
            (void)dlclose(library);
        }
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        // ISO C has no conversion from an object pointer; POSIX gives both the same size
        void *const address = dlsym(library, symbols[i].name);
        memcpy(symbols[i].pointer_out, &address, sizeof(address));
    }
    return true;
}
