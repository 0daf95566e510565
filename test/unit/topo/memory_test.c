/**
 * @file memory_test.c
 * @brief Method: false files of machine and control groups; and this machine, where only bounds are
 *        known.
 */
#include "unit/topo/root.h"

#include "topo/memory.h"

static void without_groups_the_machine_counts(void **state)
{
    (void)state;
    root_write("/proc/meminfo", "MemTotal:  2000 kB\nMemFree: 7 kB\nMemAvailable:   1000 kB\n");
    assert_int_equal(hki_memory_available_at(g_root), 1024000);
}

static void a_limit_of_version_2_counts_less_what_can_be_dropped(void **state)
{
    (void)state;
    root_write("/proc/meminfo", "MemAvailable:   1000 kB\n");
    root_write("/proc/self/cgroup", "0::/job\n");
    root_write("/sys/fs/cgroup/job/memory.max", "700000\n");
    root_write("/sys/fs/cgroup/job/memory.current", "500000\n");
    root_write("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 100000\n");
    assert_int_equal(hki_memory_available_at(g_root), 300000);
    root_write("/sys/fs/cgroup/job/memory.max", "max\n");
    assert_int_equal(hki_memory_available_at(g_root), 1024000);
}

static void a_limit_of_version_1_counts_also_from_above(void **state)
{
    (void)state;
    root_write("/proc/meminfo", "MemAvailable:   1000 kB\n");
    root_write("/proc/self/cgroup", "4:memory:/a/b\n");
    root_write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    root_write("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "5\n");
    assert_int_equal(hki_memory_available_at(g_root), 1024000);
    root_write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n");
    root_write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "5000\n");
    assert_int_equal(hki_memory_available_at(g_root), 0);
}

static void a_machine_that_tells_nothing_has_no_limit(void **state)
{
    (void)state;
    assert_true(hki_memory_available_at(g_root) == UINT64_MAX);
}

static void this_machine_has_memory(void **state)
{
    (void)state;
    assert_true(hki_memory_total() > (1 << 20));
    assert_true(hki_memory_available() > (1 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST(without_groups_the_machine_counts),
        ROOT_TEST(a_limit_of_version_2_counts_less_what_can_be_dropped),
        ROOT_TEST(a_limit_of_version_1_counts_also_from_above),
        ROOT_TEST(a_machine_that_tells_nothing_has_no_limit),
        cmocka_unit_test(this_machine_has_memory),
    };
    return cmocka_run_group_tests_name("topo/memory", tests, NULL, NULL);
}
