/*
 * A random mix. Method: all ranks draw the same operations from one stream of random numbers, and
 * from one of their own what others need not know: which memory, how long they pause, in which
 * order they wait. Up to IN_FLIGHT collectives are under way at once on communicators that come
 * and go; between them go sends and receives. Whoever waits, waits for something of an earlier step
 * than any that is still to come, so nothing can wait for itself.
 *
 * After every tenth of the operations all is ended and closed, and what the process holds of the
 * system is compared with what it held after the first.
 */
#include "mix.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include <hocket/memory.h>

#include "case.h"
#include "usage.h"

enum {
    IN_FLIGHT = 48,
    PERIOD = 127,
    TENTHS = 10,
    LONG_MIX = 100000, /**< operations from which on each tenth is reported */
    /* of MILLE steps: */
    MILLE = 1000,
    RENEWALS = 1,
    WAITS_FOR_ALL = 4,
    TRANSFERS = 50,
    /* one of so many steps: */
    PAUSE_EVERY = 64,
    LONG_PAUSE_EVERY = 20000,
    EARLY_END_EVERY = 32,
};

typedef struct flight {
    hk_comm_t *comm;
    case_run_t *run; /**< NULL: none is under way */
} flight_t;

typedef struct mix {
    hk_comm_t *world;
    const grid_t *grid;
    mix_random_t common; /**< equal on all ranks */
    mix_random_t own;
    mix_comms_t comms;
    area_pool_t pool;
    flight_t flights[IN_FLIGHT];
    int oldest;    /**< flight */
    usage_t usage; /**< after a tenth */
} mix_t;

size_t mix_draw_count(mix_random_t *random)
{
    enum { OF = 10000, MANY = 4, SOME = 500, FEW = 3000 };
    const uint64_t kind = mix_draw(random, OF);
    const uint64_t number = mix_draw(random, UINT64_MAX);

    if (kind < MANY) {
        return (size_t)(number % (1 << 20));
    }
    if (kind < SOME) {
        return (size_t)(number % 20000);
    }
    return (size_t)(kind < FEW ? number % 1500 : number % 50);
}

/** One of the collective's algorithms that this number of ranks allows, or NULL. */
static const hki_algo_t *draw_algo(mix_random_t *random, hki_coll_t coll, int nranks)
{
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);
    const int first = (int)mix_draw(random, (uint64_t)count);

    for (int i = 0; i < count; i++) {
        const hki_algo_t *algo = &algos[(first + i) % count];

        if (algo->coll == coll && grid_has(algo, nranks)) {
            return algo;
        }
    }
    return NULL;
}

static bool has_blocks(hki_coll_t coll)
{
    return coll == HKI_COLL_GATHER || coll == HKI_COLL_SCATTER || coll == HKI_COLL_ALL_GATHER ||
           coll == HKI_COLL_REDUCE_SCATTER || coll == HKI_COLL_ALL_TO_ALL;
}

/** `common`: equal on all ranks of comm. */
static case_spec_t draw_case(mix_t *mix, hk_comm_t *comm, mix_random_t common)
{
    const int nranks = hk_comm_size(comm);
    case_spec_t spec = {.coll = (hki_coll_t)mix_draw(&common, HKI_COLL_COUNT), .period = PERIOD};
    const hki_algo_t *algo =
        mix_draw(&common, 4) == 0 ? draw_algo(&common, spec.coll, nranks) : NULL;

    spec.is_any_order = algo == NULL ? mix_draw(&common, 8) == 0 : !algo->is_tree_order;
    spec.algo = algo == NULL ? NULL : algo->name;
    spec.is_vector = algo == NULL && has_blocks(spec.coll) && mix_draw(&common, 3) == 0;
    spec.count = mix_draw_count(&common);
    if (has_blocks(spec.coll) && spec.count > (size_t)nranks * 8) {
        spec.count /= (size_t)nranks;
    }
    do {
        spec.dtype = (hk_dtype_t)mix_draw(&common, HK_DTYPE_COUNT);
        spec.op = (hk_op_t)mix_draw(&common, HK_OP_COUNT);
    } while (!grid_allows(&spec));
    spec.root = (int)mix_draw(&common, (uint64_t)nranks);
    spec.place = (place_t)mix_draw(&common, PLACE_COUNT);
    spec.is_async = mix_draw(&common, 8) != 0;
    spec.seed = mix_draw(&common, UINT32_MAX);
    spec.misalign = mix_draw(&mix->own, 2) == 0 ? 0 : (size_t)mix_draw(&mix->own, 9);
    spec.is_polled = mix_draw(&mix->own, 2) == 0;
    spec.pool = mix_draw(&mix->own, 64) == 0 ? NULL : &mix->pool;
    spec.is_shared = mix_draw(&mix->own, 2) == 0;
    return spec;
}

static bool flight_end(flight_t *flight)
{
    case_run_t *run = flight->run;

    flight->run = NULL;
    return run == NULL || case_end(run);
}

/** End all flights, or those of one communicator, beginning anywhere. */
static bool flights_end(mix_t *mix, const hk_comm_t *comm)
{
    const uint64_t first = mix_draw(&mix->own, IN_FLIGHT);

    for (uint64_t i = 0; i < IN_FLIGHT; i++) {
        flight_t *flight = &mix->flights[(first + i) % IN_FLIGHT];

        if ((comm == NULL || flight->comm == comm) && !flight_end(flight)) {
            return false;
        }
    }
    return true;
}

/** This rank is busy with something else, or lets others go first. */
static void pause_now(mix_random_t *own)
{
    const bool is_long = mix_draw(own, LONG_PAUSE_EVERY / PAUSE_EVERY) == 0;
    const uint64_t rounds = is_long ? 1000000 : mix_draw(own, 20000);
    volatile uint64_t sink = 0;

    if (mix_draw(own, 2) == 0) {
        for (uint64_t i = 0; i < rounds; i++) {
            sink = sink + ref_mix(i);
        }
    } else {
        for (uint64_t i = 0; i < 1 + rounds / 1000; i++) {
            (void)sched_yield();
        }
    }
}

static bool mix_step(mix_t *mix)
{
    const uint64_t kind = mix_draw(&mix->common, MILLE);
    const int k = (int)mix_draw(&mix->common, MIX_COMMS);
    const mix_random_t common = mix_branch(&mix->common);
    hk_comm_t *comm = mix->comms.comms[k];

    if (mix_draw(&mix->own, PAUSE_EVERY) == 0) {
        pause_now(&mix->own);
    }
    if (mix_draw(&mix->own, EARLY_END_EVERY) == 0 &&
        !flight_end(&mix->flights[mix_draw(&mix->own, IN_FLIGHT)])) {
        return false;
    }
    if (kind < RENEWALS) {
        return k == 0 || ((comm == NULL || flights_end(mix, comm)) &&
                          mix_comms_renew(&mix->comms, k, common));
    }
    if (kind < RENEWALS + WAITS_FOR_ALL) {
        return flights_end(mix, NULL);
    }
    if (comm == NULL) {
        return true;
    }
    if (kind < RENEWALS + WAITS_FOR_ALL + TRANSFERS) {
        return mix_transfers(comm, common, &mix->own, &mix->pool);
    }
    flight_t *flight = &mix->flights[mix->oldest];
    mix->oldest = (mix->oldest + 1) % IN_FLIGHT;
    if (!flight_end(flight)) {
        return false;
    }
    const case_spec_t spec = draw_case(mix, comm, common);
    if (!spec.is_async) {
        return case_do(comm, &spec);
    }
    *flight = (flight_t){.comm = comm, .run = case_begin(comm, &spec)};
    return flight->run != NULL;
}

/** End everything, and note what this process holds. Ranks that are threads: rank 0 does so. */
static bool settle(mix_t *mix, usage_t *usage)
{
    void *swept = NULL;

    if (!flights_end(mix, NULL)) {
        return false;
    }
    mix_comms_close(&mix->comms);
    area_pool_clear(&mix->pool);
    // Memory of a group goes back with the first allocation after all its ranks have left.
    if (hk_barrier(mix->world, NULL, NULL) != HK_OK ||
        hk_mem_alloc(mix->world, 1, &swept) != HK_OK) {
        fprintf(stderr, "settling: %s\n", hk_last_error());
        return false;
    }
    hk_mem_free(mix->world, swept);
    if (hk_barrier(mix->world, NULL, NULL) != HK_OK) {
        return false;
    }
    if (!mix->grid->is_one_process || hk_comm_rank(mix->world) == 0) {
        *usage = usage_now();
    }
    return hk_barrier(mix->world, NULL, NULL) == HK_OK;
}

static bool begin_comms(mix_t *mix)
{
    for (int k = 1; k < MIX_COMMS; k++) {
        if (!mix_comms_renew(&mix->comms, k, mix_branch(&mix->common))) {
            return false;
        }
    }
    return true;
}

/** Settle, and compare. */
static bool end_tenth(mix_t *mix, int tenth)
{
    const int rank = hk_comm_rank(mix->world);
    const int nranks = hk_comm_size(mix->world);
    const bool is_one = mix->grid->is_one_process;
    usage_t usage = {0};

    if (!settle(mix, &usage)) {
        return false;
    }
    if (tenth == 1) {
        mix->usage = usage;
    }
    const bool is_flat =
        (is_one && rank != 0) || usage_is_flat(&mix->usage, &usage, nranks, is_one ? nranks : 1);
    const bool is_reported = rank == 0 && mix->grid->mix_count >= LONG_MIX;
    if (!is_flat || is_reported) {
        fprintf(stderr, "%d ranks, %d tenths of %d operations, %s:\n", nranks, tenth,
                mix->grid->mix_count, is_flat ? "all right" : "it grows");
        usage_say(&mix->usage, &usage, rank);
    }
    return is_flat;
}

static bool run_steps(mix_t *mix)
{
    const int count = mix->grid->mix_count;
    int step = 0;

    for (int tenth = 1; tenth <= TENTHS; tenth++) {
        const int end = (int)((int64_t)count * tenth / TENTHS);

        if (!begin_comms(mix)) {
            return false;
        }
        for (; step < end; step++) {
            if (!mix_step(mix)) {
                fprintf(stderr, "rank %d of %d, mix of seed %llu, step %d\n",
                        hk_comm_rank(mix->world), hk_comm_size(mix->world),
                        (unsigned long long)mix->grid->seed, step);
                return false;
            }
        }
        if (!end_tenth(mix, tenth)) {
            return false;
        }
    }
    return true;
}

bool mix_run(hk_comm_t *comm, const void *cookie)
{
    const grid_t *grid = cookie;
    const uint64_t rank = (uint64_t)hk_comm_rank(comm);
    mix_t mix = {.world = comm,
                 .grid = grid,
                 .common = {.state = ref_mix(grid->seed)},
                 .own = {.state = ref_mix(grid->seed + rank + 1)},
                 .comms = {.comms = {comm}},
                 .pool = {.comm = comm}};
    const bool is_right = run_steps(&mix);

    for (int k = 0; k < MIX_COMMS && !is_right; k++) {
        hk_comm_abort(mix.comms.comms[k], "the mix failed");
    }
    return is_right;
}
