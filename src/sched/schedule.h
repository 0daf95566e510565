/**
 * @file schedule.h
 * @brief What the executor, the checker, the simulator and the tools may read of a schedule.
 */
#ifndef HKI_SCHED_SCHEDULE_H
#define HKI_SCHED_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/schedule.h>

typedef enum hki_step_kind {
    HKI_STEP_SEND,   /**< give src to peer; token: length 0 */
    HKI_STEP_RECV,   /**< overwrite dst with what peer sends; token: length 0 */
    HKI_STEP_COPY,   /**< overwrite dst with src */
    HKI_STEP_REDUCE, /**< dst = tree(operands) */
} hki_step_kind_t;

typedef struct hki_step {
    hki_step_kind_t kind;
    bool is_copied;         /**< SEND: src is copied before the step ends */
    bool is_token;          /**< SEND, RECV: without data */
    bool is_final;          /**< RECV, COPY to OUT: no later step reads or writes what it writes.
                                 Only after hki_schedule_mark_final() */
    int peer;               /**< SEND, RECV; else -1 */
    hk_span_t src;          /**< SEND, COPY */
    hk_span_t dst;          /**< RECV, COPY, REDUCE */
    uint32_t operand_first; /**< REDUCE: index into operands */
    uint32_t operand_count; /**< REDUCE */
    /** Steps 0 .. sends_before-1 hold sends whose source this step overwrites: all uncopied SEND
     *  steps with an index below this number must have been read by their receivers first.
     *  0: nothing to wait for. The builder computes it, with aliasing. */
    uint32_t sends_before;
} hki_step_t;

struct hk_schedule {
    hk_schedule_opts_t opts; /**< opts.name is NULL here; see name */
    char name[48];
    uint32_t step_count;
    hki_step_t *steps; /**< owned */
    uint32_t operand_count;
    hk_operand_t *operands; /**< owned */
};

/** True if the two steps must run in program order (rule "Order" of hocket/schedule.h). */
bool hki_step_conflict(const hk_schedule_t *schedule, const hki_step_t *a, const hki_step_t *b);

/** How many sends from step k on, one for each other rank, give the same span to all others: that
 *  many, or 0. */
uint32_t hki_schedule_cast_at(const hk_schedule_t *schedule, uint32_t k);

/** Is every send one of such a row? Also if there is none. */
bool hki_schedule_is_cast(const hk_schedule_t *schedule);

/** Set is_final of all steps. For schedules that are run: it takes time in the square of the
 *  steps. */
void hki_schedule_mark_final(hk_schedule_t *schedule);

/** The span with IN and OUT blocks that share memory named alike. */
hk_span_t hki_span_canonical(const hk_schedule_opts_t *opts, hk_span_t span);

/** True if the two spans share an element, also by alias. */
bool hki_span_overlap(const hk_schedule_opts_t *opts, hk_span_t a, hk_span_t b);

/** The builder's first error so far, or HK_OK. */
hk_status_t hki_builder_status(const hk_builder_t *builder);

/** For algorithms that fail between two steps: the builder's first error, unless it has one. */
void hki_builder_fail(hk_builder_t *builder, hk_status_t status);

/** Length of `span` when its block holds only `block_count` elements: what clipping leaves. */
static inline size_t hki_span_clip(hk_span_t span, size_t block_count)
{
    if (span.offset >= block_count) {
        return 0;
    }
    return span.length < block_count - span.offset ? span.length : block_count - span.offset;
}

/**
 * Length of `span` in a run with `block_count` elements in its block (IN, OUT) or in the blocks of
 * the run (TMP, ACC: algorithms with scratch run with equal blocks only).
 *
 * Scratch is cut into slots of opts.count elements. A span inside one slot is clipped as if the
 * slot were a block; a span of several whole slots is not clipped: the slots' unused ends travel
 * along. The builder refuses all other spans of scratch. Both ends of a message thus agree.
 */
static inline size_t hki_span_length(const hk_schedule_opts_t *opts, hk_span_t span,
                                     size_t block_count)
{
    const bool is_scratch = span.region == HK_REGION_TMP || span.region == HK_REGION_ACC;

    if (is_scratch && span.length > opts->count) {
        return span.length;
    }
    if (is_scratch && opts->count != 0) {
        span.offset %= opts->count;
    }
    return hki_span_clip(span, block_count);
}

#endif /* HKI_SCHED_SCHEDULE_H */
