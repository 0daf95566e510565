/**
 * @file checker_run.c
 * @brief Runs the schedules of all ranks on expressions, one message at most on the way between
 * two.
 *
 * Method: see checker.c. Ranks take turns, each as far as it goes; every step is checked as it
 * runs.
 */
#include "sched/checker_state.h"

#include <string.h>

static void time_send(hki_checked_rank_t *state, hki_checked_message_t *message)
{
    const double takes[HKI_CHECK_METRICS] = {1, (double)message->length, 0};

    for (int m = 0; m < HKI_CHECK_METRICS; m++) {
        state->send_port[m] = hki_later(state->send_port[m], state->now[m]) + takes[m];
        message->arrival[m] = state->send_port[m];
    }
}

static void time_receive(hki_checked_rank_t *state, const hki_checked_message_t *message,
                         int metric)
{
    const double takes[HKI_CHECK_METRICS] = {1, (double)message->length, 0};

    state->recv_port[metric] =
        hki_later(state->recv_port[metric] + takes[metric], message->arrival[metric]);
    state->now[metric] = hki_later(state->now[metric], state->recv_port[metric]);
}

/** Nothing undefined may be read, but for the ends of slots in a run with fewer elements. */
static hk_status_t check_defined(const hki_checker_t *checker, int rank, uint32_t step,
                                 hk_span_t span)
{
    const hki_value_t *values = hki_checker_place(checker, rank, span);
    const size_t length = hki_checker_length(checker, rank, span);

    if (!hki_checker_is_scratch(span.region)) {
        return HK_OK;
    }
    for (size_t i = 0; i < length; i++) {
        if (checker->exprs.nodes[hki_value_expr(values[i])].kind == HKI_EXPR_UNDEFINED &&
            (span.offset + i) % checker->count < checker->check->run_count) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "rank %d step %u: reads scratch element %zu before it is written", rank,
                            step, span.offset + i);
        }
    }
    return HK_OK;
}

/** The builder's fence, found again. */
static hk_status_t check_fence(const hki_checker_t *checker, int rank, uint32_t index)
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
static bool are_read(hki_checker_t *checker, hki_checked_rank_t *state, uint32_t limit)
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
static hki_checked_message_t *next_message(hki_checker_t *checker, int peer, int rank)
{
    const hki_checked_stream_t *stream = hki_checker_stream(checker, peer, rank);
    hki_checked_message_t *message;

    if (stream->received == stream->sends) {
        return NULL;
    }
    message = &checker->messages[stream->first + stream->received];
    return message->is_sent ? message : NULL;
}

static bool is_ready(hki_checker_t *checker, int rank, const hki_step_t *step)
{
    hki_checked_rank_t *state = &checker->ranks[rank];

    if (!are_read(checker, state, step->sends_before)) {
        return false;
    }
    if (step->kind == HKI_STEP_SEND) {
        const hki_checked_stream_t *stream = hki_checker_stream(checker, rank, step->peer);
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

static void hear(hki_checker_t *checker, uint64_t *into, const uint64_t *from)
{
    for (size_t w = 0; w < checker->heard_words; w++) {
        into[w] |= from[w];
    }
}

static hk_status_t run_send(hki_checker_t *checker, int rank, uint32_t index)
{
    hki_checked_rank_t *state = &checker->ranks[rank];
    const hki_step_t *step = &state->schedule->steps[index];
    hki_checked_message_t *message = &checker->messages[state->message_of[index]];
    hk_status_t status = HK_OK;

    if (!step->is_token) {
        const hk_span_t place = hki_span_canonical(&state->schedule->opts, step->src);

        state->sent_regions |= step->is_copied ? 0 : 1U << place.region;
        status = check_defined(checker, rank, index, step->src);
        memcpy(message->values, hki_checker_place(checker, rank, step->src),
               message->length * sizeof(hki_value_t));
    }
    hear(checker, message->heard, state->heard);
    time_send(state, message);
    message->is_sent = true;
    hki_checker_stream(checker, rank, step->peer)->sent++;
    return status;
}

/** Take the next message of a peer, which must be of this length and kind. */
static hk_status_t take(hki_checker_t *checker, int rank, int peer,
                        const hki_checked_message_t *wanted)
{
    hki_checked_message_t *message = next_message(checker, peer, rank);

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
    hki_checker_stream(checker, peer, rank)->received++;
    return HK_OK;
}

static hk_status_t run_recv(hki_checker_t *checker, int rank, uint32_t index)
{
    hki_checked_rank_t *state = &checker->ranks[rank];
    const hki_step_t *step = &state->schedule->steps[index];
    const hki_checked_message_t *message = next_message(checker, step->peer, rank);
    const hki_checked_message_t wanted = {
        .length = step->is_token ? 0 : hki_checker_length(checker, rank, step->dst),
        .step = index,
        .is_partial = !step->is_token && step->dst.region == HK_REGION_ACC,
        .is_token = step->is_token,
    };
    const hk_status_t status = take(checker, rank, step->peer, &wanted);

    if (status != HK_OK) {
        return status;
    }
    if (!step->is_token) {
        memcpy(hki_checker_place(checker, rank, step->dst), message->values,
               message->length * sizeof(hki_value_t));
    }
    for (int m = 0; m < HKI_CHECK_METRICS; m++) {
        time_receive(state, message, m);
    }
    return HK_OK;
}

static hk_status_t run_copy(hki_checker_t *checker, int rank, uint32_t index)
{
    const hki_step_t *step = &checker->ranks[rank].schedule->steps[index];
    const size_t length = hki_checker_length(checker, rank, step->dst);

    if (length != hki_checker_length(checker, rank, step->src)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d step %u: copies %zu elements to %zu", rank,
                        index, hki_checker_length(checker, rank, step->src), length);
    }
    const hk_status_t status = check_defined(checker, rank, index, step->src);

    memmove(hki_checker_place(checker, rank, step->dst),
            hki_checker_place(checker, rank, step->src), length * sizeof(hki_value_t));
    return status;
}

/** Receive the messages of a reduce step in the order they arrive, for one metric. */
static void time_operands(hki_checker_t *checker, int rank, const hki_step_t *step, int metric)
{
    hki_checked_rank_t *state = &checker->ranks[rank];
    const hk_operand_t *operands = &state->schedule->operands[step->operand_first];
    double after = -1;

    for (;;) { // all that arrive at the next moment
        double next = -1;

        for (uint32_t i = 0; i < step->operand_count; i++) {
            const hki_checked_message_t *message =
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
            const hki_checked_message_t *message =
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
static hki_expr_t part_of(hki_checker_t *checker, hki_expr_t expr, bool is_partial)
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
static hk_status_t reduce_element(hki_checker_t *checker, int rank, uint32_t index,
                                  hki_value_t *result)
{
    const hk_schedule_t *schedule = checker->ranks[rank].schedule;
    const hki_step_t *step = &schedule->steps[index];
    const hk_operand_t *operands = &schedule->operands[step->operand_first];
    const uint32_t element = (uint32_t)checker->operands[0];

    for (uint32_t k = 0; k < step->operand_count; k++) {
        const hki_value_t value = checker->operands[k];
        const hki_expr_t part =
            part_of(checker, hki_value_expr(value), operands[k].is_partial != 0);

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
    *result = hki_value_of(sum, element);
    return sum == HKI_EXPR_NONE ? hki_checker_fail_memory() : HK_OK;
}

/** Set checker->operands to element i. @return true if each is the last one's successor */
static bool next_operands(hki_checker_t *checker, uint32_t n, size_t i)
{
    bool is_successor = i > 0;

    for (uint32_t k = 0; k < n; k++) {
        const hki_value_t value = checker->sources[k][i];

        is_successor = is_successor && value == checker->operands[k] + 1;
        checker->operands[k] = value;
    }
    return is_successor;
}

/** Find the sources of all operands, and take the messages. */
static hk_status_t take_operands(hki_checker_t *checker, int rank, uint32_t index, size_t length)
{
    const hk_schedule_t *schedule = checker->ranks[rank].schedule;
    const hki_step_t *step = &schedule->steps[index];

    for (uint32_t k = 0; k < step->operand_count; k++) {
        const hk_operand_t *operand = &schedule->operands[step->operand_first + k];
        const hki_checked_message_t wanted = {
            .length = length, .step = index, .is_partial = operand->is_partial != 0};
        hk_status_t status;

        if (operand->peer >= 0) {
            checker->sources[k] = next_message(checker, operand->peer, rank)->values;
            status = take(checker, rank, operand->peer, &wanted);
        } else {
            checker->sources[k] = hki_checker_place(checker, rank, operand->span);
            status = check_defined(checker, rank, index, operand->span);
            if (status == HK_OK && hki_checker_length(checker, rank, operand->span) != length) {
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

static hk_status_t run_reduce(hki_checker_t *checker, int rank, uint32_t index)
{
    hki_checked_rank_t *state = &checker->ranks[rank];
    const hki_step_t *step = &state->schedule->steps[index];
    const size_t length = hki_checker_length(checker, rank, step->dst);
    hki_value_t *dst = hki_checker_place(checker, rank, step->dst);
    hki_value_t result = 0;

    for (int m = 0; m < HKI_CHECK_METRICS && checker->is_timed; m++) {
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

static hk_status_t run_step(hki_checker_t *checker, int rank, uint32_t index)
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
static hk_status_t run_rank(hki_checker_t *checker, int rank, bool *moved)
{
    hki_checked_rank_t *state = &checker->ranks[rank];
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

hk_status_t hki_checker_run(hki_checker_t *checker)
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
