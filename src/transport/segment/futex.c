/**
 * @file futex.c
 * @brief The system call. Private futexes skip the look-up of the page that processes share.
 */
#include "transport/segment/futex.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

void hki_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool is_private)
{
    const struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / NS_PER_S),
        .tv_nsec = (long)(timeout_ns % NS_PER_S),
    };
    const int operation = is_private ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT;

    (void)syscall(SYS_futex, word, operation, value, &timeout, NULL, 0);
}

void hki_futex_wake(_Atomic uint32_t *word, bool is_private)
{
    (void)syscall(SYS_futex, word, is_private ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, INT_MAX, NULL,
                  NULL, 0);
}
