/**
 * @file checker.c
 * @brief Runs the schedules of all ranks on expressions instead of numbers.
 *
 * Method: sends are paired with receives by counting. Then every rank runs its steps in program
 * order, with one message at most on the way between two ranks, and an uncopied send's overwriter
 * waiting for the reader. Program order contains every order by overlap; so if this one way ends,
 * the relation "must come before" has no circle, and every other allowed order ends too, and
 * computes the same. If only the room for messages holds everybody up, there is given more, and the
 * room needed is reported. A value is an expression (sched/expr.h) and an element number in one
 * 64-bit word, so moving elements is memcpy, and summing a range usually repeats the last sum.
 */
#include "sched/checker.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "sched/expr.h"

typedef uint64_t value_t; /* expression << 32 | element */

enum { COUNT_MAX = 1 << 24, METRICS = 3 };

typedef struct message {
    size_t length;   /* [elements], clipped */
    value_t *values; /* into checker_t.payload */
    uint32_t step;   /* of the sender */
    bool is_partial;
    bool is_token;
    bool is_sent;
    bool is_received;
    double arrival[METRICS];
    uint64_t *heard; /* barrier: what the sender had heard of */
} message_t;

typedef struct stream { /* of one ordered pair */
    uint32_t first;     /* index of its first message */
    uint32_t sends;
    uint32_t receives;
    uint32_t sent; /* so far */
    uint32_t received;
} stream_t;

typedef struct rank_state {
    const hk_schedule_t *schedule;
    uint32_t pc;
    unsigned sent_regions; /* bit r: an uncopied send so far has its source in region r */
    uint32_t read_before;  /* all uncopied sends of steps below have been read */
    value_t *memory[4];    /* by region; into checker_t.memory */
    uint32_t *message_of;  /* by step: the message it sends */
    double now[METRICS];
    double send_port[METRICS];
    double recv_port[METRICS];
    uint64_t *heard;
} rank_state_t;

typedef struct checker {
    const hki_check_t *check;
    size_t count; /* elements of a block in the schedules */
    int capacity;
    bool is_room_short; /* somebody waits only for room */
    rank_state_t *ranks;
    stream_t *streams; /* [from * nranks + to] */
    message_t *messages;
    uint32_t message_count;
    uint32_t *message_ids; /* all of rank_state_t.message_of */
    value_t *memory;
    value_t *payload;
    uint64_t *heard; /* nranks + message_count sets of nranks bits */
    size_t heard_words;
    value_t *operands; /* one element of each operand of a reduce step, and the one before */
    const value_t **sources;
    hki_expr_t *parts; /* operands as partial sums */
    value_t *seen;     /* any order: the expression of each element of IN, once summed */
    hki_exprs_t exprs;
    hki_check_counts_t counts;
} checker_t;

static value_t value_of(hki_expr_t expr, size_t element)
{
    return (value_t)expr << 32 | (value_t)element;
}

static hki_expr_t expr_of(value_t value)
{
    return (hki_expr_t)(value >> 32);
}

static stream_t *stream_of(checker_t *checker, int from, int to)
{
    return &checker->streams[(size_t)from * (size_t)checker->check->nranks + (size_t)to];
}

static bool is_scratch(hk_region_t region)
{
    return region == HK_REGION_TMP || region == HK_REGION_ACC;
}

/** Elements of region[block] in this run. */
static size_t block_count(const checker_t *checker, int rank, hk_region_t region, int block)
{
    const hki_check_t *check = checker->check;

    if (check->block_count != NULL && !is_scratch(region)) {
        return check->block_count(check->cookie, rank, region, block);
    }
    return check->run_count;
}

static size_t length_of(const checker_t *checker, int rank, hk_span_t span)
{
    return hki_span_length(&checker->ranks[rank].schedule->opts, span,
                           block_count(checker, rank, span.region, span.block));
}

static value_t *place_of(const checker_t *checker, int rank, hk_span_t span)
{
    const rank_state_t *state = &checker->ranks[rank];

    span = hki_span_canonical(&state->schedule->opts, span);
    return state->memory[span.region] + (size_t)span.block * checker->count + span.offset;
}

/** The expression that OUT[block] or IN[block] begins with. */
static hki_expr_t first_expr(checker_t *checker, int rank, hk_region_t region, int block)
{
    const hk_schedule_opts_t *opts = &checker->ranks[rank].schedule->opts;
    const hk_span_t span = {region, block, 0, 1};

    if (region == HK_REGION_IN) {
        return hki_expr(&checker->exprs, HKI_EXPR_LEAF, (uint32_t)rank, (uint32_t)block);
    }
    for (int in = 0; in < opts->in_blocks && opts->alias != HK_ALIAS_NONE; in++) {
        if (hki_span_overlap(opts, span, (hk_span_t){HK_REGION_IN, in, 0, 1})) {
            return hki_expr(&checker->exprs, HKI_EXPR_LEAF, (uint32_t)rank, (uint32_t)in);
        }
    }
    return hki_expr(&checker->exprs, HKI_EXPR_BEFORE, (uint32_t)rank, (uint32_t)block);
}

static hk_status_t fail_memory(void)
{
    return HKI_FAIL(HK_ERR_NO_MEMORY, "schedule checker");
}

/* ---- pairing ---- */

/** Call stream by stream for every receive of a step, in order. */
static hk_status_t count_receives(checker_t *checker, int rank, const hki_step_t *step)
{
    const hk_schedule_t *schedule = checker->ranks[rank].schedule;

    if (step->kind == HKI_STEP_RECV) {
        stream_of(checker, step->peer, rank)->receives++;
    }
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const int peer = schedule->operands[step->operand_first + i].peer;

        if (peer >= 0) {
            stream_of(checker, peer, rank)->receives++;
        }
    }
    return HK_OK;
}

static hk_status_t pair_streams(checker_t *checker)
{
    const int nranks = checker->check->nranks;
    uint32_t first = 0;

    for (int rank = 0; rank < nranks; rank++) {
        const hk_schedule_t *schedule = checker->ranks[rank].schedule;

        for (uint32_t i = 0; i < schedule->step_count; i++) {
            const hki_step_t *step = &schedule->steps[i];

            if (step->kind == HKI_STEP_SEND) {
                stream_of(checker, rank, step->peer)->sends++;
            }
            (void)count_receives(checker, rank, step);
        }
    }
    for (int from = 0; from < nranks; from++) {
        for (int to = 0; to < nranks; to++) {
            stream_t *stream = stream_of(checker, from, to);

            if (stream->sends != stream->receives) {
                return HKI_FAIL(HK_ERR_INVALID_ARG,
                                "rank %d sends %u messages to rank %d, which receives %u", from,
                                stream->sends, to, stream->receives);
            }
            stream->first = first;
            first += stream->sends;
        }
    }
    checker->message_count = first;
    return HK_OK;
}

/** Number the messages by stream, and give each its payload. */
static hk_status_t lay_messages(checker_t *checker)
{
    const int nranks = checker->check->nranks;
    size_t elements = 0;

    checker->messages = hki_calloc(checker->message_count, sizeof(*checker->messages));
    if (checker->messages == NULL) {
        return fail_memory();
    }
    for (int rank = 0; rank < nranks; rank++) {
        rank_state_t *state = &checker->ranks[rank];
        size_t rank_messages = 0;
        size_t rank_elements = 0;

        for (uint32_t i = 0; i < state->schedule->step_count; i++) {
            const hki_step_t *step = &state->schedule->steps[i];

            if (step->kind != HKI_STEP_SEND) {
                continue;
            }
            stream_t *stream = stream_of(checker, rank, step->peer);
            const uint32_t id = stream->first + stream->sent++;
            message_t *message = &checker->messages[id];

            message->length = step->is_token ? 0 : length_of(checker, rank, step->src);
            message->step = i;
            message->is_token = step->is_token;
            message->is_partial = !step->is_token && step->src.region == HK_REGION_ACC;
            state->message_of[i] = id;
            rank_messages++;
            rank_elements += message->length;
        }
        checker->counts.messages += rank_messages;
        if (rank_messages > checker->counts.rank_messages_max) {
            checker->counts.rank_messages_max = rank_messages;
        }
        if (rank_elements > checker->counts.rank_elements_max) {
            checker->counts.rank_elements_max = rank_elements;
        }
        elements += rank_elements;
    }
    checker->counts.elements = elements;
    checker->payload = hki_calloc(elements, sizeof(*checker->payload));
    if (checker->payload == NULL) {
        return fail_memory();
    }
    size_t at = 0;
    for (uint32_t i = 0; i < checker->message_count; i++) {
        checker->messages[i].values = checker->payload + at;
        at += checker->messages[i].length;
    }
    for (size_t i = 0; i < (size_t)nranks * (size_t)nranks; i++) {
        checker->streams[i].sent = 0; // counted again as the steps run
    }
    return HK_OK;
}

/* ---- running ---- */

static double later(double a, double b)
{
    return a > b ? a : b;
}

static void time_send(rank_state_t *state, message_t *message)
{
    const double takes[METRICS] = {1, (double)message->length, 0};

    for (int m = 0; m < METRICS; m++) {
        state->send_port[m] = later(state->send_port[m], state->now[m]) + takes[m];
        message->arrival[m] = state->send_port[m];
    }
}

static void time_receive(rank_state_t *state, const message_t *message, int metric)
{
    const double takes[METRICS] = {1, (double)message->length, 0};

    state->recv_port[metric] =
        later(state->recv_port[metric] + takes[metric], message->arrival[metric]);
    state->now[metric] = later(state->now[metric], state->recv_port[metric]);
}

/** Nothing undefined may be read, but for the ends of slots in a run with fewer elements. */
static hk_status_t check_defined(const checker_t *checker, int rank, uint32_t step, hk_span_t span)
{
    const value_t *values = place_of(checker, rank, span);
    const size_t length = length_of(checker, rank, span);

    if (!is_scratch(span.region)) {
        return HK_OK;
    }
    for (size_t i = 0; i < length; i++) {
        if (checker->exprs.nodes[expr_of(values[i])].kind == HKI_EXPR_UNDEFINED &&
            (span.offset + i) % checker->count < checker->check->run_count) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "rank %d step %u: reads scratch element %zu before it is written", rank,
                            step, span.offset + i);
        }
    }
    return HK_OK;
}

/** The builder's fence, found again. */
static hk_status_t check_fence(const checker_t *checker, int rank, uint32_t index)
{
    const hk_schedule_t *schedule = checker->ranks[rank].schedule;
    const hki_step_t *step = &schedule->steps[index];
    const hk_region_t region = hki_span_canonical(&schedule->opts, step->dst).region;

    if (step->dst.length == 0 || (checker->ranks[rank].sent_regions >> region & 1) == 0) {
        return HK_OK;
    }
    for (uint32_t i = index; i > step->sends_before; i--) {
        const hki_step_t *before = &schedule->steps[i - 1];

        if (before->kind == HKI_STEP_SEND && !before->is_copied &&
            hki_span_overlap(&schedule->opts, before->src, step->dst)) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "rank %d step %u: overwrites the source of step %u, and waits only for "
                            "the %u steps before",
                            rank, index, i - 1, step->sends_before);
        }
    }
    return HK_OK;
}

/** Have all uncopied sends of the steps below `limit` been read? */
static bool are_read(checker_t *checker, rank_state_t *state, uint32_t limit)
{
    for (; state->read_before < limit; state->read_before++) {
        const hki_step_t *step = &state->schedule->steps[state->read_before];

        if (step->kind == HKI_STEP_SEND && !step->is_copied &&
            !checker->messages[state->message_of[state->read_before]].is_received) {
            return false;
        }
    }
    return true;
}

/** The next message from `peer`, or NULL if it has not been sent yet. */
static message_t *next_message(checker_t *checker, int peer, int rank)
{
    const stream_t *stream = stream_of(checker, peer, rank);
    message_t *message;

    if (stream->received == stream->sends) {
        return NULL;
    }
    message = &checker->messages[stream->first + stream->received];
    return message->is_sent ? message : NULL;
}

static bool is_ready(checker_t *checker, int rank, const hki_step_t *step)
{
    rank_state_t *state = &checker->ranks[rank];

    if (!are_read(checker, state, step->sends_before)) {
        return false;
    }
    if (step->kind == HKI_STEP_SEND) {
        const stream_t *stream = stream_of(checker, rank, step->peer);
        const bool has_room = stream->sent - stream->received < (uint32_t)checker->capacity;

        checker->is_room_short = checker->is_room_short || !has_room;
        return has_room;
    }
    if (step->kind == HKI_STEP_RECV) {
        return next_message(checker, step->peer, rank) != NULL;
    }
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const int peer = state->schedule->operands[step->operand_first + i].peer;

        if (peer >= 0 && next_message(checker, peer, rank) == NULL) {
            return false;
        }
    }
    return true;
}

static void hear(checker_t *checker, uint64_t *into, const uint64_t *from)
{
    for (size_t w = 0; w < checker->heard_words; w++) {
        into[w] |= from[w];
    }
}

static hk_status_t run_send(checker_t *checker, int rank, uint32_t index)
{
    rank_state_t *state = &checker->ranks[rank];
    const hki_step_t *step = &state->schedule->steps[index];
    message_t *message = &checker->messages[state->message_of[index]];
    hk_status_t status = HK_OK;

    if (!step->is_token) {
        const hk_span_t place = hki_span_canonical(&state->schedule->opts, step->src);

        state->sent_regions |= step->is_copied ? 0 : 1U << place.region;
        status = check_defined(checker, rank, index, step->src);
        memcpy(message->values, place_of(checker, rank, step->src),
               message->length * sizeof(value_t));
    }
    hear(checker, message->heard, state->heard);
    time_send(state, message);
    message->is_sent = true;
    stream_of(checker, rank, step->peer)->sent++;
    return status;
}

/** Take the next message of a peer, which must be of this length and kind. */
static hk_status_t take(checker_t *checker, int rank, int peer, const message_t *wanted)
{
    message_t *message = next_message(checker, peer, rank);

    if (message->length != wanted->length || message->is_partial != wanted->is_partial ||
        message->is_token != wanted->is_token) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "rank %d step %u: expects %zu %s%s from rank %d, whose step %u sends %zu "
                        "%s%s",
                        rank, wanted->step, wanted->length,
                        wanted->is_partial ? "partial sums" : "elements",
                        wanted->is_token ? " (a token)" : "", peer, message->step, message->length,
                        message->is_partial ? "partial sums" : "elements",
                        message->is_token ? " (a token)" : "");
    }
    hear(checker, checker->ranks[rank].heard, message->heard);
    message->is_received = true;
    stream_of(checker, peer, rank)->received++;
    return HK_OK;
}

static hk_status_t run_recv(checker_t *checker, int rank, uint32_t index)
{
    rank_state_t *state = &checker->ranks[rank];
    const hki_step_t *step = &state->schedule->steps[index];
    const message_t *message = next_message(checker, step->peer, rank);
    const message_t wanted = {
        .length = step->is_token ? 0 : length_of(checker, rank, step->dst),
        .step = index,
        .is_partial = !step->is_token && step->dst.region == HK_REGION_ACC,
        .is_token = step->is_token,
    };
    const hk_status_t status = take(checker, rank, step->peer, &wanted);

    if (status != HK_OK) {
        return status;
    }
    if (!step->is_token) {
        memcpy(place_of(checker, rank, step->dst), message->values,
               message->length * sizeof(value_t));
    }
    for (int m = 0; m < METRICS; m++) {
        time_receive(state, message, m);
    }
    return HK_OK;
}

static hk_status_t run_copy(checker_t *checker, int rank, uint32_t index)
{
    const hki_step_t *step = &checker->ranks[rank].schedule->steps[index];
    const size_t length = length_of(checker, rank, step->dst);

    if (length != length_of(checker, rank, step->src)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d step %u: copies %zu elements to %zu", rank,
                        index, length_of(checker, rank, step->src), length);
    }
    const hk_status_t status = check_defined(checker, rank, index, step->src);

    memmove(place_of(checker, rank, step->dst), place_of(checker, rank, step->src),
            length * sizeof(value_t));
    return status;
}

/** Receive the messages of a reduce step in the order they arrive, for one metric. */
static void time_operands(checker_t *checker, int rank, const hki_step_t *step, int metric)
{
    rank_state_t *state = &checker->ranks[rank];
    const hk_operand_t *operands = &state->schedule->operands[step->operand_first];
    double after = -1;

    for (;;) { // all that arrive at the next moment
        double next = -1;

        for (uint32_t i = 0; i < step->operand_count; i++) {
            const message_t *message =
                operands[i].peer < 0 ? NULL : next_message(checker, operands[i].peer, rank);

            if (message != NULL && message->arrival[metric] > after &&
                (next < 0 || message->arrival[metric] < next)) {
                next = message->arrival[metric];
            }
        }
        if (next < 0) {
            return;
        }
        for (uint32_t i = 0; i < step->operand_count; i++) {
            const message_t *message =
                operands[i].peer < 0 ? NULL : next_message(checker, operands[i].peer, rank);

            if (message != NULL && message->arrival[metric] >= next &&
                message->arrival[metric] <= next) {
                time_receive(state, message, metric);
            }
        }
        after = next;
    }
}

/** What one element of an operand is as a partial sum; HKI_EXPR_NONE if it may not be summed. */
static hki_expr_t part_of(checker_t *checker, hki_expr_t expr, bool is_partial)
{
    const hki_expr_kind_t kind = checker->exprs.nodes[expr].kind;

    if (kind == HKI_EXPR_UNDEFINED || (is_partial && kind == HKI_EXPR_PART) ||
        (is_partial && kind == HKI_EXPR_NODE)) {
        return expr;
    }
    if (!is_partial && kind == HKI_EXPR_LEAF) {
        return hki_expr(&checker->exprs, HKI_EXPR_PART, expr, 0);
    }
    return HKI_EXPR_NONE;
}

/** One element of a reduce step. checker->operands holds its operands. */
static hk_status_t reduce_element(checker_t *checker, int rank, uint32_t index, value_t *result)
{
    const hk_schedule_t *schedule = checker->ranks[rank].schedule;
    const hki_step_t *step = &schedule->steps[index];
    const hk_operand_t *operands = &schedule->operands[step->operand_first];
    const uint32_t element = (uint32_t)checker->operands[0];

    for (uint32_t k = 0; k < step->operand_count; k++) {
        const value_t value = checker->operands[k];
        const hki_expr_t part = part_of(checker, expr_of(value), operands[k].is_partial != 0);

        if (part == HKI_EXPR_NONE) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "rank %d step %u: operand %u is no contribution of a rank and no "
                            "partial sum",
                            rank, index, k);
        }
        if (checker->exprs.nodes[part].kind == HKI_EXPR_UNDEFINED) {
            *result = value; // the end of a slot: check_defined() has looked
            return HK_OK;
        }
        if ((uint32_t)value != element) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d step %u: sums elements %u and %u", rank,
                            index, element, (uint32_t)value);
        }
        checker->parts[k] = part;
    }
    hki_expr_t sum = hki_expr_tree(&checker->exprs, checker->parts, (int)step->operand_count);

    if (sum != HKI_EXPR_NONE && step->dst.region != HK_REGION_ACC) {
        sum = hki_expr(&checker->exprs, HKI_EXPR_FINAL, sum, 0);
    }
    *result = value_of(sum, element);
    return sum == HKI_EXPR_NONE ? fail_memory() : HK_OK;
}

/** Set checker->operands to element i. @return true if each is the last one's successor */
static bool next_operands(checker_t *checker, uint32_t n, size_t i)
{
    bool is_successor = i > 0;

    for (uint32_t k = 0; k < n; k++) {
        const value_t value = checker->sources[k][i];

        is_successor = is_successor && value == checker->operands[k] + 1;
        checker->operands[k] = value;
    }
    return is_successor;
}

/** Find the sources of all operands, and take the messages. */
static hk_status_t take_operands(checker_t *checker, int rank, uint32_t index, size_t length)
{
    const hk_schedule_t *schedule = checker->ranks[rank].schedule;
    const hki_step_t *step = &schedule->steps[index];

    for (uint32_t k = 0; k < step->operand_count; k++) {
        const hk_operand_t *operand = &schedule->operands[step->operand_first + k];
        const message_t wanted = {
            .length = length, .step = index, .is_partial = operand->is_partial != 0};
        hk_status_t status;

        if (operand->peer >= 0) {
            checker->sources[k] = next_message(checker, operand->peer, rank)->values;
            status = take(checker, rank, operand->peer, &wanted);
        } else {
            checker->sources[k] = place_of(checker, rank, operand->span);
            status = check_defined(checker, rank, index, operand->span);
            if (status == HK_OK && length_of(checker, rank, operand->span) != length) {
                status = HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d step %u: operand %u is cut shorter",
                                  rank, index, k);
            }
        }
        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

static hk_status_t run_reduce(checker_t *checker, int rank, uint32_t index)
{
    rank_state_t *state = &checker->ranks[rank];
    const hki_step_t *step = &state->schedule->steps[index];
    const size_t length = length_of(checker, rank, step->dst);
    value_t *dst = place_of(checker, rank, step->dst);
    value_t result = 0;

    for (int m = 0; m < METRICS; m++) {
        time_operands(checker, rank, step, m);
    }
    state->now[2] += (double)length * (step->operand_count - 1);

    hk_status_t status = take_operands(checker, rank, index, length);

    for (size_t i = 0; i < length && status == HK_OK; i++) {
        if (next_operands(checker, step->operand_count, i)) {
            result++; // the same expression of the next element
        } else {
            status = reduce_element(checker, rank, index, &result);
        }
        dst[i] = result;
    }
    return status;
}

static hk_status_t run_step(checker_t *checker, int rank, uint32_t index)
{
    const hk_status_t status = check_fence(checker, rank, index);

    if (status != HK_OK) {
        return status;
    }
    switch (checker->ranks[rank].schedule->steps[index].kind) {
    case HKI_STEP_SEND:
        return run_send(checker, rank, index);
    case HKI_STEP_RECV:
        return run_recv(checker, rank, index);
    case HKI_STEP_COPY:
        return run_copy(checker, rank, index);
    case HKI_STEP_REDUCE:
        return run_reduce(checker, rank, index);
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d step %u: unknown kind", rank, index);
}

/** Run one rank as far as it goes. */
static hk_status_t run_rank(checker_t *checker, int rank, bool *moved)
{
    rank_state_t *state = &checker->ranks[rank];
    const hk_schedule_t *schedule = state->schedule;

    while (state->pc < schedule->step_count &&
           is_ready(checker, rank, &schedule->steps[state->pc])) {
        const hk_status_t status = run_step(checker, rank, state->pc);

        if (status != HK_OK) {
            return status;
        }
        state->pc++;
        *moved = true;
    }
    return HK_OK;
}

static hk_status_t run_all(checker_t *checker)
{
    for (;;) {
        bool moved = false;
        int waits = -1;

        checker->is_room_short = false;
        for (int rank = 0; rank < checker->check->nranks; rank++) {
            const hk_status_t status = run_rank(checker, rank, &moved);

            if (status != HK_OK) {
                return status;
            }
            if (checker->ranks[rank].pc < checker->ranks[rank].schedule->step_count) {
                waits = rank;
            }
        }
        if (waits < 0) {
            return HK_OK;
        }
        if (!moved && !checker->is_room_short) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "deadlock: rank %d waits for ever at step %u",
                            waits, checker->ranks[waits].pc);
        }
        checker->capacity += moved ? 0 : 1;
    }
}

/* ---- the result ---- */

static hk_status_t check_element(checker_t *checker, int rank, int block, size_t element,
                                 hki_expr_t wanted)
{
    const hki_expect_t expect = checker->check->expect(checker->check->cookie, rank, block);
    const hk_span_t span = {HK_REGION_OUT, block, element, 1};
    const value_t value = *place_of(checker, rank, span);
    bool is_right = value == value_of(wanted, element);

    if (!is_right && expect.kind == HKI_EXPECT_SUM && checker->check->is_any_order) {
        value_t *seen = &checker->seen[(size_t)expect.block * checker->count + element];

        is_right = (uint32_t)value == element && (*seen == 0 || *seen == value) &&
                   hki_expr_has_all(&checker->exprs, expr_of(value), checker->check->nranks,
                                    expect.block, (unsigned char *)checker->parts);
        *seen = value;
    }
    if (!is_right) {
        const hki_expr_node_t *node = &checker->exprs.nodes[expr_of(value)];

        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "rank %d: OUT[%d] element %zu ends wrong: kind %d (%u, %u) of element %u",
                        rank, block, element, (int)node->kind, node->left, node->right,
                        (uint32_t)value);
    }
    return HK_OK;
}

static hk_status_t check_block(checker_t *checker, int rank, int block)
{
    const hki_expect_t expect = checker->check->expect(checker->check->cookie, rank, block);
    const size_t defined = block_count(checker, rank, HK_REGION_OUT, block);
    const hki_expr_t before = first_expr(checker, rank, HK_REGION_OUT, block);
    hki_expr_t wanted = before;

    if (expect.kind == HKI_EXPECT_COPY) {
        wanted =
            hki_expr(&checker->exprs, HKI_EXPR_LEAF, (uint32_t)expect.rank, (uint32_t)expect.block);
    } else if (expect.kind == HKI_EXPECT_SUM) {
        wanted =
            hki_expr_sum(&checker->exprs, checker->check->nranks, expect.block, checker->parts);
    }
    if (wanted == HKI_EXPR_NONE || before == HKI_EXPR_NONE) {
        return fail_memory();
    }
    for (size_t i = 0; i < checker->count; i++) {
        const hk_span_t span = {HK_REGION_OUT, block, i, 1};
        hk_status_t status = HK_OK;

        if (i < defined) {
            status = check_element(checker, rank, block, i, wanted);
        } else if (*place_of(checker, rank, span) != value_of(before, i)) {
            status = HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d: OUT[%d] is written behind its end",
                              rank, block);
        }
        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

static hk_status_t check_heard(const checker_t *checker, int rank)
{
    for (int other = 0; other < checker->check->nranks; other++) {
        if ((checker->ranks[rank].heard[other / 64] >> (other % 64) & 1) == 0) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "barrier: rank %d ends without word from rank %d",
                            rank, other);
        }
    }
    return HK_OK;
}

static hk_status_t check_results(checker_t *checker)
{
    for (int rank = 0; rank < checker->check->nranks; rank++) {
        const int blocks = checker->ranks[rank].schedule->opts.out_blocks;
        hk_status_t status = HK_OK;

        if (checker->check->is_barrier) {
            status = check_heard(checker, rank);
        }
        for (int b = 0; b < blocks && status == HK_OK && !checker->check->is_barrier; b++) {
            status = check_block(checker, rank, b);
        }
        if (status != HK_OK) {
            return status;
        }
        checker->counts.chain_messages =
            later(checker->counts.chain_messages, checker->ranks[rank].now[0]);
        checker->counts.chain_elements =
            later(checker->counts.chain_elements, checker->ranks[rank].now[1]);
        checker->counts.chain_reduced =
            later(checker->counts.chain_reduced, checker->ranks[rank].now[2]);
    }
    checker->counts.capacity = checker->capacity;
    return HK_OK;
}

/* ---- set-up ---- */

static size_t region_elements(const hk_schedule_opts_t *opts, hk_region_t region)
{
    switch (region) {
    case HK_REGION_IN:
        return (size_t)opts->in_blocks * opts->count;
    case HK_REGION_OUT:
        return (size_t)opts->out_blocks * opts->count;
    case HK_REGION_TMP:
        return opts->tmp_count;
    case HK_REGION_ACC:
        return opts->acc_count;
    }
    return 0;
}

/** Fill the memory of a rank with what it begins with. */
static hk_status_t fill_memory(checker_t *checker, int rank)
{
    const rank_state_t *state = &checker->ranks[rank];
    const hk_schedule_opts_t *opts = &state->schedule->opts;
    const hki_expr_t undefined = hki_expr(&checker->exprs, HKI_EXPR_UNDEFINED, 0, 0);

    for (int region = HK_REGION_IN; region <= HK_REGION_OUT; region++) {
        const int blocks = region == HK_REGION_IN ? opts->in_blocks : opts->out_blocks;

        for (int block = 0; block < blocks; block++) {
            const hki_expr_t expr = first_expr(checker, rank, (hk_region_t)region, block);
            value_t *values =
                place_of(checker, rank, (hk_span_t){(hk_region_t)region, block, 0, opts->count});

            if (expr == HKI_EXPR_NONE || undefined == HKI_EXPR_NONE) {
                return fail_memory();
            }
            for (size_t i = 0; i < opts->count; i++) {
                values[i] = value_of(expr, i);
            }
        }
    }
    for (size_t i = 0; i < opts->tmp_count; i++) {
        state->memory[HK_REGION_TMP][i] = value_of(undefined, i);
    }
    for (size_t i = 0; i < opts->acc_count; i++) {
        state->memory[HK_REGION_ACC][i] = value_of(undefined, i);
    }
    return HK_OK;
}

static hk_status_t lay_memory(checker_t *checker)
{
    size_t total = 0;

    for (int pass = 0; pass < 2; pass++) { // measure, then hand out
        size_t at = 0;

        for (int rank = 0; rank < checker->check->nranks; rank++) {
            rank_state_t *state = &checker->ranks[rank];

            for (int region = 0; region < 4; region++) {
                state->memory[region] = pass == 0 ? NULL : checker->memory + at;
                at += region_elements(&state->schedule->opts, (hk_region_t)region);
            }
        }
        total = at;
        if (pass == 0) {
            checker->memory = hki_calloc(total, sizeof(*checker->memory));
            if (checker->memory == NULL) {
                return fail_memory();
            }
        }
    }
    for (int rank = 0; rank < checker->check->nranks; rank++) {
        const hk_status_t status = fill_memory(checker, rank);

        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

/** The schedules must be of one collective call: ranks in order, equal counts. */
static hk_status_t check_opts(const hki_check_t *check)
{
    for (int rank = 0; rank < check->nranks; rank++) {
        const hk_schedule_opts_t *opts = &check->schedules[rank]->opts;
        const hk_schedule_opts_t *first = &check->schedules[0]->opts;

        if (opts->rank != rank || opts->nranks != check->nranks || opts->count != first->count ||
            opts->root != first->root) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "schedule %d is of rank %d of %d, root %d, count %zu; the first of "
                            "rank %d of %d, root %d, count %zu",
                            rank, opts->rank, opts->nranks, opts->root, opts->count, first->rank,
                            first->nranks, first->root, first->count);
        }
        if (opts->count > COUNT_MAX || opts->tmp_count > COUNT_MAX || opts->acc_count > COUNT_MAX) {
            return HKI_FAIL(HK_ERR_LIMIT, "schedules of %zu elements; at most %d can be checked",
                            opts->count, (int)COUNT_MAX);
        }
        if (check->block_count != NULL && (opts->tmp_count != 0 || opts->acc_count != 0)) {
            return HKI_FAIL(HK_ERR_UNSUPPORTED, "scratch with blocks of unequal lengths");
        }
    }
    return HK_OK;
}

/** What depends on the number of ranks and operands only. */
static hk_status_t lay_ranks(checker_t *checker)
{
    const size_t nranks = (size_t)checker->check->nranks;
    size_t steps = 0;
    size_t operands = nranks;

    checker->ranks = hki_calloc(nranks, sizeof(*checker->ranks));
    checker->streams = hki_calloc(nranks * nranks, sizeof(*checker->streams));
    if (checker->ranks == NULL || checker->streams == NULL) {
        return fail_memory();
    }
    for (size_t rank = 0; rank < nranks; rank++) {
        const hk_schedule_t *schedule = checker->check->schedules[rank];

        checker->ranks[rank].schedule = schedule;
        steps += schedule->step_count;
        operands = operands > schedule->operand_count ? operands : schedule->operand_count;
    }
    const size_t in_blocks = (size_t)checker->check->schedules[0]->opts.in_blocks;

    checker->message_ids = hki_calloc(steps, sizeof(*checker->message_ids));
    checker->operands = hki_calloc(operands, sizeof(*checker->operands));
    checker->sources = hki_calloc(operands, sizeof(*checker->sources));
    checker->parts = hki_calloc(operands, sizeof(*checker->parts));
    checker->seen = hki_calloc(in_blocks * checker->count, sizeof(*checker->seen));
    if (checker->message_ids == NULL || checker->operands == NULL || checker->sources == NULL ||
        checker->parts == NULL || checker->seen == NULL) {
        return fail_memory();
    }
    steps = 0;
    for (size_t rank = 0; rank < nranks; rank++) {
        checker->ranks[rank].message_of = checker->message_ids + steps;
        steps += checker->ranks[rank].schedule->step_count;
    }
    return HK_OK;
}

static hk_status_t lay_heard(checker_t *checker)
{
    const size_t nranks = (size_t)checker->check->nranks;

    checker->heard_words = checker->check->is_barrier ? (nranks + 63) / 64 : 0;
    checker->heard = hki_calloc((nranks + checker->message_count) * checker->heard_words,
                                sizeof(*checker->heard));
    if (checker->heard == NULL) {
        return fail_memory();
    }
    for (size_t rank = 0; rank < nranks; rank++) {
        checker->ranks[rank].heard = checker->heard + rank * checker->heard_words;
        if (checker->check->is_barrier) {
            checker->ranks[rank].heard[rank / 64] |= UINT64_C(1) << (rank % 64);
        }
    }
    for (uint32_t i = 0; i < checker->message_count; i++) {
        checker->messages[i].heard = checker->heard + (nranks + i) * checker->heard_words;
    }
    return HK_OK;
}

static void fini(checker_t *checker)
{
    hki_free(checker->ranks);
    hki_free(checker->streams);
    hki_free(checker->messages);
    hki_free(checker->message_ids);
    hki_free(checker->memory);
    hki_free(checker->payload);
    hki_free(checker->heard);
    hki_free(checker->operands);
    hki_free(checker->sources);
    hki_free(checker->parts);
    hki_free(checker->seen);
    hki_exprs_fini(&checker->exprs);
}

hk_status_t hki_schedules_check(const hki_check_t *check, hki_check_counts_t *counts_out)
{
    checker_t checker = {.check = check, .count = check->schedules[0]->opts.count, .capacity = 1};
    hk_status_t status;

    HKI_TRY(status = check_opts(check), out);
    HKI_TRY(status = lay_ranks(&checker), out);
    HKI_TRY(status = pair_streams(&checker), out);
    HKI_TRY(status = lay_messages(&checker), out);
    HKI_TRY(status = lay_memory(&checker), out);
    HKI_TRY(status = lay_heard(&checker), out);
    HKI_TRY(status = run_all(&checker), out);
    HKI_TRY(status = check_results(&checker), out);
    if (counts_out != NULL) {
        *counts_out = checker.counts;
    }
out:
    fini(&checker);
    return status;
}
