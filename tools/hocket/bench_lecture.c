/*
 * The measurement of Stanford's CS336, lecture on distributed training: N elements of f32 a rank,
 * one warm-up, a barrier on both sides, one operation. With P ranks and t the time of a rank,
 *
 *   all_reduce      N elements in and out;       bytes = 4 N 2 (P-1)
 *   reduce_scatter  P N elements in, N out;      bytes = 4 P N (P-1)
 *
 * bandwidth = bytes / (P t). Both are counts of the lecture, not of what an algorithm sends.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "bench.h"

static hk_status_t operate(hki_bench_t *bench, bool is_all_reduce, size_t count)
{
    if (is_all_reduce) {
        return hk_all_reduce(bench->comm, bench->in, bench->in, count, HK_F32, HK_SUM, NULL, NULL);
    }
    return hk_reduce_scatter(bench->comm, bench->in, bench->out, count, HK_F32, HK_SUM, NULL, NULL);
}

static hk_status_t measure(hki_bench_t *bench, bool is_all_reduce)
{
    const size_t count = bench->values->elements;
    const double p = bench->nranks;
    uint64_t start = 0;
    double seconds[2] = {0.0, 0.0};
    hk_status_t status;

    HKI_TRY(status = operate(bench, is_all_reduce, count), done); // the warm-up
    HKI_TRY(status = hk_barrier(bench->comm, NULL, NULL), done);
    start = hki_clock_ns();
    HKI_TRY(status = operate(bench, is_all_reduce, count), done);
    HKI_TRY(status = hk_barrier(bench->comm, NULL, NULL), done);
    seconds[0] = (double)(hki_clock_ns() - start) / 1e9;
    HKI_TRY(status =
                hk_all_reduce(bench->comm, seconds, &seconds[1], 1, HK_F64, HK_MAX, NULL, NULL),
            done);
    if (bench->rank == 0) {
        const double bytes = 4.0 * (double)count * (is_all_reduce ? 2.0 : p) * (p - 1.0);
        (void)printf("%s: %.6g MB of f32 a rank, %.4f s, measured bandwidth %.3f GB/s\n",
                     is_all_reduce ? "all_reduce" : "reduce_scatter",
                     4e-6 * (double)count * (is_all_reduce ? 1.0 : p), seconds[1],
                     bytes / (p * seconds[1]) / 1e9);
        (void)fflush(stdout);
    }
done:
    return status;
}

hk_status_t hki_bench_lecture(hki_bench_t *bench)
{
    if (bench->rank == 0) {
        (void)printf(
            "# CS336: %d ranks, one warm-up, barrier on both sides; bandwidth = bytes / "
            "(ranks x time)\n# all_reduce: bytes = size x 2 x (ranks - 1); reduce_scatter: "
            "bytes = size of the input x (ranks - 1)\n",
            bench->nranks);
    }
    const hk_status_t status = measure(bench, true);
    return status == HK_OK ? measure(bench, false) : status;
}
