/*
 * Names of this machine and the user's cache folder, by the XDG base directory specification:
 * relative paths in its variables do not count.
 */
#include "topo/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "topo/file.h"

enum { PATH_BYTES = 4096 };

void hki_machine_cpu_in(const char *cpuinfo, char model[HKI_MACHINE_BYTES])
{
    const char *at = strstr(cpuinfo, "model name");
    const char *colon = at == NULL ? NULL : strchr(at, ':');

    if (colon == NULL) {
        (void)snprintf(model, HKI_MACHINE_BYTES, "unknown processor");
        return;
    }
    colon += 1 + strspn(colon + 1, " \t");
    (void)snprintf(model, HKI_MACHINE_BYTES, "%.*s", (int)strcspn(colon, "\n"), colon);
}

void hki_machine_cpu(char model[HKI_MACHINE_BYTES])
{
    char text[HKI_FILE_TEXT_BYTES];

    (void)hki_file_read("/proc/cpuinfo", text, sizeof(text));
    hki_machine_cpu_in(text, model);
}

void hki_machine_key(const char *model, long cores, char key[HKI_MACHINE_BYTES])
{
    size_t used = 0;

    for (; *model != '\0' && used < HKI_MACHINE_BYTES - 16; model++) {
        if (isalnum((unsigned char)*model)) {
            key[used++] = (char)tolower((unsigned char)*model);
        } else if (used > 0 && key[used - 1] != '-') {
            key[used++] = '-';
        }
    }
    used -= used > 0 && key[used - 1] == '-';
    (void)snprintf(key + used, HKI_MACHINE_BYTES - used, "-%ld", cores);
}

hk_status_t hki_cache_folder(char *path, size_t path_bytes)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;

    if (cache != NULL && cache[0] == '/') {
        length = snprintf(path, path_bytes, "%s/hocket", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, path_bytes, "%s/.cache/hocket", home);
    }
    return length > 0 && (size_t)length < path_bytes ? HK_OK : HK_ERR_UNSUPPORTED;
}

hk_status_t hki_folder_create(const char *path)
{
    char part[PATH_BYTES];

    if (snprintf(part, sizeof(part), "%s/", path) >= (int)sizeof(part)) {
        return HKI_FAIL(HK_ERR_IO, "%.80s...: the path is longer than %d bytes", path, PATH_BYTES);
    }
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return HKI_FAIL(HK_ERR_IO, "folder %s: %s", part, strerror(errno));
        }
        *slash = '/';
    }
    return HK_OK;
}
