/*
 * The collectives with equal counts: arguments are checked, the call becomes a plan and a request.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/copy.h"
#include "base/error.h"
#include "comm/comm.h"

hk_status_t hki_call_check_opts(const hk_coll_opts_t *opts, hk_coll_opts_t *store,
                                const hk_coll_opts_t **opts_out)
{
    if (opts == NULL) {
        *opts_out = NULL;
        return HK_OK;
    }
    if (opts->struct_size == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "opts.struct_size is 0; start from hk_coll_opts_default()");
    }
    if (opts->struct_size < sizeof(*store)) {
        *store = hk_coll_opts_default();
        memcpy(store, opts, opts->struct_size);
        opts = store;
    }
    if (opts->timeout_ms < -1 || opts->order < -1 || opts->order > (int)HK_ORDER_ANY) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "opts.timeout_ms is %d, opts.order is %d; at least -1, and -1 to %d",
                        opts->timeout_ms, opts->order, (int)HK_ORDER_ANY);
    }
    *opts_out = opts;
    return HK_OK;
}

uint64_t hki_call_deadline(const hk_comm_t *comm, const hk_coll_opts_t *opts)
{
    return hki_deadline_ns(opts != NULL && opts->timeout_ms != 0 ? opts->timeout_ms
                                                                 : comm->timeout_ms);
}

static bool do_overlap(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    const uintptr_t a_at = (uintptr_t)a;
    const uintptr_t b_at = (uintptr_t)b;

    return a_at < b_at + b_bytes && b_at < a_at + a_bytes;
}

hk_status_t hki_ranges_overlap(const hki_ranges_t *ranges, hki_overlap_t *overlap_out)
{
    const uintptr_t in = (uintptr_t)ranges->in;
    const uintptr_t out = (uintptr_t)ranges->out;

    *overlap_out = (hki_overlap_t){.alias = HK_ALIAS_NONE, .needs_copy = false};
    if ((ranges->in_bytes != 0 && ranges->in == NULL) ||
        (ranges->out_bytes != 0 && ranges->out == NULL)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s is NULL, and this rank needs it",
                        ranges->in_bytes != 0 && ranges->in == NULL ? "in" : "out");
    }
    if (ranges->in_bytes == 0 || ranges->out_bytes == 0 ||
        !do_overlap(ranges->in, ranges->in_bytes, ranges->out, ranges->out_bytes)) {
        return HK_OK;
    }
    if (ranges->is_gather && in == out + ranges->own_bytes) {
        overlap_out->alias = HK_ALIAS_OWN_OUT;
    } else if (ranges->is_scatter && out == in + ranges->own_bytes) {
        overlap_out->alias = HK_ALIAS_OWN_IN;
    } else if (in == out) {
        const bool is_natural = !ranges->is_gather && !ranges->is_scatter && !ranges->is_exchange;

        overlap_out->alias = is_natural ? HK_ALIAS_SAME : HK_ALIAS_NONE;
        overlap_out->needs_copy = !is_natural;
    } else {
        return HKI_FAIL(
            HK_ERR_INVALID_ARG,
            "in (%zu bytes) and out (%zu bytes) overlap, and are neither equal nor this "
            "rank's part of one another",
            ranges->in_bytes, ranges->out_bytes);
    }
    return HK_OK;
}

/** What one collective looks like; see hki_coll_t. */
typedef struct shape {
    bool in_is_large;  /**< in has a block for each rank */
    bool out_is_large; /**< out has */
    bool in_at_root;   /**< in is used at the root only */
    bool out_at_root;  /**< out is */
    bool is_rooted;
    bool reduces;
} shape_t;

static const shape_t g_shapes[HKI_COLL_COUNT] = {
    [HKI_COLL_BROADCAST] = {.in_at_root = true, .is_rooted = true},
    [HKI_COLL_REDUCE] = {.out_at_root = true, .is_rooted = true, .reduces = true},
    [HKI_COLL_SCATTER] = {.in_is_large = true, .in_at_root = true, .is_rooted = true},
    [HKI_COLL_GATHER] = {.out_is_large = true, .out_at_root = true, .is_rooted = true},
    [HKI_COLL_ALL_GATHER] = {.out_is_large = true},
    [HKI_COLL_REDUCE_SCATTER] = {.in_is_large = true, .reduces = true},
    [HKI_COLL_ALL_REDUCE] = {.reduces = true},
    [HKI_COLL_ALL_TO_ALL] = {.in_is_large = true, .out_is_large = true},
    [HKI_COLL_BARRIER] = {.is_rooted = false},
};

/** Reduction of a call, checked. */
static hk_status_t call_reduction(const hk_comm_t *comm, const hki_call_t *call,
                                  hki_reduction_t *reduction)
{
    const hk_coll_opts_t *opts = call->opts;

    *reduction = (hki_reduction_t){.dtype = call->dtype,
                                   .op = call->op,
                                   .nranks = comm->nranks,
                                   .scalar = opts != NULL ? opts->scalar : 1.0,
                                   .fn = opts != NULL ? opts->reduce_fn : NULL,
                                   .cookie = opts != NULL ? opts->reduce_cookie : NULL};
    return g_shapes[call->coll].reduces ? hki_reduction_check(reduction) : HK_OK;
}

static hk_status_t check_call(const hk_comm_t *comm, const hki_call_t *call, size_t elem_bytes)
{
    const shape_t *shape = &g_shapes[call->coll];

    if (elem_bytes == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: dtype %d is none of hk_dtype_t",
                        hki_coll_name(call->coll), (int)call->dtype);
    }
    if (shape->is_rooted && (call->root < 0 || call->root >= comm->nranks)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: root %d must be 0 to %d",
                        hki_coll_name(call->coll), call->root, comm->nranks - 1);
    }
    size_t bytes = 0; // a division would cost more than all the rest
    if (__builtin_mul_overflow(call->count, elem_bytes * (size_t)comm->nranks, &bytes) ||
        bytes > SIZE_MAX >> 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: count %zu of %zu bytes on %d ranks overflows",
                        hki_coll_name(call->coll), call->count, elem_bytes, comm->nranks);
    }
    return HK_OK;
}

/** What a call uses on this rank. */
static hki_ranges_t call_ranges(const hk_comm_t *comm, const hki_call_t *call, size_t elem_bytes)
{
    const shape_t *shape = &g_shapes[call->coll];
    const bool is_root = call->root == comm->rank;
    const size_t block = call->count * elem_bytes;
    const size_t all = block * (size_t)comm->nranks;

    return (hki_ranges_t){
        .in = call->in,
        .in_bytes = shape->in_at_root && !is_root ? 0 : (shape->in_is_large ? all : block),
        .out = call->out,
        .out_bytes = shape->out_at_root && !is_root ? 0 : (shape->out_is_large ? all : block),
        .own_bytes = block * (size_t)comm->rank,
        .is_gather = shape->out_is_large && !shape->in_is_large,
        .is_scatter = shape->in_is_large && !shape->out_is_large,
        .is_exchange = shape->in_is_large && shape->out_is_large,
    };
}

static hk_status_t call_key(const hk_comm_t *comm, const hki_call_t *call, hk_alias_t alias,
                            hki_plan_key_t *key)
{
    const shape_t *shape = &g_shapes[call->coll];
    const hk_coll_opts_t *opts = call->opts;

    *key = (hki_plan_key_t){
        .count = call->count,
        .root = shape->is_rooted ? call->root : 0,
        .coll = (uint8_t)call->coll,
        .dtype = (uint8_t)call->dtype,
        .op = shape->reduces ? (uint8_t)call->op : 0,
        .alias = (uint8_t)alias,
        .order = (uint8_t)(opts != NULL && opts->order >= 0 ? opts->order : (int)comm->order),
    };
    if (opts == NULL) {
        return HK_OK;
    }
    if (shape->reduces && call->op == HK_PREMULSUM) {
        memcpy(&key->scalar, &opts->scalar, sizeof(key->scalar));
    }
    return opts->algo == NULL ? HK_OK : hki_algo_named(call->coll, opts->algo, &key->algo);
}

/** Plan, or, where the algorithm cannot do with this alias, plan without and a copy of the
 *  input. */
static hk_status_t call_plan(hk_comm_t *comm, const hki_call_t *call, hki_overlap_t *overlap,
                             hki_plan_t **plan_out)
{
    hki_plan_key_t key;
    hk_status_t status = call_key(comm, call, overlap->alias, &key);

    if (status != HK_OK) {
        return status;
    }
    status = hki_plan_get(comm, &key, plan_out);
    if (status == HK_ERR_UNSUPPORTED && overlap->alias != HK_ALIAS_NONE) {
        overlap->alias = HK_ALIAS_NONE;
        overlap->needs_copy = true;
        key.alias = HK_ALIAS_NONE;
        status = hki_plan_get(comm, &key, plan_out);
    }
    return status;
}

hk_status_t hki_request_bounce(hk_request_t *request, const void *in, size_t bytes)
{
    request->bounce = hki_calloc(bytes, 1);
    if (request->bounce == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "copy of an input that is overwritten, %zu bytes", bytes);
    }
    memcpy(request->bounce, in, bytes);
    return HK_OK;
}

/** Start an operation whose plan is in place. */
static void start(hk_request_t *request, const hk_coll_opts_t *opts)
{
    hk_comm_t *comm = request->comm;
    hki_op_t *op = &request->op;

    op->op_number = comm->next_op;
    op->deadline_ns = UINT64_MAX;
    comm->next_op++;
    hki_engine_post(comm->engine, op);
    if (!op->is_done) { // the clock is read only where there is something to wait for
        op->deadline_ns = hki_call_deadline(comm, opts);
    }
}

void hki_request_post(hk_request_t *request, const hk_coll_opts_t *opts)
{
    const hki_plan_t *plan = request->plan;
    hki_op_t *op = &request->op;

    op->schedule = plan->schedule;
    op->last_schedule = plan->last;
    op->brief = plan->brief;
    op->elem_bytes = plan->elem_bytes;
    op->acc_bytes = plan->acc_bytes;
    op->tile_count = plan->tile_count;
    op->ntiles = plan->ntiles;
    op->hears_all = plan->hears_all;
    op->needs_agreement = !plan->hears_all && !plan->is_agreed;
    start(request, opts);
}

/** Make a call for the first time. */
static hk_status_t call_new(hk_comm_t *comm, const hki_call_t *call, hk_request_t **request_out)
{
    const shape_t *shape = &g_shapes[call->coll];
    const size_t elem_bytes = hk_dtype_bytes(call->dtype);
    hki_reduction_t reduction;
    hki_overlap_t overlap;
    hki_plan_t *plan = NULL;
    hk_request_t *request = NULL;
    hk_status_t status;

    HKI_TRY(status = check_call(comm, call, elem_bytes), fail);
    HKI_TRY(status = call_reduction(comm, call, &reduction), fail);
    const hki_ranges_t ranges = call_ranges(comm, call, elem_bytes);
    HKI_TRY(status = hki_ranges_overlap(&ranges, &overlap), fail);
    HKI_TRY(status = call_plan(comm, call, &overlap, &plan), fail);
    hki_repeat_drop(comm, call->coll); // so that the pool need not grow
    request = hki_request_get(comm, HKI_REQUEST_COLLECTIVE);
    if (request == NULL) {
        hki_plan_put(plan);
        return HK_ERR_NO_MEMORY;
    }
    request->plan = plan;
    hki_op_t *op = &request->op;
    op->reduction = reduction;
    op->is_huge = ranges.out_bytes >= HKI_HUGE_BYTES;
    // Schedules only read IN; one type serves both.
    op->in = (hki_blocks_t){
        .base = (char *)(uintptr_t)call->in, .stride = call->count, .count = call->count};
    op->out = (hki_blocks_t){.base = call->out, .stride = call->count, .count = call->count};
    if (overlap.needs_copy) {
        const size_t blocks = shape->in_is_large ? (size_t)comm->nranks : 1;

        HKI_TRY(status = hki_request_bounce(request, call->in, blocks * call->count * elem_bytes),
                fail);
        op->in.base = request->bounce;
    }
    op->check = plan->check;
    if (op->announcement.call != plan->check || op->announcement.signature[0] == '\0') {
        memcpy(op->announcement.signature, plan->signature, sizeof(plan->signature));
    }
    hki_request_post(request, call->opts);
    if (request_out != NULL || call->opts != NULL || overlap.needs_copy) {
        return hki_request_finish(request, request_out);
    }
    status = hki_request_complete(request);
    if (status == HK_OK) {
        hki_repeat_keep(request, call, &ranges, overlap.alias);
        return HK_OK;
    }
fail:
    if (request != NULL) {
        hki_request_put(request);
    }
    return status;
}

hk_status_t hki_call_run(hk_comm_t *comm, const hki_call_t *call, hk_request_t **request_out)
{
    hk_request_t *again = request_out == NULL ? hki_repeat_find(comm, call) : NULL;

    if (again == NULL) {
        return call_new(comm, call, request_out);
    }
    start(again, NULL);
    return hki_request_complete(again);
}

/** Enter, run, leave: what all calls have in common. */
static hk_status_t call(hk_comm_t *comm, hki_call_t *call_args, const hk_coll_opts_t *opts,
                        hk_request_t **request_out)
{
    hk_coll_opts_t store;
    hk_status_t status = hki_comm_enter(comm);

    if (status != HK_OK) {
        return status;
    }
    status = hki_call_check_opts(opts, &store, &call_args->opts);
    if (status == HK_OK) {
        status = hki_call_run(comm, call_args, request_out);
    }
    hki_comm_leave_with(comm, status);
    return status;
}

hk_status_t hk_broadcast(hk_comm_t *comm, const void *in, void *out, size_t count, hk_dtype_t dtype,
                         int root, const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_BROADCAST, in, out, count, dtype, HK_SUM, root, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_reduce(hk_comm_t *comm, const void *in, void *out, size_t count, hk_dtype_t dtype,
                      hk_op_t op, int root, const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_REDUCE, in, out, count, dtype, op, root, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_all_reduce(hk_comm_t *comm, const void *in, void *out, size_t count,
                          hk_dtype_t dtype, hk_op_t op, const hk_coll_opts_t *opts,
                          hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_ALL_REDUCE, in, out, count, dtype, op, 0, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_reduce_scatter(hk_comm_t *comm, const void *in, void *out, size_t count,
                              hk_dtype_t dtype, hk_op_t op, const hk_coll_opts_t *opts,
                              hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_REDUCE_SCATTER, in, out, count, dtype, op, 0, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_all_gather(hk_comm_t *comm, const void *in, void *out, size_t count,
                          hk_dtype_t dtype, const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_ALL_GATHER, in, out, count, dtype, HK_SUM, 0, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_gather(hk_comm_t *comm, const void *in, void *out, size_t count, hk_dtype_t dtype,
                      int root, const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_GATHER, in, out, count, dtype, HK_SUM, root, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_scatter(hk_comm_t *comm, const void *in, void *out, size_t count, hk_dtype_t dtype,
                       int root, const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_SCATTER, in, out, count, dtype, HK_SUM, root, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_all_to_all(hk_comm_t *comm, const void *in, void *out, size_t count,
                          hk_dtype_t dtype, const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_ALL_TO_ALL, in, out, count, dtype, HK_SUM, 0, NULL};

    return call(comm, &c, opts, request_out);
}

hk_status_t hk_barrier(hk_comm_t *comm, const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_call_t c = {HKI_COLL_BARRIER, NULL, NULL, 0, HK_U8, HK_SUM, 0, NULL};

    return call(comm, &c, opts, request_out);
}
