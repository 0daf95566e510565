/**
 * @file lock.h
 * @brief A lock between threads that is hardly ever contended: one exchange to take it, one to give
 *        it back, and sleep where it is held.
 *
 * A thread that takes it often and can wait (a background thread) asks hki_lock_is_wanted() first:
 * the lock itself is not fair.
 */
#ifndef HKI_BASE_LOCK_H
#define HKI_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** All zero: nobody holds it. */
typedef struct hki_lock {
    _Atomic uint32_t state;   /**< futex: 0 free, 1 held, 2 held and somebody sleeps */
    _Atomic uint32_t waiters; /**< threads in hki_lock_sleep() */
} hki_lock_t;

/** The slow halves of take and give. */
void hki_lock_sleep(hki_lock_t *lock);
void hki_lock_wake(hki_lock_t *lock);

static inline bool hki_lock_try(hki_lock_t *lock)
{
    uint32_t is_free = 0;

    return atomic_compare_exchange_strong_explicit(&lock->state, &is_free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void hki_lock_take(hki_lock_t *lock)
{
    if (!hki_lock_try(lock)) {
        hki_lock_sleep(lock);
    }
}

/** The memory may be freed as soon as another thread has taken it afterwards. */
static inline void hki_lock_give(hki_lock_t *lock)
{
    if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2) {
        hki_lock_wake(lock);
    }
}

/** Does somebody wait for it? */
static inline bool hki_lock_is_wanted(const hki_lock_t *lock)
{
    return atomic_load_explicit(&lock->waiters, memory_order_relaxed) != 0;
}

#endif /* HKI_BASE_LOCK_H */
