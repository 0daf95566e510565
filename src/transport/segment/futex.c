/**
 * @file futex.c
 * @brief The system calls. Private futexes skip the look-up of the page that processes share.
 */
#include "transport/segment/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define NS_PER_S UINT64_C(1000000000)

#if !defined(SYS_futex_waitv) // Linux 5.16; headers may be older than the kernel
#    define SYS_futex_waitv 449
#endif

enum { WAIT_32_BITS = 2, WAIT_PRIVATE = 128 }; // FUTEX_32, FUTEX_PRIVATE_FLAG

/** The kernel's struct futex_waitv. */
typedef struct waitv {
    uint64_t value;
    uint64_t word;
    uint32_t flags;
    uint32_t reserved;
} waitv_t;

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

/** @param timeout  NULL: for ever */
static void wait_one(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout,
                     bool is_private)
{
    const int operation = is_private ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT;

    (void)syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void hki_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns, bool is_private)
{
    const struct timespec timeout = timespec_of(timeout_ns);

    wait_one(word, value, &timeout, is_private);
}

void hki_futex_wake(_Atomic uint32_t *word, bool is_private)
{
    (void)syscall(SYS_futex, word, is_private ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, INT_MAX, NULL,
                  NULL, 0);
}

void hki_bells_wait_first(const hki_bell_t *bells, int count, uint64_t timeout_ns)
{
    const uint64_t most_ns = count > 1 ? HKI_BELLS_SLICE_NS : UINT64_MAX;
    const uint64_t ns = timeout_ns < most_ns ? timeout_ns : most_ns;
    const struct timespec timeout = timespec_of(ns);

    wait_one(bells[0].word, bells[0].value, ns == UINT64_MAX ? NULL : &timeout,
             bells[0].is_private);
}

/** @return false: the kernel has no such call, or forbids it */
static bool wait_any(const hki_bell_t *bells, int count, uint64_t timeout_ns)
{
    waitv_t words[HKI_BELLS_MAX];
    // this call takes a point in time
    const struct timespec timeout =
        timespec_of(timeout_ns == UINT64_MAX ? 0 : hki_clock_ns() + timeout_ns);

    for (int i = 0; i < count; i++) {
        words[i] =
            (waitv_t){.value = bells[i].value,
                      .word = (uintptr_t)bells[i].word,
                      .flags = WAIT_32_BITS | (uint32_t)(bells[i].is_private ? WAIT_PRIVATE : 0),
                      .reserved = 0};
    }
    return syscall(SYS_futex_waitv, words, (unsigned)count, 0,
                   timeout_ns == UINT64_MAX ? NULL : &timeout, CLOCK_MONOTONIC) >= 0 ||
           (errno != ENOSYS && errno != EPERM);
}

void hki_bells_wait(const hki_bell_t *bells, int count, uint64_t timeout_ns)
{
    if (count == 1 || count > HKI_BELLS_MAX || !wait_any(bells, count, timeout_ns)) {
        hki_bells_wait_first(bells, count, timeout_ns);
    }
}
