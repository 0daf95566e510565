/**
 * @file cgroup.c
 * @brief Finding the directories of control groups. A line of /proc/self/cgroup is
 *        number:controllers:path; number 0 with no controllers is version 2.
 */
#include "topo/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "topo/file.h"

/** Is `name` one of the comma-separated `list`? */
static bool has_name(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length) {
        const bool starts = at == list || at[-1] == ',';
        if (starts && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/** Visit mount/path, then each directory above it, down to mount. Cuts `path`. */
static void visit_upwards(const char *mount, char *path,
                          void (*visit)(const char *directory, void *cookie), void *cookie)
{
    char directory[2048];

    for (;;) {
        char *slash = strrchr(path, '/');
        if (slash != NULL && slash[1] == '\0') {
            *slash = '\0'; // "/" is the mount itself
            slash = strrchr(path, '/');
        }
        const int n = snprintf(directory, sizeof(directory), "%s%s", mount, path);
        if (n > 0 && (size_t)n < sizeof(directory)) {
            visit(directory, cookie);
        }
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

void hki_cgroup_visit(const char *root, const char *controller,
                      void (*visit)(const char *directory, void *cookie), void *cookie)
{
    char path[512];
    char text[HKI_FILE_TEXT_BYTES];
    char mount[512];
    char *next = text;

    (void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    if (hki_file_read(path, text, sizeof(text)) == 0) {
        return;
    }
    for (char *line; (line = strsep(&next, "\n")) != NULL;) {
        char *rest = line;
        (void)strsep(&rest, ":");
        const char *controllers = strsep(&rest, ":");
        if (controllers == NULL || rest == NULL) {
            continue;
        }
        if (controllers[0] == '\0') {
            (void)snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup", root);
        } else if (has_name(controllers, controller)) {
            (void)snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root, controller);
        } else {
            continue;
        }
        visit_upwards(mount, rest, visit, cookie);
    }
}
