/*
 * Measures one case, in two ways:
 *
 *   alone         fill the input, barrier, clock, operation, clock. One sample an operation, that
 *   of
 *                 the slowest rank. It contains how unevenly the ranks leave the barrier.
 *   back to back  barrier, clock, K operations, clock; the sample is the slowest rank's time / K.
 *                 This is the figure of OSU's and NVIDIA's tests, and our `time`.
 *
 * With --cold each operation has other buffers (bench_cold.c), which are filled before all of them.
 *
 * K is 1 for operations longer than BATCH_NS, and then both are the same; but not with --check,
 * which compares sizes with each other. A last operation on fresh
 * inputs, into an output full of other bits, is checked.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bench.h"
#include "comm/choice.h"

#define BATCH_NS 500000.0 /* shortest stretch of time we trust the clock with */

enum {
    SAMPLES_MIN = 5,
    BATCH_MAX = 2000,
    OUT_POISON = 0xa5,
};

/** The pointers of one case: what in-place means differs between collectives. */
typedef struct buffers {
    char *in;
    char *out;
} buffers_t;

static buffers_t place(const hki_bench_t *bench, const hki_bench_case_t *what)
{
    const size_t block = what->count * hk_dtype_bytes(what->dtype);
    const size_t own = (size_t)bench->rank * block;
    const size_t offset = bench->rotation.place * bench->rotation.stride;
    buffers_t at = {bench->in + offset, bench->out + offset};

    if (bench->is_inplace && what->coll != HKI_BENCH_SEND_RECV) {
        at.in = what->out_blocks > what->in_blocks ? at.out + own : at.out;
        at.out = what->in_blocks > what->out_blocks ? at.in + own : at.out;
    }
    return at;
}

static hk_status_t ping_pong(const hki_bench_t *bench, const hki_bench_case_t *what,
                             const buffers_t *at)
{
    const int peer = 1 - bench->rank;
    hk_status_t status = HK_OK;

    if (bench->rank == 0) {
        status = hk_send(bench->comm, at->in, what->count, what->dtype, peer, NULL, NULL);
    }
    if (status == HK_OK && bench->rank < 2) {
        status = hk_recv(bench->comm, at->out, what->count, what->dtype, peer, NULL, NULL);
    }
    if (status == HK_OK && bench->rank == 1) {
        status = hk_send(bench->comm, at->in, what->count, what->dtype, peer, NULL, NULL);
    }
    return status;
}

static hk_status_t operate(const hki_bench_t *bench, const hki_bench_case_t *what,
                           const buffers_t *at, const hk_coll_opts_t *opts)
{
    hk_comm_t *comm = bench->comm;
    const size_t count = what->count;
    const hk_dtype_t dtype = what->dtype;

    switch (what->coll) {
    case HKI_COLL_BROADCAST:
        return hk_broadcast(comm, at->in, at->out, count, dtype, what->root, opts, NULL);
    case HKI_COLL_REDUCE:
        return hk_reduce(comm, at->in, at->out, count, dtype, what->op, what->root, opts, NULL);
    case HKI_COLL_SCATTER:
        return hk_scatter(comm, at->in, at->out, count, dtype, what->root, opts, NULL);
    case HKI_COLL_GATHER:
        return hk_gather(comm, at->in, at->out, count, dtype, what->root, opts, NULL);
    case HKI_COLL_ALL_GATHER:
        return hk_all_gather(comm, at->in, at->out, count, dtype, opts, NULL);
    case HKI_COLL_REDUCE_SCATTER:
        return hk_reduce_scatter(comm, at->in, at->out, count, dtype, what->op, opts, NULL);
    case HKI_COLL_ALL_REDUCE:
        return hk_all_reduce(comm, at->in, at->out, count, dtype, what->op, opts, NULL);
    case HKI_COLL_ALL_TO_ALL:
        return hk_all_to_all(comm, at->in, at->out, count, dtype, opts, NULL);
    case HKI_COLL_BARRIER:
        return hk_barrier(comm, opts, NULL);
    default:
        return ping_pong(bench, what, at);
    }
}

/** What a user would pass: nothing where nothing is asked for. */
static const hk_coll_opts_t *call_opts(const hki_bench_t *bench, const hki_bench_case_t *what,
                                       hk_coll_opts_t *store)
{
    if (bench->algo == NULL && what->op != HK_PREMULSUM) {
        return NULL;
    }
    *store = hk_coll_opts_default();
    store->scalar = HKI_BENCH_SCALAR;
    if (bench->algo != NULL) {
        store->algo = bench->algo->name;
        store->order = bench->algo->is_tree_order ? -1 : HK_ORDER_ANY;
    }
    return store;
}

void *hki_bench_input(const hki_bench_t *bench, const hki_bench_case_t *what)
{
    return place(bench, what).in;
}

void *hki_bench_output(const hki_bench_t *bench, const hki_bench_case_t *what)
{
    return place(bench, what).out;
}

hk_status_t hki_bench_operate(const hki_bench_t *bench, const hki_bench_case_t *what)
{
    const buffers_t at = place(bench, what);
    hk_coll_opts_t store;

    return operate(bench, what, &at, call_opts(bench, what, &store));
}

/** Fill (if asked), barrier, and the time of `repeat` operations on this rank [ns]. */
static hk_status_t sample(hki_bench_t *bench, const hki_bench_case_t *what, int repeat, bool fills,
                          double *ns_out)
{
    hk_coll_opts_t store;
    const hk_coll_opts_t *opts = call_opts(bench, what, &store);
    buffers_t at = place(bench, what);

    if (fills) {
        bench->seed++;
        hki_bench_fill(bench, what, at.in);
    }
    hk_status_t status = hk_barrier(bench->comm, NULL, NULL);
    const uint64_t start = hki_clock_ns();
    for (int i = 0; status == HK_OK && i < repeat; i++) {
        status = operate(bench, what, &at, opts);
        if (bench->rotation.places > 1) {
            hki_rotation_next(&bench->rotation);
            at = place(bench, what);
        }
    }
    *ns_out = (double)(hki_clock_ns() - start);
    return status;
}

hk_status_t hki_bench_agree(const hki_bench_t *bench, double *values, size_t count)
{
    return hk_all_reduce(bench->comm, values, values, count, HK_F64, HK_MAX, NULL, NULL);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

void hki_bench_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_doubles);
}

/** `count` samples into bench->samples: the slowest rank's, sorted [ns per operation]. */
static hk_status_t collect(hki_bench_t *bench, const hki_bench_case_t *what, int repeat,
                           size_t count)
{
    const double parts = what->coll == HKI_BENCH_SEND_RECV ? 2.0 : 1.0; // half a round trip
    hk_status_t status = HK_OK;

    for (size_t i = 0; status == HK_OK && i < count; i++) {
        status =
            sample(bench, what, repeat, repeat == 1 && !bench->values->is_cold, &bench->samples[i]);
        bench->samples[i] /= parts * (double)repeat;
    }
    if (status == HK_OK) {
        status = hki_bench_agree(bench, bench->samples, count);
    }
    hki_bench_sort(bench->samples, count);
    return status;
}

double hki_bench_quantile(const double *sorted, size_t count, double share)
{
    const size_t index = (size_t)(share * (double)(count - 1) + 0.5);

    return sorted[index];
}

/** Between the quartiles [us]. */
static double spread_us(const double *sorted, size_t count)
{
    return (hki_bench_quantile(sorted, count, 0.75) - hki_bench_quantile(sorted, count, 0.25)) /
           1e3;
}

static int clamp(double value, int low, int high)
{
    if (!(value > low)) {
        return low;
    }
    return value < high ? (int)value : high;
}

/** How often to run, from warm-up runs. Equal on all ranks. */
typedef struct effort {
    int singles;
    int batch; /**< operations back to back; 1: only alone */
    int batches;
} effort_t;

static hk_status_t warm_up(hki_bench_t *bench, const hki_bench_case_t *what, effort_t *effort_out)
{
    const hki_bench_values_t *values = bench->values;
    const int most = (int)bench->samples_max;
    // one operation; one with its input and barrier: the quickest [ns], or one delay would make K 1
    double cost[2] = {HUGE_VAL, HUGE_VAL};
    double ns = 0.0;
    hk_status_t status = HK_OK;

    for (int i = 0; status == HK_OK && i < values->warmup; i++) {
        const uint64_t start = hki_clock_ns();
        status = sample(bench, what, 1, !values->is_cold, &ns);
        const double all_ns = (double)(hki_clock_ns() - start);
        cost[0] = ns < cost[0] ? ns : cost[0];
        cost[1] = all_ns < cost[1] ? all_ns : cost[1];
    }
    if (status != HK_OK || (status = hki_bench_agree(bench, cost, 2)) != HK_OK) {
        return status;
    }
    const double half_ns = values->budget_s * 0.5e9;
    const int batch = clamp(BATCH_NS / (cost[0] + 1.0), 1, BATCH_MAX);
    // --check compares sizes: all must be measured in the same way
    effort_out->batch = values->is_check && batch < 2 ? 2 : batch;
    effort_out->singles = clamp(half_ns / (cost[1] + 1.0), SAMPLES_MIN, most);
    effort_out->batches = clamp(half_ns / (cost[0] * effort_out->batch + 1.0), SAMPLES_MIN, most);
    if (values->iterations > 0) {
        effort_out->singles = clamp(values->iterations, 1, most);
        effort_out->batches = effort_out->singles;
    }
    return HK_OK;
}

/** One operation on fresh inputs into an output of other bits. @param[out] wrong_out  all ranks' */
static hk_status_t verify(hki_bench_t *bench, const hki_bench_case_t *what, uint64_t *wrong_out)
{
    const buffers_t at = place(bench, what);
    uint64_t wrong = 0;
    double ns;

    if (!bench->is_inplace) {
        memset(at.out, OUT_POISON,
               what->count * (size_t)what->out_blocks * hk_dtype_bytes(what->dtype));
    }
    hk_status_t status = sample(bench, what, 1, true, &ns);
    if (status == HK_OK) {
        status = hki_bench_check(bench, what, at.out, &wrong);
    }
    if (status == HK_OK) {
        status = hk_all_reduce(bench->comm, &wrong, wrong_out, 1, HK_U64, HK_SUM, NULL, NULL);
    }
    return status;
}

/** busbw / algbw, as nccl-tests define it: what the busiest link carries, per byte of the size. */
static double bus_factor(int coll, int nranks)
{
    const double p = nranks;

    switch (coll) {
    case HKI_COLL_ALL_REDUCE:
        return 2.0 * (p - 1.0) / p;
    case HKI_COLL_SCATTER:
    case HKI_COLL_GATHER:
    case HKI_COLL_ALL_GATHER:
    case HKI_COLL_REDUCE_SCATTER:
    case HKI_COLL_ALL_TO_ALL:
        return (p - 1.0) / p;
    default:
        return 1.0;
    }
}

/** Which algorithm the communicator uses, by the same functions, and what it was predicted to
 *  take. */
static hk_status_t predict(const hki_bench_t *bench, hki_bench_row_t *row)
{
    const hki_bench_values_t *values = bench->values;
    const hki_costs_t *costs = &bench->costs;
    const hki_coll_t coll = (hki_coll_t)row->what.coll;
    const size_t block = row->what.count * hk_dtype_bytes(row->what.dtype);
    const char *forced = values->algo != NULL ? values->algo : getenv("HOCKET_ALGO");
    hki_choice_t *choice = NULL;

    row->algo = "";
    if (row->what.coll >= HKI_COLL_COUNT) {
        row->predicted_us = (costs->common.alpha_ns + costs->common.beta_ns * (double)block) / 1e3;
        return HK_OK;
    }
    const hk_status_t status = hki_choice_create("--algo", forced != NULL ? forced : "", &choice);
    if (status != HK_OK) {
        return status;
    }
    const hki_algo_t *algo =
        bench->algo != NULL ? bench->algo : hki_choice_find(choice, coll, block);
    if (algo == NULL) {
        algo = hki_algo_choose(coll, costs, bench->nranks, (double)block,
                               values->order == HK_ORDER_ANY, false);
    }
    row->algo = algo->name;
    row->predicted_us = hki_algo_time(algo, costs, bench->nranks, (double)block) / 1e3;
    hki_choice_destroy(&choice);
    return HK_OK;
}

/** What memory does with as many bytes, for the judgement of jumps. */
static hk_status_t copy(hki_bench_t *bench, hki_bench_row_t *row)
{
    hk_status_t status = hki_bench_copy(bench, row->bytes, &row->copy_us);

    if (status == HK_OK) {
        status = hki_bench_copy(bench, 2 * row->bytes, &row->double_copy_us);
    }
    return status;
}

/** The two ways of the head comment. */
static hk_status_t plain(hki_bench_t *bench, hki_bench_row_t *row)
{
    const hki_bench_case_t *what = &row->what;
    effort_t effort;
    hk_status_t status;

    if (bench->values->is_cold) {
        hki_bench_cold_fill(bench, what);
    }
    HKI_TRY(status = warm_up(bench, what, &effort), done);
    const size_t singles = (size_t)effort.singles;
    HKI_TRY(status = collect(bench, what, 1, singles), done);
    row->p50_us = hki_bench_quantile(bench->samples, singles, 0.5) / 1e3;
    row->p99_us = hki_bench_quantile(bench->samples, singles, 0.99) / 1e3;
    row->min_us = bench->samples[0] / 1e3;
    row->time_us = row->p50_us;
    row->best_us = row->min_us;
    row->noise_us = spread_us(bench->samples, singles);
    row->iterations = effort.singles;
    row->batch = effort.batch;
    if (effort.batch > 1) {
        HKI_TRY(status = collect(bench, what, effort.batch, (size_t)effort.batches), done);
        row->time_us = hki_bench_quantile(bench->samples, (size_t)effort.batches, 0.5) / 1e3;
        row->best_us = bench->samples[0] / 1e3;
        row->noise_us = spread_us(bench->samples, (size_t)effort.batches);
    }
done:
    return status;
}

hk_status_t hki_bench_measure(hki_bench_t *bench, const hki_bench_case_t *what,
                              hki_bench_row_t *row_out)
{
    hki_bench_row_t row = {.what = *what, .bytes = hki_bench_case_bytes(what)};
    hk_status_t status;

    bench->rotation = hki_rotation_get(0, 0);
    HKI_TRY(status = predict(bench, &row), done);
    if (bench->values->loop == HKI_BENCH_FRESH) {
        HKI_TRY(status = hki_bench_fresh(bench, &row), done);
    } else {
        HKI_TRY(status = plain(bench, &row), done);
    }
    HKI_TRY(status = verify(bench, what, &row.wrong), done);
    if (bench->values->is_check && row.bytes > 0) {
        HKI_TRY(status = copy(bench, &row), done);
    }
    row.algbw = row.time_us > 0.0 ? (double)row.bytes / (row.time_us * 1e3) : 0.0;
    row.busbw = row.algbw * bus_factor(what->coll, bench->nranks);
    *row_out = row;
done:
    return status;
}
