/**
 * @file p2p_pair.h
 * @brief Point-to-point of several ranks on the main thread, so that every step is the test's.
 */
#ifndef HK_TEST_COMM_P2P_PAIR_H
#define HK_TEST_COMM_P2P_PAIR_H

#include "comm/p2p_match.h"
#include "transport/open.h"

enum { PAIR_CONTROL, PAIR_DATA, PAIR_LANES, PAIR_RANKS_MAX = 3 };

typedef struct pair {
    int nranks;
    hki_endpoint_t *eps[PAIR_RANKS_MAX];
    hki_p2p_t *p2ps[PAIR_RANKS_MAX];
} pair_t;

static inline void pair_open(pair_t *pair, int nranks)
{
    const hki_transport_opts_t opts = {
        .nlanes = PAIR_LANES, .staging_bytes = 8192, .spin = HKI_SPIN_AUTO};

    pair->nranks = nranks;
    assert_ok(hki_local_open(&opts, nranks, pair->eps));
    for (int r = 0; r < nranks; r++) {
        assert_ok(hki_p2p_create(pair->eps[r], PAIR_CONTROL, PAIR_DATA, &pair->p2ps[r]));
    }
}

static inline void pair_close(pair_t *pair)
{
    for (int r = 0; r < pair->nranks; r++) {
        hki_p2p_destroy(&pair->p2ps[r]);
        pair->eps[r]->ops->close(pair->eps[r]);
    }
}

/** An operation on bytes. */
static inline hki_p2p_op_t pair_op(bool is_send, int peer, uint32_t tag, void *data, size_t bytes)
{
    return (hki_p2p_op_t){.is_send = is_send,
                          .peer = peer,
                          .tag = tag,
                          .dtype = HK_U8,
                          .count = bytes,
                          .bytes = bytes,
                          .data = data};
}

static inline void pair_post(pair_t *pair, int rank, hki_p2p_op_t *op)
{
    assert_ok(hki_p2p_reserve(pair->p2ps[rank], op));
    hki_p2p_post(pair->p2ps[rank], op);
}

/** All ranks in turn, until nothing moves any more. */
static inline void pair_settle(pair_t *pair)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (int r = 0; r < pair->nranks; r++) {
            moved |= hki_p2p_progress(pair->p2ps[r], true);
        }
    }
}

#endif /* HK_TEST_COMM_P2P_PAIR_H */
