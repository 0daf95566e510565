/*
 * The loop by which hocket and other libraries are compared; bench/peers has the same in the
 * peers' own terms.
 *
 * Every rank rewrites its whole input before each operation. Operations of more than 8 KiB are
 * timed alone: rewrite, barrier, clock, operation, clock. Smaller ones would drown in the skew of
 * the barrier: K = 16 KiB / bytes of them, 64 at most, follow one barrier, and each is preceded by
 * the rewriting of its input, which is then part of the time; but not where one operation takes
 * more than 100 us. A sample is the slowest rank's.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench.h"

#define LONG_NS 1e5 /* beside such an operation the barrier's skew is nothing */

enum {
    SAMPLES_MOST = 2000,
    SAMPLES_LEAST = 5,
    WARMUP = 2,
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

/** The slowest rank's quickest of a few runs; whole: with the rewriting and the barrier [ns]. */
static hk_status_t warm_up(hki_bench_t *bench, const hki_bench_case_t *what, int stretch,
                           bool is_whole, double *ns_out)
{
    double best_ns = HUGE_VAL;
    double ns;

    for (int i = 0; i < WARMUP; i++) {
        const uint64_t start = hki_clock_ns();
        const hk_status_t status = sample(bench, what, stretch, (uint64_t)i, &ns);
        if (status != HK_OK) {
            return status;
        }
        ns = is_whole ? (double)(hki_clock_ns() - start) : ns;
        best_ns = ns < best_ns ? ns : best_ns;
    }
    *ns_out = best_ns;
    return hki_bench_agree(bench, ns_out, 1);
}

/** How many samples fit the budget. */
static size_t sample_count(const hki_bench_t *bench, double whole_ns)
{
    const hki_bench_values_t *values = bench->values;
    const double budget_ns = values->budget_s * (values->has_lines ? 0.5e9 : 1e9); // two forms
    const double most =
        (double)(bench->samples_max < SAMPLES_MOST ? bench->samples_max : (size_t)SAMPLES_MOST);
    double count = budget_ns / (whole_ns + 1.0);

    count = count < SAMPLES_LEAST ? SAMPLES_LEAST : count;
    count = values->iterations > 0 ? values->iterations : count;
    return (size_t)(count < most ? count : most);
}

/** One form, in place or not, of a case. */
static hk_status_t measure(hki_bench_t *bench, hki_bench_row_t *row)
{
    const size_t fit = STRETCH_BYTES / (row->bytes > 0 ? row->bytes : 1);
    int stretch = fit < 1 ? 1 : fit > STRETCH_MAX ? STRETCH_MAX : (int)fit;
    hk_status_t status;
    double ns;

    HKI_TRY(status = warm_up(bench, &row->what, 1, false, &ns), done);
    stretch = ns > LONG_NS ? 1 : stretch;
    HKI_TRY(status = warm_up(bench, &row->what, stretch, true, &ns), done);
    const size_t count = sample_count(bench, ns);
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

    if (status == HK_OK && bench->values->has_lines && row->what.coll < HKI_COLL_BARRIER) {
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
