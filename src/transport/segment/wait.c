/**
 * @file wait.c
 * @brief Waiting without hanging: spin, yield, sleep; and noticing meanwhile who has gone.
 *
 * No wake-up is lost. A rank that wants to sleep arms its bell, and then returns once more to its
 * caller, who polls everything; only the wait() after that sleeps, and only while the bell is
 * still armed. A sender first stores the message and then looks at the bell. Both sides have a
 * full fence between their store and their look, so at least one sees the other's store: either the
 * caller's last poll finds the message, or the sender finds the bell armed, disarms it and wakes.
 * If it is disarmed before the sleep begins, the futex does not sleep at all.
 *
 * A rank that has gone may have left messages. So the first time that its end is seen, wait() only
 * returns, for the caller to poll; if that made no progress (it comes back with the same waiter),
 * nothing of use is left, and the group fails.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "transport/segment/endpoint.h"
#include "transport/segment/futex.h"

enum {
    SPIN_ROUNDS = 256, /**< some 100 us, with what the caller does in a round */
    YIELD_ROUNDS = 32, /**< at least */
    CLOCK_ROUNDS = 16, /**< how often a rank that spins or yields looks at the clock */
    CHECK_NS_PER_RANK = 10000,
};

#define CHECK_NS       UINT64_C(1000000)    /* between looks at the peers */
#define CORES_CHECK_NS UINT64_C(1000000000) /* between looks at the cores we may use */
#define YIELD_NS       UINT64_C(100000)     /* at least, before sleeping */
#define SLEEP_NS_MAX   UINT64_C(20000000)
#define READ_NS_MAX    UINT64_C(1000000000) /* to find out why memory cannot be read */

/** A full fence between a store and a later load of another word. */
static void fence(void)
{
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wtsan" // it is not modelled there, and nothing relies on that
    atomic_thread_fence(memory_order_seq_cst);
#    pragma GCC diagnostic pop
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/** Wake a peer, after a fence. */
static void ring(const hki_segment_t *seg, int peer)
{
    _Atomic uint32_t *bell = &seg->bells[peer];

    if (atomic_load_explicit(bell, memory_order_relaxed) == HKI_BELL_ARMED &&
        atomic_exchange_explicit(bell, HKI_BELL_AWAKE, memory_order_acq_rel) == HKI_BELL_ARMED) {
        hki_futex_wake(bell, seg->world->is_private);
    }
}

void hki_segment_ring(const hki_segment_t *seg, int peer)
{
    fence();
    ring(seg, peer);
}

void hki_segment_ring_few(const hki_segment_t *seg, const hki_few_t *few, int count)
{
    fence();
    for (int i = 0; i < count; i++) {
        ring(seg, few[i].peer);
    }
}

void hki_segment_ring_all(const hki_segment_t *seg)
{
    fence();
    for (int peer = 0; peer < seg->base.nranks; peer++) {
        ring(seg, peer);
    }
}

/** This rank waits: others may want to know when they look for somebody to blame. */
static void show_waiting(hki_segment_t *seg, int peer, uint64_t now_ns)
{
    seg->is_shown_waiting = true;
    atomic_store_explicit(&seg->mine->waits_for, peer < 0 ? HKI_WAITS_FOR_SEVERAL : peer,
                          memory_order_relaxed);
    atomic_store_explicit(&seg->mine->heartbeat_ns, now_ns, memory_order_relaxed);
}

/** Has this peer left by its own will? */
static bool has_left(const hki_segment_t *seg, int peer)
{
    const uint32_t state = atomic_load_explicit(&seg->blocks[peer].state, memory_order_acquire);

    return state == HKI_RANK_CLOSED || state == HKI_RANK_EXITED;
}

const void *hki_segment_view(const hki_endpoint_t *ep, int peer, uint64_t where)
{
    const hki_segment_t *seg = hki_segment_of_const(ep);

    if (has_left(seg, peer)) {
        return NULL;
    }
    return (const void *)((uintptr_t)seg->world->base + // NOLINT(performance-no-int-to-ptr)
                          (uintptr_t)where);
}

/** A peer whose process has ended before it left the group, or -1. */
static int find_dead(hki_segment_t *seg)
{
    for (int peer = 0; peer < seg->base.nranks; peer++) {
        seg->is_asked[peer] = peer != seg->base.rank && !has_left(seg, peer);
    }
    const int dead =
        seg->world->ops->find_dead(seg->world, seg->world_ranks, seg->is_asked, seg->base.nranks);
    // It may have left between our look at its state and its end: then it is not dead but gone.
    return dead >= 0 && !has_left(seg, dead) ? dead : -1;
}

/** Break the group because this peer has gone: "rank 3 (pid 4711) was killed by signal 9". */
static void fail_for(hki_segment_t *seg, int peer)
{
    const uint32_t state = atomic_load_explicit(&seg->blocks[peer].state, memory_order_acquire);
    const char *fallback =
        state == HKI_RANK_EXITED ? "has exited without closing the communicator" : "died";
    char who[64];
    char how[128] = "has closed the communicator";
    char outsider[160] = "";
    char text[400];

    hki_segment_describe(seg, peer, who, sizeof(who));
    if (state != HKI_RANK_CLOSED &&
        !seg->world->ops->describe_end(seg->world, seg->world_ranks[peer], how, sizeof(how))) {
        (void)snprintf(how, sizeof(how), "%s", fallback);
    }
    // who leaves before his time has often lost somebody in another group
    const bool is_alone = (state != HKI_RANK_CLOSED && state != HKI_RANK_EXITED) ||
                          !hki_segment_outsider(seg, outsider, sizeof(outsider));
    (void)snprintf(text, sizeof(text), "%s %s%s%s", who, how, is_alone ? "" : "; ",
                   is_alone ? "" : outsider);
    hki_segment_fail(&seg->base, HK_ERR_PEER_FAILED, peer, text);
}

hk_status_t hki_segment_fail_read(hki_segment_t *seg, int peer, int error)
{
    const uint64_t give_up_ns = hki_clock_ns() + READ_NS_MAX;
    char who[64];
    char text[256];

    // Its memory goes before its process can be seen to have ended.
    do {
        if (hki_segment_is_broken(seg)) {
            return hki_segment_report(seg);
        }
        if (find_dead(seg) == peer || has_left(seg, peer)) {
            fail_for(seg, peer);
            return hki_segment_report(seg);
        }
        (void)sched_yield();
    } while (hki_clock_ns() < give_up_ns);
    hki_segment_describe(seg, peer, who, sizeof(who));
    (void)snprintf(text, sizeof(text),
                   "the memory of %s could not be read: %s; HOCKET_SINGLE_COPY=off does without",
                   who, strerror(error));
    hki_segment_fail(&seg->base, HK_ERR_SYSTEM, peer, text);
    return hki_segment_report(seg);
}

/** Look whether somebody has gone whom we cannot do without. */
static hk_status_t check_peers(hki_segment_t *seg, const hki_waiter_t *waiter, int peer)
{
    int gone = find_dead(seg);

    if (gone < 0 && peer >= 0 && has_left(seg, peer)) {
        gone = peer;
    }
    if (gone >= 0 && gone == seg->suspect && waiter->rounds > seg->suspect_rounds) {
        fail_for(seg, gone);
        return hki_segment_report(seg);
    }
    seg->suspect = gone;
    seg->suspect_rounds = waiter->rounds;
    return HK_OK;
}

void hki_segment_look_at_cores(hki_segment_t *seg)
{
    const hki_world_t *world = seg->world;
    const int self = seg->world_ranks[seg->base.rank];

    hki_cpu_mask_note(&world->masks[self]);
    seg->base.ranks_per_core = hki_ranks_per_core(world->masks, world->nranks, self);
    seg->base.has_spare_cores = hki_has_spare_cores(world->masks, world->nranks, self);
    seg->base.can_spin = world->spin == HKI_SPIN_ALWAYS ||
                         (world->spin == HKI_SPIN_AUTO && seg->base.ranks_per_core == 1);
}

/** Is it time to look at the peers again? */
static bool is_check_due(const hki_segment_t *seg, uint64_t now_ns)
{
    const uint64_t pause_ns = CHECK_NS + (uint64_t)seg->base.nranks * CHECK_NS_PER_RANK;

    return seg->suspect >= 0 || now_ns - seg->checked_ns >= pause_ns;
}

/** Every millisecond or so: peers; every second: cores. A suspect is looked at again at once. */
static hk_status_t check(hki_segment_t *seg, const hki_waiter_t *waiter, int peer, uint64_t now_ns)
{
    if (!is_check_due(seg, now_ns)) {
        return HK_OK;
    }
    seg->checked_ns = now_ns;
    if (now_ns - seg->cores_checked_ns >= CORES_CHECK_NS) {
        seg->cores_checked_ns = now_ns;
        hki_segment_look_at_cores(seg);
    }
    show_waiting(seg, peer, now_ns);
    return check_peers(seg, waiter, peer);
}

/** Arm the bell and return; or, if it is armed since the last round, sleep. */
static void sleep_or_arm(hki_segment_t *seg, uint64_t slice_ns)
{
    _Atomic uint32_t *bell = &seg->bells[seg->base.rank];

    if (atomic_load_explicit(bell, memory_order_acquire) == HKI_BELL_ARMED) {
        seg->base.counts.sleeps++;
        hki_futex_wait(bell, HKI_BELL_ARMED, slice_ns < SLEEP_NS_MAX ? slice_ns : SLEEP_NS_MAX,
                       seg->world->is_private);
        return;
    }
    atomic_store_explicit(bell, HKI_BELL_ARMED, memory_order_release);
    fence();
}

hk_status_t hki_segment_wait(hki_endpoint_t *ep, hki_waiter_t *waiter, int peer, uint64_t slice_ns)
{
    hki_segment_t *seg = hki_segment_of(ep);
    const uint32_t spin_rounds = seg->base.can_spin ? SPIN_ROUNDS : 0;
    const int forced = seg->world->spin;
    const uint32_t yield_rounds = forced == HKI_SPIN_SLEEPS ? 0 : YIELD_ROUNDS;
    const uint32_t round = waiter->rounds;

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    waiter->rounds = round == UINT32_MAX ? spin_rounds + YIELD_ROUNDS : round + 1;
    if (round < spin_rounds || forced == HKI_SPIN_ALWAYS) {
        hki_segment_relax();
        seg->base.counts.pauses++;
        if (round % CLOCK_ROUNDS != CLOCK_ROUNDS - 1) {
            return HK_OK;
        }
        return check(seg, waiter, peer, hki_clock_ns());
    }
    const uint32_t yields = round - spin_rounds;
    if (yields < yield_rounds && yields % CLOCK_ROUNDS != CLOCK_ROUNDS - 1) {
        (void)sched_yield(); // without clock: most waits are over soon
        seg->base.counts.yields++;
        return HK_OK;
    }
    const uint64_t now_ns = hki_clock_ns();
    if (waiter->started_ns == 0) {
        waiter->started_ns = now_ns;
    }
    // a core that nobody else wants returns from a yield at once: that is no reason to sleep soon
    const bool is_early = !seg->base.can_spin && now_ns - waiter->started_ns < YIELD_NS;
    if (round < spin_rounds + yield_rounds || (yield_rounds != 0 && is_early) ||
        forced == HKI_SPIN_YIELDS) {
        (void)sched_yield();
        seg->base.counts.yields++;
    } else {
        show_waiting(seg, peer, now_ns);
        sleep_or_arm(seg, slice_ns);
    }
    return check(seg, waiter, peer, now_ns);
}

hk_status_t hki_segment_arm(hki_endpoint_t *ep, hki_waiter_t *waiter, int peer,
                            hki_bell_t *bell_out)
{
    hki_segment_t *seg = hki_segment_of(ep);
    const uint64_t now_ns = hki_clock_ns();
    hk_status_t status = HK_OK;

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    waiter->rounds += waiter->rounds == UINT32_MAX ? 0 : 1;
    seg->base.counts.arms++;
    // Others must not take this rank for one that waits: its caller is busy elsewhere.
    if (is_check_due(seg, now_ns)) {
        seg->checked_ns = now_ns;
        status = check_peers(seg, waiter, peer);
    }
    atomic_store_explicit(&seg->bells[seg->base.rank], HKI_BELL_ARMED, memory_order_release);
    fence();
    bell_out->word = &seg->bells[seg->base.rank];
    bell_out->value = HKI_BELL_ARMED;
    bell_out->is_private = seg->world->is_private;
    if (seg->suspect >= 0) {
        bell_out->value = HKI_BELL_AWAKE; // no sleep: it is looked at again at once
    }
    return status;
}
