/**
 * @file threads.h
 * @brief Ranks as threads for the tests of this folder: what each rank got, for the main thread to
 *        check.
 */
#ifndef HK_TEST_COMM_THREADS_H
#define HK_TEST_COMM_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hocket/hocket.h>

enum { TEST_RANKS_MAX = 20, TEST_TEXT_BYTES = 600 };

typedef struct test_rank {
    pthread_t thread;
    hk_comm_t *comm;
    int rank;
    int nranks;
    const void *cookie;
    hk_status_t (*fn)(struct test_rank *self);
    pthread_barrier_t *barrier; /**< for orders that the test needs */
    hk_status_t status;         /**< what fn returned */
    int failed_rank;            /**< afterwards */
    char text[TEST_TEXT_BYTES]; /**< hk_last_error() afterwards */
} test_rank_t;

typedef hk_status_t (*test_fn)(test_rank_t *self);

static void *test_rank_main(void *arg)
{
    test_rank_t *self = arg;

    self->status = self->fn(self);
    (void)snprintf(self->text, sizeof(self->text), "%s", hk_last_error());
    self->failed_rank = hk_comm_failed_rank(self->comm);
    (void)pthread_barrier_wait(self->barrier); // nobody's closing disturbs the others
    hk_comm_close(&self->comm);
    return NULL;
}

/** Run fn on all ranks; ranks[r] afterwards holds what rank r got. */
static inline void test_ranks_run(const hk_comm_opts_t *opts, int nranks, test_fn fn,
                                  const void *cookie, test_rank_t ranks[TEST_RANKS_MAX])
{
    hk_comm_t *comms[TEST_RANKS_MAX];
    pthread_barrier_t barrier;

    assert_ok(hk_comm_open_threads(opts, nranks, comms));
    assert_int_equal(pthread_barrier_init(&barrier, NULL, (unsigned)nranks), 0);
    for (int r = 0; r < nranks; r++) {
        ranks[r] = (test_rank_t){.comm = comms[r],
                                 .rank = r,
                                 .nranks = nranks,
                                 .cookie = cookie,
                                 .fn = fn,
                                 .barrier = &barrier};
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, test_rank_main, &ranks[r]), 0);
    }
    for (int r = 0; r < nranks; r++) {
        assert_int_equal(pthread_join(ranks[r].thread, NULL), 0);
    }
    (void)pthread_barrier_destroy(&barrier);
}

/** All ranks must have got this status; else say which did not, and in what test point. */
static inline void test_ranks_expect(const test_rank_t *ranks, int nranks, hk_status_t status,
                                     const char *where)
{
    for (int r = 0; r < nranks; r++) {
        if (ranks[r].status != status) {
            fail_msg("%s: rank %d got \"%s\" (%s), not \"%s\"", where, r,
                     hk_status_text(ranks[r].status), ranks[r].text, hk_status_text(status));
        }
    }
}

/** All ranks' error texts must contain `part`. */
static inline void test_ranks_say(const test_rank_t *ranks, int nranks, const char *part,
                                  const char *where)
{
    for (int r = 0; r < nranks; r++) {
        if (strstr(ranks[r].text, part) == NULL) {
            fail_msg("%s: rank %d says \"%s\", without \"%s\"", where, r, ranks[r].text, part);
        }
    }
}

#endif /* HK_TEST_COMM_THREADS_H */
