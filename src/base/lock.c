/*
 * The slow halves. Who sleeps has written 2, and writes it again when it takes the lock, as others
 * may sleep too; so one wake-up too many is possible, and none too few.
 */
#include "base/lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void hki_lock_sleep(hki_lock_t *lock)
{
    atomic_fetch_add_explicit(&lock->waiters, 1, memory_order_relaxed);
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0) {
        (void)syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
    atomic_fetch_sub_explicit(&lock->waiters, 1, memory_order_relaxed);
}

void hki_lock_wake(hki_lock_t *lock)
{
    // only the address is used: the lock may be gone by now
    (void)syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
