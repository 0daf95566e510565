/*
 * The progress thread. Method: rounds over the communicators of the domain, until a few in a row
 * have moved nothing; then one that arms the bells before its last look, and sleep. Deadlines,
 * deaths and differences are looked for in that last round, as a waiting caller does; what is found
 * breaks the communicator, and reaches the caller when it asks for its request.
 */
#include "comm/progress.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "comm/comm.h"
#include "topo/cpus.h"
#include "transport/segment/futex.h"

enum {
    TRIES = 64,           /**< to lock a communicator: most calls are short */
    PATIENCE = 2,         /**< rounds in which nothing moved, before sleeping */
    PATIENCE_SPARE = 200, /**< the same on a core that nobody else wants */
};

#define SLICE_NS   UINT64_C(20000000) /* longest sleep while something is under way */
#define COMPARE_NS UINT64_C(500000)   /* the same while nobody may ring */

/** One look at all communicators, and what to sleep on afterwards. */
typedef struct rounds {
    hki_bell_t bells[HKI_BELLS_MAX]; /**< the first is the doorbell */
    int nbells;                      /**< may be more: those are not in the array */
    int patience;
    bool is_last; /**< sleep follows if nothing moves */
    bool has_work;
    bool has_moved;
    uint64_t slice_ns;
} rounds_t;

/** Nothing is under way: leave this communicator alone until a call marks it again. comm is
 *  locked. */
static void rest(hk_comm_t *comm)
{
    atomic_store_explicit(&comm->is_async, false, memory_order_relaxed);
    atomic_store(&comm->is_unwatched, 1);
}

/** Who waits for the lock comes first. */
static bool try_lock(hk_comm_t *comm)
{
    for (int i = 0; i < TRIES; i++) {
        if (!hki_lock_is_wanted(&comm->lock) && hki_lock_try(&comm->lock)) {
            return true;
        }
    }
    return false;
}

/** Arm, look once more, and sleep on the bell later. comm is locked. */
static void watch(hk_comm_t *comm, rounds_t *rounds)
{
    const int peer = hki_comm_waits_for(comm);
    hki_bell_t bell;
    const hk_status_t status = comm->ep->ops->arm(comm->ep, &comm->watch.waiter, peer, &bell);

    if (hki_comm_progress(comm, true)) {
        rounds->has_moved = true;
        comm->watch.waiter = (hki_waiter_t){0};
    }
    hki_comm_look(comm, hki_clock_ns(), &comm->watch.next_ns);
    if (status != HK_OK) {
        (void)hki_comm_break(comm);
    }
    if (!hki_comm_is_busy(comm)) {
        rest(comm);
        return;
    }
    if (rounds->nbells < HKI_BELLS_MAX) {
        rounds->bells[rounds->nbells] = bell;
    }
    rounds->nbells++;
    if (hki_engine_is_comparing(comm->engine)) {
        rounds->slice_ns = COMPARE_NS;
    }
    atomic_store(&comm->is_unwatched, 0);
}

/** One communicator's part of a round. */
static void serve(hk_comm_t *comm, rounds_t *rounds)
{
    if (!atomic_load_explicit(&comm->is_async, memory_order_relaxed)) {
        return;
    }
    rounds->has_work = true;
    (void)atomic_exchange(&comm->is_unwatched, 1);
    if (!try_lock(comm)) {
        return; // the caller who is inside rings when it leaves
    }
    if (comm->ep->has_spare_cores) {
        rounds->patience = PATIENCE_SPARE;
    }
    if (!atomic_load_explicit(&comm->is_async, memory_order_relaxed)) {
        // done meanwhile
    } else if (rounds->is_last) {
        watch(comm, rounds);
    } else if (hki_comm_progress(comm, true)) {
        rounds->has_moved = true;
        comm->watch.waiter = (hki_waiter_t){0};
    }
    hki_lock_give(&comm->lock);
}

static void serve_all(hki_domain_t *domain, rounds_t *rounds)
{
    rounds->nbells = 1;
    rounds->slice_ns = SLICE_NS;
    rounds->patience = PATIENCE;
    rounds->has_work = false;
    rounds->has_moved = false;
    (void)pthread_mutex_lock(&domain->mutex);
    for (hk_comm_t *comm = domain->first; comm != NULL; comm = comm->domain_next) {
        serve(comm, rounds);
    }
    (void)pthread_mutex_unlock(&domain->mutex);
}

/** @param heard  what the doorbell was before the last look */
static void sleep_until_rung(hki_progress_t *progress, rounds_t *rounds, uint32_t heard)
{
    rounds->bells[0] =
        (hki_bell_t){.word = &progress->doorbell, .value = heard, .is_private = true};
    atomic_store(&progress->is_asleep, true);
    hki_bells_wait(rounds->bells, rounds->nbells,
                   rounds->nbells > 1 ? rounds->slice_ns : UINT64_MAX);
    atomic_store(&progress->is_asleep, false);
}

static void *progress_main(void *argument)
{
    hki_domain_t *domain = argument;
    hki_progress_t *progress = &domain->progress;
    rounds_t rounds;
    int quiet = 0; // rounds in a row in which nothing moved

    hki_thread_hasten(); // what it does is short, and others wait for it
    rounds.patience = PATIENCE;
    for (;;) {
        const uint32_t heard = atomic_load(&progress->doorbell);
        if (atomic_load(&progress->must_end)) {
            return NULL;
        }
        rounds.is_last = quiet >= rounds.patience;
        serve_all(domain, &rounds);
        if (rounds.has_moved) {
            quiet = 0;
        } else if (rounds.has_work && !rounds.is_last) {
            quiet++;
        } else {
            sleep_until_rung(progress, &rounds, heard);
            quiet = 0;
        }
    }
}

static void ring(hki_progress_t *progress)
{
    atomic_fetch_add(&progress->doorbell, 1);
    if (atomic_load(&progress->is_asleep)) {
        hki_futex_wake(&progress->doorbell, true);
    }
}

/** Make the thread, which is no business of the program's: signals go to the program's threads. */
static int create(hki_domain_t *domain)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&domain->progress.thread, NULL, progress_main, domain);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) {
        (void)pthread_setname_np(domain->progress.thread, "hocket-progress");
    }
    return error;
}

static void start(hki_domain_t *domain)
{
    hki_progress_t *progress = &domain->progress;

    (void)pthread_mutex_lock(&progress->mutex);
    if (!atomic_load(&progress->is_running) && !progress->has_failed) {
        const int error = create(domain);

        progress->has_failed = error != 0;
        atomic_store(&progress->is_running, error == 0);
        if (error != 0) {
            hki_log(HKI_LOG_WARN, "comm",
                    "no progress thread: %s; operations move only while hocket is called",
                    strerror(error));
        }
    }
    (void)pthread_mutex_unlock(&progress->mutex);
}

void hki_progress_end(hki_domain_t *domain)
{
    hki_progress_t *progress = &domain->progress;

    (void)pthread_mutex_lock(&progress->mutex);
    (void)pthread_mutex_lock(&domain->mutex);
    const bool must_end = atomic_load(&domain->count) == 0 && atomic_load(&progress->is_running);
    if (must_end) { // who joins the domain from here on starts another
        atomic_store(&progress->is_running, false);
    }
    (void)pthread_mutex_unlock(&domain->mutex);
    if (must_end) {
        atomic_store(&progress->must_end, true);
        ring(progress);
        (void)pthread_join(progress->thread, NULL);
        atomic_store(&progress->must_end, false);
    }
    progress->has_failed = false;
    (void)pthread_mutex_unlock(&progress->mutex);
}

void hki_progress_missed(hk_comm_t *comm)
{
    if (atomic_load_explicit(&comm->is_async, memory_order_relaxed) &&
        atomic_load(&comm->domain->progress.is_running) &&
        atomic_fetch_or(&comm->is_unwatched, 0) != 0) {
        ring(&comm->domain->progress);
    }
}

void hki_progress_leave(hk_comm_t *comm)
{
    hki_domain_t *domain = comm->domain;
    const bool is_busy = hki_comm_is_busy(comm);

    if (!is_busy) {
        rest(comm);
    }
    hki_lock_give(&comm->lock);
    if (!is_busy) {
        return;
    }
    if (!atomic_load(&domain->progress.is_running)) {
        start(domain);
    } else if (atomic_fetch_or(&comm->is_unwatched, 0) != 0) {
        ring(&domain->progress);
    }
}
