/*
 * A random mix. Method: all ranks draw the same operations from the same seed; up to IN_FLIGHT of
 * them are under way at once, on the whole group and on one half of it; between them every rank
 * sends to its right neighbour and receives from its left one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "grid.h"

enum { IN_FLIGHT = 6, ELEMENTS_MAX = 40000 };

typedef struct mix {
    hk_comm_t *comm;
    hk_comm_t *half; /**< ranks of this one's parity */
    uint64_t seed;
    uint64_t drawn;
    case_run_t *runs[IN_FLIGHT];
} mix_t;

static uint64_t draw(mix_t *mix, uint64_t bound)
{
    mix->drawn++;
    return ref_mix(mix->seed * 31 + mix->drawn) % bound;
}

/** Small counts often, large ones sometimes. */
static size_t draw_count(mix_t *mix)
{
    const uint64_t shift = draw(mix, 16);

    return (size_t)(draw(mix, ELEMENTS_MAX) >> shift);
}

static case_spec_t draw_case(mix_t *mix)
{
    case_spec_t spec = {.coll = (hki_coll_t)draw(mix, HKI_COLL_COUNT)};

    spec.count = draw_count(mix);
    do {
        spec.dtype = (hk_dtype_t)draw(mix, HK_DTYPE_COUNT);
        spec.op = (hk_op_t)draw(mix, HK_OP_COUNT);
    } while (!ref_is_allowed(spec.dtype, spec.op));
    spec.root = 0;
    spec.place = (place_t)draw(mix, PLACE_COUNT);
    spec.misalign = (size_t)draw(mix, 3);
    spec.is_async = draw(mix, 2) == 0;
    spec.is_shared = draw(mix, 2) == 0;
    spec.seed = draw(mix, UINT32_MAX);
    spec.is_vector = draw(mix, 4) == 0 &&
                     (spec.coll == HKI_COLL_GATHER || spec.coll == HKI_COLL_SCATTER ||
                      spec.coll == HKI_COLL_ALL_GATHER || spec.coll == HKI_COLL_REDUCE_SCATTER ||
                      spec.coll == HKI_COLL_ALL_TO_ALL);
    return spec;
}

/** Everyone sends right and receives from the left, sends first. */
static bool pass_on(mix_t *mix, size_t count, int tag)
{
    const int nranks = hk_comm_size(mix->comm);
    const int rank = hk_comm_rank(mix->comm);
    const int right = (rank + 1) % nranks;
    const int left = (rank + nranks - 1) % nranks;
    hk_coll_opts_t opts = hk_coll_opts_default();
    hk_request_t *request = NULL;
    uint32_t *out = malloc(count * sizeof(*out) + 1);
    uint32_t *in = malloc(count * sizeof(*in) + 1);
    bool is_right = true;

    if (in == NULL || out == NULL) {
        abort();
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = (uint32_t)ref_mix((uint64_t)rank << 32 | i);
    }
    opts.tag = tag;
    is_right = hk_send(mix->comm, out, count, HK_U32, right, &opts, &request) == HK_OK &&
               hk_recv(mix->comm, in, count, HK_U32, left, &opts, NULL) == HK_OK &&
               hk_request_wait(&request) == HK_OK;
    if (!is_right) {
        fprintf(stderr, "rank %d, ring of %zu elements: %s\n", rank, count, hk_last_error());
    }
    for (size_t i = 0; is_right && i < count; i++) {
        if (in[i] != (uint32_t)ref_mix((uint64_t)left << 32 | i)) {
            fprintf(stderr, "rank %d, ring of %zu elements: element %zu is wrong\n", rank, count,
                    i);
            is_right = false;
        }
    }
    free(in);
    free(out);
    return is_right;
}

static bool mix_step(mix_t *mix, int step)
{
    case_run_t **slot = &mix->runs[draw(mix, IN_FLIGHT)];
    const case_spec_t spec = draw_case(mix);
    hk_comm_t *comm = draw(mix, 3) == 0 ? mix->half : mix->comm;
    const bool passes = draw(mix, 4) == 0;
    const size_t pass_count = draw_count(mix);

    if (*slot != NULL) {
        const bool is_right = case_end(*slot);

        *slot = NULL;
        if (!is_right) {
            return false;
        }
    }
    *slot = case_begin(comm, &spec);
    if (*slot == NULL) {
        return false;
    }
    return !passes || pass_on(mix, pass_count, step % 3);
}

bool mix_run(hk_comm_t *comm, const void *cookie)
{
    const grid_t *grid = cookie;
    mix_t mix = {.comm = comm, .seed = grid->seed};
    bool is_right = true;

    if (hk_comm_split(comm, hk_comm_rank(comm) % 2, 0, &mix.half) != HK_OK) {
        fprintf(stderr, "split: %s\n", hk_last_error());
        return false;
    }
    for (int step = 0; step < grid->mix_count && is_right; step++) {
        is_right = mix_step(&mix, step);
        if (!is_right) {
            fprintf(stderr, "mix of %d ranks, seed %llu, step %d\n", hk_comm_size(comm),
                    (unsigned long long)grid->seed, step);
        }
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        if (mix.runs[i] != NULL) {
            is_right = case_end(mix.runs[i]) && is_right;
        }
    }
    hk_comm_close(&mix.half);
    return is_right;
}
