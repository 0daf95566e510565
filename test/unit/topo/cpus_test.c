/**
 * @file cpus_test.c
 * @brief Method: false control groups of both versions; and this machine, where only bounds are
 *        known.
 */
#include "unit/topo/root.h"

#include <sched.h>

#include "topo/cpus.h"

static void without_groups_the_affinity_counts(void **state)
{
    (void)state;
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 6);
    assert_int_equal(hki_cpus_usable_at(g_root, 0), 1);
    root_write("/proc/self/cgroup", "0::/\n");
    root_write("/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 6);
}

static void a_quota_of_version_2_limits_rounded_up(void **state)
{
    (void)state;
    root_write("/proc/self/cgroup", "0::/a/b\n");
    root_write("/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 3);
    assert_int_equal(hki_cpus_usable_at(g_root, 2), 2);
    root_write("/sys/fs/cgroup/a/b/cpu.max", "1000 100000\n");
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 1);
}

static void the_groups_above_count_too(void **state)
{
    (void)state;
    root_write("/proc/self/cgroup", "0::/a/b\n");
    root_write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    root_write("/sys/fs/cgroup/a/cpu.max", "400000 200000\n");
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 2);
}

static void a_quota_of_version_1_limits(void **state)
{
    (void)state;
    root_write("/proc/self/cgroup", "4:memory:/x\n3:cpuset:/y\n2:cpu,cpuacct:/job\n0::/\n");
    root_write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
    root_write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "50000\n");
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 3);
    root_write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 6);
}

static void nonsense_limits_nothing(void **state)
{
    (void)state;
    root_write("/proc/self/cgroup", "nonsense\n::\n0:\n:::::\n0::/q\n");
    root_write("/sys/fs/cgroup/q/cpu.max", "many of them");
    assert_int_equal(hki_cpus_usable_at(g_root, 6), 6);
}

static void the_list_is_that_of_the_affinity(void **state)
{
    cpu_set_t set;
    int cpus[CPU_SETSIZE];
    int one = -1;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    const int count = hki_cpus_list(cpus, CPU_SETSIZE);
    assert_int_equal(count, CPU_COUNT(&set));
    for (int i = 0; i < count; i++) {
        assert_true(CPU_ISSET((size_t)cpus[i], &set));
        assert_true(i == 0 || cpus[i] > cpus[i - 1]);
    }
    assert_int_equal(hki_cpus_list(&one, 1), count);
    assert_int_equal(one, cpus[0]);
    assert_in_range(hki_cpus_usable(), 1, count);
}

static void ranks_per_core_is_rounded_up(void **state)
{
    const int cores = hki_cpus_usable();

    (void)state;
    assert_int_equal(hki_ranks_per_core(1), 1);
    assert_int_equal(hki_ranks_per_core(cores), 1);
    assert_int_equal(hki_ranks_per_core(cores + 1), 2);
    assert_int_equal(hki_ranks_per_core(3 * cores), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST(without_groups_the_affinity_counts),
        ROOT_TEST(a_quota_of_version_2_limits_rounded_up),
        ROOT_TEST(the_groups_above_count_too),
        ROOT_TEST(a_quota_of_version_1_limits),
        ROOT_TEST(nonsense_limits_nothing),
        cmocka_unit_test(the_list_is_that_of_the_affinity),
        cmocka_unit_test(ranks_per_core_is_rounded_up),
    };
    return cmocka_run_group_tests_name("topo/cpus", tests, NULL, NULL);
}
