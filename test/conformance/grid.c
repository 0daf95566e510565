/*
 * The grid. Method: loops over what matters most (collective, algorithm, count); everything else
 * (dtype, op, root, place, alignment, request, memory) turns with a counter whose periods share no
 * factor, so that the quick grid meets every value with every algorithm, and the full grid meets
 * every pair of dtype and op too.
 */
#include "grid.h"

#include <stdio.h>
#include <string.h>

#include "case.h"

enum {
    QUICK_COUNTS_MAX = 16,
    PERIOD = 8191,
    PAIRS_COUNT_MAX = 2000, /**< every pair of dtype and op up to this count, else one in turn */
};

/** A walk over the grid on one rank; all ranks walk alike. */
typedef struct walk {
    hk_comm_t *comm;
    const grid_t *grid;
    int nranks;
    uint64_t turn;
} walk_t;

static bool reduces(hki_coll_t coll)
{
    return coll == HKI_COLL_REDUCE || coll == HKI_COLL_ALL_REDUCE ||
           coll == HKI_COLL_REDUCE_SCATTER;
}

/** Types whose small whole numbers add up without rounding on 33 ranks. */
static bool is_exact_enough(hk_dtype_t dtype)
{
    return dtype != HK_FP8E4M3 && dtype != HK_FP8E5M2;
}

bool grid_allows(const case_spec_t *spec)
{
    return (!reduces(spec->coll) || ref_is_allowed(spec->dtype, spec->op)) &&
           (!spec->is_any_order ||
            (is_exact_enough(spec->dtype) && spec->op != HK_USER && spec->op != HK_PROD));
}

/** The next pair of dtype and op that is allowed, in turn. */
static void next_types(const walk_t *walk, case_spec_t *spec)
{
    uint64_t turn = walk->turn;

    do {
        spec->dtype = (hk_dtype_t)(turn % HK_DTYPE_COUNT);
        spec->op =
            reduces(spec->coll) ? (hk_op_t)((turn / HK_DTYPE_COUNT + turn) % HK_OP_COUNT) : HK_SUM;
        turn++;
    } while (!grid_allows(spec));
}

/** Is the input copied to the heap first when in == out? See hocket/coll.h. */
static bool is_copied_in_place(const case_spec_t *spec)
{
    return spec->coll == HKI_COLL_ALL_TO_ALL ||
           (spec->place == PLACE_SAME &&
            (spec->coll == HKI_COLL_GATHER || spec->coll == HKI_COLL_SCATTER ||
             spec->coll == HKI_COLL_ALL_GATHER || spec->coll == HKI_COLL_REDUCE_SCATTER));
}

/** All that turns, except dtype and op. */
static void next_ways(walk_t *walk, case_spec_t *spec)
{
    static const size_t misaligns[] = {0, 0, 1, 2, 4};
    const uint64_t turn = walk->turn;

    walk->turn++;
    spec->root = (int)(turn % (uint64_t)walk->nranks);
    spec->place = (place_t)(turn % PLACE_COUNT);
    spec->misalign = misaligns[turn % 5];
    spec->is_async = turn % 7 < 3;
    spec->is_polled = turn % 2 == 0;
    spec->period = PERIOD;
    spec->is_shared =
        walk->grid->memory == MEMORY_TURN ? turn % 11 < 4 : walk->grid->memory == MEMORY_SHARED;
    if (walk->grid->memory == MEMORY_SHARED && is_copied_in_place(spec)) {
        spec->place = PLACE_APART; // the copy would not be shared
    }
    spec->seed = ref_mix(walk->grid->seed + turn);
}

static bool one(walk_t *walk, case_spec_t *spec)
{
    next_ways(walk, spec);
    if (!case_do(walk->comm, spec)) {
        return false;
    }
    if (spec->algo != NULL || spec->is_async) {
        return true;
    }
    // the same call again, which is remembered, with buffers that lie in another way
    const int root = spec->root;
    const uint64_t turn = walk->turn;
    next_ways(walk, spec);
    spec->root = root;
    spec->is_async = false;
    walk->turn = turn;
    return case_do(walk->comm, spec);
}

/** One algorithm with one count: once, or with every pair of dtype and op. */
static bool one_count(walk_t *walk, case_spec_t *spec)
{
    if (walk->grid->size != GRID_FULL || spec->count > PAIRS_COUNT_MAX) {
        next_types(walk, spec);
        return one(walk, spec);
    }
    for (int d = 0; d < HK_DTYPE_COUNT; d++) {
        for (int o = 0; o < HK_OP_COUNT; o++) {
            spec->dtype = (hk_dtype_t)d;
            spec->op = (hk_op_t)o;
            const bool is_due = (reduces(spec->coll) || o == 0) && grid_allows(spec);

            if (is_due && !one(walk, spec)) {
                return false;
            }
        }
    }
    return true;
}

/** Counts of the quick grid; a few only where ranks are many. */
static int quick_counts(const walk_t *walk, size_t counts[QUICK_COUNTS_MAX])
{
    const size_t p = (size_t)walk->nranks;
    const size_t all[] = {0, 1, p - 1, p, p + 1, 7, 257, 1001};
    const size_t many[] = {0, 1, p - 1, p + 1, 37};
    const bool is_many = walk->nranks > 9;
    const size_t n = is_many ? sizeof(many) / sizeof(many[0]) : sizeof(all) / sizeof(all[0]);

    memcpy(counts, is_many ? many : all, n * sizeof(*counts));
    if (walk->nranks <= 5) {
        counts[n] = 30011; // some tiles
        counts[n + 1] = 100003;
        return (int)n + 2;
    }
    return (int)n;
}

static bool all_counts(walk_t *walk, case_spec_t *spec)
{
    size_t counts[QUICK_COUNTS_MAX];
    const int n = quick_counts(walk, counts);

    for (int i = 0; i < n; i++) {
        spec->count = counts[i];
        if (!one_count(walk, spec)) {
            return false;
        }
    }
    if (walk->grid->size != GRID_FULL) {
        return true;
    }
    for (size_t count = 0; count <= 257; count++) {
        spec->count = count;
        next_types(walk, spec);
        if (!one(walk, spec)) {
            return false;
        }
    }
    spec->count = (size_t)1 << 20; // of the whole buffer
    if (spec->coll != HKI_COLL_BROADCAST && spec->coll != HKI_COLL_REDUCE &&
        spec->coll != HKI_COLL_ALL_REDUCE) {
        spec->count /= (size_t)walk->nranks;
    }
    next_types(walk, spec);
    return one(walk, spec);
}

bool grid_has(const hki_algo_t *algo, int nranks)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_schedule_t *schedule = NULL;

    opts.nranks = nranks;
    opts.count = 8;
    const hk_status_t status = algo->build(&opts, &schedule);
    if (status == HK_OK) {
        hk_schedule_destroy(&schedule);
    }
    return status == HK_OK;
}

bool grid_run(hk_comm_t *comm, const void *cookie)
{
    walk_t walk = {.comm = comm, .grid = cookie, .nranks = hk_comm_size(comm), .turn = 0};
    int algo_count = 0;
    const hki_algo_t *algos = hki_algo_all(&algo_count);

    for (int a = 0; a < algo_count; a++) {
        case_spec_t spec = {
            .coll = algos[a].coll, .algo = algos[a].name, .is_any_order = !algos[a].is_tree_order};

        if (grid_has(&algos[a], walk.nranks) && !all_counts(&walk, &spec)) {
            return false;
        }
    }
    for (int c = 0; c < HKI_COLL_COUNT; c++) { // by choice, and the v forms
        case_spec_t spec = {.coll = (hki_coll_t)c};

        if (!all_counts(&walk, &spec)) {
            return false;
        }
        spec.is_vector = c == HKI_COLL_GATHER || c == HKI_COLL_SCATTER ||
                         c == HKI_COLL_ALL_GATHER || c == HKI_COLL_REDUCE_SCATTER ||
                         c == HKI_COLL_ALL_TO_ALL;
        if (spec.is_vector && !all_counts(&walk, &spec)) {
            return false;
        }
    }
    return true;
}
