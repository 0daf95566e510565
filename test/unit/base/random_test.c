/*
 * Method: the published known answers of Philox 4x32-10, moments of the distributions over a fixed
 * stream, and the promise that numbers depend on seed, name and index only.
 */
#include "support/hk_test.h"

#include <math.h>

#include "base/random.h"

static void philox_gives_the_published_answers(void **state)
{
    static const struct {
        uint32_t counter[4];
        hki_random_key_t key;
        uint32_t want[4];
    } cases[] = {
        {{0, 0, 0, 0}, {{0, 0}}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {{0xffffffff, 0xffffffff}},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {{0xa4093822, 0x299f31d0}},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        uint32_t got[4];
        hki_random_philox(cases[k].counter, cases[k].key, got);
        assert_memory_equal(got, cases[k].want, sizeof(got));
    }
}

static void keys_differ_by_seed_and_by_name(void **state)
{
    const hki_random_key_t a = hki_random_key(1, "h.0.weight");
    const hki_random_key_t again = hki_random_key(1, "h.0.weight");
    const hki_random_key_t other_seed = hki_random_key(2, "h.0.weight");
    const hki_random_key_t other_name = hki_random_key(1, "h.1.weight");

    (void)state;
    assert_memory_equal(&a, &again, sizeof(a));
    assert_memory_not_equal(&a, &other_seed, sizeof(a));
    assert_memory_not_equal(&a, &other_name, sizeof(a));
    assert_true(hki_random_u64(a, 0) != hki_random_u64(a, 1));
    assert_true(hki_random_u64(a, 0) != hki_random_u64(a, UINT64_C(1) << 32));
}

static void uniform_and_normal_have_their_moments(void **state)
{
    const hki_random_key_t key = hki_random_key(7, "moments");
    const int n = 20000;
    double uniform = 0;
    double normal = 0;
    double square = 0;

    (void)state;
    for (int i = 0; i < n; i++) {
        const double u = hki_random_uniform(key, (uint64_t)i);
        const double z = hki_random_normal(key, (uint64_t)i);
        assert_true(u >= 0.0 && u < 1.0);
        assert_true(isfinite(z));
        uniform += u;
        normal += z;
        square += z * z;
    }
    assert_true(fabs(uniform / n - 0.5) < 0.01);
    assert_true(fabs(normal / n) < 0.03);
    assert_true(fabs(square / n - 1.0) < 0.05);
}

static void below_stays_below_and_reaches_every_value(void **state)
{
    const hki_random_key_t key = hki_random_key(7, "below");
    int seen[10] = {0};

    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        seen[hki_random_below(key, i, 10)]++;
        assert_int_equal(hki_random_below(key, i, 1), 0);
        assert_true(hki_random_below(key, i, UINT64_MAX) < UINT64_MAX);
    }
    for (size_t k = 0; k < ARRAY_LEN(seen); k++) {
        assert_in_range(seen[k], 60, 140);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers),
        cmocka_unit_test(keys_differ_by_seed_and_by_name),
        cmocka_unit_test(uniform_and_normal_have_their_moments),
        cmocka_unit_test(below_stays_below_and_reaches_every_value),
    };

    return cmocka_run_group_tests_name("base/random", tests, NULL, NULL);
}
