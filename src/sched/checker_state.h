/**
 * @file checker_state.h
 * @brief What the parts of the checker share: checker.c sets up and judges, checker_run.c runs.
 */
#ifndef HKI_SCHED_CHECKER_STATE_H
#define HKI_SCHED_CHECKER_STATE_H

#include "base/error.h"
#include "sched/checker.h"
#include "sched/expr.h"

typedef uint64_t hki_value_t; /* expression << 32 | element */

enum { HKI_CHECK_COUNT_MAX = 1 << 24, HKI_CHECK_METRICS = 3 };

typedef struct hki_checked_message {
    size_t length;       /* [elements], clipped */
    hki_value_t *values; /* into hki_checker_t.payload */
    uint32_t step;       /* of the sender */
    bool is_partial;
    bool is_token;
    bool is_sent;
    bool is_received;
    double arrival[HKI_CHECK_METRICS];
    uint64_t *heard; /* barrier: what the sender had heard of */
} hki_checked_message_t;

typedef struct hki_checked_stream { /* of one ordered pair */
    uint32_t first;                 /* index of its first message */
    uint32_t sends;
    uint32_t receives;
    uint32_t sent; /* so far */
    uint32_t received;
} hki_checked_stream_t;

typedef struct hki_checked_rank {
    const hk_schedule_t *schedule;
    uint32_t pc;
    unsigned sent_regions;  /* bit r: an uncopied send so far has its source in region r */
    uint32_t read_before;   /* all uncopied sends of steps below have been read */
    hki_value_t *memory[4]; /* by region; into hki_checker_t.memory */
    uint32_t *message_of;   /* by step: the message it sends */
    double now[HKI_CHECK_METRICS];
    double send_port[HKI_CHECK_METRICS];
    double recv_port[HKI_CHECK_METRICS];
    uint64_t *heard;
} hki_checked_rank_t;

typedef struct hki_checker {
    const hki_check_t *check;
    size_t count; /* elements of a block in the schedules */
    int capacity;
    bool is_timed;      /* the busiest chain is wanted */
    bool is_room_short; /* somebody waits only for room */
    hki_checked_rank_t *ranks;
    hki_checked_stream_t *streams; /* [from * nranks + to] */
    hki_checked_message_t *messages;
    uint32_t message_count;
    uint32_t *message_ids; /* all of hki_checked_rank_t.message_of */
    hki_value_t *memory;
    hki_value_t *payload;
    uint64_t *heard; /* nranks + message_count sets of nranks bits */
    size_t heard_words;
    hki_value_t *operands; /* one element of each operand of a reduce step, and the one before */
    const hki_value_t **sources;
    hki_expr_t *parts; /* operands as partial sums */
    hki_value_t *seen; /* any order: the expression of each element of IN, once summed */
    hki_exprs_t exprs;
    hki_check_counts_t counts;
} hki_checker_t;

static inline hki_value_t hki_value_of(hki_expr_t expr, size_t element)
{
    return (hki_value_t)expr << 32 | (hki_value_t)element;
}

static inline hki_expr_t hki_value_expr(hki_value_t value)
{
    return (hki_expr_t)(value >> 32);
}

static inline hki_checked_stream_t *hki_checker_stream(hki_checker_t *checker, int from, int to)
{
    return &checker->streams[(size_t)from * (size_t)checker->check->nranks + (size_t)to];
}

static inline bool hki_checker_is_scratch(hk_region_t region)
{
    return region == HK_REGION_TMP || region == HK_REGION_ACC;
}

/** Elements of region[block] in this run. */
static inline size_t hki_checker_count(const hki_checker_t *checker, int rank, hk_region_t region,
                                       int block)
{
    const hki_check_t *check = checker->check;

    if (check->block_count != NULL && !hki_checker_is_scratch(region)) {
        return check->block_count(check->cookie, rank, region, block);
    }
    return check->run_count;
}

static inline size_t hki_checker_length(const hki_checker_t *checker, int rank, hk_span_t span)
{
    return hki_span_length(&checker->ranks[rank].schedule->opts, span,
                           hki_checker_count(checker, rank, span.region, span.block));
}

static inline hki_value_t *hki_checker_place(const hki_checker_t *checker, int rank, hk_span_t span)
{
    const hki_checked_rank_t *state = &checker->ranks[rank];

    span = hki_span_canonical(&state->schedule->opts, span);
    return state->memory[span.region] + (size_t)span.block * checker->count + span.offset;
}

static inline hk_status_t hki_checker_fail_memory(void)
{
    return HKI_FAIL(HK_ERR_NO_MEMORY, "schedule checker");
}

/** The later of two times. */
static inline double hki_later(double a, double b)
{
    return a > b ? a : b;
}

/** Run all ranks to the end. @return HK_OK, or what is wrong and where */
hk_status_t hki_checker_run(hki_checker_t *checker);

#endif /* HKI_SCHED_CHECKER_STATE_H */
