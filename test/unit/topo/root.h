/**
 * @file root.h
 * @brief A false root directory, with the files that the kernel would show on some other machine.
 */
#ifndef TEST_UNIT_TOPO_ROOT_H
#define TEST_UNIT_TOPO_ROOT_H

#include "support/hk_test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char g_root[64];

static inline int root_set_up(void **state)
{
    (void)state;
    (void)snprintf(g_root, sizeof(g_root), "/tmp/hocket-topo-test-XXXXXX");
    return mkdtemp(g_root) == NULL ? -1 : 0;
}

static inline int root_remove(const char *path, const struct stat *info, int type, struct FTW *ftw)
{
    (void)info;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int root_tear_down(void **state)
{
    (void)state;
    return nftw(g_root, root_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/** Write a file, and the directories above it. `path` begins with a slash. */
static inline void root_write(const char *path, const char *text)
{
    char full[512];

    (void)snprintf(full, sizeof(full), "%s%s", g_root, path);
    for (char *slash = full + strlen(g_root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(full, 0700); // may be there
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

#define ROOT_TEST(name) cmocka_unit_test_setup_teardown(name, root_set_up, root_tear_down)

#endif /* TEST_UNIT_TOPO_ROOT_H */
