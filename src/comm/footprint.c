/*
 * Memory of one run, for choosing tiles. Method: tiles must be the same on all ranks, so what
 * counts is the rank that needs most. All ranks' schedules are built once for a large reference
 * count, without and with aliasing, and their memory is divided by that count; all algorithms scale
 * linearly but for rounding, which the caller's margin covers. The result is kept for the whole
 * process. With more than SAMPLED_RANKS ranks a sample of them is built.
 */
#include "comm/plan.h"

#include <pthread.h>

#include "base/error.h"

enum { REFERENCE_COUNT = 1 << 20, SAMPLED_RANKS = 40, KEPT = 512 };

typedef struct kept {
    const hki_algo_t *algo;
    int nranks;
    int near_ranks;
    hki_footprint_t footprint;
} kept_t;

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static kept_t g_kept[KEPT];
static int g_kept_count;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/** A send of what the send before it sent is staged with it. */
static bool is_repeated(const hki_step_t *step, const hki_step_t *before)
{
    return before != NULL && before->kind == HKI_STEP_SEND && !before->is_token &&
           before->src.region == step->src.region && before->src.block == step->src.block &&
           before->src.offset == step->src.offset && before->src.length == step->src.length &&
           before->is_copied == step->is_copied;
}

static void add_message(hki_staged_t *sum, const hki_step_t *step, double scale)
{
    sum->messages++;
    if (step->src.region == HK_REGION_ACC) {
        sum->partials += (double)step->src.length * scale;
    } else {
        sum->elements += (double)step->src.length * scale;
    }
}

static void raise_staged(hki_staged_t *most, const hki_staged_t *one)
{
    most->elements = larger(most->elements, one->elements);
    most->partials = larger(most->partials, one->partials);
    most->messages = one->messages > most->messages ? one->messages : most->messages;
}

/** Raise `footprint` to what this schedule needs. */
static void add_schedule(const hk_schedule_t *schedule, hki_footprint_t *footprint)
{
    const double scale = 1.0 / REFERENCE_COUNT;
    hki_staged_t staged = {0.0, 0.0, 0};
    hki_staged_t copied = {0.0, 0.0, 0};
    const hki_step_t *before = NULL;

    for (uint32_t i = 0; i < schedule->step_count; i++) {
        const hki_step_t *step = &schedule->steps[i];

        if (step->kind != HKI_STEP_SEND || step->is_token) {
            before = NULL;
            continue;
        }
        const bool is_repeat = is_repeated(step, before);
        const bool is_user = step->src.region == HK_REGION_IN || step->src.region == HK_REGION_OUT;
        before = step;
        if (is_repeat || (!is_user && !step->is_copied)) {
            continue; // scratch that is not copied goes direct
        }
        add_message(&staged, step, scale);
        if (step->is_copied) {
            add_message(&copied, step, scale);
        }
    }
    footprint->is_cast = footprint->is_cast && hki_schedule_is_cast(schedule);
    raise_staged(&footprint->staged, &staged);
    raise_staged(&footprint->copied, &copied);
    footprint->tmp_elements =
        larger(footprint->tmp_elements, (double)schedule->opts.tmp_count * scale);
    footprint->acc_partials =
        larger(footprint->acc_partials, (double)schedule->opts.acc_count * scale);
}

static hk_status_t add_rank(const kept_t *what, int rank, hki_footprint_t *footprint)
{
    for (int alias = HK_ALIAS_NONE; alias <= HK_ALIAS_SAME; alias++) {
        hk_schedule_opts_t opts = hk_schedule_opts_default();
        hk_schedule_t *schedule = NULL;

        opts.rank = rank;
        opts.nranks = what->nranks;
        opts.near_ranks = what->near_ranks;
        opts.count = REFERENCE_COUNT;
        opts.alias = (hk_alias_t)alias;
        const hk_status_t status = what->algo->build(&opts, &schedule);
        if (status == HK_OK) {
            add_schedule(schedule, footprint);
            hk_schedule_destroy(&schedule);
        } else if (alias == HK_ALIAS_NONE || status == HK_ERR_NO_MEMORY) {
            return status;
        }
    }
    return HK_OK;
}

/** Measure what->footprint. */
static hk_status_t measure(kept_t *what)
{
    const int nranks = what->nranks;
    const int step = nranks / SAMPLED_RANKS + 1;

    what->footprint.is_cast = nranks > 2 && step == 1;
    for (int r = 0; r < nranks; r += step) {
        const hk_status_t status = add_rank(what, r, &what->footprint);

        if (status != HK_OK) {
            return status;
        }
    }
    // the last group may be smaller, so that its first has more to pass on
    const int first = (nranks - 1) / what->near_ranks * what->near_ranks;
    const hk_status_t status = add_rank(what, first, &what->footprint);
    return status == HK_OK ? add_rank(what, nranks - 1, &what->footprint) : status;
}

static const kept_t *find_kept(const kept_t *what)
{
    for (int i = 0; i < g_kept_count; i++) {
        if (g_kept[i].algo == what->algo && g_kept[i].nranks == what->nranks &&
            g_kept[i].near_ranks == what->near_ranks) {
            return &g_kept[i];
        }
    }
    return NULL;
}

hk_status_t hki_footprint(const hki_algo_t *algo, int nranks, int near_ranks,
                          hki_footprint_t *footprint_out)
{
    kept_t what = {.algo = algo, .nranks = nranks, .near_ranks = near_ranks};
    hk_status_t status = HK_OK;

    (void)pthread_mutex_lock(&g_mutex);
    const kept_t *kept = find_kept(&what);
    if (kept != NULL) {
        what = *kept;
    } else {
        status = measure(&what);
    }
    if (kept == NULL && status == HK_OK) {
        // A full table starts again: only time is lost.
        g_kept_count = g_kept_count == KEPT ? 0 : g_kept_count;
        g_kept[g_kept_count] = what;
        g_kept_count++;
    }
    (void)pthread_mutex_unlock(&g_mutex);
    if (status == HK_OK) {
        *footprint_out = what.footprint;
    }
    return status;
}
