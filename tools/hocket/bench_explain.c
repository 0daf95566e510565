/*
 * `hocket bench --explain`: what a size gets, and what the others would have taken.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"

/** Measured candidates of one case. */
typedef struct candidates {
    hki_bench_row_t rows[HKI_ALGOS_MAX];
    int count;
} candidates_t;

/** Every algorithm that is allowed. */
static hk_status_t measure_all(hki_bench_t *bench, const hki_bench_case_t *what,
                               candidates_t *candidates)
{
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);
    hk_status_t status = HK_OK;

    candidates->count = 0;
    for (int i = 0; i < count && status == HK_OK; i++) {
        if ((int)algos[i].coll == what->coll &&
            hki_algo_is_allowed(&algos[i], &bench->costs, bench->values->order == HK_ORDER_ANY,
                                false)) {
            bench->algo = &algos[i];
            status = hki_bench_measure(bench, what, &candidates->rows[candidates->count++]);
            bench->algo = NULL;
        }
    }
    return status;
}

/** Of what is predicted, what crosses between parts of the machine [us]. */
static double far_us(const hki_bench_t *bench, const hki_bench_row_t *row)
{
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);
    const hki_algo_t *algo = hki_algo_find((hki_coll_t)row->what.coll, row->algo);
    const hki_far_t *far = &bench->costs.far[algo - algos];
    const double block = (double)(row->what.count * hk_dtype_bytes(row->what.dtype));

    return (far->ns + far->byte_ns * block) / 1e3;
}

static void print(const hki_bench_t *bench, const candidates_t *candidates, const char *chosen)
{
    double best_us = candidates->rows[0].time_us;

    for (int i = 1; i < candidates->count; i++) {
        const double us = candidates->rows[i].time_us;
        best_us = us < best_us ? us : best_us;
    }
    for (int i = 0; i < candidates->count; i++) {
        const hki_bench_row_t *row = &candidates->rows[i];
        (void)printf("  %-14s %10zu %-16s %12.2f %12.2f %12.2f %9.2f  %s\n",
                     hki_bench_coll_name(row->what.coll), row->bytes, row->algo, row->predicted_us,
                     far_us(bench, row), row->time_us, row->time_us / best_us,
                     strcmp(row->algo, chosen) == 0 ? "chosen" : "");
    }
    (void)fflush(stdout);
}

static hk_status_t explain_size(hki_bench_t *bench, int coll, size_t bytes,
                                candidates_t *candidates)
{
    const hki_bench_values_t *values = bench->values;
    hki_bench_case_t what;
    hki_bench_row_t row;
    hk_status_t status;

    if (!hki_bench_case(bench, coll, bytes, (hk_dtype_t)values->dtypes.value[0],
                        (hk_op_t)values->ops.value[0], &what)) {
        return HK_OK;
    }
    HKI_TRY(status = measure_all(bench, &what, candidates), done);
    HKI_TRY(status = hki_bench_measure(bench, &what, &row), done);
    if (bench->rank == 0) {
        print(bench, candidates, row.algo);
    }
done:
    return status;
}

hk_status_t hki_bench_explain(hki_bench_t *bench)
{
    const hki_bench_values_t *values = bench->values;
    candidates_t *candidates = hki_calloc(1, sizeof(*candidates));
    hk_status_t status = HK_OK;

    if (candidates == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "candidates, %zu bytes", sizeof(*candidates));
    }
    if (bench->rank == 0) {
        (void)printf("# hocket %s bench --explain: %d ranks\n", hk_version(), bench->nranks);
        hki_bench_print_parts(bench);
        (void)printf("# %-14s %10s %-16s %12s %12s %12s %9s\n", "collective", "bytes", "algorithm",
                     "predicted us", "of it far us", "measured us", "to best");
        (void)fflush(stdout);
    }
    for (size_t c = 0; c < values->colls.count && status == HK_OK; c++) {
        const int coll = values->colls.value[c];
        const size_t sizes = coll == HKI_COLL_BARRIER ? 1 : values->sizes.count;
        for (size_t s = 0; coll < HKI_COLL_COUNT && s < sizes && status == HK_OK; s++) {
            status = explain_size(bench, coll, values->sizes.value[s], candidates);
        }
    }
    hki_free(candidates);
    return status;
}
