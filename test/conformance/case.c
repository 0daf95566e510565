/*
 * One case. Method: every buffer stands between guard bytes; elements are named (block, i modulo
 * the case's period) whatever their place in memory; after the call every byte of both buffers is
 * compared with what it must be: a result, an unchanged input, or the filling that nobody may
 * touch. The period is a prime, so that no tile or part is a multiple of it; it keeps the plain
 * reference affordable where counts are large.
 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { GUARD_BYTES = 64, FILLING = 0xA5 };

/** A buffer of blocks. */
typedef struct side {
    bool is_used; /**< the call may look at it on this rank */
    int nblocks;
    size_t counts[RANKS_RUN_MAX];
    size_t offsets[RANKS_RUN_MAX]; /**< [elements] */
    size_t elements;               /**< from the start to the end of the last block */
} side_t;

struct case_run {
    hk_comm_t *comm;
    case_spec_t spec;
    ref_t ref;
    int rank;
    int nranks;
    size_t elem_bytes;
    side_t in_side;
    side_t out_side;
    size_t area_bytes; /**< of each area */
    unsigned char *in_area;
    unsigned char *out_area;
    unsigned char *in;  /**< inside one of the areas */
    unsigned char *out; /**< inside one of the areas */
    hk_request_t *request;
};

static bool reduces(hki_coll_t coll)
{
    return coll == HKI_COLL_REDUCE || coll == HKI_COLL_ALL_REDUCE ||
           coll == HKI_COLL_REDUCE_SCATTER;
}

static void say(const case_run_t *run, const char *what)
{
    static const char *const places[PLACE_COUNT] = {"apart", "in place", "own part"};
    const case_spec_t *s = &run->spec;

    fprintf(stderr,
            "%d ranks, rank %d: %s%s by %s, count %zu %s %s root %d, %s, misaligned by %zu, %s, %s "
            "memory, seed %llu: %s\n",
            run->nranks, run->rank, hki_coll_name(s->coll), s->is_vector ? "v" : "",
            s->algo == NULL ? "choice" : s->algo, s->count, hk_dtype_name(s->dtype),
            reduces(s->coll) ? hk_op_name(s->op) : "-", s->root, places[s->place], s->misalign,
            s->is_async ? "with a request" : "blocking", s->is_shared ? "shared" : "private",
            (unsigned long long)s->seed, what);
}

/** Elements of block `b` in a v form: uneven, with zeros. */
static size_t vector_count(size_t count, int b)
{
    static const size_t eighths[] = {8, 0, 3, 8, 1, 0, 5};

    return count * eighths[(size_t)b % (sizeof(eighths) / sizeof(eighths[0]))] / 8;
}

/** Blocks of a buffer: one, or one a rank, with gaps in v forms. `peer_block`: for all_to_allv. */
static void side_init(const case_run_t *run, side_t *side, bool is_large, bool is_used)
{
    const case_spec_t *s = &run->spec;

    side->is_used = is_used;
    side->nblocks = is_large ? run->nranks : 1;
    side->elements = 0;
    for (int b = 0; b < side->nblocks; b++) {
        const int owner = is_large ? b : run->rank;
        const bool is_exchange = s->coll == HKI_COLL_ALL_TO_ALL;
        // What goes from a to b in all_to_allv must be named alike on both sides.
        const int key = is_exchange ? run->rank + b : owner;

        side->counts[b] = s->is_vector ? vector_count(s->count, key) : s->count;
        side->offsets[b] = side->elements;
        side->elements += side->counts[b];
        if (s->is_vector && is_large && s->coll != HKI_COLL_REDUCE_SCATTER) {
            side->elements += (size_t)(b % 3); // a gap
        }
    }
}

static void sides_init(case_run_t *run)
{
    const hki_coll_t coll = run->spec.coll;
    const bool is_root = run->rank == run->spec.root;
    const bool in_is_large =
        coll == HKI_COLL_SCATTER || coll == HKI_COLL_REDUCE_SCATTER || coll == HKI_COLL_ALL_TO_ALL;
    const bool out_is_large =
        coll == HKI_COLL_GATHER || coll == HKI_COLL_ALL_GATHER || coll == HKI_COLL_ALL_TO_ALL;
    const bool in_at_root = coll == HKI_COLL_BROADCAST || coll == HKI_COLL_SCATTER;
    const bool out_at_root = coll == HKI_COLL_REDUCE || coll == HKI_COLL_GATHER;

    side_init(run, &run->in_side, in_is_large,
              coll != HKI_COLL_BARRIER && (!in_at_root || is_root));
    side_init(run, &run->out_side, out_is_large,
              coll != HKI_COLL_BARRIER && (!out_at_root || is_root));
}

/** The number an element goes by. */
static uint64_t name_of(int block, size_t i)
{
    return ((uint64_t)block << 40) | i;
}

/** The elements at dst repeat from `period_bytes` on. */
static void repeat(unsigned char *dst, size_t period_bytes, size_t bytes)
{
    size_t done = period_bytes;

    while (done < bytes) {
        const size_t n = done < bytes - done ? done : bytes - done;

        memcpy(dst + done, dst, n);
        done += n;
    }
}

/** Elements of one period of a block. */
static size_t period_of(const case_run_t *run, size_t count)
{
    return count < run->spec.period ? count : run->spec.period;
}

/** Write this rank's input to `in`, which lies like run->in. */
static void write_input(const case_run_t *run, unsigned char *in)
{
    const side_t *side = &run->in_side;

    for (int b = 0; side->is_used && b < side->nblocks; b++) {
        unsigned char *block = in + side->offsets[b] * run->elem_bytes;
        const size_t period = period_of(run, side->counts[b]);

        for (size_t i = 0; i < period; i++) {
            ref_input(&run->ref, run->rank, name_of(b, i), block + i * run->elem_bytes);
        }
        repeat(block, period * run->elem_bytes, side->counts[b] * run->elem_bytes);
    }
}

/** Place in and out, and write the input. */
static void buffers_init(case_run_t *run)
{
    const case_spec_t *s = &run->spec;
    const side_t *in = &run->in_side;
    const side_t *out = &run->out_side;
    const size_t larger = in->elements > out->elements ? in->elements : out->elements;
    const size_t start = GUARD_BYTES + s->misalign;

    run->area_bytes = 2 * GUARD_BYTES + s->misalign + larger * run->elem_bytes;
    run->in_area = area_get(run->comm, s->pool, s->is_shared, run->area_bytes);
    run->out_area = area_get(run->comm, s->pool, s->is_shared, run->area_bytes);
    memset(run->in_area, FILLING, run->area_bytes);
    memset(run->out_area, FILLING, run->area_bytes);
    run->in = run->in_area + start;
    run->out = run->out_area + start;
    if (in->is_used && out->is_used && s->place != PLACE_APART) {
        const bool is_own = s->place == PLACE_OWN;

        if (out->nblocks >= in->nblocks) {
            run->in = run->out;
            if (is_own && out->nblocks > in->nblocks) {
                run->in += out->offsets[run->rank] * run->elem_bytes;
            }
        } else {
            run->out = run->in + (is_own ? in->offsets[run->rank] * run->elem_bytes : 0);
        }
    }
    write_input(run, run->in);
}

/** What must stand in element i of output block b. */
static void expected(const case_run_t *run, int b, size_t i, void *dst)
{
    const ref_t *ref = &run->ref;

    switch (run->spec.coll) {
    case HKI_COLL_BROADCAST:
        ref_input(ref, run->spec.root, name_of(0, i), dst);
        break;
    case HKI_COLL_SCATTER:
        ref_input(ref, run->spec.root, name_of(run->rank, i), dst);
        break;
    case HKI_COLL_GATHER:
    case HKI_COLL_ALL_GATHER:
        ref_input(ref, b, name_of(0, i), dst);
        break;
    case HKI_COLL_ALL_TO_ALL:
        ref_input(ref, b, name_of(run->rank, i), dst);
        break;
    case HKI_COLL_REDUCE_SCATTER:
        ref_reduced(ref, name_of(run->rank, i), dst);
        break;
    default:
        ref_reduced(ref, name_of(0, i), dst);
        break;
    }
}

/** Write what must stand in both areas into two other ones. */
static void expect_areas(const case_run_t *run, unsigned char *in_area, unsigned char *out_area)
{
    const side_t *out = &run->out_side;
    const bool is_in_first = run->in >= run->in_area && run->in < run->in_area + run->area_bytes;
    unsigned char *in_at =
        is_in_first ? in_area + (run->in - run->in_area) : out_area + (run->in - run->out_area);
    const bool is_out_own = run->out >= run->out_area && run->out < run->out_area + run->area_bytes;
    unsigned char *out_at =
        is_out_own ? out_area + (run->out - run->out_area) : in_area + (run->out - run->in_area);

    memset(in_area, FILLING, run->area_bytes);
    memset(out_area, FILLING, run->area_bytes);
    write_input(run, in_at);
    for (int b = 0; out->is_used && b < out->nblocks; b++) {
        unsigned char *block = out_at + out->offsets[b] * run->elem_bytes;
        const size_t period = period_of(run, out->counts[b]);

        for (size_t i = 0; i < period; i++) {
            expected(run, b, i, block + i * run->elem_bytes);
        }
        repeat(block, period * run->elem_bytes, out->counts[b] * run->elem_bytes);
    }
}

static bool compare(const case_run_t *run, const char *name, const unsigned char *got,
                    const unsigned char *want)
{
    char text[160];

    if (memcmp(got, want, run->area_bytes) == 0) {
        return true;
    }
    for (size_t i = 0; i < run->area_bytes; i++) {
        if (got[i] != want[i]) {
            const long at = (long)i - (long)GUARD_BYTES - (long)run->spec.misalign;

            (void)snprintf(text, sizeof(text), "%s, byte %ld (element %ld): got %02x, want %02x",
                           name, at, at / (long)run->elem_bytes, got[i], want[i]);
            say(run, text);
            break;
        }
    }
    return false;
}

static hk_status_t call_vector(case_run_t *run, const hk_coll_opts_t *opts,
                               hk_request_t **request_out)
{
    const case_spec_t *s = &run->spec;
    const side_t *in = &run->in_side;
    const side_t *out = &run->out_side;

    switch (s->coll) {
    case HKI_COLL_GATHER:
        return hk_gatherv(run->comm, run->in, run->out, out->counts, out->offsets, s->dtype,
                          s->root, opts, request_out);
    case HKI_COLL_SCATTER:
        return hk_scatterv(run->comm, run->in, run->out, in->counts, in->offsets, s->dtype, s->root,
                           opts, request_out);
    case HKI_COLL_ALL_GATHER:
        return hk_all_gatherv(run->comm, run->in, run->out, out->counts, out->offsets, s->dtype,
                              opts, request_out);
    case HKI_COLL_REDUCE_SCATTER:
        return hk_reduce_scatterv(run->comm, run->in, run->out, in->counts, s->dtype, s->op, opts,
                                  request_out);
    default:
        return hk_all_to_allv(run->comm, run->in, in->counts, in->offsets, run->out, out->counts,
                              out->offsets, s->dtype, opts, request_out);
    }
}

static hk_status_t call_plain(case_run_t *run, const hk_coll_opts_t *opts,
                              hk_request_t **request_out)
{
    const case_spec_t *s = &run->spec;
    hk_comm_t *c = run->comm;

    switch (s->coll) {
    case HKI_COLL_BROADCAST:
        return hk_broadcast(c, run->in, run->out, s->count, s->dtype, s->root, opts, request_out);
    case HKI_COLL_REDUCE:
        return hk_reduce(c, run->in, run->out, s->count, s->dtype, s->op, s->root, opts,
                         request_out);
    case HKI_COLL_SCATTER:
        return hk_scatter(c, run->in, run->out, s->count, s->dtype, s->root, opts, request_out);
    case HKI_COLL_GATHER:
        return hk_gather(c, run->in, run->out, s->count, s->dtype, s->root, opts, request_out);
    case HKI_COLL_ALL_GATHER:
        return hk_all_gather(c, run->in, run->out, s->count, s->dtype, opts, request_out);
    case HKI_COLL_REDUCE_SCATTER:
        return hk_reduce_scatter(c, run->in, run->out, s->count, s->dtype, s->op, opts,
                                 request_out);
    case HKI_COLL_ALL_REDUCE:
        return hk_all_reduce(c, run->in, run->out, s->count, s->dtype, s->op, opts, request_out);
    case HKI_COLL_ALL_TO_ALL:
        return hk_all_to_all(c, run->in, run->out, s->count, s->dtype, opts, request_out);
    default:
        return hk_barrier(c, opts, request_out);
    }
}

static void run_free(case_run_t *run)
{
    area_put(run->comm, run->spec.pool, run->spec.is_shared, run->in_area);
    area_put(run->comm, run->spec.pool, run->spec.is_shared, run->out_area);
    free(run);
}

case_run_t *case_begin(hk_comm_t *comm, const case_spec_t *spec)
{
    case_run_t *run = calloc(1, sizeof(*run));
    hk_coll_opts_t opts = hk_coll_opts_default();

    if (run == NULL) {
        abort();
    }
    run->comm = comm;
    run->spec = *spec;
    run->rank = hk_comm_rank(comm);
    run->nranks = hk_comm_size(comm);
    run->elem_bytes = hk_dtype_bytes(spec->dtype);
    run->ref = (ref_t){.dtype = spec->dtype,
                       .op = spec->op,
                       .nranks = run->nranks,
                       .scalar = 3.0,
                       .is_exact = spec->is_any_order,
                       .seed = spec->seed};
    sides_init(run);
    buffers_init(run);
    opts.algo = spec->algo;
    opts.order = spec->is_any_order ? (int)HK_ORDER_ANY : -1;
    opts.scalar = 3.0;
    opts.reduce_fn = spec->op == HK_USER ? ref_user : NULL;
    // as users call, where nothing is asked for: such calls are remembered
    const bool is_plain = spec->algo == NULL && !spec->is_any_order && spec->op != HK_USER &&
                          spec->op != HK_PREMULSUM;
    const hk_coll_opts_t *asked = is_plain ? NULL : &opts;
    hk_request_t **request = spec->is_async ? &run->request : NULL;
    const hk_status_t status =
        spec->is_vector ? call_vector(run, asked, request) : call_plain(run, asked, request);
    if (status != HK_OK) {
        say(run, hk_last_error());
        run_free(run);
        return NULL;
    }
    return run;
}

/** Wait for the request, or ask for it until it is done. */
static hk_status_t finish(case_run_t *run)
{
    hk_status_t status = HK_IN_PROGRESS;

    if (!run->spec.is_polled) {
        return hk_request_wait(&run->request);
    }
    while (status == HK_IN_PROGRESS) {
        status = hk_request_test(&run->request);
    }
    return status;
}

bool case_end(case_run_t *run)
{
    if (run->request != NULL && finish(run) != HK_OK) {
        say(run, hk_last_error());
        run_free(run);
        return false;
    }
    unsigned char *in_area = malloc(run->area_bytes);
    unsigned char *out_area = malloc(run->area_bytes);
    if (in_area == NULL || out_area == NULL) {
        abort();
    }
    expect_areas(run, in_area, out_area);
    const bool is_right =
        compare(run, "out", run->out_area, out_area) && compare(run, "in", run->in_area, in_area);
    free(in_area);
    free(out_area);
    run_free(run);
    return is_right;
}

bool case_do(hk_comm_t *comm, const case_spec_t *spec)
{
    case_run_t *run = case_begin(comm, spec);

    return run != NULL && case_end(run);
}
