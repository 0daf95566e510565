/*
 * The collectives with a count for each rank. Method: gatherv, scatterv, all_gatherv and
 * reduce_scatterv run the schedule of the largest count and clip every block to its own. In
 * all_to_allv no rank knows the largest count, so every pair exchanges its part by a send and a
 * receive with internal tags, next to a barrier that carries the signature.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/copy.h"
#include "base/error.h"
#include "comm/comm.h"

/** Counts and offsets of the large buffer, copied: the caller's arrays are borrowed for the
 *  call. */
typedef struct vectors {
    const size_t *counts;
    const size_t *offsets;
    size_t largest; /**< of the counts */
    size_t end;     /**< elements of the buffer that are used */
} vectors_t;

/** One call of a v form. */
typedef struct vcall {
    hki_coll_t coll;
    const void *in;
    void *out;
    const size_t *counts;
    const size_t *offsets;
    hk_dtype_t dtype;
    hk_op_t op;
    int root;
    const hk_coll_opts_t *opts;
} vcall_t;

static hk_status_t vectors_room(hk_request_t *request, size_t count)
{
    if (request->vector_count >= count) {
        return HK_OK;
    }
    size_t *room = hki_calloc(count, sizeof(*room));
    if (room == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "counts and offsets, %zu numbers", count);
    }
    hki_free(request->vectors);
    request->vectors = room;
    request->vector_count = count;
    return HK_OK;
}

/** Do two parts share an element? */
static bool do_parts_overlap(const vectors_t *v, int nranks, int *a_out, int *b_out)
{
    for (int a = 0; a < nranks; a++) {
        for (int b = a + 1; b < nranks; b++) {
            if (v->counts[a] != 0 && v->counts[b] != 0 &&
                v->offsets[a] < v->offsets[b] + v->counts[b] &&
                v->offsets[b] < v->offsets[a] + v->counts[a]) {
                *a_out = a;
                *b_out = b;
                return true;
            }
        }
    }
    return false;
}

/** Copy counts and offsets into `room` (2 * nranks) and check them. */
static hk_status_t vectors_fill(size_t *room, const size_t *counts, const size_t *offsets,
                                const hk_comm_t *comm, size_t elem_bytes, vectors_t *out)
{
    const size_t limit = (SIZE_MAX >> 1) / elem_bytes / (size_t)comm->nranks;
    vectors_t v = {.counts = room, .offsets = room + comm->nranks, .largest = 0, .end = 0};
    size_t next = 0;

    if (counts == NULL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "counts is NULL");
    }
    for (int r = 0; r < comm->nranks; r++) {
        const size_t offset = offsets != NULL ? offsets[r] : next;

        if (counts[r] > limit || offset > limit) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "count %zu or offset %zu of rank %d overflows",
                            counts[r], offset, r);
        }
        room[r] = counts[r];
        room[comm->nranks + r] = offset;
        next += counts[r];
        v.largest = counts[r] > v.largest ? counts[r] : v.largest;
        v.end = counts[r] != 0 && offset + counts[r] > v.end ? offset + counts[r] : v.end;
    }
    *out = v;
    return HK_OK;
}

static hk_status_t check_parts(const vectors_t *v, int nranks)
{
    int a = 0;
    int b = 0;

    if (do_parts_overlap(v, nranks, &a, &b)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "the parts of ranks %d and %d of the output overlap", a,
                        b);
    }
    return HK_OK;
}

static bool is_rooted(hki_coll_t coll)
{
    return coll == HKI_COLL_GATHER || coll == HKI_COLL_SCATTER;
}

static bool is_gather(hki_coll_t coll)
{
    return coll == HKI_COLL_GATHER || coll == HKI_COLL_ALL_GATHER;
}

static hk_status_t check_vcall(const hk_comm_t *comm, const vcall_t *c, hki_reduction_t *reduction)
{
    const hk_coll_opts_t *opts = c->opts;

    if (hk_dtype_bytes(c->dtype) == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%sv: dtype %d is none of hk_dtype_t",
                        hki_coll_name(c->coll), (int)c->dtype);
    }
    if (is_rooted(c->coll) && (c->root < 0 || c->root >= comm->nranks)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%sv: root %d must be 0 to %d", hki_coll_name(c->coll),
                        c->root, comm->nranks - 1);
    }
    *reduction = (hki_reduction_t){.dtype = c->dtype,
                                   .op = c->op,
                                   .nranks = comm->nranks,
                                   .scalar = opts != NULL ? opts->scalar : 1.0,
                                   .fn = opts != NULL ? opts->reduce_fn : NULL,
                                   .cookie = opts != NULL ? opts->reduce_cookie : NULL};
    return c->coll == HKI_COLL_REDUCE_SCATTER ? hki_reduction_check(reduction) : HK_OK;
}

static hk_status_t vcall_plan(hk_comm_t *comm, const vcall_t *c, const vectors_t *v,
                              hk_alias_t alias, hki_plan_t **plan_out)
{
    const hk_coll_opts_t *opts = c->opts;
    hki_plan_key_t key = {
        .count = v->largest,
        .root = is_rooted(c->coll) ? c->root : 0,
        .coll = (uint8_t)c->coll,
        .dtype = (uint8_t)c->dtype,
        .op = (uint8_t)(c->coll == HKI_COLL_REDUCE_SCATTER ? c->op : HK_SUM),
        .alias = (uint8_t)alias,
        .order = (uint8_t)(opts != NULL && opts->order >= 0 ? opts->order : (int)comm->order),
        .is_vector = 1,
    };

    if (opts != NULL && key.op == HK_PREMULSUM) {
        memcpy(&key.scalar, &opts->scalar, sizeof(key.scalar));
    }
    if (opts != NULL && opts->algo != NULL) {
        const hk_status_t status = hki_algo_named(c->coll, opts->algo, &key.algo);

        if (status != HK_OK) {
            return status;
        }
    }
    return hki_plan_get(comm, &key, plan_out);
}

/** "all_gatherv counts 3,0,7 f32 (direct)": as many counts as fit. */
static void sign(const vcall_t *c, const vectors_t *v, int nranks, hki_op_t *op)
{
    char *text = op->announcement.signature;
    const size_t room = sizeof(op->announcement.signature);
    char tail[40] = "";
    int n = snprintf(text, room, "%sv counts ", hki_coll_name(c->coll));
    size_t used = n > 0 ? (size_t)n : 0;

    if (is_rooted(c->coll)) {
        (void)snprintf(tail, sizeof(tail), " %s root %d", hk_dtype_name(c->dtype), c->root);
    } else {
        (void)snprintf(tail, sizeof(tail), " %s%s%s", hk_dtype_name(c->dtype),
                       c->coll == HKI_COLL_REDUCE_SCATTER ? " " : "",
                       c->coll == HKI_COLL_REDUCE_SCATTER ? hk_op_name(c->op) : "");
    }
    for (int r = 0; r < nranks; r++) {
        char number[24];

        n = snprintf(number, sizeof(number), "%s%zu", r == 0 ? "" : ",", v->counts[r]);
        if (used + (size_t)n + strlen(tail) + 8 > room) {
            (void)snprintf(text + used, room - used, "...");
            used += 3;
            break;
        }
        memcpy(text + used, number, (size_t)n + 1);
        used += (size_t)n;
    }
    (void)snprintf(text + used, room - used, "%s", tail);
    op->check = hki_hash(op->check, v->counts, (size_t)nranks * sizeof(*v->counts));
}

/** The ranges used here, and what they share. */
static hk_status_t vcall_overlap(const hk_comm_t *comm, const vcall_t *c, const vectors_t *v,
                                 hki_overlap_t *overlap)
{
    const size_t elem_bytes = hk_dtype_bytes(c->dtype);
    const bool is_root = !is_rooted(c->coll) || c->root == comm->rank;
    const size_t small = v->counts[comm->rank] * elem_bytes;
    const size_t large = is_root ? v->end * elem_bytes : 0;
    const bool gathers = is_gather(c->coll);
    const hki_ranges_t ranges = {
        .in = c->in,
        .in_bytes = gathers ? small : large,
        .out = c->out,
        .out_bytes = gathers ? large : small,
        .own_bytes = v->offsets[comm->rank] * elem_bytes,
        .is_gather = gathers,
        .is_scatter = !gathers,
    };

    return hki_ranges_overlap(&ranges, overlap);
}

static hk_status_t vcall_prepare(hk_comm_t *comm, const vcall_t *c, hk_request_t *request)
{
    const size_t elem_bytes = hk_dtype_bytes(c->dtype);
    hki_op_t *op = &request->op;
    vectors_t v;
    hki_overlap_t overlap;
    hk_status_t status;

    HKI_TRY(status = vectors_room(request, 2 * (size_t)comm->nranks), fail);
    HKI_TRY(status = vectors_fill(request->vectors, c->counts, c->offsets, comm, elem_bytes, &v),
            fail);
    if (is_gather(c->coll) && c->offsets != NULL) {
        HKI_TRY(status = check_parts(&v, comm->nranks), fail);
    }
    HKI_TRY(status = vcall_overlap(comm, c, &v, &overlap), fail);
    HKI_TRY(status = vcall_plan(comm, c, &v, overlap.alias, &request->plan), fail);
    const hki_blocks_t large = {.offsets = v.offsets, .counts = v.counts};
    const hki_blocks_t small = {.count = v.counts[comm->rank]};
    op->in = is_gather(c->coll) ? small : large;
    op->out = is_gather(c->coll) ? large : small;
    op->in.base = (char *)(uintptr_t)c->in;
    op->out.base = c->out;
    op->is_huge =
        (is_gather(c->coll) ? v.end : v.counts[comm->rank]) * elem_bytes >= HKI_HUGE_BYTES;
    if (overlap.needs_copy) {
        const size_t elements = is_gather(c->coll) ? v.counts[comm->rank] : v.end;

        HKI_TRY(status = hki_request_bounce(request, c->in, elements * elem_bytes), fail);
        op->in.base = request->bounce;
    }
    op->check = request->plan->check;
    sign(c, &v, comm->nranks, op);
fail:
    return status;
}

static hk_status_t vcall(hk_comm_t *comm, vcall_t *c, const hk_coll_opts_t *opts,
                         hk_request_t **request_out)
{
    hk_coll_opts_t store;
    hki_reduction_t reduction;
    hk_request_t *request = NULL;
    hk_status_t status = hki_comm_enter(comm);

    if (status != HK_OK) {
        return status;
    }
    HKI_TRY(status = hki_call_check_opts(opts, &store, &c->opts), leave);
    HKI_TRY(status = check_vcall(comm, c, &reduction), leave);
    request = hki_request_get(comm, HKI_REQUEST_VECTOR);
    if (request == NULL) {
        status = HK_ERR_NO_MEMORY;
        goto leave;
    }
    request->op.reduction = reduction;
    status = vcall_prepare(comm, c, request);
    if (status == HK_OK) {
        hki_request_post(request, c->opts);
        status = hki_request_finish(request, request_out);
    } else {
        hki_request_put(request);
    }
leave:
    hki_comm_leave_with(comm, status);
    return status;
}

hk_status_t hk_gatherv(hk_comm_t *comm, const void *in, void *out, const size_t *counts,
                       const size_t *offsets, hk_dtype_t dtype, int root,
                       const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    vcall_t c = {HKI_COLL_GATHER, in, out, counts, offsets, dtype, HK_SUM, root, NULL};

    return vcall(comm, &c, opts, request_out);
}

hk_status_t hk_scatterv(hk_comm_t *comm, const void *in, void *out, const size_t *counts,
                        const size_t *offsets, hk_dtype_t dtype, int root,
                        const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    vcall_t c = {HKI_COLL_SCATTER, in, out, counts, offsets, dtype, HK_SUM, root, NULL};

    return vcall(comm, &c, opts, request_out);
}

hk_status_t hk_all_gatherv(hk_comm_t *comm, const void *in, void *out, const size_t *counts,
                           const size_t *offsets, hk_dtype_t dtype, const hk_coll_opts_t *opts,
                           hk_request_t **request_out)
{
    vcall_t c = {HKI_COLL_ALL_GATHER, in, out, counts, offsets, dtype, HK_SUM, 0, NULL};

    return vcall(comm, &c, opts, request_out);
}

hk_status_t hk_reduce_scatterv(hk_comm_t *comm, const void *in, void *out, const size_t *counts,
                               hk_dtype_t dtype, hk_op_t op, const hk_coll_opts_t *opts,
                               hk_request_t **request_out)
{
    vcall_t c = {HKI_COLL_REDUCE_SCATTER, in, out, counts, NULL, dtype, op, 0, NULL};

    return vcall(comm, &c, opts, request_out);
}

/* all_to_allv */

/** One call of it. */
typedef struct exchange {
    const char *in;
    char *out;
    vectors_t sends;
    vectors_t recvs;
    hk_dtype_t dtype;
    size_t elem_bytes;
    const hk_coll_opts_t *opts;
} exchange_t;

/** Start this rank's part with one peer, in one direction, as a child of `request`. */
static hk_status_t exchange_part(hk_request_t *request, const exchange_t *x, int peer, bool is_send)
{
    const vectors_t *v = is_send ? &x->sends : &x->recvs;
    const char *base = is_send ? x->in : x->out;
    hk_request_t *child = NULL;
    hki_transfer_t transfer = {.is_send = is_send,
                               .data = NULL,
                               .count = v->counts[peer],
                               .dtype = x->dtype,
                               .peer = peer,
                               .tag = HKI_TAG_INTERNAL | (request->op.op_number & 0x3fffffffu),
                               .opts = x->opts};

    if (transfer.count != 0) {
        transfer.data = (char *)(uintptr_t)base + v->offsets[peer] * x->elem_bytes;
    }
    const hk_status_t status = hki_transfer_start(request->comm, &transfer, &child);
    if (status == HK_OK) {
        child->sibling = request->children;
        request->children = child;
    }
    return status;
}

static hk_status_t exchange_start(hk_request_t *request, const exchange_t *x)
{
    hk_comm_t *comm = request->comm;
    hk_status_t status;

    for (int d = 0; d < comm->nranks; d++) { // everybody starts with another peer
        const int from = (comm->rank + comm->nranks - d) % comm->nranks;
        const int to = (comm->rank + d) % comm->nranks;

        HKI_TRY(status = exchange_part(request, x, from, false), fail);
        HKI_TRY(status = exchange_part(request, x, to, true), fail);
    }
    return HK_OK;
fail:
    // Parts are under way at the peers: the communicator cannot go on.
    comm->ep->ops->fail(comm->ep, status, comm->rank, hk_last_error());
    return hki_comm_break(comm);
}

/** Check the arguments, copy what is borrowed, and find the plan of the barrier. */
static hk_status_t exchange_prepare(hk_comm_t *comm, hk_request_t *request, exchange_t *x,
                                    const size_t *const arrays[4])
{
    const size_t nranks = (size_t)comm->nranks;
    const hki_plan_key_t key = {.coll = HKI_COLL_BARRIER, .dtype = HK_U8};
    hki_overlap_t overlap;
    hk_status_t status;

    HKI_TRY(status = vectors_room(request, 4 * nranks), fail);
    HKI_TRY(status = vectors_fill(request->vectors, arrays[0], arrays[1], comm, x->elem_bytes,
                                  &x->sends),
            fail);
    HKI_TRY(status = vectors_fill(request->vectors + 2 * nranks, arrays[2], arrays[3], comm,
                                  x->elem_bytes, &x->recvs),
            fail);
    if (arrays[3] != NULL) {
        HKI_TRY(status = check_parts(&x->recvs, comm->nranks), fail);
    }
    const hki_ranges_t ranges = {.in = x->in,
                                 .in_bytes = x->sends.end * x->elem_bytes,
                                 .out = x->out,
                                 .out_bytes = x->recvs.end * x->elem_bytes,
                                 .is_exchange = true};
    HKI_TRY(status = hki_ranges_overlap(&ranges, &overlap), fail);
    if (overlap.needs_copy) {
        HKI_TRY(status = hki_request_bounce(request, x->in, ranges.in_bytes), fail);
        x->in = request->bounce;
    }
    HKI_TRY(status = hki_plan_get(comm, &key, &request->plan), fail);
    hki_op_t *op = &request->op;
    op->in = (hki_blocks_t){0};
    op->out = (hki_blocks_t){0};
    op->is_huge = false;
    op->reduction = (hki_reduction_t){.dtype = HK_U8, .nranks = comm->nranks};
    (void)snprintf(op->announcement.signature, sizeof(op->announcement.signature), "all_to_allv %s",
                   hk_dtype_name(x->dtype));
    op->check = hki_hash(request->plan->check, op->announcement.signature,
                         strlen(op->announcement.signature));
fail:
    return status;
}

hk_status_t hk_all_to_allv(hk_comm_t *comm, const void *in, const size_t *in_counts,
                           const size_t *in_offsets, void *out, const size_t *out_counts,
                           const size_t *out_offsets, hk_dtype_t dtype, const hk_coll_opts_t *opts,
                           hk_request_t **request_out)
{
    const size_t *const arrays[4] = {in_counts, in_offsets, out_counts, out_offsets};
    exchange_t x = {
        .in = in, .out = out, .dtype = dtype, .elem_bytes = hk_dtype_bytes(dtype), .opts = NULL};
    hk_coll_opts_t store;
    hk_request_t *request = NULL;
    hk_status_t status = hki_comm_enter(comm);

    if (status != HK_OK) {
        return status;
    }
    if (x.elem_bytes == 0) {
        status =
            HKI_FAIL(HK_ERR_INVALID_ARG, "all_to_allv: dtype %d is none of hk_dtype_t", (int)dtype);
        goto leave;
    }
    HKI_TRY(status = hki_call_check_opts(opts, &store, &x.opts), leave);
    request = hki_request_get(comm, HKI_REQUEST_VECTOR);
    if (request == NULL) {
        status = HK_ERR_NO_MEMORY;
        goto leave;
    }
    HKI_TRY(status = exchange_prepare(comm, request, &x, arrays), put);
    hki_request_post(request, x.opts);
    HKI_TRY(status = exchange_start(request, &x), put);
    status = hki_request_finish(request, request_out);
    goto leave;
put:
    hki_request_put(request);
leave:
    hki_comm_leave_with(comm, status);
    return status;
}
