/**
 * @file library.c
 * @brief dlopen() and dlsym().
 */
#include "tensor/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/log.h"

bool hki_library_load(const char *file, const hki_symbol_t *symbols, size_t count)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    bool is_complete = library != NULL;

    for (size_t i = 0; is_complete && i < count; i++) {
        is_complete = dlsym(library, symbols[i].name) != NULL;
    }
    if (!is_complete) {
        hki_log(HKI_LOG_WARN, "tensor", "matrix products go on without %s: %s", file, dlerror());
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
