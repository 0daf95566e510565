/**
 * @file home.c
 * @brief The part of the machine that a rank runs on. Method: a cache goes by its first logical
 *        core, a memory domain by its number, so that ranks that look on their own find equal
 *        numbers for equal parts. Cores in several parts are at home in none.
 */
#include "topo/home.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "topo/cpus.h"
#include "topo/file.h"

enum { CPUS_MAX = 8192, PATH_BYTES = 512, CACHES_MAX = 5, NODES_MAX = 1024 };

/** One range of a list like "0-3,8,10-11"; *text moves behind it. @return false: the end */
static bool next_range(const char **text, long *first_out, long *last_out)
{
    char *end = NULL;

    *text += strspn(*text, ", \n");
    *first_out = strtol(*text, &end, 10);
    if (end == *text) {
        return false;
    }
    *last_out = *first_out;
    if (*end == '-') {
        *last_out = strtol(end + 1, &end, 10);
    }
    *text = end;
    return true;
}

static bool has_number(const char *list, long number)
{
    long first = 0;
    long last = 0;

    while (next_range(&list, &first, &last)) {
        if (first <= number && number <= last) {
            return true;
        }
    }
    return false;
}

static bool has_all(const char *list, const int *cpus, int ncpus)
{
    for (int i = 0; i < ncpus; i++) {
        if (!has_number(list, cpus[i])) {
            return false;
        }
    }
    return true;
}

/** The cache furthest out that the first core has a share in. */
static int32_t find_cache(const char *root, const int *cpus, int ncpus)
{
    char path[PATH_BYTES];
    char list[HKI_FILE_TEXT_BYTES];
    long first = 0;
    long last = 0;

    for (int index = CACHES_MAX - 1; index >= 0; index--) {
        (void)snprintf(path, sizeof(path),
                       "%s/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", root,
                       cpus[0], index);
        if (hki_file_read(path, list, sizeof(list)) > 0) {
            const char *text = list;
            const bool is_right = next_range(&text, &first, &last) && has_all(list, cpus, ncpus);
            return is_right ? (int32_t)first : -1;
        }
    }
    return -1;
}

static int32_t find_memory(const char *root, const int *cpus, int ncpus)
{
    char path[PATH_BYTES];
    char nodes[HKI_FILE_TEXT_BYTES];
    char list[HKI_FILE_TEXT_BYTES];
    long first = 0;
    long last = 0;

    (void)snprintf(path, sizeof(path), "%s/sys/devices/system/node/has_cpu", root);
    (void)hki_file_read(path, nodes, sizeof(nodes));
    for (const char *text = nodes; next_range(&text, &first, &last);) {
        for (long node = first; node <= last && node < NODES_MAX; node++) {
            (void)snprintf(path, sizeof(path), "%s/sys/devices/system/node/node%ld/cpulist", root,
                           node);
            (void)hki_file_read(path, list, sizeof(list));
            if (has_number(list, cpus[0])) {
                return has_all(list, cpus, ncpus) ? (int32_t)node : -1;
            }
        }
    }
    return -1;
}

hki_home_t hki_home_look(const char *root, const int *cpus, int ncpus)
{
    hki_home_t home = hki_home_unknown();

    if (ncpus > 0) {
        home.part[HKI_HOME_CACHE] = find_cache(root, cpus, ncpus);
        home.part[HKI_HOME_MEMORY] = find_memory(root, cpus, ncpus);
    }
    return home;
}

hki_home_t hki_home_find(void)
{
    const char *told = getenv(HKI_HOME_VARIABLE);
    hki_home_t home = hki_home_unknown();
    int cpus[CPUS_MAX];

    if (told != NULL && *told != '\0') {
        if (hki_home_parse(told, &home) != HK_OK) {
            hki_log(HKI_LOG_WARN, "topo",
                    "%s=\"%.40s\" is not like \"3:1\", a cache and a memory domain; it is ignored",
                    HKI_HOME_VARIABLE, told);
        }
        return home;
    }
    const int count = hki_cpus_list(cpus, CPUS_MAX);
    return hki_home_look("", cpus, count > CPUS_MAX ? 0 : count);
}

void hki_home_format(const hki_home_t *home, char text[HKI_HOME_TEXT_BYTES])
{
    (void)snprintf(text, HKI_HOME_TEXT_BYTES, "%d:%d", (int)home->part[HKI_HOME_CACHE],
                   (int)home->part[HKI_HOME_MEMORY]);
}

/** A number from -1 up that ends with `end`; *text moves behind that. @return false: none */
static bool read_part(const char **text, char end, int32_t *part_out)
{
    char *after = NULL;
    const long value = strtol(*text, &after, 10);

    if (after == *text || *after != end || value < -1 || value > INT32_MAX) {
        return false;
    }
    *part_out = (int32_t)value;
    *text = after + (end != '\0');
    return true;
}

hk_status_t hki_home_parse(const char *text, hki_home_t *home_out)
{
    hki_home_t home;

    if (!read_part(&text, ':', &home.part[HKI_HOME_CACHE]) ||
        !read_part(&text, '\0', &home.part[HKI_HOME_MEMORY])) {
        return HK_ERR_INVALID_ARG;
    }
    *home_out = home;
    return HK_OK;
}
