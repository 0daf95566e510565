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
#include "sched/checker_state.h"

#include "base/alloc.h"

/** The expression that OUT[block] or IN[block] begins with. */
static hki_expr_t first_expr(hki_checker_t *checker, int rank, hk_region_t region, int block)
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

/* ---- pairing ---- */

/** Call stream by stream for every receive of a step, in order. */
static hk_status_t count_receives(hki_checker_t *checker, int rank, const hki_step_t *step)
{
    const hk_schedule_t *schedule = checker->ranks[rank].schedule;

    if (step->kind == HKI_STEP_RECV) {
        hki_checker_stream(checker, step->peer, rank)->receives++;
    }
    for (uint32_t i = 0; i < step->operand_count; i++) {
        const int peer = schedule->operands[step->operand_first + i].peer;

        if (peer >= 0) {
            hki_checker_stream(checker, peer, rank)->receives++;
        }
    }
    return HK_OK;
}

static hk_status_t pair_streams(hki_checker_t *checker)
{
    const int nranks = checker->check->nranks;
    uint32_t first = 0;

    for (int rank = 0; rank < nranks; rank++) {
        const hk_schedule_t *schedule = checker->ranks[rank].schedule;

        for (uint32_t i = 0; i < schedule->step_count; i++) {
            const hki_step_t *step = &schedule->steps[i];

            if (step->kind == HKI_STEP_SEND) {
                hki_checker_stream(checker, rank, step->peer)->sends++;
            }
            (void)count_receives(checker, rank, step);
        }
    }
    for (int from = 0; from < nranks; from++) {
        for (int to = 0; to < nranks; to++) {
            hki_checked_stream_t *stream = hki_checker_stream(checker, from, to);

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
static hk_status_t lay_messages(hki_checker_t *checker)
{
    const int nranks = checker->check->nranks;
    size_t elements = 0;

    checker->messages = hki_calloc(checker->message_count, sizeof(*checker->messages));
    if (checker->messages == NULL) {
        return hki_checker_fail_memory();
    }
    for (int rank = 0; rank < nranks; rank++) {
        hki_checked_rank_t *state = &checker->ranks[rank];
        size_t rank_messages = 0;
        size_t rank_elements = 0;

        for (uint32_t i = 0; i < state->schedule->step_count; i++) {
            const hki_step_t *step = &state->schedule->steps[i];

            if (step->kind != HKI_STEP_SEND) {
                continue;
            }
            hki_checked_stream_t *stream = hki_checker_stream(checker, rank, step->peer);
            const uint32_t id = stream->first + stream->sent++;
            hki_checked_message_t *message = &checker->messages[id];

            message->length = step->is_token ? 0 : hki_checker_length(checker, rank, step->src);
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
        return hki_checker_fail_memory();
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

/* ---- the result ---- */

static hk_status_t check_element(hki_checker_t *checker, int rank, int block, size_t element,
                                 hki_expr_t wanted)
{
    const hki_expect_t expect = checker->check->expect(checker->check->cookie, rank, block);
    const hk_span_t span = {HK_REGION_OUT, block, element, 1};
    const hki_value_t value = *hki_checker_place(checker, rank, span);
    bool is_right = value == hki_value_of(wanted, element);

    if (!is_right && expect.kind == HKI_EXPECT_SUM && checker->check->is_any_order) {
        hki_value_t *seen = &checker->seen[(size_t)expect.block * checker->count + element];

        is_right = (uint32_t)value == element && (*seen == 0 || *seen == value) &&
                   hki_expr_has_all(&checker->exprs, hki_value_expr(value), checker->check->nranks,
                                    expect.block, (unsigned char *)checker->parts);
        *seen = value;
    }
    if (!is_right) {
        const hki_expr_node_t *node = &checker->exprs.nodes[hki_value_expr(value)];

        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "rank %d: OUT[%d] element %zu ends wrong: kind %d (%u, %u) of element %u",
                        rank, block, element, (int)node->kind, node->left, node->right,
                        (uint32_t)value);
    }
    return HK_OK;
}

static hk_status_t check_block(hki_checker_t *checker, int rank, int block)
{
    const hki_expect_t expect = checker->check->expect(checker->check->cookie, rank, block);
    const size_t defined = hki_checker_count(checker, rank, HK_REGION_OUT, block);
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
        return hki_checker_fail_memory();
    }
    const hki_value_t *values =
        hki_checker_place(checker, rank, (hk_span_t){HK_REGION_OUT, block, 0, 0});

    for (size_t i = 0; i < checker->count; i++) {
        hk_status_t status = HK_OK;

        if (values[i] == hki_value_of(i < defined ? wanted : before, i)) {
            continue;
        }
        if (i < defined) {
            status = check_element(checker, rank, block, i, wanted);
        } else {
            status = HKI_FAIL(HK_ERR_INVALID_ARG, "rank %d: OUT[%d] is written behind its end",
                              rank, block);
        }
        if (status != HK_OK) {
            return status;
        }
    }
    return HK_OK;
}

static hk_status_t check_heard(const hki_checker_t *checker, int rank)
{
    for (int other = 0; other < checker->check->nranks; other++) {
        if ((checker->ranks[rank].heard[other / 64] >> (other % 64) & 1) == 0) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "barrier: rank %d ends without word from rank %d",
                            rank, other);
        }
    }
    return HK_OK;
}

static hk_status_t check_results(hki_checker_t *checker)
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
            hki_later(checker->counts.chain_messages, checker->ranks[rank].now[0]);
        checker->counts.chain_elements =
            hki_later(checker->counts.chain_elements, checker->ranks[rank].now[1]);
        checker->counts.chain_reduced =
            hki_later(checker->counts.chain_reduced, checker->ranks[rank].now[2]);
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
static hk_status_t fill_memory(hki_checker_t *checker, int rank)
{
    const hki_checked_rank_t *state = &checker->ranks[rank];
    const hk_schedule_opts_t *opts = &state->schedule->opts;
    const hki_expr_t undefined = hki_expr(&checker->exprs, HKI_EXPR_UNDEFINED, 0, 0);

    for (int region = HK_REGION_IN; region <= HK_REGION_OUT; region++) {
        const int blocks = region == HK_REGION_IN ? opts->in_blocks : opts->out_blocks;

        for (int block = 0; block < blocks; block++) {
            const hki_expr_t expr = first_expr(checker, rank, (hk_region_t)region, block);
            hki_value_t *values = hki_checker_place(
                checker, rank, (hk_span_t){(hk_region_t)region, block, 0, opts->count});

            if (expr == HKI_EXPR_NONE || undefined == HKI_EXPR_NONE) {
                return hki_checker_fail_memory();
            }
            for (size_t i = 0; i < opts->count; i++) {
                values[i] = hki_value_of(expr, i);
            }
        }
    }
    for (size_t i = 0; i < opts->tmp_count; i++) {
        state->memory[HK_REGION_TMP][i] = hki_value_of(undefined, i);
    }
    for (size_t i = 0; i < opts->acc_count; i++) {
        state->memory[HK_REGION_ACC][i] = hki_value_of(undefined, i);
    }
    return HK_OK;
}

static hk_status_t lay_memory(hki_checker_t *checker)
{
    size_t total = 0;

    for (int pass = 0; pass < 2; pass++) { // measure, then hand out
        size_t at = 0;

        for (int rank = 0; rank < checker->check->nranks; rank++) {
            hki_checked_rank_t *state = &checker->ranks[rank];

            for (int region = 0; region < 4; region++) {
                state->memory[region] = pass == 0 ? NULL : checker->memory + at;
                at += region_elements(&state->schedule->opts, (hk_region_t)region);
            }
        }
        total = at;
        if (pass == 0) {
            checker->memory = hki_calloc(total, sizeof(*checker->memory));
            if (checker->memory == NULL) {
                return hki_checker_fail_memory();
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
        if (opts->count > HKI_CHECK_COUNT_MAX || opts->tmp_count > HKI_CHECK_COUNT_MAX ||
            opts->acc_count > HKI_CHECK_COUNT_MAX) {
            return HKI_FAIL(HK_ERR_LIMIT, "schedules of %zu elements; at most %d can be checked",
                            opts->count, (int)HKI_CHECK_COUNT_MAX);
        }
        if (check->block_count != NULL && (opts->tmp_count != 0 || opts->acc_count != 0)) {
            return HKI_FAIL(HK_ERR_UNSUPPORTED, "scratch with blocks of unequal lengths");
        }
    }
    return HK_OK;
}

/** What depends on the number of ranks and operands only. */
static hk_status_t lay_ranks(hki_checker_t *checker)
{
    const size_t nranks = (size_t)checker->check->nranks;
    size_t steps = 0;
    size_t operands = nranks;

    checker->ranks = hki_calloc(nranks, sizeof(*checker->ranks));
    checker->streams = hki_calloc(nranks * nranks, sizeof(*checker->streams));
    if (checker->ranks == NULL || checker->streams == NULL) {
        return hki_checker_fail_memory();
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
        return hki_checker_fail_memory();
    }
    steps = 0;
    for (size_t rank = 0; rank < nranks; rank++) {
        checker->ranks[rank].message_of = checker->message_ids + steps;
        steps += checker->ranks[rank].schedule->step_count;
    }
    return HK_OK;
}

static hk_status_t lay_heard(hki_checker_t *checker)
{
    const size_t nranks = (size_t)checker->check->nranks;

    checker->heard_words = checker->check->is_barrier ? (nranks + 63) / 64 : 0;
    checker->heard = hki_calloc((nranks + checker->message_count) * checker->heard_words,
                                sizeof(*checker->heard));
    if (checker->heard == NULL) {
        return hki_checker_fail_memory();
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

static void fini(hki_checker_t *checker)
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
    hki_checker_t checker = {.check = check,
                             .count = check->schedules[0]->opts.count,
                             .capacity = 1,
                             .is_timed = counts_out != NULL};
    hk_status_t status;

    HKI_TRY(status = check_opts(check), out);
    HKI_TRY(status = lay_ranks(&checker), out);
    HKI_TRY(status = pair_streams(&checker), out);
    HKI_TRY(status = lay_messages(&checker), out);
    HKI_TRY(status = lay_memory(&checker), out);
    HKI_TRY(status = lay_heard(&checker), out);
    HKI_TRY(status = hki_checker_run(&checker), out);
    HKI_TRY(status = check_results(&checker), out);
    if (counts_out != NULL) {
        *counts_out = checker.counts;
    }
out:
    fini(&checker);
    return status;
}
