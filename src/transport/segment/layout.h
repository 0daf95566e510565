/**
 * @file layout.h
 * @brief What lies where in the memory of a group. Processes share it: only fixed-width types.
 *
 *     head | bells | a block for each rank | a consumed counter for each stream | a ring for each |
 *     counters and rings of what is cast | staging
 *
 * A stream is an ordered pair of ranks and a lane. Its ring is written by the sender; its consumed
 * counter by the receiver. Whatever is written by one rank and polled by another has a cache line
 * of its own, but for bells and counters of casts, which are written seldom.
 *
 * What a rank casts, to all others at once, it writes into one line that all of them read. Lines of
 * all ranks with the same number lie side by side: who waits for all reads a few lines in a row. A
 * line is free once all receivers have released it.
 */
#ifndef HKI_TRANSPORT_SEGMENT_LAYOUT_H
#define HKI_TRANSPORT_SEGMENT_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "transport/transport.h"

enum {
    HKI_LINE_BYTES = 64,
    HKI_ANNOUNCEMENTS = 256,   /**< kept, for each rank */
    HKI_NOTICE_HEAD_WORDS = 2, /**< of an announcement: number, check and call */
    HKI_SIGNATURE_WORDS = HKI_SIGNATURE_BYTES / 8,
};

/** A message. `number` is stored last, with release: the receiver knows message n by number == n,
 *  since the line held n - nlines before, so that nothing is ever reset. */
typedef struct hki_line {
    _Atomic uint64_t number; /**< 1, 2, 3, ... in each stream; 0: never used */
    uint32_t op_number;
    uint32_t check;
    uint8_t kind;
    uint8_t mode; /**< HKI_PAYLOAD_... */
    uint8_t inline_bytes;
    uint8_t unused[5];
    union {
        unsigned char inlined[HKI_INLINE_BYTES_MAX];
        struct {
            uint64_t offset; /**< from the start of the world (wraps below it: threads); remote:
                                  address in the sender's process */
            uint64_t bytes;
        } span;
    } payload;
} hki_line_t;

_Static_assert(sizeof(hki_line_t) == HKI_LINE_BYTES, "a message is one cache line");

/** Messages of a stream that the receiver has released. */
typedef struct hki_consumed {
    _Atomic uint64_t number;
    unsigned char pad[HKI_LINE_BYTES - 8];
} hki_consumed_t;

/** A slot of a rank's log. stamp: op_number * 4 + (0: never used, 1: being written, 2: valid).
 *  Signatures lie elsewhere: what is written for every operation stays in the first-level cache. */
typedef struct hki_slot {
    _Atomic uint64_t stamp;
    _Atomic uint64_t head[HKI_NOTICE_HEAD_WORDS];
    uint64_t unused; /**< a slot lies in one line */
} hki_slot_t;

/** What belongs to a slot, and is written only when it changes. */
typedef struct hki_slot_text {
    _Atomic uint64_t words[HKI_SIGNATURE_WORDS];
} hki_slot_text_t;

_Static_assert(sizeof(hki_announcement_t) == 8 * (HKI_NOTICE_HEAD_WORDS + HKI_SIGNATURE_WORDS),
               "words of an announcement");
_Static_assert(HKI_LINE_BYTES % sizeof(hki_slot_t) == 0, "slots do not cross lines");

enum {
    HKI_RANK_ABSENT = 0, /**< has not joined yet */
    HKI_RANK_JOINED = 1,
    HKI_RANK_CLOSED = 2,
    HKI_RANK_EXITED = 3, /**< called exit() without closing; all it sent is there */
};

enum {
    HKI_BELL_AWAKE = 0,
    HKI_BELL_ARMED = 1, /**< sleeps, or polls once more and then sleeps: senders must wake it */
};

/** Two special values of `waits_for`; otherwise a rank. */
enum {
    HKI_WAITS_FOR_SEVERAL = -1,
    HKI_WAITS_NOT = -2,
};

/** What one rank says about itself. Written by its owner only. */
typedef struct hki_block {
    _Atomic uint32_t state; /**< HKI_RANK_... */
    _Atomic int32_t waits_for;
    _Atomic uint64_t heartbeat_ns; /**< last sign of life from within wait() */
    unsigned char pad1[HKI_LINE_BYTES - 16];
    hki_slot_t log[HKI_ANNOUNCEMENTS];
    hki_slot_text_t texts[HKI_ANNOUNCEMENTS];
} hki_block_t;

_Static_assert(sizeof(hki_block_t) % HKI_LINE_BYTES == 0, "blocks are whole lines");

/** Start of a group's memory. */
typedef struct hki_head {
    uint64_t magic;
    uint32_t nranks;
    uint32_t nlanes;
    uint32_t nlines;
    uint32_t unused;
    uint64_t staging_bytes; /**< for each rank and lane */
    unsigned char pad0[HKI_LINE_BYTES - 32];
    _Atomic uint64_t failure; /**< 0: none; see failure.c */
    _Atomic uint32_t failure_text_is_ready;
    unsigned char pad1[HKI_LINE_BYTES - 12];
    char failure_text[HKI_FAILURE_TEXT_BYTES];
    _Atomic uint32_t left; /**< ranks that will never touch this memory again */
    unsigned char pad2[HKI_LINE_BYTES - 4];
    unsigned char note[HKI_NOTE_BYTES]; /**< see hki_endpoint_t; written before all have joined */
} hki_head_t;

/** Offsets from the start of a group's memory. */
typedef struct hki_layout {
    uint64_t bells; /**< of every rank, _Atomic uint32_t, futexes: HKI_BELL_... */
    uint64_t blocks;
    uint64_t consumed;
    uint64_t lines;
    uint64_t cast_consumed; /**< uint64_t of lane l, receiver r, sender s at (l * P + r) * P + s */
    uint64_t cast_lines;    /**< of lane l, number n, sender s at (l * nlines + n) * P + s */
    uint64_t staging;       /**< rank r, lane l: + (r * nlanes + l) * staging_bytes */
    uint64_t bytes;
    uint32_t nlines; /**< of each ring; a power of two */
} hki_layout_t;

/** Layout of a group. staging_bytes is a multiple of a page. */
hki_layout_t hki_layout(int nranks, int nlanes, uint64_t staging_bytes);

/** Number of a stream, 0 <= .. < nranks * nranks * nlanes. */
static inline size_t hki_stream_index(int nranks, int lane, int sender, int receiver)
{
    return ((size_t)lane * (size_t)nranks + (size_t)sender) * (size_t)nranks + (size_t)receiver;
}

#endif /* HKI_TRANSPORT_SEGMENT_LAYOUT_H */
