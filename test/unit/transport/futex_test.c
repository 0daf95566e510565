/**
 * @file futex_test.c
 * @brief Method: a sleeper that must not sleep because the word has changed, and a thread that is
 *        woken long before its time is over.
 */
#include "support/hk_test.h"

#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "transport/segment/futex.h"

#define LONG_NS UINT64_C(10000000000)

static _Atomic uint32_t g_word;

static void does_not_sleep_on_another_value(void **state)
{
    const uint64_t start_ns = hki_clock_ns();

    (void)state;
    atomic_store(&g_word, 1);
    hki_futex_wait(&g_word, 0, LONG_NS, true);
    hki_futex_wait(&g_word, 0, LONG_NS, false);
    assert_true(hki_clock_ns() - start_ns < LONG_NS);
}

static void wakes_when_its_time_is_over(void **state)
{
    (void)state;
    atomic_store(&g_word, 1);
    hki_futex_wait(&g_word, 1, 1000, true); // comes back, or the test's own time limit is hit
    hki_futex_wait(&g_word, 1, 0, false);
}

static void *sleep_until_zero(void *argument)
{
    (void)argument;
    while (atomic_load(&g_word) != 0) {
        hki_futex_wait(&g_word, 1, LONG_NS, true);
    }
    return NULL;
}

static void a_sleeper_is_woken(void **state)
{
    const uint64_t start_ns = hki_clock_ns();
    pthread_t thread;

    (void)state;
    atomic_store(&g_word, 1);
    assert_int_equal(pthread_create(&thread, NULL, sleep_until_zero, NULL), 0);
    (void)sched_yield();
    atomic_store(&g_word, 0);
    hki_futex_wake(&g_word, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(hki_clock_ns() - start_ns < LONG_NS);
}

/* Several words. */

enum { BELLS = 3, MANY = HKI_BELLS_MAX + 1 };

static _Atomic uint32_t g_words[MANY];

/** All words are `value`, and are expected to be `expected`. */
static void set_bells(hki_bell_t *bells, int count, uint32_t value, uint32_t expected)
{
    for (int i = 0; i < count; i++) {
        atomic_store(&g_words[i], value);
        bells[i] = (hki_bell_t){.word = &g_words[i], .value = expected, .is_private = i % 2 == 0};
    }
}

static void one_changed_word_is_enough_not_to_sleep(void **state)
{
    const uint64_t start_ns = hki_clock_ns();
    hki_bell_t bells[MANY];

    (void)state;
    for (int changed = 0; changed < BELLS; changed++) {
        set_bells(bells, BELLS, 1, 1);
        bells[changed].value = 0;
        hki_bells_wait(bells, BELLS, LONG_NS);
    }
    set_bells(bells, 1, 1, 0);
    hki_bells_wait(bells, 1, UINT64_MAX);
    hki_bells_wait_first(bells, 1, UINT64_MAX);
    assert_true(hki_clock_ns() - start_ns < LONG_NS);
}

static void waiting_for_several_ends_in_time(void **state)
{
    hki_bell_t bells[MANY];

    (void)state;
    set_bells(bells, MANY, 1, 1);
    hki_bells_wait(bells, BELLS, 1000);
    hki_bells_wait(bells, 1, 1000);
    hki_bells_wait(bells, MANY, UINT64_MAX); // more than the kernel takes: in slices
    hki_bells_wait_first(bells, BELLS, UINT64_MAX);
    bells[1].word = NULL; // unmapped meanwhile
    hki_bells_wait(bells, BELLS, LONG_NS);
}

/** What a sleeper waits for. */
typedef struct sleeper {
    void (*wait)(const hki_bell_t *bells, int count, uint64_t timeout_ns);
    int rung;
} sleeper_t;

static void *sleep_until_rung(void *argument)
{
    const sleeper_t *sleeper = argument;
    hki_bell_t bells[BELLS];

    for (int i = 0; i < BELLS; i++) {
        bells[i] = (hki_bell_t){.word = &g_words[i], .value = 1, .is_private = i % 2 == 0};
    }
    while (atomic_load(&g_words[sleeper->rung]) == 1) {
        sleeper->wait(bells, BELLS, LONG_NS);
    }
    return NULL;
}

static void any_of_several_words_wakes(void **state)
{
    const uint64_t start_ns = hki_clock_ns();
    sleeper_t sleepers[] = {{hki_bells_wait, 0},
                            {hki_bells_wait, 1},
                            {hki_bells_wait, 2},
                            {hki_bells_wait_first, 0},
                            {hki_bells_wait_first, 2}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sleepers); i++) {
        hki_bell_t bells[BELLS];
        pthread_t thread;
        const int rung = sleepers[i].rung;

        set_bells(bells, BELLS, 1, 1);
        assert_int_equal(pthread_create(&thread, NULL, sleep_until_rung, &sleepers[i]), 0);
        (void)sched_yield();
        atomic_store(&g_words[rung], 2);
        hki_futex_wake(&g_words[rung], bells[rung].is_private);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_true(hki_clock_ns() - start_ns < LONG_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_not_sleep_on_another_value),
        cmocka_unit_test(wakes_when_its_time_is_over),
        cmocka_unit_test(a_sleeper_is_woken),
        cmocka_unit_test(one_changed_word_is_enough_not_to_sleep),
        cmocka_unit_test(waiting_for_several_ends_in_time),
        cmocka_unit_test(any_of_several_words_wakes),
    };
    return cmocka_run_group_tests_name("transport/futex", tests, NULL, NULL);
}
