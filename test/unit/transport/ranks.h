/**
 * @file ranks.h
 * @brief Ranks of a local world, for the tests of what all transports with shared memory have in
 *        common. All endpoints are used by the main thread, so that the order of events is known.
 */
#ifndef TEST_UNIT_TRANSPORT_RANKS_H
#define TEST_UNIT_TRANSPORT_RANKS_H

#include "support/hk_test.h"

#include "base/alloc.h"
#include "transport/open.h"

enum { RANKS_MAX = 9, STAGING_BYTES = 16384, HALF_BYTES = STAGING_BYTES / 2, NLANES = 2 };

static hki_endpoint_t *g_eps[RANKS_MAX];
static int g_nranks;

static inline hki_transport_opts_t local_opts(void)
{
    const hki_transport_opts_t opts = {
        .nlanes = NLANES, .staging_bytes = STAGING_BYTES, .spin = -1, .open_timeout_ms = 1000};

    return opts;
}

static inline void open_ranks(int nranks)
{
    const hki_transport_opts_t opts = local_opts();

    assert_ok(hki_local_open(&opts, nranks, g_eps));
    g_nranks = nranks;
}

/** Teardown: nothing may be left. */
static inline int close_ranks(void **state)
{
    (void)state;
    for (int rank = 0; rank < g_nranks; rank++) {
        if (g_eps[rank] != NULL) {
            g_eps[rank]->ops->close(g_eps[rank]);
        }
        g_eps[rank] = NULL;
    }
    g_nranks = 0;
    return hki_alloc_live() == 0 ? 0 : -1;
}

static inline void close_rank(int rank)
{
    g_eps[rank]->ops->close(g_eps[rank]);
    g_eps[rank] = NULL;
}

/** Send on lane 0. */
static inline hk_status_t send_bytes(int from, int to, const void *data, size_t bytes,
                                     unsigned flags)
{
    const hki_envelope_t envelope = {.op_number = 7, .check = 8, .kind = 9};
    uint64_t ticket = 0;

    return g_eps[from]->ops->send(g_eps[from], 0, to, &envelope, data, bytes, flags, &ticket);
}

static inline hk_status_t peek(int at, int from, hki_message_t *message)
{
    return g_eps[at]->ops->peek(g_eps[at], 0, from, message);
}

static inline void release(int at, int from)
{
    g_eps[at]->ops->release(g_eps[at], 0, from);
}

/** One step of waiting of rank `at` for `peer`, hardly sleeping. */
static inline hk_status_t wait_step(int at, hki_waiter_t *waiter, int peer)
{
    return g_eps[at]->ops->wait(g_eps[at], waiter, peer, 1000);
}

#define RANKS_TEST(name) cmocka_unit_test_teardown(name, close_ranks)

#endif /* TEST_UNIT_TRANSPORT_RANKS_H */
