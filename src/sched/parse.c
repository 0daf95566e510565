/**
 * @file parse.c
 * @brief Reads the text form of a schedule.
 *
 * Method: a cursor over the bytes; words end at blanks, brackets, colons and line ends. The first
 * error is kept with its line, and stops everything. Steps go through a builder, which refuses what
 * makes no sense.
 */
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "sched/text.h"

enum { RANKS_MAX = 1 << 20, NAME_BYTES = 48 };

typedef struct cursor {
    const char *at;
    const char *end;
    int line;
    hk_status_t status;
} cursor_t;

/** Keep the first error. */
static void fail(cursor_t *cursor, const char *wanted)
{
    if (cursor->status == HK_OK) {
        const size_t left = (size_t)(cursor->end - cursor->at);
        size_t n = 0;

        while (n < left && n < 20 && cursor->at[n] >= ' ' && cursor->at[n] <= '~') {
            n++;
        }
        cursor->status = HKI_FAIL(HK_ERR_FORMAT, "line %d: expected %s, found '%.*s'", cursor->line,
                                  wanted, (int)n, cursor->at);
    }
}

static bool is_at_line_end(const cursor_t *cursor)
{
    return cursor->at == cursor->end || *cursor->at == '\n' || *cursor->at == '#';
}

static void skip_blanks(cursor_t *cursor)
{
    while (cursor->at != cursor->end &&
           (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r')) {
        cursor->at++;
    }
}

/** Go to the first word of the next line that has one. @return false at the end of the text */
static bool next_line(cursor_t *cursor)
{
    for (;;) {
        skip_blanks(cursor);
        if (cursor->at == cursor->end) {
            return false;
        }
        if (!is_at_line_end(cursor)) {
            return true;
        }
        while (cursor->at != cursor->end && *cursor->at != '\n') {
            cursor->at++;
        }
        if (cursor->at != cursor->end) {
            cursor->at++;
            cursor->line++;
        }
    }
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

/** Take `word` if it stands here, as a whole. */
static bool take(cursor_t *cursor, const char *word)
{
    const size_t bytes = strlen(word);
    const size_t left = (size_t)(cursor->end - cursor->at);

    if (bytes > left || memcmp(cursor->at, word, bytes) != 0 ||
        (bytes < left && is_word_byte(word[bytes - 1]) && is_word_byte(cursor->at[bytes]))) {
        return false;
    }
    cursor->at += bytes;
    skip_blanks(cursor);
    return true;
}

static void expect(cursor_t *cursor, const char *word)
{
    if (cursor->status == HK_OK && !take(cursor, word)) {
        fail(cursor, word);
    }
}

/** A decimal number up to `max`. */
static size_t take_number(cursor_t *cursor, size_t max)
{
    size_t number = 0;
    const char *start = cursor->at;

    while (cursor->at != cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        const size_t digit = (size_t)(*cursor->at - '0');

        if (number > (max - digit) / 10) {
            cursor->at = start;
            break;
        }
        number = 10 * number + digit;
        cursor->at++;
    }
    if (cursor->at == start) {
        fail(cursor, "a number that fits here");
    }
    skip_blanks(cursor);
    return cursor->status == HK_OK ? number : 0;
}

static int take_int(cursor_t *cursor)
{
    return (int)take_number(cursor, RANKS_MAX);
}

static void expect_line_end(cursor_t *cursor)
{
    if (!is_at_line_end(cursor)) {
        fail(cursor, "the end of the line");
    }
}

/** The region that stands here. @return false if none does */
static bool take_region(cursor_t *cursor, hk_region_t *region)
{
    static const char *const names[] = {"in", "out", "tmp", "acc"};

    for (int r = 0; r < 4; r++) {
        if (take(cursor, names[r])) {
            *region = (hk_region_t)r;
            return true;
        }
    }
    return false;
}

static hk_span_t take_span(cursor_t *cursor)
{
    hk_span_t span = {HK_REGION_IN, 0, 0, 0};

    if (!take_region(cursor, &span.region)) {
        fail(cursor, "in, out, tmp or acc");
        return span;
    }
    expect(cursor, "[");
    if (span.region == HK_REGION_IN || span.region == HK_REGION_OUT) {
        span.block = take_int(cursor);
        expect(cursor, "]");
        expect(cursor, "[");
    }
    span.offset = take_number(cursor, SIZE_MAX);
    expect(cursor, ":");
    const size_t end = take_number(cursor, SIZE_MAX);

    expect(cursor, "]");
    if (cursor->status == HK_OK && end < span.offset) {
        fail(cursor, "a range that does not end before it begins");
    }
    span.length = end - span.offset;
    return span;
}

static hk_operand_t take_operand(cursor_t *cursor)
{
    hk_operand_t operand = {.peer = -1};

    if (take(cursor, "rank")) {
        operand.peer = take_int(cursor);
    } else if (take(cursor, "partial")) {
        operand.is_partial = 1;
        operand.peer = take_int(cursor);
    } else {
        operand.span = take_span(cursor);
    }
    return operand;
}

static void take_reduce(cursor_t *cursor, hk_builder_t *builder)
{
    const hk_span_t dst = take_span(cursor);
    size_t capacity = 1;
    int n = 0;

    for (const char *p = cursor->at; p != cursor->end && *p != '\n'; p++) {
        capacity += *p == '+';
    }
    hk_operand_t *operands = hki_calloc(capacity, sizeof(*operands));

    if (operands == NULL) {
        cursor->status = HKI_FAIL(HK_ERR_NO_MEMORY, "%zu operands", capacity);
        return;
    }
    expect(cursor, "=");
    do {
        operands[n++] = take_operand(cursor);
    } while (cursor->status == HK_OK && take(cursor, "+") && (size_t)n < capacity);
    expect_line_end(cursor);
    if (cursor->status == HK_OK) {
        hk_builder_reduce(builder, dst, operands, n);
    }
    hki_free(operands);
}

static void take_send(cursor_t *cursor, hk_builder_t *builder)
{
    const int peer = take_int(cursor);
    const hk_span_t src = take_span(cursor);
    const bool is_copied = take(cursor, "copied");

    expect_line_end(cursor);
    if (cursor->status == HK_OK && is_copied) {
        hk_builder_send_copied(builder, peer, src);
    } else if (cursor->status == HK_OK) {
        hk_builder_send(builder, peer, src);
    }
}

static void take_step(cursor_t *cursor, hk_builder_t *builder)
{
    if (take(cursor, "send")) {
        take_send(cursor, builder);
    } else if (take(cursor, "recv")) {
        const int peer = take_int(cursor);
        const hk_span_t dst = take_span(cursor);

        expect_line_end(cursor);
        if (cursor->status == HK_OK) {
            hk_builder_recv(builder, peer, dst);
        }
    } else if (take(cursor, "copy")) {
        const hk_span_t dst = take_span(cursor);
        const hk_span_t src = take_span(cursor);

        expect_line_end(cursor);
        if (cursor->status == HK_OK) {
            hk_builder_copy(builder, dst, src);
        }
    } else if (take(cursor, "reduce")) {
        take_reduce(cursor, builder);
    } else if (take(cursor, "send_token")) {
        const int peer = take_int(cursor);

        expect_line_end(cursor);
        hk_builder_send_token(builder, peer);
    } else if (take(cursor, "recv_token")) {
        const int peer = take_int(cursor);

        expect_line_end(cursor);
        hk_builder_recv_token(builder, peer);
    } else {
        fail(cursor, "a step (send, recv, copy, reduce, send_token, recv_token)");
    }
}

static hk_alias_t take_alias(cursor_t *cursor)
{
    static const char *const names[] = {"none", "same", "own_out", "own_in"};

    for (int a = 0; a < 4; a++) {
        if (take(cursor, names[a])) {
            return (hk_alias_t)a;
        }
    }
    fail(cursor, "none, same, own_out or own_in");
    return HK_ALIAS_NONE;
}

/** The three lines before the steps. */
static void take_head(cursor_t *cursor, hk_schedule_opts_t *opts, char *name)
{
    size_t n = 0;

    (void)next_line(cursor);
    expect(cursor, "schedule");
    while (cursor->at != cursor->end && is_word_byte(*cursor->at) && n < NAME_BYTES - 1) {
        name[n++] = *cursor->at++;
    }
    if (n == 0) {
        fail(cursor, "a name");
    }
    skip_blanks(cursor);
    expect_line_end(cursor);
    (void)next_line(cursor);
    expect(cursor, "rank");
    opts->rank = take_int(cursor);
    expect(cursor, "of");
    opts->nranks = take_int(cursor);
    expect(cursor, "root");
    opts->root = take_int(cursor);
    expect(cursor, "alias");
    opts->alias = take_alias(cursor);
    expect_line_end(cursor);
    (void)next_line(cursor);
    expect(cursor, "count");
    opts->count = take_number(cursor, SIZE_MAX);
    expect(cursor, "in");
    opts->in_blocks = take_int(cursor);
    expect(cursor, "out");
    opts->out_blocks = take_int(cursor);
    expect(cursor, "tmp");
    opts->tmp_count = take_number(cursor, SIZE_MAX);
    expect(cursor, "acc");
    opts->acc_count = take_number(cursor, SIZE_MAX);
    expect_line_end(cursor);
    opts->name = name;
}

hk_status_t hki_schedule_parse(const char *text, size_t bytes, hk_schedule_t **schedule_out)
{
    cursor_t cursor = {.at = text, .end = text + bytes, .line = 1, .status = HK_OK};
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_builder_t *builder = NULL;
    hk_schedule_t *schedule = NULL;
    char name[NAME_BYTES] = "";

    take_head(&cursor, &opts, name);
    if (cursor.status == HK_OK) {
        cursor.status = hk_builder_open(&opts, &builder);
    }
    while (cursor.status == HK_OK && next_line(&cursor)) {
        take_step(&cursor, builder);
        if (cursor.status == HK_OK && hki_builder_status(builder) != HK_OK) {
            cursor.status =
                HKI_FAIL(hki_builder_status(builder), "line %d: %s", cursor.line, hk_last_error());
        }
    }
    if (builder != NULL) {
        hki_builder_fail(builder, cursor.status);
        cursor.status = hk_builder_finish(&builder, &schedule);
    }
    if (cursor.status == HK_OK) {
        *schedule_out = schedule;
    }
    return cursor.status;
}
