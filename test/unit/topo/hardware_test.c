/*
 * The map of cores. Method: machines are fabricated by HWLOC_SYNTHETIC; what hwloc must tell of
 * them follows from the numbers in their names. Without hwloc those tests are skipped, and what
 * remains is the flat map.
 */
#include "support/hk_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "topo/cpus.h"
#include "topo/hardware.h"

enum { CPUS_MAX = 64 };

/** The fabricated machine; skips the test where hwloc is missing. */
static hki_hardware_t *fabricate(const char *synthetic)
{
    hki_hardware_t *hardware = NULL;

    assert_int_equal(setenv("HWLOC_SYNTHETIC", synthetic, 1), 0);
    assert_ok(hki_hardware_create(&hardware));
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    if (strstr(hardware->source, "hwloc, ") == NULL) {
        hki_hardware_destroy(&hardware);
        skip();
    }
    return hardware;
}

/** Where logical core `i` of the list must be. */
static void assert_place(const hki_hardware_t *hardware, int i, hki_cpu_t want)
{
    const hki_cpu_t *got = &hardware->cpus[i];

    if (got->thread != want.thread || got->core != want.core || got->cache != want.cache ||
        got->domain != want.domain || got->socket != want.socket) {
        fail_msg("entry %d: thread %d core %d cache %d domain %d socket %d, want %d %d %d %d %d", i,
                 got->thread, got->core, got->cache, got->domain, got->socket, want.thread,
                 want.core, want.cache, want.domain, want.socket);
    }
}

/** The order of `allowed` must be `want`, both (count,). */
static void assert_order(const hki_hardware_t *hardware, const int *allowed, const int *want,
                         int count)
{
    int order[CPUS_MAX];

    hki_hardware_order(hardware, allowed, count, order);
    for (int i = 0; i < count; i++) {
        if (order[i] != want[i]) {
            fail_msg("place %d of %d: core %d, want %d", i, count, order[i], want[i]);
        }
    }
}

static void one_domain_of_four_cores(void **state)
{
    hki_hardware_t *hardware =
        fabricate("numa:1(memory=1073741824) l3:1(size=8388608) core:4 pu:1");

    (void)state;
    assert_true(hardware->is_fabricated);
    assert_int_equal(hardware->ncpus, 4);
    assert_int_equal(hardware->ncores, 4);
    assert_int_equal(hardware->ncaches, 1);
    assert_int_equal(hardware->ndomains, 1);
    assert_int_equal(hardware->domain_bytes[0], 1 << 30);
    assert_int_equal(hardware->cache_level, 3);
    assert_int_equal(hardware->cache_bytes, 8 << 20);
    for (int i = 0; i < 4; i++) {
        assert_place(hardware, i, (hki_cpu_t){.core = i});
    }
    hki_hardware_destroy(&hardware);
}

static void two_domains_of_four_cores(void **state)
{
    hki_hardware_t *hardware = fabricate("pack:2 numa:1 l3:1 core:4 pu:1");

    (void)state;
    assert_int_equal(hardware->ncpus, 8);
    assert_int_equal(hardware->ndomains, 2);
    assert_int_equal(hardware->nsockets, 2);
    for (int i = 0; i < 8; i++) {
        assert_place(hardware, i,
                     (hki_cpu_t){.core = i, .cache = i / 4, .domain = i / 4, .socket = i / 4});
    }
    hki_hardware_destroy(&hardware);
}

static void four_domains_with_two_threads_a_core(void **state)
{
    // as many systems count: all first threads, then all second ones
    hki_hardware_t *hardware = fabricate("numa:4 l3:1 core:2 pu:2(indexes=numa:core:pu)");
    int all[16];

    (void)state;
    assert_int_equal(hardware->ncpus, 16);
    assert_int_equal(hardware->ncores, 8);
    assert_int_equal(hardware->ncaches, 4);
    assert_int_equal(hardware->ndomains, 4);
    for (int i = 0; i < 16; i++) {
        const hki_cpu_t want = {.thread = i % 2, .core = i / 2, .cache = i / 4, .domain = i / 4};
        assert_place(hardware, i, want);
        all[i] = i;
    }
    // neighbours share a domain, and second threads come last
    int order[16];
    hki_hardware_order(hardware, all, 16, order);
    for (int i = 0; i < 16; i++) {
        const hki_cpu_t *cpu = hki_hardware_find(hardware, order[i]);
        assert_non_null(cpu);
        assert_int_equal(cpu->thread, i / 8);
        assert_int_equal(cpu->core, i % 8);
        assert_int_equal(cpu->domain, i % 8 / 2);
    }
    hki_hardware_destroy(&hardware);
}

static void caches_divide_a_domain(void **state)
{
    hki_hardware_t *hardware = fabricate("numa:1 l3:2 core:2 pu:1");

    (void)state;
    assert_int_equal(hardware->ndomains, 1);
    assert_int_equal(hardware->ncaches, 2);
    for (int i = 0; i < 4; i++) {
        assert_place(hardware, i, (hki_cpu_t){.core = i, .cache = i / 2});
    }
    hki_hardware_destroy(&hardware);
}

static void order_follows_the_parts_not_the_numbers(void **state)
{
    // numbers alternate between the two domains
    hki_hardware_t *hardware = fabricate("numa:2 core:4 pu:1(indexes=core:numa)");
    int all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int order[8];

    (void)state;
    hki_hardware_order(hardware, all, 8, order);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(hki_hardware_find(hardware, order[i])->domain, i / 4);
    }
    hki_hardware_destroy(&hardware);
}

static void order_takes_what_is_allowed_only(void **state)
{
    hki_hardware_t *hardware = fabricate("numa:2 core:2 pu:2");
    const int allowed[] = {1, 2, 3, 7, 99}; // the first thread of core 0 and 3 are forbidden
    const int want[] = {1, 2, 7, 3, 99};

    (void)state;
    assert_order(hardware, allowed, want, 5);
    assert_order(hardware, allowed, want, 0);
    assert_null(hki_hardware_find(hardware, 99));
    hki_hardware_destroy(&hardware);
}

static void an_unreadable_machine_falls_back_to_the_affinity(void **state)
{
    hki_hardware_t *hardware = NULL;

    (void)state;
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "no such thing:", 1), 0);
    assert_int_equal(setenv("HWLOC_COMPONENTS", "synthetic,stop", 1), 0);
    assert_ok(hki_hardware_create(&hardware));
    assert_int_equal(unsetenv("HWLOC_COMPONENTS"), 0);
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    assert_true(hardware->ncpus >= 1);
    assert_false(hardware->is_fabricated);
    hki_hardware_destroy(&hardware);
}

static void this_machine_has_the_cores_we_may_use(void **state)
{
    int cpus[CPUS_MAX];
    int order[CPUS_MAX];
    hki_hardware_t *hardware = NULL;

    (void)state;
    assert_ok(hki_hardware_create(&hardware));
    int count = hki_cpus_list(cpus, CPUS_MAX);
    count = count > CPUS_MAX ? CPUS_MAX : count;
    assert_true(count >= 1);
    hki_hardware_order(hardware, cpus, count, order);
    for (int i = 0; i < count; i++) { // each once
        int found = 0;
        for (int j = 0; j < count; j++) {
            found += order[j] == cpus[i];
        }
        assert_int_equal(found, 1);
    }
    hki_hardware_destroy(&hardware);
}

static void without_hwloc_all_cores_are_alike(void **state)
{
    const int cpus[] = {2, 3, 7};
    hki_hardware_t *hardware = NULL;

    (void)state;
    assert_ok(hki_hardware_flat(cpus, 3, "affinity", &hardware));
    assert_string_equal(hardware->source, "affinity");
    assert_int_equal(hardware->ncores, 3);
    assert_int_equal(hardware->ndomains, 1);
    assert_int_equal(hardware->cache_level, 0);
    assert_int_equal(hardware->domain_bytes[0], 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hardware->cpus[i].number, cpus[i]);
        assert_place(hardware, i, (hki_cpu_t){.core = i});
    }
    assert_order(hardware, cpus, cpus, 3);
    hki_hardware_destroy(&hardware);
    hki_hardware_destroy(&hardware); // accepts NULL
    assert_int_equal(hki_alloc_live(), 0);
}

static void any_allocation_may_fail(void **state)
{
    hki_hardware_t *hardware = NULL;

    (void)state;
    for (int i = 1; i < 100; i++) {
        hki_alloc_fail_at((size_t)i);
        const hk_status_t status = hki_hardware_create(&hardware);
        hki_alloc_fail_at(0);
        if (status == HK_OK) {
            hki_hardware_destroy(&hardware);
            assert_true(i > 1);
            return;
        }
        assert_int_equal(status, HK_ERR_NO_MEMORY);
        assert_null(hardware);
        assert_int_equal(hki_alloc_live(), 0);
    }
    fail_msg("never succeeds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_domain_of_four_cores),
        cmocka_unit_test(two_domains_of_four_cores),
        cmocka_unit_test(four_domains_with_two_threads_a_core),
        cmocka_unit_test(caches_divide_a_domain),
        cmocka_unit_test(order_follows_the_parts_not_the_numbers),
        cmocka_unit_test(order_takes_what_is_allowed_only),
        cmocka_unit_test(an_unreadable_machine_falls_back_to_the_affinity),
        cmocka_unit_test(this_machine_has_the_cores_we_may_use),
        cmocka_unit_test(without_hwloc_all_cores_are_alike),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("topo/hardware", tests, NULL, NULL);
}
