/**
 * @file cpus_test.c
 * @brief Method: false control groups of both versions; and this machine, where only bounds are
 *        known.
 */
#include "unit/topo/root.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

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

static void ranks_that_share_a_core_are_counted(void **state)
{
    static const struct {
        uint64_t masks[4];
        int want[4];
    } cases[] = {
        {{1, 2, 4, 8}, {1, 1, 1, 1}},  // everybody has a core
        {{3, 3, 3, 3}, {2, 2, 2, 2}},  // four on two
        {{1, 1, 2, 4}, {2, 2, 1, 1}},  // two share one
        {{7, 7, 7, 8}, {1, 1, 1, 1}},  // three on three, without falling over thirds
        {{15, 1, 2, 4}, {1, 2, 2, 2}}, // one that roams over all
        {{1, 0, 0, 0}, {4, 0, 0, 0}},  // nothing is known of the others
        {{1, 2, 12, 12}, {1, 1, 1, 1}},
    };

    (void)state;
    if (hki_cpus_usable_at("", 1024) < 4) {
        skip(); // a time quota comes on top here
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        hki_cpu_mask_t masks[4] = {{{0}}};
        for (int rank = 0; rank < 4; rank++) {
            masks[rank].words[1] = cases[i].masks[rank];
        }
        for (int rank = 0; rank < 4; rank++) {
            const int got = hki_ranks_per_core(masks, 4, rank);
            if (got != cases[i].want[rank] && cases[i].masks[rank] != 0) {
                fail_msg("case %zu, rank %d: %d ranks a core", i, rank, got);
            }
        }
    }
}

static void cores_are_spare_where_ranks_leave_some_free(void **state)
{
    static const struct {
        uint64_t masks[3];
        bool want[3];
    } cases[] = {
        {{1, 2, 4}, {false, false, false}}, // everybody has a core, and no more
        {{7, 7, 7}, {false, false, false}}, // three on three, without falling over thirds
        {{15, 15, 15}, {true, true, true}}, // three on four
        {{3, 4, 8}, {true, false, false}},
        {{7, 1, 2}, {false, false, false}}, // one that roams where the others are
        {{15, 0, 0}, {true, true, true}},   // nothing is known of the others
    };

    (void)state;
    if (hki_cpus_usable_at("", 1024) < 4) {
        skip(); // a time quota comes on top here
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        hki_cpu_mask_t masks[3] = {{{0}}};
        for (int rank = 0; rank < 3; rank++) {
            masks[rank].words[1] = cases[i].masks[rank];
        }
        for (int rank = 0; rank < 3; rank++) {
            if (hki_has_spare_cores(masks, 3, rank) != cases[i].want[rank] &&
                cases[i].masks[rank] != 0) {
                fail_msg("case %zu, rank %d", i, rank);
            }
        }
    }
}

static void the_noted_mask_is_the_affinity(void **state)
{
    hki_cpu_mask_t mask;
    int cpus[HKI_CPU_MASK_WORDS * 64];
    const int count = hki_cpus_list(cpus, HKI_CPU_MASK_WORDS * 64);
    int bits = 0;

    (void)state;
    hki_cpu_mask_note(&mask);
    for (int i = 0; i < HKI_CPU_MASK_WORDS; i++) {
        bits += __builtin_popcountll(mask.words[i]);
    }
    assert_int_equal(bits, count);
    assert_true((mask.words[cpus[0] / 64] >> (cpus[0] % 64) & 1) == 1);
}

static void *hasten(void *priority)
{
    const int policy = sched_getscheduler(0);

    hki_thread_hasten();
    hki_thread_hasten();
    return policy == sched_getscheduler(0) && getpriority(PRIO_PROCESS, 0) == *(int *)priority
               ? NULL
               : priority;
}

static void haste_changes_neither_policy_nor_priority(void **state)
{
    int priority = getpriority(PRIO_PROCESS, 0);
    pthread_t thread;
    void *what = NULL;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, hasten, &priority), 0);
    assert_int_equal(pthread_join(thread, &what), 0);
    assert_null(what);
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
        cmocka_unit_test(ranks_that_share_a_core_are_counted),
        cmocka_unit_test(cores_are_spare_where_ranks_leave_some_free),
        cmocka_unit_test(the_noted_mask_is_the_affinity),
        cmocka_unit_test(haste_changes_neither_policy_nor_priority),
    };
    return cmocka_run_group_tests_name("topo/cpus", tests, NULL, NULL);
}
