/**
 * @file memory_test.c
 * @brief Method: false files of machine and control groups; and this machine, where only bounds are
 *        known.
 */
#include "unit/topo/root.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

static void the_strictest_of_many_limits_counts(void **state)
{
    enum { DEPTH = 12 };
    char path[64] = "0::";
    char name[160];
    char text[32];

    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        (void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%c", 'a' + i);
    }
    for (int strictest = 1; strictest <= DEPTH; strictest++) {
        root_write("/proc/meminfo", "MemAvailable:   1000 kB\n");
        root_write("/proc/self/cgroup", path);
        for (int i = 1; i <= DEPTH; i++) {
            const char *group = path + 3;
            (void)snprintf(name, sizeof(name), "/sys/fs/cgroup%.*s/memory.max", 2 * i, group);
            (void)snprintf(text, sizeof(text), "%d\n", i == strictest ? 7000 : 9000 + i);
            root_write(name, text);
            (void)snprintf(name, sizeof(name), "/sys/fs/cgroup%.*s/memory.current", 2 * i, group);
            root_write(name, "1000\n");
        }
        if (hki_memory_available_at(g_root) != 6000) {
            fail_msg("limit at depth %d: %llu bytes", strictest,
                     (unsigned long long)hki_memory_available_at(g_root));
        }
    }
}

static void *ask_often(void *argument)
{
    uint64_t *least = argument;

    for (int i = 0; i < 100; i++) {
        const uint64_t now = hki_memory_available();
        *least = now < *least ? now : *least;
    }
    return NULL;
}

static void threads_may_ask_at_once(void **state)
{
    pthread_t threads[4];
    uint64_t least[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        least[i] = UINT64_MAX;
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &least[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_in_range(least[i], 1 << 20, hki_memory_total());
    }
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
        ROOT_TEST(the_strictest_of_many_limits_counts),
        cmocka_unit_test(threads_may_ask_at_once),
        ROOT_TEST(a_machine_that_tells_nothing_has_no_limit),
        cmocka_unit_test(this_machine_has_memory),
    };
    return cmocka_run_group_tests_name("topo/memory", tests, NULL, NULL);
}
