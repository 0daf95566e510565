/**
 * @file fake.h
 * @brief Endpoints in memory for one thread, whose messages, room and reading come in any legal
 *        order: a seed decides when a send finds room, when a message is seen, and when a direct
 *        source counts as read.
 */
#ifndef HK_TEST_EXEC_FAKE_H
#define HK_TEST_EXEC_FAKE_H

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"
#include "transport/transport.h"

enum { FAKE_RANKS_MAX = 8, FAKE_LANES = 2, FAKE_QUEUE = 256, FAKE_LOG = 2 * HKI_STARTED_MAX };

typedef struct fake_message {
    hki_envelope_t envelope;
    size_t bytes;
    char *copy;       /**< the payload, unless direct */
    const char *seen; /**< where it is read */
} fake_message_t;

typedef struct fake_stream {
    fake_message_t queue[FAKE_QUEUE];
    uint64_t sent;
    uint64_t released;
} fake_stream_t;

/** All ranks' streams, and the dice. */
typedef struct fake_net {
    int nranks;
    fake_stream_t streams[2 * FAKE_LANES][FAKE_RANKS_MAX][FAKE_RANKS_MAX];
    hki_announcement_t log[FAKE_RANKS_MAX][FAKE_LOG];
    bool is_logged[FAKE_RANKS_MAX][FAKE_LOG];
    hki_failure_t failure;
    hki_random_key_t dice;
    uint64_t thrown;
    bool is_direct;           /**< sources that are not copied are read where they lie */
    bool is_remote;           /**< and that by fetch() */
    bool fails_after_reading; /**< rank 1 gives up while a message is read */
    int allocations;          /**< blocks of mem_alloc not freed */
} fake_net_t;

typedef struct fake_endpoint {
    hki_endpoint_t base;
    fake_net_t *net;
} fake_endpoint_t;

static inline fake_net_t *fake_net_of(const hki_endpoint_t *ep)
{
    return ((const fake_endpoint_t *)(const void *)ep)->net;
}

/** Once in `n` times. */
static inline bool fake_chance(fake_net_t *net, uint64_t n)
{
    net->thrown++;
    return hki_random_below(net->dice, net->thrown, n) == 0;
}

static inline hk_status_t fake_send(hki_endpoint_t *ep, int lane, int peer,
                                    const hki_envelope_t *envelope, const void *payload,
                                    size_t bytes, unsigned flags, uint64_t *ticket_out)
{
    fake_net_t *net = fake_net_of(ep);
    fake_stream_t *stream = &net->streams[lane][ep->rank][peer];

    if (net->failure.status != HK_OK) {
        return net->failure.status;
    }
    if (stream->sent - stream->released == FAKE_QUEUE || fake_chance(net, 4)) {
        return HK_IN_PROGRESS;
    }
    fake_message_t *message = &stream->queue[stream->sent % FAKE_QUEUE];
    *message = (fake_message_t){.envelope = *envelope, .bytes = bytes, .seen = payload};
    if (!net->is_direct || (flags & HKI_SEND_COPIED) != 0 || bytes <= ep->inline_bytes) {
        message->copy = malloc(bytes + 1);
        if (bytes != 0) {
            memcpy(message->copy, payload, bytes);
        }
        message->seen = message->copy;
    }
    stream->sent++;
    *ticket_out = message->copy == NULL ? stream->sent : 0;
    return HK_OK;
}

static inline hk_status_t fake_peek(hki_endpoint_t *ep, int lane, int peer, hki_message_t *out)
{
    fake_net_t *net = fake_net_of(ep);
    const fake_stream_t *stream = &net->streams[lane][peer][ep->rank];

    if (net->failure.status != HK_OK) {
        return net->failure.status;
    }
    if (stream->sent == stream->released || fake_chance(net, 4)) {
        return HK_IN_PROGRESS;
    }
    const fake_message_t *message = &stream->queue[stream->released % FAKE_QUEUE];
    *out = (hki_message_t){.envelope = message->envelope,
                           .bytes = message->bytes,
                           .payload = message->seen,
                           .is_direct = message->copy == NULL,
                           .is_remote = message->copy == NULL && net->is_remote};
    if (out->is_remote) {
        out->payload = NULL;
        out->shift = (uint8_t)((uintptr_t)message->seen % 64);
    }
    return HK_OK;
}

// NOLINTNEXTLINE(readability-function-size): the form of hki_endpoint_ops_t
static inline hk_status_t fake_fetch(hki_endpoint_t *ep, int lane, int peer, size_t offset,
                                     void *into, size_t bytes)
{
    const fake_stream_t *stream = &fake_net_of(ep)->streams[lane][peer][ep->rank];

    memcpy(into, stream->queue[stream->released % FAKE_QUEUE].seen + offset, bytes);
    return HK_OK;
}

static inline void fake_release(hki_endpoint_t *ep, int lane, int peer)
{
    fake_net_t *net = fake_net_of(ep);
    fake_stream_t *stream = &net->streams[lane][peer][ep->rank];

    free(stream->queue[stream->released % FAKE_QUEUE].copy);
    stream->released++;
    if (net->fails_after_reading) {
        net->failure = (hki_failure_t){.status = HK_ERR_TIMED_OUT, .rank = 1};
    }
}

static inline bool fake_is_consumed(hki_endpoint_t *ep, int lane, int peer, uint64_t ticket)
{
    fake_net_t *net = fake_net_of(ep);

    return net->streams[lane][ep->rank][peer].released >= ticket && !fake_chance(net, 3);
}

static inline hk_status_t fake_begin_run(hki_endpoint_t *ep, int lane)
{
    (void)lane;
    return fake_chance(fake_net_of(ep), 4) ? HK_IN_PROGRESS : HK_OK;
}

static inline int fake_run_waits_for(const hki_endpoint_t *ep, int lane)
{
    (void)ep;
    (void)lane;
    return -1;
}

static inline bool fake_is_direct(const hki_endpoint_t *ep, const void *memory, size_t bytes)
{
    (void)memory;
    return fake_net_of(ep)->is_direct && bytes > ep->inline_bytes;
}

static inline void fake_announce(hki_endpoint_t *ep, const hki_announcement_t *announcement,
                                 bool is_awaited)
{
    fake_net_t *net = fake_net_of(ep);

    (void)is_awaited;
    net->log[ep->rank][announcement->op_number % FAKE_LOG] = *announcement;
    net->is_logged[ep->rank][announcement->op_number % FAKE_LOG] = true;
}

static inline hk_status_t fake_announced(hki_endpoint_t *ep, int peer, uint32_t op_number,
                                         hki_announcement_t *out)
{
    const fake_net_t *net = fake_net_of(ep);
    const hki_announcement_t *slot = &net->log[peer][op_number % FAKE_LOG];

    if (!net->is_logged[peer][op_number % FAKE_LOG] || slot->op_number < op_number) {
        return HK_IN_PROGRESS;
    }
    if (slot->op_number > op_number) {
        return HK_ERR_LIMIT;
    }
    *out = *slot;
    return HK_OK;
}

static inline hk_status_t fake_announced_check(hki_endpoint_t *ep, int peer, uint32_t op_number,
                                               uint32_t *check_out)
{
    hki_announcement_t other;
    const hk_status_t status = fake_announced(ep, peer, op_number, &other);

    if (status == HK_OK) {
        *check_out = other.check;
    }
    return status;
}

// NOLINTNEXTLINE(readability-function-size): the form of hki_endpoint_ops_t
static inline hk_status_t fake_send_few(hki_endpoint_t *ep, int lane,
                                        const hki_envelope_t *envelope, const hki_few_t *few,
                                        int count, int *sent_out)
{
    uint64_t ticket = 0;
    hk_status_t status = HK_OK;
    int sent = 0;

    while (sent < count && status == HK_OK) {
        status = fake_send(ep, lane, few[sent].peer, envelope, few[sent].data, few[sent].bytes, 0,
                           &ticket);
        sent += status == HK_OK;
    }
    *sent_out = sent;
    return status == HK_IN_PROGRESS ? HK_OK : status;
}

static inline hk_status_t fake_cast(hki_endpoint_t *ep, int lane, const hki_envelope_t *envelope,
                                    const hki_few_t *few)
{
    fake_net_t *net = fake_net_of(ep);
    uint64_t ticket = 0;

    for (int peer = 0; peer < net->nranks; peer++) {
        const fake_stream_t *stream = &net->streams[lane + FAKE_LANES][ep->rank][peer];

        if (peer != ep->rank && stream->sent - stream->released == FAKE_QUEUE) {
            return HK_IN_PROGRESS;
        }
    }
    if (fake_chance(net, 4)) {
        return HK_IN_PROGRESS;
    }
    for (int peer = 0; peer < net->nranks; peer++) {
        hk_status_t status = peer == ep->rank ? HK_OK : HK_IN_PROGRESS;

        while (status == HK_IN_PROGRESS) { // there is room: until the dice agree
            status =
                fake_send(ep, lane + FAKE_LANES, peer, envelope, few->data, few->bytes, 0, &ticket);
        }
        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

static inline int fake_cast_waits_for(const hki_endpoint_t *ep, int lane)
{
    (void)lane;
    return ep->rank == 0 ? 1 : 0;
}

static inline int fake_take_few(hki_endpoint_t *ep, int lane, const hki_envelope_t *expected,
                                const hki_few_t *few, int count)
{
    hki_message_t message;
    int taken = 0;

    for (; taken < count && fake_peek(ep, lane, few[taken].peer, &message) == HK_OK; taken++) {
        if (message.is_remote || message.is_direct || message.bytes != few[taken].bytes ||
            message.envelope.op_number != expected->op_number ||
            message.envelope.check != expected->check) {
            break;
        }
        if (message.bytes != 0) {
            memcpy(few[taken].data, message.payload, message.bytes);
        }
        fake_release(ep, lane, few[taken].peer);
    }
    return taken;
}

static inline bool fake_linger(hki_endpoint_t *ep, int lane, int peer, uint32_t shared_rounds)
{
    (void)shared_rounds;
    (void)ep;
    (void)lane;
    (void)peer;
    return false;
}

static inline void fake_fail(hki_endpoint_t *ep, hk_status_t status, int rank, const char *text)
{
    fake_net_t *net = fake_net_of(ep);

    if (net->failure.status == HK_OK) {
        net->failure.status = status;
        net->failure.rank = rank;
        strncpy(net->failure.text, text, sizeof(net->failure.text) - 1);
    }
}

static inline void fake_failure(const hki_endpoint_t *ep, hki_failure_t *failure_out)
{
    *failure_out = fake_net_of(ep)->failure;
}

static inline bool fake_is_failed(const hki_endpoint_t *ep)
{
    return fake_net_of(ep)->failure.status != HK_OK;
}

static inline hk_status_t fake_mem_alloc(hki_endpoint_t *ep, size_t bytes, void **ptr_out)
{
    *ptr_out = hki_calloc(bytes, 1);
    fake_net_of(ep)->allocations += *ptr_out != NULL;
    return *ptr_out == NULL ? HK_ERR_NO_MEMORY : HK_OK;
}

static inline void fake_mem_free(hki_endpoint_t *ep, void *ptr)
{
    fake_net_of(ep)->allocations--;
    hki_free(ptr);
}

/** One endpoint of the net. */
static inline fake_endpoint_t fake_endpoint(fake_net_t *net, int rank)
{
    static const hki_endpoint_ops_t ops = {
        .name = "fake",
        .send = fake_send,
        .peek = fake_peek,
        .send_few = fake_send_few,
        .take_few = fake_take_few,
        .cast = fake_cast,
        .cast_waits_for = fake_cast_waits_for,
        .fetch = fake_fetch,
        .release = fake_release,
        .is_consumed = fake_is_consumed,
        .begin_run = fake_begin_run,
        .run_waits_for = fake_run_waits_for,
        .is_direct = fake_is_direct,
        .announce = fake_announce,
        .announced = fake_announced,
        .announced_check = fake_announced_check,
        .linger = fake_linger,
        .fail = fake_fail,
        .failure = fake_failure,
        .is_failed = fake_is_failed,
        .mem_alloc = fake_mem_alloc,
        .mem_free = fake_mem_free,
    };
    const fake_endpoint_t ep = {.base = {.ops = &ops,
                                         .rank = rank,
                                         .nranks = net->nranks,
                                         .nlanes = FAKE_LANES,
                                         .inline_bytes = 8,
                                         .staging_bytes = 4096,
                                         .ranks_per_core = 1},
                                .net = net};

    return ep;
}

#endif /* HK_TEST_EXEC_FAKE_H */
