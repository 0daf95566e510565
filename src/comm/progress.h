/**
 * @file progress.h
 * @brief The thread that moves operations while their caller computes. One for all communicators of
 *        a domain; only if HK_PROGRESS_THREAD asks for it; asleep while nothing is under way.
 *
 * A call that hands out a request marks its communicator (is_async); leaving the communicator then
 * starts the thread, or wakes it. The thread only tries to lock communicators, for one round each;
 * then it sleeps on the bells of all that have something under way, and on a bell of its own
 * (doorbell). If it finds a communicator locked, the caller who is inside wakes it on leaving:
 *
 *   thread: is_unwatched = 1; try to lock          caller: unlock; read is_unwatched, ring if 1
 *
 * The writes and the reading are read-modify-writes of one word, so either the caller reads 1, or
 * the thread comes after the unlocking and gets the lock. is_unwatched is 0 only while the bell of
 * the communicator was armed after a last look.
 */
#ifndef HKI_COMM_PROGRESS_H
#define HKI_COMM_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hocket/comm.h>

struct hki_domain;

/** A domain's thread. All zero, besides the mutex: there is none yet. */
typedef struct hki_progress {
    pthread_mutex_t mutex;     /**< held while the thread is made, or ended */
    pthread_t thread;          /**< while is_running */
    _Atomic bool is_running;   /**< becomes false under the domain's mutex */
    bool has_failed;           /**< it could not be made; the log says why */
    _Atomic bool must_end;     /**< the last communicator has left */
    _Atomic bool is_asleep;    /**< or about to: who rings must wake it */
    _Atomic uint32_t doorbell; /**< futex; counts what the thread should look at */
} hki_progress_t;

/** End the thread if no communicator is left in the domain. None of its locks is held. */
void hki_progress_end(struct hki_domain *domain);

/** A communicator was unlocked by somebody who is in none of its calls: wake the thread if it
 *  missed this one. The domain's mutex is held, so that the communicator is still there. */
void hki_progress_missed(hk_comm_t *comm);

/** Unlock a communicator that is_async: start the thread, or wake it if it missed this one. */
void hki_progress_leave(hk_comm_t *comm);

#endif /* HKI_COMM_PROGRESS_H */
