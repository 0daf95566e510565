/*
 * Times that contradict each other: what a caller could do himself must not be quicker, and a time
 * must grow with the size, but not in leaps. A margin keeps noise out: a tenth, and twice what lies
 * between the quartiles of each time involved.
 *
 * Where data leave a cache, memory itself makes a leap, which is no fault of a collective. So a
 * byte may cost more by as much as a byte of a plain copy does, from a copy of the smaller size to
 * one of twice the larger: beside input and output, a collective has its data in staging memory and
 * in what other ranks send, so it leaves a cache earlier than a copy.
 */
#include "bench_findings.h"

#include <stdio.h>

#define MARGIN      0.1
#define NOISE       2.0
#define JUMP_FACTOR 1.5

enum { BARRIER_BYTES = 8 };

/** A collective that is made of two others. */
static const struct {
    int whole;
    int parts[2];
} compositions[] = {
    {HKI_COLL_ALL_REDUCE, {HKI_COLL_REDUCE, HKI_COLL_BROADCAST}},
    {HKI_COLL_ALL_GATHER, {HKI_COLL_GATHER, HKI_COLL_BROADCAST}},
    {HKI_COLL_ALL_REDUCE, {HKI_COLL_REDUCE_SCATTER, HKI_COLL_ALL_GATHER}},
};

/** Is `us` more than `limit_us`, beyond doubt? */
static bool exceeds(double us, double limit_us, double noise_us)
{
    return us > limit_us * (1.0 + MARGIN) + NOISE * noise_us;
}

static double growth(const hki_bench_row_t *rows)
{
    return (double)rows[1].bytes / (double)rows[0].bytes;
}

/** How much more a byte costs by what memory does; 1 where it is cheaper or nothing is known. */
static double memory_leap(const hki_bench_row_t *rows)
{
    if (!(rows[0].copy_us > 0.0) || !(rows[1].double_copy_us > 0.0)) {
        return 1.0;
    }
    const double leap = rows[1].double_copy_us / rows[0].copy_us / (2.0 * growth(rows));
    return leap > 1.0 ? leap : 1.0;
}

bool hki_finding_holds(hki_finding_kind_t kind, const hki_bench_row_t *rows)
{
    const double noise_us = rows[0].noise_us + rows[1].noise_us;

    switch (kind) {
    case HKI_FINDING_PARTS:
        return exceeds(rows[0].time_us, rows[1].time_us + rows[2].time_us,
                       noise_us + rows[2].noise_us);
    case HKI_FINDING_BARRIER:
        return exceeds(rows[0].time_us, rows[1].time_us, noise_us);
    case HKI_FINDING_FALL:
        return exceeds(rows[0].time_us, rows[1].time_us, noise_us);
    case HKI_FINDING_JUMP:
        return exceeds(rows[1].time_us,
                       rows[0].time_us * growth(rows) * memory_leap(rows) * JUMP_FACTOR,
                       rows[1].noise_us + growth(rows) * rows[0].noise_us);
    }
    return false;
}

static bool is_same_type(const hki_bench_row_t *a, const hki_bench_row_t *b)
{
    return a->what.dtype == b->what.dtype &&
           (!hki_bench_has_op(a->what.coll) || !hki_bench_has_op(b->what.coll) ||
            a->what.op == b->what.op);
}

/** The row of a collective that fits another row; `count` if there is none. */
static size_t find(const hki_bench_row_t *rows, size_t count, const hki_bench_row_t *like, int coll)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].what.coll == coll && rows[i].bytes == like->bytes &&
            is_same_type(&rows[i], like)) {
            return i;
        }
    }
    return count;
}

/** The findings so far. */
typedef struct list {
    const hki_bench_row_t *rows;
    hki_finding_t *found;
    size_t count;
    size_t capacity;
} list_t;

static void test(list_t *list, const hki_finding_t *finding)
{
    hki_bench_row_t rows[3];

    for (int i = 0; i < finding->row_count; i++) {
        rows[i] = list->rows[finding->rows[i]];
    }
    if (list->count < list->capacity && hki_finding_holds(finding->kind, rows)) {
        list->found[list->count++] = *finding;
    }
}

/** What one row has with others of its size. */
static void test_compositions(list_t *list, size_t count, size_t i)
{
    const hki_bench_row_t *rows = list->rows;

    for (size_t c = 0; c < sizeof(compositions) / sizeof(compositions[0]); c++) {
        if (rows[i].what.coll == compositions[c].whole && rows[i].bytes > 0) {
            const size_t a = find(rows, count, &rows[i], compositions[c].parts[0]);
            const size_t b = find(rows, count, &rows[i], compositions[c].parts[1]);
            if (a < count && b < count) {
                test(list, &(hki_finding_t){HKI_FINDING_PARTS, 3, {i, a, b}});
            }
        }
    }
}

size_t hki_findings_get(const hki_bench_row_t *rows, size_t count, hki_finding_t *findings_out,
                        size_t findings_max)
{
    list_t list = {.rows = rows, .found = findings_out, .capacity = findings_max};
    size_t small = count; // the smallest all_reduce, which the barrier is compared with

    for (size_t i = 0; i < count; i++) {
        const int coll = rows[i].what.coll;
        test_compositions(&list, count, i);
        if (coll == HKI_COLL_ALL_REDUCE && rows[i].bytes == BARRIER_BYTES) {
            small = i;
        }
        // the next larger size of the same
        for (size_t j = i + 1; j < count && rows[i].bytes > 0; j++) {
            if (rows[j].what.coll == coll && is_same_type(&rows[i], &rows[j]) &&
                rows[j].bytes > rows[i].bytes) {
                test(&list, &(hki_finding_t){HKI_FINDING_FALL, 2, {i, j, 0}});
                test(&list, &(hki_finding_t){HKI_FINDING_JUMP, 2, {i, j, 0}});
                break;
            }
        }
    }
    for (size_t i = 0; i < count && small < count; i++) {
        if (rows[i].what.coll == HKI_COLL_BARRIER) {
            test(&list, &(hki_finding_t){HKI_FINDING_BARRIER, 2, {i, small, 0}});
        }
    }
    return list.count;
}

void hki_finding_describe(hki_finding_kind_t kind, const hki_bench_row_t *rows, char *text,
                          size_t text_bytes)
{
    const char *name = hki_bench_coll_name(rows[0].what.coll);
    const char *dtype = hk_dtype_name(rows[0].what.dtype);

    switch (kind) {
    case HKI_FINDING_PARTS:
        (void)snprintf(text, text_bytes,
                       "%s %s of %zu bytes takes %.2f us, %s and %s together %.2f us", name, dtype,
                       rows[0].bytes, rows[0].time_us, hki_bench_coll_name(rows[1].what.coll),
                       hki_bench_coll_name(rows[2].what.coll), rows[1].time_us + rows[2].time_us);
        break;
    case HKI_FINDING_BARRIER:
        (void)snprintf(text, text_bytes, "barrier takes %.2f us, %s of %zu bytes %.2f us",
                       rows[0].time_us, hki_bench_coll_name(rows[1].what.coll), rows[1].bytes,
                       rows[1].time_us);
        break;
    case HKI_FINDING_FALL:
        (void)snprintf(text, text_bytes,
                       "%s %s of %zu bytes (%s) takes %.2f us, more than %zu bytes (%s), %.2f us",
                       name, dtype, rows[0].bytes, rows[0].algo, rows[0].time_us, rows[1].bytes,
                       rows[1].algo, rows[1].time_us);
        break;
    case HKI_FINDING_JUMP:
        (void)snprintf(text, text_bytes,
                       "%s %s jumps from %.2f us at %zu bytes (%s) to %.2f us at %zu (%s): %.1f "
                       "times for %.1f times the size, of which a byte of memory takes %.1f times "
                       "as long",
                       name, dtype, rows[0].time_us, rows[0].bytes, rows[0].algo, rows[1].time_us,
                       rows[1].bytes, rows[1].algo, rows[1].time_us / rows[0].time_us, growth(rows),
                       memory_leap(rows));
        break;
    }
}
