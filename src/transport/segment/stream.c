/**
 * @file stream.c
 * @brief Messages: a line written by the sender, polled by its receivers; payloads in four ways.
 *
 * Sending message n of a stream fills line n mod nlines and then stores n into its number. The line
 * is free once the receiver has released message n - nlines. The receiver tells so lazily (every
 * half ring) for payloads inside the line, as only the ring's room depends on it, and at once for
 * the others, whose senders may wait for it.
 *
 * A cast is a stream with one sender and all other ranks as receivers: one line, and a counter for
 * each of them, which they write every half ring. The slowest decides when a line is free.
 *
 * Staging: a run fills one half from its start; two runs later begin_run() gets the same half back
 * when all who were sent something from it have released it.
 */
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "transport/segment/endpoint.h"

enum {
    STAGING_ALIGNMENT = 64,
    LINGER_ROUNDS = 32,
    SHORT_BYTES = 2048,             /**< copied in less time than a cache line takes to and fro */
    SHORT_BYTES_SHARED_CORE = 8192, /**< the same for a turn of the other ranks on the core */
};

static hki_stream_out_t *stream_out(hki_segment_t *seg, int lane, int peer)
{
    return &seg->out[lane * seg->base.nranks + peer];
}

static hki_stream_in_t *stream_in(hki_segment_t *seg, int lane, int peer)
{
    return &seg->in[lane * seg->base.nranks + peer];
}

static hki_line_t *line_out(const hki_segment_t *seg, const hki_stream_out_t *out, uint64_t number)
{
    return &out->ring[(number & (seg->nlines - 1)) * out->stride];
}

/** The line of the next message. */
static const hki_line_t *line_in(const hki_segment_t *seg, const hki_stream_in_t *in)
{
    return &in->ring[((in->released + 1) & (seg->nlines - 1)) * in->stride];
}

/** Fetch a line that will be written soon: the other core has read it last. */
static void own(const hki_line_t *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*line)); // the builtin only reads
#else
    __builtin_prefetch(line, 1);
#endif
}

/** Is there room for one more message? */
static bool has_room(hki_stream_out_t *out, uint32_t nlines)
{
    if (out->sent - out->consumed_seen < nlines) {
        return true;
    }
    out->consumed_seen = atomic_load_explicit(out->consumed, memory_order_acquire);
    return out->sent - out->consumed_seen < nlines;
}

/** A payload to stage. */
typedef struct span {
    const void *data;
    size_t bytes;
    bool is_same; /**< as the last one, if that was staged */
} span_t;

/** Copy a payload to the current half, of which `limit` bytes may be used, unless it is what was
 *  staged last. @return where it lies, or NULL: no room */
static const char *stage(hki_staging_t *staging, size_t half_bytes, size_t limit,
                         const span_t *span)
{
    char *half = staging->base + (size_t)staging->current * half_bytes;

    if (span->is_same && span->bytes == staging->last_bytes) {
        return half + staging->last_at;
    }
    if (staging->used > limit || span->bytes > limit - staging->used) {
        return NULL;
    }
    hki_copy(half + staging->used, span->data, span->bytes);
    staging->last_at = staging->used;
    staging->last_bytes = span->bytes;
    // half_bytes is a multiple of the alignment, so this stays within it
    staging->used = (staging->used + span->bytes + STAGING_ALIGNMENT - 1) / STAGING_ALIGNMENT *
                    STAGING_ALIGNMENT;
    return half + staging->last_at;
}

/** Remember that `peer` has to release message `ticket` before the current half is free again. */
static void note_reader(hki_staging_t *staging, int peer, uint64_t ticket)
{
    hki_staging_half_t *half = &staging->halves[staging->current];

    if (half->tickets[peer] == 0) {
        half->readers[half->nreaders++] = peer;
    }
    half->tickets[peer] = ticket;
}

/** Does copying the payload of a run take less than waiting until a peer has read it in place? */
static bool is_short(const hki_segment_t *seg, size_t bytes, unsigned flags)
{
    return (flags & HKI_SEND_SHORT) != 0 &&
           bytes <= (seg->base.can_spin ? (size_t)SHORT_BYTES : (size_t)SHORT_BYTES_SHARED_CORE);
}

/** Let the receiver read the payload in the staging memory. @return false: there is no room */
static bool place_staged(hki_segment_t *seg, int lane, const void *payload, size_t bytes,
                         unsigned flags, hki_line_t *line)
{
    const size_t half_bytes = seg->base.staging_bytes / 2;
    const bool must = (flags & HKI_SEND_COPIED) != 0 || seg->base.unstaged_bytes == SIZE_MAX;
    const char *at = stage(&seg->staging[lane], half_bytes, must ? half_bytes : half_bytes / 2,
                           &(span_t){payload, bytes, (flags & HKI_SEND_SAME) != 0});

    if (at == NULL) {
        return false;
    }
    line->mode = HKI_PAYLOAD_STAGED;
    line->payload.span.offset = (uint64_t)((uintptr_t)at - (uintptr_t)seg->world->base);
    return true;
}

/** Put a payload that does not fit into the line where the receiver can read it. */
static hk_status_t place(hki_segment_t *seg, int lane, const void *payload, size_t bytes,
                         unsigned flags, hki_line_t *line)
{
    const size_t half_bytes = seg->base.staging_bytes / 2;
    const bool is_copied = (flags & HKI_SEND_COPIED) != 0;
    const bool may_be_remote = !is_copied && seg->base.unstaged_bytes != SIZE_MAX;
    uint64_t offset = 0;

    line->payload.span.bytes = bytes;
    line->inline_bytes = 0;
    if (!is_copied && hki_world_locate(seg->world, payload, bytes, &offset)) {
        if (is_short(seg, bytes, flags) && place_staged(seg, lane, payload, bytes, flags, line)) {
            return HK_OK;
        }
        seg->staging[lane].last_bytes = 0; // what comes next may not be taken for what was staged
        line->mode = HKI_PAYLOAD_DIRECT;
        line->payload.span.offset = offset;
        return HK_OK;
    }
    if (bytes > half_bytes && !may_be_remote) {
        return HKI_FAIL(HK_ERR_INTERNAL,
                        "a message of %zu bytes does not fit in %zu bytes, half the staging "
                        "memory of a lane",
                        bytes, half_bytes);
    }
    if (!(may_be_remote && bytes >= seg->base.unstaged_bytes) &&
        place_staged(seg, lane, payload, bytes, flags, line)) {
        return HK_OK;
    }
    if (!may_be_remote) {
        return HK_IN_PROGRESS;
    }
    seg->staging[lane].last_bytes = 0;
    line->mode = HKI_PAYLOAD_REMOTE;
    line->payload.span.offset = (uint64_t)(uintptr_t)payload;
    return HK_OK;
}

// NOLINTNEXTLINE(readability-function-size): the form of hki_endpoint_ops_t
hk_status_t hki_segment_send(hki_endpoint_t *ep, int lane, int peer, const hki_envelope_t *envelope,
                             const void *payload, size_t bytes, unsigned flags,
                             uint64_t *ticket_out)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_stream_out_t *out = stream_out(seg, lane, peer);

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    if (!has_room(out, seg->nlines)) {
        return HK_IN_PROGRESS;
    }
    const uint64_t number = out->sent + 1;
    hki_line_t *line = line_out(seg, out, number);
    bool is_borrowed = false; // of what was just written nothing is read: it is still under way
    if (bytes <= HKI_INLINE_BYTES_MAX) {
        line->mode = HKI_PAYLOAD_INLINE;
        line->inline_bytes = (uint8_t)bytes;
        hki_copy_few(line->payload.inlined, payload, bytes);
    } else {
        const hk_status_t status = place(seg, lane, payload, bytes, flags, line);
        if (status != HK_OK) {
            return status;
        }
        if (line->mode == HKI_PAYLOAD_STAGED) {
            note_reader(&seg->staging[lane], peer, number);
        }
        seg->base.counts.sent[line->mode]++;
        is_borrowed = line->mode == HKI_PAYLOAD_DIRECT || line->mode == HKI_PAYLOAD_REMOTE;
    }
    line->op_number = envelope->op_number;
    line->check = envelope->check;
    line->kind = (uint8_t)envelope->kind;
    atomic_store_explicit(&line->number, number, memory_order_release);
    out->sent = number;
    hki_segment_ring(seg, peer);
    hki_segment_show_busy(seg);
    own(line_out(seg, out, number + 1));
    *ticket_out = is_borrowed ? number : 0;
    return HK_OK;
}

hk_status_t hki_segment_peek(hki_endpoint_t *ep, int lane, int peer, hki_message_t *message_out)
{
    hki_segment_t *seg = hki_segment_of(ep);
    const hki_stream_in_t *in = stream_in(seg, lane, peer);
    const uint64_t number = in->released + 1;
    const hki_line_t *line = line_in(seg, in);

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    if (atomic_load_explicit(&line->number, memory_order_acquire) != number) {
        return HK_IN_PROGRESS;
    }
    message_out->envelope.op_number = line->op_number;
    message_out->envelope.check = line->check;
    message_out->envelope.kind = line->kind;
    message_out->is_direct = line->mode >= HKI_PAYLOAD_DIRECT;
    message_out->is_remote = line->mode == HKI_PAYLOAD_REMOTE;
    message_out->shift = 0;
    if (line->mode == HKI_PAYLOAD_INLINE) {
        message_out->bytes = line->inline_bytes;
        message_out->payload = line->inline_bytes == 0 ? NULL : line->payload.inlined;
    } else if (line->mode == HKI_PAYLOAD_REMOTE) {
        message_out->bytes = line->payload.span.bytes;
        message_out->payload = NULL;
        message_out->shift = (uint8_t)(line->payload.span.offset % HKI_LINE_BYTES);
    } else {
        message_out->bytes = line->payload.span.bytes;
        message_out->payload =
            (const void *)((uintptr_t)seg->world->base + // NOLINT(performance-no-int-to-ptr)
                           (uintptr_t)line->payload.span.offset);
    }
    return HK_OK;
}

bool hki_segment_linger(hki_endpoint_t *ep, int lane, int peer, uint32_t shared_rounds)
{
    hki_segment_t *seg = hki_segment_of(ep);
    const bool may_spin = seg->world->spin == HKI_SPIN_AUTO; // others have been forced
    const uint32_t rounds = seg->base.can_spin ? LINGER_ROUNDS : may_spin ? shared_rounds : 0;
    const hki_stream_in_t *in = stream_in(seg, lane, peer);
    const uint64_t number = in->released + 1;
    const hki_line_t *line = line_in(seg, in);

    for (uint32_t i = 0; i < rounds; i++) {
        if (atomic_load_explicit(&line->number, memory_order_acquire) == number) {
            return true;
        }
        hki_segment_relax();
    }
    return false;
}

// NOLINTNEXTLINE(readability-function-size): the form of hki_endpoint_ops_t
hk_status_t hki_segment_fetch(hki_endpoint_t *ep, int lane, int peer, size_t offset, void *into,
                              size_t bytes)
{
    hki_segment_t *seg = hki_segment_of(ep);
    const hki_stream_in_t *in = stream_in(seg, lane, peer);
    const hki_line_t *line = line_in(seg, in);

    HKI_DASSERT(line->mode == HKI_PAYLOAD_REMOTE && offset + bytes <= line->payload.span.bytes);
    const int error = seg->world->ops->read(seg->world, seg->world_ranks[peer],
                                            line->payload.span.offset + offset, into, bytes);
    return error == 0 ? HK_OK : hki_segment_fail_read(seg, peer, error);
}

static void publish_stream(hki_segment_t *seg, hki_stream_in_t *in, int peer)
{
    in->published = in->released;
    atomic_store_explicit(in->consumed, in->released, memory_order_release);
    hki_segment_ring(seg, peer);
}

void hki_segment_release(hki_endpoint_t *ep, int lane, int peer)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_stream_in_t *in = stream_in(seg, lane, peer);
    const hki_line_t *line = line_in(seg, in);

    if (hki_segment_is_forked(seg)) {
        return;
    }
    in->released++;
    if (line->mode != HKI_PAYLOAD_INLINE || in->released - in->published >= seg->nlines / 2) {
        publish_stream(seg, in, peer);
    }
    hki_segment_show_busy(seg);
}

/** Write a message into its line, where there is room. */
static void write_few(hki_segment_t *seg, hki_stream_out_t *out, const hki_envelope_t *envelope,
                      const hki_few_t *few)
{
    const uint64_t number = out->sent + 1;
    hki_line_t *line = line_out(seg, out, number);

    line->mode = HKI_PAYLOAD_INLINE;
    line->inline_bytes = (uint8_t)few->bytes;
    line->kind = (uint8_t)envelope->kind;
    line->op_number = envelope->op_number;
    line->check = envelope->check;
    hki_copy_few(line->payload.inlined, few->data, few->bytes);
    atomic_store_explicit(&line->number, number, memory_order_release);
    out->sent = number;
    own(line_out(seg, out, number + 1));
}

// NOLINTNEXTLINE(readability-function-size): the form of hki_endpoint_ops_t
hk_status_t hki_segment_send_few(hki_endpoint_t *ep, int lane, const hki_envelope_t *envelope,
                                 const hki_few_t *few, int count, int *sent_out)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_stream_out_t *streams = stream_out(seg, lane, 0);
    int sent = 0;

    *sent_out = 0;
    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    while (sent < count && has_room(&streams[few[sent].peer], seg->nlines)) {
        write_few(seg, &streams[few[sent].peer], envelope, &few[sent]);
        sent++;
    }
    hki_segment_ring_few(seg, few, sent);
    hki_segment_show_busy(seg);
    *sent_out = sent;
    return HK_OK;
}

/** The receiver that has released the fewest of this rank's casts, and how many. */
static int slowest_receiver(const hki_segment_t *seg, int lane, uint64_t *released_out)
{
    const int nranks = seg->base.nranks;
    const int rank = seg->base.rank;
    const _Atomic uint64_t *consumed =
        &seg->cast_consumed[(size_t)lane * (size_t)nranks * (size_t)nranks + (size_t)rank];
    int slowest = -1;

    *released_out = UINT64_MAX;
    for (int peer = 0; peer < nranks; peer++) {
        const uint64_t released =
            atomic_load_explicit(&consumed[(size_t)peer * (size_t)nranks], memory_order_acquire);

        if (peer != rank && released < *released_out) {
            *released_out = released;
            slowest = peer;
        }
    }
    return slowest;
}

int hki_segment_cast_waits_for(const hki_endpoint_t *ep, int lane)
{
    uint64_t released = 0;

    return slowest_receiver(hki_segment_of_const(ep), lane, &released);
}

hk_status_t hki_segment_cast(hki_endpoint_t *ep, int lane, const hki_envelope_t *envelope,
                             const hki_few_t *few)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_stream_out_t *out = &seg->out[seg->base.nlanes * seg->base.nranks + lane];

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    if (out->sent - out->consumed_seen >= seg->nlines) {
        (void)slowest_receiver(seg, lane, &out->consumed_seen);
        if (out->sent - out->consumed_seen >= seg->nlines) {
            return HK_IN_PROGRESS;
        }
    }
    write_few(seg, out, envelope, few);
    hki_segment_ring_all(seg);
    hki_segment_show_busy(seg);
    return HK_OK;
}

int hki_segment_take_few(hki_endpoint_t *ep, int lane, const hki_envelope_t *expected,
                         const hki_few_t *few, int count)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_stream_in_t *streams = stream_in(seg, lane, 0);
    int taken = 0;

    for (; taken < count; taken++) {
        const hki_few_t *wanted = &few[taken];
        hki_stream_in_t *in = &streams[wanted->peer];
        const uint64_t number = in->released + 1;
        const hki_line_t *line = line_in(seg, in);

        if (atomic_load_explicit(&line->number, memory_order_acquire) != number ||
            line->op_number != expected->op_number || line->check != expected->check ||
            line->mode != HKI_PAYLOAD_INLINE || line->inline_bytes != wanted->bytes) {
            break;
        }
        hki_copy_few(wanted->data, line->payload.inlined, wanted->bytes);
        in->released = number;
        if (number - in->published >= seg->nlines / 2) {
            publish_stream(seg, in, wanted->peer);
        }
    }
    if (taken != 0) {
        hki_segment_show_busy(seg);
    }
    return taken;
}

static bool is_released(hki_stream_out_t *out, uint64_t ticket)
{
    if (out->consumed_seen < ticket) {
        out->consumed_seen = atomic_load_explicit(out->consumed, memory_order_acquire);
    }
    return out->consumed_seen >= ticket;
}

bool hki_segment_is_consumed(hki_endpoint_t *ep, int lane, int peer, uint64_t ticket)
{
    return is_released(stream_out(hki_segment_of(ep), lane, peer), ticket);
}

hk_status_t hki_segment_begin_run(hki_endpoint_t *ep, int lane)
{
    hki_segment_t *seg = hki_segment_of(ep);
    hki_staging_t *staging = &seg->staging[lane];
    hki_staging_half_t *next = &staging->halves[1 - staging->current];

    if (hki_segment_is_broken(seg)) {
        return hki_segment_report(seg);
    }
    while (next->nreaders > 0) {
        const int peer = next->readers[next->nreaders - 1];
        if (!is_released(stream_out(seg, lane, peer), next->tickets[peer])) {
            return HK_IN_PROGRESS;
        }
        next->tickets[peer] = 0;
        next->nreaders--;
    }
    staging->current = 1 - staging->current;
    staging->used = 0;
    staging->last_bytes = 0;
    return HK_OK;
}

int hki_segment_run_waits_for(const hki_endpoint_t *ep, int lane)
{
    const hki_staging_t *staging = &hki_segment_of_const(ep)->staging[lane];
    const hki_staging_half_t *next = &staging->halves[1 - staging->current];

    return next->nreaders > 0 ? next->readers[next->nreaders - 1] : -1;
}

bool hki_segment_is_direct(const hki_endpoint_t *ep, const void *memory, size_t bytes)
{
    uint64_t offset = 0;

    return hki_world_locate(hki_segment_of_const(ep)->world, memory, bytes, &offset);
}

bool hki_segment_share(const hki_endpoint_t *ep, const void *memory, size_t bytes,
                       uint64_t *where_out)
{
    const hki_world_t *world = hki_segment_of_const(ep)->world;
    const uintptr_t at = (uintptr_t)memory - (uintptr_t)world->base;

    // the heap of threads is direct, but may be freed by one who leaves while another reads
    if (world->is_private && (at > world->bytes || bytes > world->bytes - at)) {
        return false;
    }
    return hki_world_locate(world, memory, bytes, where_out);
}
