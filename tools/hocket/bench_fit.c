/*
 * `hocket bench --fit`. Method: every algorithm of every collective is measured at a few sizes. A
 * first least squares over all of them gives the common alpha, beta and gamma of this transport; a
 * second one for each algorithm gives its own alpha, and one factor for its bytes, since the bytes
 * it moves and those it reduces grow together and cannot be told apart. Where ranks lie in several
 * parts of the machine, the first one has terms for what crosses; the second takes that as known.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"
#include "bench_solve.h"
#include "comm/fit.h"
#include "file.h"
#include "topo/machine.h"

static const size_t fit_sizes[] = {8, 1024, 16384, 131072, 1048576, HKI_BENCH_FIT_BYTES_MAX};

/** Terms of the first least squares: messages, bytes, bytes reduced; then of each level messages
 *  and bytes that cross. */
enum { TERM_CROSS = 3, TERMS = TERM_CROSS + 2 * HKI_CROSS_LEVELS };
_Static_assert((int)TERMS <= (int)HKI_SOLVE_TERMS_MAX, "raise HKI_SOLVE_TERMS_MAX");

#define OWN_SHARE_MIN 0.1 /* of a time: that much is not of crossing */

enum { SIZES = sizeof(fit_sizes) / sizeof(fit_sizes[0]), PATH_BYTES = 4096 };

/** Measurements, one after the other; those of algorithm i are [first[i], first[i + 1]). */
typedef struct fit {
    hki_solve_row_t rows[HKI_ALGOS_MAX * SIZES];
    size_t first[HKI_ALGOS_MAX + 1];
    double errors[HKI_ALGOS_MAX];
    bool is_measured[HKI_ALGOS_MAX];
    bool is_crossed[HKI_CROSS_LEVELS];
    hki_costs_t costs;
} fit_t;

/** One algorithm at all sizes. */
static hk_status_t measure_algo(hki_bench_t *bench, const hki_algo_t *algo, fit_t *fit, size_t *at)
{
    const size_t sizes = algo->coll == HKI_COLL_BARRIER ? 1 : SIZES;
    hki_crossing_t crossings[HKI_CROSS_LEVELS];
    hk_status_t status = hki_bench_crossing(bench, algo, crossings);

    for (size_t s = 0; s < sizes && status == HK_OK; s++) {
        hki_bench_case_t what;
        hki_bench_row_t row;
        (void)hki_bench_case(bench, (int)algo->coll, fit_sizes[s], HK_F32, HK_SUM, &what);
        bench->algo = algo;
        status = hki_bench_measure(bench, &what, &row);
        bench->algo = NULL;
        if (status == HK_OK) {
            const double block = (double)(what.count * hk_dtype_bytes(what.dtype));
            const hki_cost_t cost = algo->cost(bench->nranks, block);
            hki_solve_row_t *solve = &fit->rows[(*at)++];
            *solve = (hki_solve_row_t){
                .terms = {hki_cost_hops(&cost), cost.sent_bytes, cost.reduced_bytes},
                .time = row.best_us * 1e3, // what others do on this machine only adds to it
            };
            for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
                double *terms = solve->terms + TERM_CROSS + 2 * level;
                terms[0] = hki_crossing_hops(algo, bench->nranks, &crossings[level]);
                terms[1] = crossings[level].bytes * block;
            }
        }
    }
    return status;
}

/** The row of an algorithm's own alpha and bytes, without what crosses. */
static hki_solve_row_t own_row(const hki_solve_row_t *row, const hki_costs_t *costs)
{
    double time = row->time;

    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        const double *terms = row->terms + TERM_CROSS + 2 * level;

        time -= costs->cross[level].alpha_ns * terms[0] + costs->cross[level].beta_ns * terms[1];
    }
    return (hki_solve_row_t){.terms = {row->terms[0], costs->common.beta_ns * row->terms[1] +
                                                          costs->common.gamma_ns * row->terms[2]},
                             .time = time > OWN_SHARE_MIN * row->time ? time
                                                                      : OWN_SHARE_MIN * row->time};
}

/** Both least squares. */
static void solve(fit_t *fit, int count)
{
    hki_cost_params_t common;
    double x[HKI_SOLVE_TERMS_MAX];

    (void)hki_solve(fit->rows, fit->first[count], TERMS, x);
    common = (hki_cost_params_t){.alpha_ns = x[0], .beta_ns = x[1], .gamma_ns = x[2]};
    hki_costs_init(&fit->costs, &common);
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        fit->costs.cross[level] = (hki_cross_params_t){.alpha_ns = x[TERM_CROSS + 2 * level],
                                                       .beta_ns = x[TERM_CROSS + 2 * level + 1]};
    }
    for (int i = 0; i < count; i++) {
        hki_solve_row_t own[SIZES];
        const size_t n = fit->first[i + 1] - fit->first[i];
        for (size_t s = 0; s < n; s++) {
            own[s] = own_row(&fit->rows[fit->first[i] + s], &fit->costs);
        }
        fit->errors[i] = hki_solve(own, n, 2, x);
        fit->costs.of[i] = (hki_cost_params_t){
            .alpha_ns = x[0],
            .beta_ns = x[1] * common.beta_ns,
            .gamma_ns = x[1] * common.gamma_ns,
        };
        fit->is_measured[i] = n > 0;
    }
}

static void print(const fit_t *fit, int count)
{
    const hki_algo_t *algos = hki_algo_all(&count);

    (void)printf("# %-14s %-14s %12s %14s %14s %8s\n", "collective", "algorithm", "alpha ns",
                 "beta ns/byte", "gamma ns/byte", "error %");
    (void)printf("  %-14s %-14s %12.1f %14.5f %14.5f\n", "common", "-", fit->costs.common.alpha_ns,
                 fit->costs.common.beta_ns, fit->costs.common.gamma_ns);
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        if (fit->is_crossed[level]) {
            (void)printf("  %-14s %-14s %12.1f %14.5f\n", "cross", hki_fit_level_name(level),
                         fit->costs.cross[level].alpha_ns, fit->costs.cross[level].beta_ns);
        }
    }
    for (int i = 0; i < count; i++) {
        if (fit->is_measured[i]) {
            (void)printf("  %-14s %-14s %12.1f %14.5f %14.5f %8.0f\n", hki_coll_name(algos[i].coll),
                         algos[i].name, fit->costs.of[i].alpha_ns, fit->costs.of[i].beta_ns,
                         fit->costs.of[i].gamma_ns, 100.0 * fit->errors[i]);
        }
    }
}

/** To the user's cache folder. */
static hk_status_t store(const fit_t *fit, int nranks)
{
    char folder[PATH_BYTES];
    char path[PATH_BYTES];
    hki_text_t text = {0};
    hk_status_t status;

    if (hki_cache_folder(folder, sizeof(folder)) != HK_OK ||
        hki_fit_path("shm", nranks, path, sizeof(path)) != HK_OK) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED, "there is no folder to store the costs in: neither "
                                            "XDG_CACHE_HOME nor HOME is an absolute path; set one");
    }
    hki_fit_format(&fit->costs, fit->is_measured, fit->is_crossed, &text);
    HKI_TRY(status = text.is_failed ? HKI_FAIL(HK_ERR_NO_MEMORY, "text of %s", path) : HK_OK, done);
    HKI_TRY(status = hki_folder_create(folder), done);
    HKI_TRY(status = hki_file_put(path, text.data), done);
    (void)printf("# stored in %s\n", path);
done:
    hki_text_fini(&text);
    return status;
}

hk_status_t hki_bench_fit(hki_bench_t *bench)
{
    fit_t *fit = hki_calloc(1, sizeof(*fit));
    hk_status_t status = HK_OK;
    int count = 0;
    size_t at = 0;
    const hki_algo_t *algos = hki_algo_all(&count);

    if (bench->nranks < 2) {
        hki_free(fit);
        return HKI_FAIL(HK_ERR_INVALID_ARG, "--fit measures messages between ranks; start 2 or "
                                            "more, e.g. -n 2");
    }
    if (fit == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "measurements, %zu bytes", sizeof(*fit));
    }
    if (bench->rank == 0) {
        (void)printf("# hocket %s bench --fit: %d ranks, %d algorithms, %d sizes\n", hk_version(),
                     bench->nranks, count, (int)SIZES);
        hki_bench_print_parts(bench);
        (void)fflush(stdout);
    }
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        fit->is_crossed[level] = hki_bench_is_divided(bench, level);
    }
    for (int i = 0; i < count && status == HK_OK; i++) {
        fit->first[i] = at;
        if (hki_algo_is_allowed(&algos[i], &bench->costs, true, false)) {
            status = measure_algo(bench, &algos[i], fit, &at);
        }
        fit->first[i + 1] = at;
    }
    if (status == HK_OK && bench->rank == 0) {
        solve(fit, count);
        print(fit, count);
        status = store(fit, bench->nranks);
    }
    hki_free(fit);
    return status;
}
