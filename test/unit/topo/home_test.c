/*
 * Where a rank runs. Method: the files of machines with several caches and memory domains, below a
 * false root; and this machine, where only the form is known.
 */
#include "unit/topo/root.h"

#include "base/log.h"
#include "topo/cpus.h"
#include "topo/home.h"

enum { CPUS = 16, CPUS_MAX = 1024 };

/** A machine of 16 cores, two memory domains; four share a cache, or, where numbers alternate
 *  between the domains, all of a domain. */
static void write_machine(bool is_alternating)
{
    static const char *const caches[] = {"0-3", "4-7", "8-11", "12-15"};
    char path[128];

    for (int cpu = 0; cpu < CPUS; cpu++) {
        (void)snprintf(path, sizeof(path),
                       "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", cpu);
        root_write(path, is_alternating ? (cpu % 2 == 0 ? "0,2,4,6,8,10,12,14\n"
                                                        : "1,3,5-5,7,9-9"
                                                          ",11,13,15\n")
                                        : caches[cpu / 4]);
        (void)snprintf(path, sizeof(path),
                       "/sys/devices/system/cpu/cpu%d/cache/index0/shared_cpu_list", cpu);
        root_write(path, "99\n"); // nearer caches do not count
    }
    root_write("/sys/devices/system/node/has_cpu", "0,2\n");
    root_write("/sys/devices/system/node/node0/cpulist",
               is_alternating ? "0,2,4,6,8,10,12,14\n" : "0-7\n");
    root_write("/sys/devices/system/node/node2/cpulist",
               is_alternating ? "1,3,5,7,9,11,13,15\n" : "8-15\n");
}

static void assert_home(const int *cpus, int ncpus, int cache, int memory)
{
    const hki_home_t home = hki_home_look(g_root, cpus, ncpus);

    if (home.part[HKI_HOME_CACHE] != cache || home.part[HKI_HOME_MEMORY] != memory) {
        fail_msg("%d cores from %d: cache %d, memory %d, want %d, %d", ncpus,
                 ncpus > 0 ? cpus[0] : -1, (int)home.part[HKI_HOME_CACHE],
                 (int)home.part[HKI_HOME_MEMORY], cache, memory);
    }
}

static void one_core_is_at_home_in_one_part(void **state)
{
    (void)state;
    write_machine(false);
    for (int cpu = 0; cpu < CPUS; cpu++) {
        assert_home(&cpu, 1, cpu / 4 * 4, cpu / 8 * 2);
    }
    write_machine(true);
    for (int cpu = 0; cpu < CPUS; cpu++) {
        assert_home(&cpu, 1, cpu % 2, cpu % 2 * 2);
    }
}

static void cores_of_several_parts_are_at_home_in_none(void **state)
{
    const int cpus[] = {4, 5, 6, 7, 8};

    (void)state;
    write_machine(false);
    assert_home(cpus, 4, 4, 0);
    assert_home(cpus, 5, -1, -1);
    const int across[] = {3, 4};
    assert_home(across, 2, -1, 0);
    assert_home(across, 0, -1, -1);
}

static void a_machine_that_tells_nothing_is_unknown(void **state)
{
    const int cpu = 0;

    (void)state;
    assert_home(&cpu, 1, -1, -1);
    root_write("/sys/devices/system/node/has_cpu", "nonsense\n");
    root_write("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "\n");
    assert_home(&cpu, 1, -1, -1);
}

static void what_is_written_is_read_back(void **state)
{
    static const hki_home_t homes[] = {{{3, 1}}, {{-1, -1}}, {{0, INT32_MAX}}};
    char text[HKI_HOME_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        hki_home_t got = {{7, 7}};
        hki_home_format(&homes[i], text);
        assert_int_equal(hki_home_parse(text, &got), HK_OK);
        assert_memory_equal(&got, &homes[i], sizeof(got));
    }
}

static void nonsense_is_refused_and_ignored_with_a_warning(void **state)
{
    static const char *const wrong[] = {"",     "3",   "3:",   ":1",           "3:1:2",
                                        "3:-2", "a:b", "3:1 ", "99999999999:1"};
    hki_home_t home = {{7, 7}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(hki_home_parse(wrong[i], &home), HK_ERR_INVALID_ARG);
        assert_int_equal(home.part[0], 7);
        assert_int_equal(home.part[1], 7);
    }
    assert_int_equal(setenv(HKI_HOME_VARIABLE, "here", 1), 0);
    home = hki_home_find();
    assert_int_equal(home.part[HKI_HOME_CACHE], -1);
    assert_int_equal(hki_log_take_count(), 1);
}

static void what_the_launcher_says_counts(void **state)
{
    int cpus[CPUS_MAX];
    const int count = hki_cpus_list(cpus, CPUS_MAX);

    (void)state;
    assert_int_equal(setenv(HKI_HOME_VARIABLE, "5:6", 1), 0);
    const hki_home_t told = hki_home_find();
    assert_int_equal(told.part[HKI_HOME_CACHE], 5);
    assert_int_equal(told.part[HKI_HOME_MEMORY], 6);
    assert_int_equal(unsetenv(HKI_HOME_VARIABLE), 0);
    const hki_home_t found = hki_home_find();
    const hki_home_t looked = hki_home_look("", cpus, count);
    assert_memory_equal(&found, &looked, sizeof(found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST(one_core_is_at_home_in_one_part),
        ROOT_TEST(cores_of_several_parts_are_at_home_in_none),
        ROOT_TEST(a_machine_that_tells_nothing_is_unknown),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(nonsense_is_refused_and_ignored_with_a_warning),
        cmocka_unit_test(what_the_launcher_says_counts),
    };

    return cmocka_run_group_tests_name("topo/home", tests, NULL, NULL);
}
