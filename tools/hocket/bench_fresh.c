/*
 * The loop by which hocket and other libraries are compared; bench/peers has the same in the
 * peers' own terms.
 *
 * Every rank rewrites its whole input before each operation. Operations of more than 8 KiB are
 * timed alone: rewrite, barrier, clock, operation, clock. Smaller ones would drown in the skew of
 * the barrier: K = 16 KiB / bytes of them, 64 at most, follow one barrier, and each is preceded by
 * the rewriting of its input, which is then part of the time; but not where one operation takes
 * more than 100 us. A sample is the slowest rank's.
 *
 * How much is done follows from the budget: as many samples as fit, 3 at least. Two operations warm
 * up, of which the quicker tells how many samples fit; but only one does where it takes more than
 * an eighth of the budget and is timed alone anyway.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench.h"

#define LONG_NS 1e5 /* beside such an operation the barrier's skew is nothing */

enum {
    SAMPLES_MOST = 2000,
    SAMPLES_LEAST = 3,
    WARMUP = 2,       /* runs, where they matter or cost little */
    WARMUP_SHARE = 8, /* little: so many fit the budget */
    STRETCH_BYTES = 16384,
    STRETCH_MAX = 64,
};

/** Fill with a pattern that is a small number in every floating type. Must cost what the peers'
 *  rewriting costs, so it is a plain loop of stores. */
static void rewrite(const hki_bench_t *bench, const hki_bench_case_t *what, uint64_t turn)
{
    char *in = hki_bench_input(bench, what);
    const size_t bytes = what->count * (size_t)what->in_blocks * hk_dtype_bytes(what->dtype);
    const uint64_t word = UINT64_C(0x3f803f803f803f80) + UINT64_C(0x0001000100010001) * (turn % 7);
    size_t at = 0;

    for (; at + sizeof(word) <= bytes; at += sizeof(word)) {
        memcpy(in + at, &word, sizeof(word));
    }
    memcpy(in + at, &word, bytes - at);
}

/** This rank's time of one operation [ns]. */
static hk_status_t sample(const hki_bench_t *bench, const hki_bench_case_t *what, int stretch,
                          uint64_t turn, double *ns_out)
{
    const double parts = what->coll == HKI_BENCH_SEND_RECV ? 2.0 : 1.0; // half a round trip

    if (stretch == 1) {
        rewrite(bench, what, turn);
    }
    hk_status_t status = hk_barrier(bench->comm, NULL, NULL);
    const uint64_t start = hki_clock_ns();
    for (int k = 0; status == HK_OK && k < stretch; k++) {
        if (stretch > 1) {
            rewrite(bench, what, turn + (uint64_t)k);
        }
        status = hki_bench_operate(bench, what);
    }
    *ns_out = (double)(hki_clock_ns() - start) / (parts * stretch);
    return status;
}

/** Of the slowest rank, the same on all [ns]. */
typedef struct cost {
    double alone; /**< of one operation */
    double whole; /**< of a sample, with the rewriting and the barrier */
} cost_t;

/** The quickest of so many samples. */
static hk_status_t warm_up(hki_bench_t *bench, const hki_bench_case_t *what, int stretch, int runs,
                           cost_t *cost_out)
{
    double best_ns[2] = {HUGE_VAL, HUGE_VAL};
    double alone;

    for (int i = 0; i < runs; i++) {
        const uint64_t start = hki_clock_ns();
        const hk_status_t status = sample(bench, what, stretch, (uint64_t)i, &alone);
        if (status != HK_OK) {
            return status;
        }
        const double whole = (double)(hki_clock_ns() - start);
        best_ns[0] = alone < best_ns[0] ? alone : best_ns[0];
        best_ns[1] = whole < best_ns[1] ? whole : best_ns[1];
    }
    const hk_status_t status = hki_bench_agree(bench, best_ns, 2);
    *cost_out = (cost_t){best_ns[0], best_ns[1]};
    return status;
}

/** Time for one form of a case [ns]. */
static double form_budget(const hki_bench_values_t *values)
{
    return values->budget_s * (values->cases != NULL ? 0.5e9 : 1e9); // of two forms, or one
}

/** Warm up; how many operations follow one barrier, and how many samples fit the budget. */
static hk_status_t choose_effort(hki_bench_t *bench, const hki_bench_row_t *row, int *stretch_out,
                                 size_t *count_out)
{
    const hki_bench_values_t *values = bench->values;
    const size_t most = bench->samples_max < SAMPLES_MOST ? bench->samples_max : SAMPLES_MOST;
    const size_t fit = STRETCH_BYTES / (row->bytes > 0 ? row->bytes : 1);
    hk_status_t status;
    cost_t cost;
    int stretch = 1;

    HKI_TRY(status = warm_up(bench, &row->what, 1, 1, &cost), done);
    if (fit > 1 || cost.whole * WARMUP_SHARE < form_budget(values)) {
        HKI_TRY(status = warm_up(bench, &row->what, 1, WARMUP - 1, &cost), done);
    }
    if (fit > 1 && cost.alone <= LONG_NS) {
        stretch = fit > STRETCH_MAX ? STRETCH_MAX : (int)fit;
        HKI_TRY(status = warm_up(bench, &row->what, stretch, WARMUP, &cost), done);
    }
    double count = form_budget(values) / (cost.whole + 1.0);
    count = count < SAMPLES_LEAST ? SAMPLES_LEAST : count;
    count = values->iterations > 0 ? values->iterations : count;
    *count_out = count < (double)most ? (size_t)count : most;
    *stretch_out = stretch;
done:
    return status;
}

/** One form, in place or not, of a case. */
static hk_status_t measure(hki_bench_t *bench, hki_bench_row_t *row)
{
    hk_status_t status;
    size_t count;
    int stretch;

    HKI_TRY(status = choose_effort(bench, row, &stretch, &count), done);
    for (size_t i = 0; i < count; i++) {
        HKI_TRY(status = sample(bench, &row->what, stretch, i, &bench->samples[i]), done);
    }
    HKI_TRY(status = hki_bench_agree(bench, bench->samples, count), done);
    hki_bench_sort(bench->samples, count);
    row->p50_us = hki_bench_quantile(bench->samples, count, 0.5) / 1e3;
    row->p99_us = hki_bench_quantile(bench->samples, count, 0.99) / 1e3;
    row->min_us = bench->samples[0] / 1e3;
    row->time_us = row->p50_us;
    row->best_us = row->min_us;
    row->iterations = (int)count;
    row->batch = stretch;
    row->is_inplace = bench->is_inplace;
done:
    return status;
}

hk_status_t hki_bench_fresh(hki_bench_t *bench, hki_bench_row_t *row)
{
    hk_status_t status = measure(bench, row);

    if (status == HK_OK && bench->values->cases != NULL && row->what.coll < HKI_COLL_BARRIER) {
        hki_bench_row_t other = *row; // the peers are measured in both forms too
        bench->is_inplace = !bench->is_inplace;
        status = measure(bench, &other);
        bench->is_inplace = !bench->is_inplace;
        if (status == HK_OK && other.time_us < row->time_us) {
            *row = other;
        }
    }
    return status;
}
