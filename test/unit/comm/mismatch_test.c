/*
 * Ranks that call different things. Method: a list of calls that all differ; for every pair, one
 * rank of three calls the second and the others the first; every rank must get HK_ERR_MISMATCH with
 * both signatures in the text, at the latest in the barrier after it.
 */
#include "support/hk_test.h"

#include <sched.h>
#include <stdatomic.h>

#include "base/log.h"
#include "threads.h"

enum { NRANKS = 3, ROOM = 64 };

typedef struct pair {
    int usual;
    int odd;
    int odd_rank;
} pair_t;

static const size_t g_counts[NRANKS] = {1, 2, 3};
static const size_t g_others[NRANKS] = {1, 3, 2};
static const size_t g_equal[NRANKS] = {2, 2, 2};

static const char *const g_signatures[] = {
    "all_reduce count 5 f32 sum",
    "all_reduce count 6 f32 sum",
    "all_reduce count 5 i32 sum",
    "all_reduce count 5 f32 max",
    "all_reduce count 0 f32 sum",
    "broadcast count 5 f32 root 0",
    "broadcast count 5 f32 root 1",
    "reduce count 5 f32 sum root 0",
    "reduce count 5 f32 sum root 2",
    "scatter count 5 f32 root 0",
    "gather count 5 f32 root 1",
    "all_gather count 5 f32",
    "reduce_scatter count 5 f32 sum",
    "all_to_all count 5 f32",
    "barrier",
    "all_gatherv counts 1,2,3 f32",
    "all_gatherv counts 1,3,2 f32",
    "all_to_allv f32",
    "all_reduce count 5 f32 premulsum by 2",
    "all_reduce count 5 f32 premulsum by 3",
    "scatterv counts 1,2,3 f32 root 2",
};

enum { CALLS = ARRAY_LEN(g_signatures) };

static hk_status_t call_reducing(hk_comm_t *c, int which, const float *in, float *out)
{
    hk_coll_opts_t opts = hk_coll_opts_default();

    switch (which) {
    case 0:
        return hk_all_reduce(c, in, out, 5, HK_F32, HK_SUM, NULL, NULL);
    case 1:
        return hk_all_reduce(c, in, out, 6, HK_F32, HK_SUM, NULL, NULL);
    case 2:
        return hk_all_reduce(c, in, out, 5, HK_I32, HK_SUM, NULL, NULL);
    case 3:
        return hk_all_reduce(c, in, out, 5, HK_F32, HK_MAX, NULL, NULL);
    case 4:
        return hk_all_reduce(c, in, out, 0, HK_F32, HK_SUM, NULL, NULL);
    case 7:
        return hk_reduce(c, in, out, 5, HK_F32, HK_SUM, 0, NULL, NULL);
    case 8:
        return hk_reduce(c, in, out, 5, HK_F32, HK_SUM, 2, NULL, NULL);
    case 12:
        return hk_reduce_scatter(c, in, out, 5, HK_F32, HK_SUM, NULL, NULL);
    default:
        opts.scalar = which == 18 ? 2.0 : 3.0;
        return hk_all_reduce(c, in, out, 5, HK_F32, HK_PREMULSUM, &opts, NULL);
    }
}

static hk_status_t call(hk_comm_t *c, int which, const float *in, float *out)
{
    switch (which) {
    case 5:
        return hk_broadcast(c, in, out, 5, HK_F32, 0, NULL, NULL);
    case 6:
        return hk_broadcast(c, in, out, 5, HK_F32, 1, NULL, NULL);
    case 9:
        return hk_scatter(c, in, out, 5, HK_F32, 0, NULL, NULL);
    case 10:
        return hk_gather(c, in, out, 5, HK_F32, 1, NULL, NULL);
    case 11:
        return hk_all_gather(c, in, out, 5, HK_F32, NULL, NULL);
    case 13:
        return hk_all_to_all(c, in, out, 5, HK_F32, NULL, NULL);
    case 14:
        return hk_barrier(c, NULL, NULL);
    case 15:
        return hk_all_gatherv(c, in, out, g_counts, NULL, HK_F32, NULL, NULL);
    case 16:
        return hk_all_gatherv(c, in, out, g_others, NULL, HK_F32, NULL, NULL);
    case 17:
        return hk_all_to_allv(c, in, g_equal, NULL, out, g_equal, NULL, HK_F32, NULL, NULL);
    case 20:
        return hk_scatterv(c, in, out, g_counts, NULL, HK_F32, 2, NULL, NULL);
    default:
        return call_reducing(c, which, in, out);
    }
}

static hk_status_t call_pair(test_rank_t *self)
{
    const pair_t *pair = self->cookie;
    const float in[ROOM] = {0};
    float out[ROOM];
    hk_status_t status =
        call(self->comm, self->rank == pair->odd_rank ? pair->odd : pair->usual, in, out);

    if (status == HK_OK) { // it may have been done before the others looked
        status = hk_barrier(self->comm, NULL, NULL);
    }
    return status;
}

static void any_two_different_calls_are_an_error_on_all_ranks(void **state)
{
    (void)state;
    for (int a = 0; a < CALLS; a++) {
        for (int b = a + 1; b < CALLS; b++) {
            const pair_t pair = {.usual = a, .odd = b, .odd_rank = (a + b) % NRANKS};
            test_rank_t ranks[TEST_RANKS_MAX];
            char where[256];

            (void)snprintf(where, sizeof(where), "rank %d calls %s, the others %s", pair.odd_rank,
                           g_signatures[b], g_signatures[a]);
            test_ranks_run(NULL, NRANKS, call_pair, &pair, ranks);
            test_ranks_expect(ranks, NRANKS, HK_ERR_MISMATCH, where);
            test_ranks_say(ranks, NRANKS, g_signatures[a], where);
            test_ranks_say(ranks, NRANKS, g_signatures[b], where);
        }
    }
}

static hk_status_t call_twice(test_rank_t *self)
{
    const float in[ROOM] = {0};
    float out[ROOM];

    (void)call_pair(self);
    return hk_all_reduce(self->comm, in, out, 5, HK_F32, HK_SUM, NULL, NULL);
}

static void a_broken_communicator_gives_the_same_error_again(void **state)
{
    const pair_t pair = {.usual = 0, .odd = 3, .odd_rank = 2};
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    test_ranks_run(NULL, NRANKS, call_twice, &pair, ranks);
    test_ranks_expect(ranks, NRANKS, HK_ERR_MISMATCH, "second call");
    test_ranks_say(ranks, NRANKS, "f32 max", "second call");
}

/** Where a rank runs ahead of the others. */
static atomic_bool g_is_ahead;

/** The same broadcast again and again; from the second on the root does not wait. */
static hk_status_t run_ahead(test_rank_t *self)
{
    float value = (float)self->rank;
    hk_status_t status = hk_broadcast(self->comm, &value, &value, 1, HK_F32, 0, NULL, NULL);

    while (status == HK_OK && self->rank != 0 && !atomic_load(&g_is_ahead)) {
        (void)sched_yield();
    }
    for (int i = 1; i <= 3 && status == HK_OK; i++) {
        value = self->rank == 0 ? (float)i : -1.0f;
        status = hk_broadcast(self->comm, &value, &value, 1, HK_F32, 0, NULL, NULL);
        if (status == HK_OK && value != (float)i) {
            return HK_ERR_INTERNAL;
        }
    }
    if (self->rank == 0) {
        atomic_store(&g_is_ahead, true);
    }
    return status;
}

static void a_root_does_not_wait_for_calls_that_all_have_made_before(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    atomic_store(&g_is_ahead, false);
    test_ranks_run(NULL, NRANKS, run_ahead, NULL, ranks);
    test_ranks_expect(ranks, NRANKS, HK_OK, "three broadcasts ahead");
}

/** Known calls of two roots; then rank 2 takes the wrong root once, and nobody waits for it. */
static hk_status_t part_late(test_rank_t *self)
{
    const int *rounds = self->cookie;
    float in[NRANKS * 5] = {0};
    float out[5];
    hk_status_t status = hk_scatter(self->comm, in, out, 5, HK_F32, 0, NULL, NULL);

    if (status == HK_OK) {
        status = hk_scatter(self->comm, in, out, 5, HK_F32, 2, NULL, NULL);
    }
    for (int i = 0; i < *rounds && status == HK_OK; i++) {
        const int root = self->rank == 2 && i == 0 ? 2 : 0;

        status = hk_scatter(self->comm, in, out, 5, HK_F32, root, NULL, NULL);
    }
    return status == HK_OK ? hk_barrier(self->comm, NULL, NULL) : status;
}

static void a_difference_that_shows_late_is_told_as_where_it_began(void **state)
{
    static const int rounds[] = {1, 2, 9, 20, 100};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        test_rank_t ranks[TEST_RANKS_MAX];
        char where[64];

        (void)snprintf(where, sizeof(where), "%d scatters, the first by another root", rounds[i]);
        test_ranks_run(NULL, NRANKS, part_late, &rounds[i], ranks);
        test_ranks_expect(ranks, NRANKS, HK_ERR_MISMATCH, where);
        test_ranks_say(ranks, NRANKS, "scatter count 5 f32 root 2", where);
        test_ranks_say(ranks, NRANKS, "as operation 2, rank", where);
        test_ranks_say(ranks, NRANKS, "scatter count 5 f32 root 0", where);
    }
}

/** Rank 2 takes a root that all know, but not here; nobody calls anything after that. */
static hk_status_t part_at_the_end(test_rank_t *self)
{
    float in[NRANKS * 5] = {0};
    float out[5];
    hk_status_t status = hk_scatter(self->comm, in, out, 5, HK_F32, 0, NULL, NULL);

    if (status == HK_OK) {
        status = hk_scatter(self->comm, in, out, 5, HK_F32, 2, NULL, NULL);
    }
    if (status == HK_OK) {
        status = hk_scatter(self->comm, in, out, 5, HK_F32, self->rank == 2 ? 2 : 0, NULL, NULL);
    }
    (void)pthread_barrier_wait(self->barrier);
    return status;
}

static void a_difference_in_the_last_call_is_told_by_the_closing(void **state)
{
    test_rank_t ranks[TEST_RANKS_MAX];

    (void)state;
    (void)hki_log_take_count();
    test_ranks_run(NULL, NRANKS, part_at_the_end, NULL, ranks);
    assert_int_equal(hki_log_take_count(), NRANKS); // each rank, which may be another process
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_different_calls_are_an_error_on_all_ranks),
        cmocka_unit_test(a_root_does_not_wait_for_calls_that_all_have_made_before),
        cmocka_unit_test(a_difference_that_shows_late_is_told_as_where_it_began),
        cmocka_unit_test(a_difference_in_the_last_call_is_told_by_the_closing),
        cmocka_unit_test(a_broken_communicator_gives_the_same_error_again),
    };

    return cmocka_run_group_tests_name("comm/mismatch", tests, NULL, NULL);
}
