/*
 * What plain memory can do, by the same method as operations back to back are measured: barrier,
 * clock, K copies, clock; the slowest rank's time / K, and of these the median.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench.h"

#define RUN_NS 200000.0 /* shortest stretch of time we trust the clock with */

enum { SAMPLES = 9, REPEAT_MAX = 2000 };

/* called through memory: a compiler must not see that a copy changes nothing */
static void *(*volatile const copy_bytes)(void *, const void *, size_t) = memcpy;

/** A barrier, and the time of `repeat` copies on this rank [ns]. */
static hk_status_t sample(const hki_bench_t *bench, size_t bytes, int repeat, double *ns_out)
{
    const hk_status_t status = hk_barrier(bench->comm, NULL, NULL);
    const uint64_t start = hki_clock_ns();

    for (int i = 0; i < repeat; i++) {
        (void)copy_bytes(bench->out, bench->in, bytes);
    }
    *ns_out = (double)(hki_clock_ns() - start) / repeat;
    return status;
}

hk_status_t hki_bench_copy(hki_bench_t *bench, size_t bytes, double *us_out)
{
    double ns[SAMPLES];
    hk_status_t status;

    // the second, since the first may find pages that are not there yet
    HKI_TRY(status = sample(bench, bytes, 1, &ns[0]), done);
    HKI_TRY(status = sample(bench, bytes, 1, &ns[0]), done);
    HKI_TRY(status = hki_bench_agree(bench, ns, 1), done);
    const double fit = RUN_NS / (ns[0] + 1.0);
    const int repeat = fit < 1.0 ? 1 : fit > REPEAT_MAX ? REPEAT_MAX : (int)fit;
    for (int i = 0; i < SAMPLES; i++) {
        HKI_TRY(status = sample(bench, bytes, repeat, &ns[i]), done);
    }
    HKI_TRY(status = hki_bench_agree(bench, ns, SAMPLES), done);
    hki_bench_sort(ns, SAMPLES);
    *us_out = hki_bench_quantile(ns, SAMPLES, 0.5) / 1e3;
done:
    return status;
}
