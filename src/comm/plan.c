/*
 * Plans. Method: a small set-associative cache, found by the hash of the key, with the plan used
 * last in front of it. A plan in use is never thrown out; if a whole set is in use the new plan
 * lives outside the cache until its last user ends.
 *
 * Tiles: what one run stages must fit into half of a lane's staging memory on every rank, and its
 * scratch into the lane's scratch. Both follow from the algorithm's footprint. The tiles of a call
 * are as equal as they can be, all of one length but the last, which has a schedule of its own.
 */
#include "comm/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/comm.h"
#include "comm/memory.h"

enum {
    STAGING_ROUNDING = 64,
    TILE_BYTES_MAX = 512 << 10, /**< of a block: what one rank has written is in the cache when the
                                     others read it */
    TILE_ALIGNMENT = 64,        /**< [elements] */
    TILE_ALIGNED_MIN = 16,      /**< that is worth it from so many times the alignment on */
};

uint32_t hki_hash(uint32_t seed, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint32_t hash = seed ^ UINT32_C(2166136261); // FNV-1a

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ p[i]) * UINT32_C(16777619);
    }
    return hash;
}

static bool is_same_key(const hki_plan_key_t *a, const hki_plan_key_t *b)
{
    return a->count == b->count && a->coll == b->coll && a->dtype == b->dtype && a->op == b->op &&
           a->root == b->root && a->alias == b->alias && a->order == b->order &&
           a->is_vector == b->is_vector && a->algo == b->algo && a->scalar == b->scalar;
}

static bool has_op(hki_coll_t coll)
{
    return coll == HKI_COLL_REDUCE || coll == HKI_COLL_REDUCE_SCATTER ||
           coll == HKI_COLL_ALL_REDUCE;
}

static bool has_root(hki_coll_t coll)
{
    return coll == HKI_COLL_BROADCAST || coll == HKI_COLL_REDUCE || coll == HKI_COLL_SCATTER ||
           coll == HKI_COLL_GATHER;
}

/** The algorithm of a key: of the call, of the communicator, or the cheapest. */
static hk_status_t choose(hk_comm_t *comm, const hki_plan_key_t *key, size_t elem_bytes,
                          const hki_algo_t **algo_out)
{
    const hki_coll_t coll = (hki_coll_t)key->coll;
    const size_t block_bytes = (size_t)key->count * elem_bytes;
    const hki_algo_t *algo = key->algo;
    const char *way_out = "";

    if (algo == NULL) {
        algo = hki_choice_find(comm->choice, coll, block_bytes);
    }
    if (algo == NULL) {
        const hki_costs_t *costs = NULL;
        const hk_status_t status = hki_comm_costs(comm, coll, &costs);

        if (status == HK_OK) {
            *algo_out = hki_algo_choose(coll, costs, comm->nranks, (double)block_bytes,
                                        key->order == HK_ORDER_ANY, key->is_vector != 0);
        }
        return status;
    }
    if (!algo->is_tree_order && key->order != HK_ORDER_ANY) {
        way_out = "it does not keep the canonical order; ask for order HK_ORDER_ANY";
    } else if (key->is_vector != 0 && !algo->is_block_form) {
        way_out = "it cannot do unequal counts";
    } else {
        *algo_out = algo;
        return HK_OK;
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "%s by \"%s\" is not possible here: %s",
                    hki_coll_name(coll), algo->name, way_out);
}

/** Elements of a block in the largest tile that fits. */
static hk_status_t tile_max(const hk_comm_t *comm, const hki_algo_t *algo, const hki_plan_t *plan,
                            size_t *tile_out)
{
    hki_footprint_t need;
    const double scratch = (double)hki_comm_scratch_bytes(comm->ep->staging_bytes);
    double room = (double)hki_comm_staging_room(comm->ep);
    double tile = (double)(SIZE_MAX / 4);
    const hk_status_t status = hki_footprint(algo, comm->nranks, comm->parts.near_ranks, &need);

    if (status != HK_OK) {
        return status;
    }
    const bool is_staged = comm->ep->unstaged_bytes == SIZE_MAX;
    room /= is_staged ? 1.0 : 2.0; // then half of it is for what may be staged but need not
    const hki_staged_t *sent = is_staged ? &need.staged : &need.copied;
    const double staged =
        sent->elements * (double)plan->elem_bytes + sent->partials * (double)plan->acc_bytes;
    room -= (double)STAGING_ROUNDING * sent->messages;
    if (staged > 0.0 && tile > room / staged) {
        tile = room / staged;
    }
    if (!is_staged && tile > (double)TILE_BYTES_MAX / (double)plan->elem_bytes) {
        tile = (double)TILE_BYTES_MAX / (double)plan->elem_bytes;
    }
    const double tmp = need.tmp_elements * (double)plan->elem_bytes;
    const double acc = need.acc_partials * (double)plan->acc_bytes;
    if (tmp > 0.0 && tile > scratch / tmp) {
        tile = scratch / tmp;
    }
    if (acc > 0.0 && tile > scratch / acc) {
        tile = scratch / acc;
    }
    tile *= 0.96; // scratch slots and chunks are rounded
    if (tile < 1.0) {
        return HKI_FAIL(HK_ERR_LIMIT,
                        "%s by \"%s\" with %d ranks does not fit into the staging memory; raise "
                        "segment_bytes or HOCKET_SEGMENT",
                        hki_coll_name(algo->coll), algo->name, comm->nranks);
    }
    *tile_out = (size_t)tile;
    return HK_OK;
}

/** Cut `count` elements into the fewest tiles of at most `largest`, as equal as can be. Where tiles
 *  are large, they and their parts of all ranks begin on cache lines, if the buffers do. */
static void cut(hki_plan_t *plan, size_t count, size_t largest, int nranks)
{
    const size_t step = (size_t)nranks * TILE_ALIGNMENT;
    const bool is_large = count > largest && largest >= step * TILE_ALIGNED_MIN;

    largest = is_large ? largest / step * step : largest;
    plan->ntiles = (count - 1) / largest + 1;
    plan->tile_count = (count - 1) / plan->ntiles + 1;
    if (is_large) {
        plan->tile_count = (plan->tile_count + step - 1) / step * step;
    }
    plan->ntiles = (count - 1) / plan->tile_count + 1;
}

/** Append to the plan's signature; what does not fit is cut off. */
__attribute__((format(printf, 2, 3))) static void say(hki_plan_t *plan, const char *format, ...)
{
    const size_t used = strlen(plan->signature);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(plan->signature + used, sizeof(plan->signature) - used, format, args);
    va_end(args);
}

/** Readable form of the call. */
static void sign(hki_plan_t *plan, const hki_algo_t *algo)
{
    const hki_plan_key_t *key = &plan->key;
    const hki_coll_t coll = (hki_coll_t)key->coll;

    say(plan, "%s%s", hki_coll_name(coll), key->is_vector != 0 ? "v" : "");
    if (coll == HKI_COLL_BARRIER) {
        return;
    }
    say(plan, " count %zu %s", (size_t)key->count, hk_dtype_name((hk_dtype_t)key->dtype));
    if (has_op(coll)) {
        say(plan, " %s", hk_op_name((hk_op_t)key->op));
    }
    if (has_op(coll) && key->op == HK_PREMULSUM) {
        double scalar;

        memcpy(&scalar, &key->scalar, sizeof(scalar));
        say(plan, " by %g", scalar);
    }
    if (has_root(coll)) {
        say(plan, " root %d", (int)key->root);
    }
    say(plan, " (%s", algo->name);
    if (plan->ntiles > 1) {
        say(plan, " in %zu tiles", plan->ntiles);
    }
    say(plan, ")");
}

/** The hash over all that must be equal on all ranks. */
static uint32_t check_of(const hki_plan_t *plan, const hki_algo_t *algo, int nranks)
{
    const hki_plan_key_t *key = &plan->key;
    const uint64_t words[] = {key->count,     key->scalar,      (uint64_t)key->root,
                              key->coll,      key->dtype,       key->op,
                              key->is_vector, plan->tile_count, (uint64_t)nranks};

    return hki_hash(hki_hash(0, algo->name, strlen(algo->name)), words, sizeof(words));
}

static hk_status_t build(hk_comm_t *comm, const hki_algo_t *algo, const hki_plan_t *plan,
                         size_t count, hk_schedule_t **schedule_out)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_schedule_t *schedule = NULL;
    hk_status_t status;

    opts.rank = comm->rank;
    opts.nranks = comm->nranks;
    opts.near_ranks = comm->parts.near_ranks;
    opts.root = count == 0 ? 0 : plan->key.root;
    opts.alias = count == 0 ? HK_ALIAS_NONE : (hk_alias_t)plan->key.alias;
    opts.count = count;
    status = algo->build(&opts, &schedule);
    if (status != HK_OK) {
        return status;
    }
    status = hki_engine_reserve(comm->engine, schedule, plan->elem_bytes, plan->acc_bytes);
    if (status != HK_OK) {
        hk_schedule_destroy(&schedule);
        return status;
    }
    hki_schedule_mark_final(schedule);
    *schedule_out = schedule;
    return HK_OK;
}

static void plan_destroy(hki_plan_t **plan)
{
    hki_plan_t *p = *plan;

    if (p == NULL) {
        return;
    }
    hki_brief_destroy(&p->brief);
    if (p->last != p->schedule) {
        hk_schedule_destroy(&p->last);
    }
    hk_schedule_destroy(&p->schedule);
    hki_free(p);
    *plan = NULL;
}

/** A call with nothing to move still synchronises: by a barrier. */
static hk_status_t barrier_for(hk_comm_t *comm, hki_coll_t coll, const hki_algo_t **algo)
{
    const hki_costs_t *costs = NULL;

    if (coll == HKI_COLL_BARRIER) {
        return HK_OK;
    }
    const hk_status_t status = hki_comm_costs(comm, HKI_COLL_BARRIER, &costs);
    if (status == HK_OK) {
        *algo = hki_algo_choose(HKI_COLL_BARRIER, costs, comm->nranks, 0.0, false, false);
    }
    return status;
}

/** Cut the call into tiles and build the schedules. */
static hk_status_t plan_fill(hk_comm_t *comm, const hki_algo_t *algo, hki_plan_t *plan)
{
    const size_t count = (size_t)plan->key.count;
    size_t largest = 0;
    hk_status_t status;

    if (count == 0) {
        plan->tile_count = 1;
        plan->ntiles = 1;
        status = build(comm, algo, plan, 0, &plan->schedule);
        plan->last = plan->schedule;
        return status;
    }
    HKI_TRY(status = tile_max(comm, algo, plan, &largest), fail);
    cut(plan, count, largest, comm->nranks);
    HKI_TRY(status = build(comm, algo, plan, plan->tile_count, &plan->schedule), fail);
    const size_t last = count - (plan->ntiles - 1) * plan->tile_count;
    if (last == plan->tile_count || plan->key.is_vector != 0) { // v forms clip
        plan->last = plan->schedule;
    } else {
        status = build(comm, algo, plan, last, &plan->last);
    }
fail:
    return status;
}

/** Calls of few bytes have a shorter form. */
static hk_status_t abridge(const hk_comm_t *comm, const hki_algo_t *algo, hki_plan_t *plan)
{
    hki_footprint_t need;

    if (plan->ntiles != 1 || plan->key.is_vector != 0) {
        return HK_OK;
    }
    const hk_status_t status = hki_footprint(algo, comm->nranks, comm->parts.near_ranks, &need);
    if (status != HK_OK) {
        return status;
    }
    const hki_brief_shape_t shape = {.count = (size_t)plan->key.count,
                                     .elem_bytes = plan->elem_bytes,
                                     .acc_bytes = plan->acc_bytes,
                                     .most_bytes = comm->ep->inline_bytes,
                                     .is_cast = need.is_cast};
    return hki_brief_create(plan->schedule, &shape, &plan->brief);
}

static hk_status_t plan_create(hk_comm_t *comm, const hki_plan_key_t *key, hki_plan_t **plan_out)
{
    const hki_coll_t coll = (hki_coll_t)key->coll;
    hki_plan_t *plan = hki_calloc(1, sizeof(*plan));
    const hki_algo_t *algo = NULL;
    hk_status_t status;

    if (plan == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "plan of %s, %zu bytes", hki_coll_name(coll),
                        sizeof(*plan));
    }
    plan->key = *key;
    plan->elem_bytes = hk_dtype_bytes((hk_dtype_t)key->dtype);
    plan->acc_bytes =
        has_op(coll) ? hki_acc_bytes((hk_dtype_t)key->dtype, (hk_op_t)key->op) : plan->elem_bytes;
    plan->hears_all = !has_root(coll) || key->count == 0; // a barrier, then
    HKI_TRY(status = choose(comm, key, plan->elem_bytes, &algo), fail);
    const hki_algo_t *moves = algo;
    if (key->count == 0) {
        HKI_TRY(status = barrier_for(comm, coll, &moves), fail);
    }
    HKI_TRY(status = plan_fill(comm, moves, plan), fail);
    HKI_TRY(status = abridge(comm, moves, plan), fail);
    sign(plan, algo);
    plan->check = check_of(plan, algo, comm->nranks);
    *plan_out = plan;
    return HK_OK;
fail:
    plan_destroy(&plan);
    return status;
}

/** Put a new plan into its set, in the place of the least recently used one that has no user.
 *  @return false: all have users, it must live outside */
static bool keep(hki_plans_t *plans, hki_plan_t **set, hki_plan_t *plan)
{
    hki_plan_t **place = NULL;

    for (int w = 0; w < HKI_PLANS_WAYS; w++) {
        const bool is_free = set[w] == NULL;

        if (is_free ||
            (set[w]->users == 0 &&
             (place == NULL || (*place != NULL && set[w]->used_at < (*place)->used_at)))) {
            place = &set[w];
        }
        if (is_free) {
            break;
        }
    }
    if (place == NULL) {
        return false;
    }
    if (*place != NULL && plans->last == *place) {
        plans->last = NULL;
    }
    plan_destroy(place);
    *place = plan;
    plan->is_cached = true;
    return true;
}

hk_status_t hki_plan_get(hk_comm_t *comm, const hki_plan_key_t *key, hki_plan_t **plan_out)
{
    hki_plans_t *plans = &comm->plans;
    hki_plan_t *plan = plans->last;

    if (plan == NULL || !is_same_key(&plan->key, key)) {
        uint32_t hash = hki_hash(key->coll, &key->count, sizeof(key->count));
        hash = hki_hash(hash, &key->root, sizeof(key->root));
        hki_plan_t **set = plans->cached[(hash ^ key->dtype ^ key->alias) % HKI_PLANS_SETS];

        plan = NULL;
        for (int w = 0; w < HKI_PLANS_WAYS && plan == NULL; w++) {
            if (set[w] != NULL && is_same_key(&set[w]->key, key)) {
                plan = set[w];
            }
        }
        if (plan == NULL) {
            const hk_status_t status = plan_create(comm, key, &plan);

            if (status != HK_OK) {
                return status;
            }
            if (!keep(plans, set, plan)) { // perhaps by calls that are kept to be repeated
                hki_repeats_fini(comm);
                (void)keep(plans, set, plan);
            }
        }
        plans->last = plan->is_cached ? plan : NULL;
    }
    plans->uses++;
    plan->used_at = plans->uses;
    plan->users++;
    *plan_out = plan;
    return HK_OK;
}

void hki_plan_put(hki_plan_t *plan)
{
    plan->users--;
    if (plan->users == 0 && !plan->is_cached) {
        plan_destroy(&plan);
    }
}

void hki_plans_fini(hki_plans_t *plans)
{
    for (int s = 0; s < HKI_PLANS_SETS; s++) {
        for (int w = 0; w < HKI_PLANS_WAYS; w++) {
            plan_destroy(&plans->cached[s][w]);
        }
    }
    plans->last = NULL;
}
