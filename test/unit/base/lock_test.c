/*
 * Method: threads that add to a plain number under the lock lose no addition (and the thread
 * sanitizer sees no race); a lock that is held is refused and wanted.
 */
#include "support/hk_test.h"

#include <pthread.h>
#include <sched.h>

#include "base/lock.h"

enum { THREADS = 4, ADDITIONS = 20000 };

static hki_lock_t g_lock;
static long g_sum;

static void *add(void *argument)
{
    const int *tries = argument;

    for (int i = 0; i < ADDITIONS; i++) {
        if (*tries == 0) {
            hki_lock_take(&g_lock);
        } else {
            while (!hki_lock_try(&g_lock)) {
                (void)sched_yield();
            }
        }
        g_sum++;
        if (i % 1000 == 0) {
            (void)sched_yield(); // so that others find it held, also on one core
        }
        hki_lock_give(&g_lock);
    }
    return NULL;
}

static void one_thread_at_a_time_holds_it(void **state)
{
    static const int tries[THREADS] = {0, 0, 0, 1};
    pthread_t threads[THREADS];

    (void)state;
    g_sum = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add, (void *)(uintptr_t)&tries[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(g_sum, THREADS * ADDITIONS);
    assert_false(hki_lock_is_wanted(&g_lock));
    assert_int_equal(g_lock.state, 0);
}

static void a_held_lock_is_refused(void **state)
{
    hki_lock_t lock = {0};

    (void)state;
    assert_true(hki_lock_try(&lock));
    assert_false(hki_lock_try(&lock));
    hki_lock_give(&lock);
    hki_lock_take(&lock);
    assert_false(hki_lock_try(&lock));
    hki_lock_give(&lock);
    assert_true(hki_lock_try(&lock));
}

static void *take(void *argument)
{
    hki_lock_t *lock = argument;

    hki_lock_take(lock);
    g_sum++;
    hki_lock_give(lock);
    return NULL;
}

static void who_sleeps_is_seen_and_woken(void **state)
{
    hki_lock_t lock = {0};
    pthread_t threads[THREADS];

    (void)state;
    g_sum = 0;
    hki_lock_take(&lock);
    assert_false(hki_lock_is_wanted(&lock));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take, &lock), 0);
    }
    while (atomic_load(&lock.waiters) != THREADS) {
        (void)sched_yield();
    }
    assert_true(hki_lock_is_wanted(&lock));
    hki_lock_give(&lock);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(g_sum, THREADS);
    assert_false(hki_lock_is_wanted(&lock));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time_holds_it),
        cmocka_unit_test(a_held_lock_is_refused),
        cmocka_unit_test(who_sleeps_is_seen_and_woken),
    };

    return cmocka_run_group_tests_name("base/lock", tests, NULL, NULL);
}
