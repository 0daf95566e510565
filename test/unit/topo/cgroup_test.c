/**
 * @file cgroup_test.c
 * @brief Method: note every directory that is visited, for the forms that /proc/self/cgroup has.
 */
#include "unit/topo/root.h"

#include "topo/cgroup.h"

static char g_visited[2048];

static void note(const char *directory, void *cookie)
{
    const size_t at = strlen(g_visited);

    assert_ptr_equal(cookie, g_visited);
    assert_memory_equal(directory, g_root, strlen(g_root));
    (void)snprintf(g_visited + at, sizeof(g_visited) - at, "%s;", directory + strlen(g_root));
}

static void assert_visits(const char *lines, const char *want)
{
    g_visited[0] = '\0';
    root_write("/proc/self/cgroup", lines);
    hki_cgroup_visit(g_root, "cpu", note, g_visited);
    assert_string_equal(g_visited, want);
}

static void visits_the_own_group_and_all_above(void **state)
{
    (void)state;
    assert_visits("0::/\n", "/sys/fs/cgroup;");
    assert_visits("0::/a/b\n", "/sys/fs/cgroup/a/b;/sys/fs/cgroup/a;/sys/fs/cgroup;");
    assert_visits("1:cpuset:/x\n2:cpu,cpuacct:/y\n", "/sys/fs/cgroup/cpu/y;/sys/fs/cgroup/cpu;");
    assert_visits("1:cpuacct,cpu:/y", "/sys/fs/cgroup/cpu/y;/sys/fs/cgroup/cpu;");
}

static void visits_nothing_where_nothing_is_said(void **state)
{
    (void)state;
    assert_visits("", "");
    assert_visits("1:cpuset:/x\n2:cpuacct:/y\n3\n4:cpu\n", "");
    g_visited[0] = '\0';
    hki_cgroup_visit("/nowhere", "cpu", note, g_visited);
    assert_string_equal(g_visited, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST(visits_the_own_group_and_all_above),
        ROOT_TEST(visits_nothing_where_nothing_is_said),
    };
    return cmocka_run_group_tests_name("topo/cgroup", tests, NULL, NULL);
}
