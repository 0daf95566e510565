/*
 * Finds the drop-in malloc beside this command: in the build folder, or where it is installed
 * relative to the command, so that a moved tree works, too.
 */
#include "preload.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define LIBRARY "libhocket_malloc.so"

/** From the folder of the command. HKI_LIBRARY_FOLDER comes from the build. */
static const char *const folders[] = {"", HKI_LIBRARY_FOLDER "/"};

enum { FOLDERS = sizeof(folders) / sizeof(folders[0]) };

/** "/usr/bin/" of "/usr/bin/hocket". @return false: it cannot be told */
static bool own_folder(char *folder, size_t bytes)
{
    const ssize_t length = readlink("/proc/self/exe", folder, bytes - 1);

    if (length <= 0) {
        return false;
    }
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        return false;
    }
    slash[1] = '\0';
    return true;
}

/** @return false: there is none, or its path is too long */
static bool find_library(const char *own, char *path, size_t bytes)
{
    for (int i = 0; i < FOLDERS; i++) {
        const int length = snprintf(path, bytes, "%s%s" LIBRARY, own, folders[i]);
        if (length > 0 && (size_t)length < bytes && access(path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

hk_status_t hki_preload_malloc(size_t bytes_min)
{
    const char *old = getenv("LD_PRELOAD");
    char own[PATH_MAX] = "";
    char path[PATH_MAX];
    char list[2 * PATH_MAX];
    char number[32];

    if (!own_folder(own, sizeof(own)) || !find_library(own, path, sizeof(path))) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED,
                        "--shared-heap needs " LIBRARY ", which is neither in %.500s nor in "
                        "%.500s" HKI_LIBRARY_FOLDER "; install hocket again",
                        own, own);
    }
    if (strpbrk(path, ": ") != NULL) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED,
                        "--shared-heap cannot preload %.500s: its path has a blank or a colon; "
                        "install hocket elsewhere",
                        path);
    }
    const bool has_old = old != NULL && old[0] != '\0';
    const int length =
        snprintf(list, sizeof(list), "%s%s%s", path, has_old ? ":" : "", has_old ? old : "");
    (void)snprintf(number, sizeof(number), "%zu", bytes_min);
    if (length < 0 || (size_t)length >= sizeof(list) || setenv("LD_PRELOAD", list, 1) != 0 ||
        setenv("HOCKET_SHARED_HEAP_MIN", number, 1) != 0) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED, "LD_PRELOAD has %zu bytes; there is no room for more",
                        has_old ? strlen(old) : 0);
    }
    return HK_OK;
}
