/*
 * Sends and receives of the mix. Method: all ranks draw the same list of transfers, each with a tag
 * of its own. Every rank starts its ends of them in an order of its own, all with requests; or all
 * go through the list in its order, blocking. Numbers say transfer and element; the byte after the
 * last must stay.
 */
#include "mix.h"

#include <stdio.h>

#include <hocket/coll.h>

enum { TRANSFERS_MAX = 8, ENDS_MAX = 2 * TRANSFERS_MAX, PERIOD = 509, GUARD = 0x5A };

typedef struct transfer {
    int from;
    int to;
    int tag;
    size_t count; /**< of u32 */
    uint64_t seed;
} transfer_t;

/** One end of a transfer on this rank. */
typedef struct end {
    const transfer_t *transfer;
    bool is_send;
    bool is_shared;
    uint32_t *data;
    hk_request_t *request;
} end_t;

static int draw_transfers(mix_random_t *common, int nranks, transfer_t transfers[TRANSFERS_MAX])
{
    const int n = 1 + (int)mix_draw(common, TRANSFERS_MAX);

    for (int i = 0; i < n; i++) {
        transfers[i] = (transfer_t){.from = (int)mix_draw(common, (uint64_t)nranks),
                                    .to = (int)mix_draw(common, (uint64_t)nranks),
                                    .tag = i,
                                    .count = mix_draw_count(common),
                                    .seed = mix_draw(common, UINT64_MAX)};
    }
    return n;
}

static uint32_t element(const transfer_t *transfer, size_t i)
{
    return (uint32_t)ref_mix(transfer->seed + i % PERIOD);
}

/** Memory for an end, with what is sent or with nothing. */
static void end_begin(hk_comm_t *comm, area_pool_t *pool, end_t *end, mix_random_t *own)
{
    const size_t bytes = end->transfer->count * sizeof(*end->data) + 1;

    end->is_shared = mix_draw(own, 2) == 0;
    end->data = area_get(comm, pool, end->is_shared, bytes);
    ((unsigned char *)end->data)[bytes - 1] = GUARD;
    for (size_t i = 0; end->is_send && i < end->transfer->count; i++) {
        end->data[i] = i < PERIOD ? element(end->transfer, i) : end->data[i - PERIOD];
    }
}

static hk_status_t end_start(hk_comm_t *comm, end_t *end, hk_request_t **request_out)
{
    const transfer_t *transfer = end->transfer;
    hk_coll_opts_t opts = hk_coll_opts_default();

    opts.tag = transfer->tag;
    return end->is_send
               ? hk_send(comm, end->data, transfer->count, HK_U32, transfer->to, &opts, request_out)
               : hk_recv(comm, end->data, transfer->count, HK_U32, transfer->from, &opts,
                         request_out);
}

/** Compare what has come, and free. */
static bool end_end(hk_comm_t *comm, area_pool_t *pool, end_t *end)
{
    const transfer_t *transfer = end->transfer;
    bool is_right = ((unsigned char *)end->data)[transfer->count * sizeof(*end->data)] == GUARD;

    for (size_t i = 0; is_right && i < transfer->count; i++) {
        is_right = end->data[i] == (i < PERIOD ? element(transfer, i) : end->data[i - PERIOD]);
        if (!is_right) {
            fprintf(stderr, "element %zu is %08x: ", i, end->data[i]);
        }
    }
    if (!is_right) {
        fprintf(stderr, "rank %d: wrong data, %s of %zu elements from %d to %d, tag %d\n",
                hk_comm_rank(comm), end->is_send ? "sent" : "received", transfer->count,
                transfer->from, transfer->to, transfer->tag);
    }
    area_put(comm, pool, end->is_shared, end->data);
    return is_right;
}

/** Start all ends, in random order, then wait for them together or one by one. */
static hk_status_t run_at_once(hk_comm_t *comm, end_t *ends, int n, mix_random_t *own)
{
    hk_request_t *requests[ENDS_MAX] = {NULL};
    hk_status_t status = HK_OK;

    for (int i = 0; i < n && status == HK_OK; i++) {
        const int other = i + (int)mix_draw(own, (uint64_t)(n - i));
        const end_t swap = ends[i];

        ends[i] = ends[other];
        ends[other] = swap;
        status = end_start(comm, &ends[i], &requests[i]);
    }
    if (status == HK_OK && mix_draw(own, 2) == 0) {
        return hk_request_wait_all(requests, (size_t)n);
    }
    for (int i = n - 1; i >= 0 && status == HK_OK; i--) {
        do {
            status = hk_request_test(&requests[i]);
        } while (status == HK_IN_PROGRESS);
    }
    return status;
}

static hk_status_t run_in_turn(hk_comm_t *comm, end_t *ends, int n)
{
    hk_status_t status = HK_OK;

    for (int i = 0; i < n && status == HK_OK; i++) {
        status = end_start(comm, &ends[i], NULL);
    }
    return status;
}

bool mix_transfers(hk_comm_t *comm, mix_random_t common, mix_random_t *own, area_pool_t *pool)
{
    const int rank = hk_comm_rank(comm);
    transfer_t transfers[TRANSFERS_MAX];
    end_t ends[ENDS_MAX];
    int n = 0;
    const bool is_in_turn = mix_draw(&common, 3) == 0;
    const int ntransfers = draw_transfers(&common, hk_comm_size(comm), transfers);

    for (int i = 0; i < ntransfers; i++) {
        const transfer_t *transfer = &transfers[i];

        if (is_in_turn && transfer->from == transfer->to) {
            continue; // a rank cannot receive while it waits for the end of its send
        }
        if (transfer->from == rank) {
            ends[n++] = (end_t){.transfer = transfer, .is_send = true};
        }
        if (transfer->to == rank) {
            ends[n++] = (end_t){.transfer = transfer};
        }
    }
    for (int i = 0; i < n; i++) {
        end_begin(comm, pool, &ends[i], own);
    }
    const hk_status_t status =
        is_in_turn ? run_in_turn(comm, ends, n) : run_at_once(comm, ends, n, own);
    if (status != HK_OK) {
        fprintf(stderr, "rank %d, %d sends and receives: %s\n", rank, n, hk_last_error());
        return false; // their memory may still be in use
    }
    bool is_right = true;
    for (int i = 0; i < n; i++) {
        is_right = end_end(comm, pool, &ends[i]) && is_right;
    }
    return is_right;
}
