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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_not_sleep_on_another_value),
        cmocka_unit_test(wakes_when_its_time_is_over),
        cmocka_unit_test(a_sleeper_is_woken),
    };
    return cmocka_run_group_tests_name("transport/futex", tests, NULL, NULL);
}
