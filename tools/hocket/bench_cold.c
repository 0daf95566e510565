/*
 * `hocket bench --cold`: no operation finds its buffers in a cache.
 *
 * Method: in and out lie in an arena each, twice as large as the outermost cache, which is cut into
 * places of the size of a case. Every operation takes another place; a place comes again when all
 * others have had their turn, by then the caches have seen four times what they hold. The places
 * lie dense, since one line of every page would fit a cache, and are taken in strides of about 0.62
 * of their number, so that no prefetching sees what comes next.
 */
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "topo/hardware.h"
#include "topo/memory.h"

#define CACHE_UNKNOWN (32ULL << 20) /* where nobody tells what the caches hold [bytes] */
#define GOLDEN        0.618

enum {
    CACHE_FACTOR = 2, /* an arena is so many times the outermost cache */
    LINE_BYTES = 64,
    BUFFERS = 2,    /* in, out */
    FREE_SHARE = 2, /* of what is free, all ranks take one part of so many at most */
};

static size_t greatest_divisor(size_t a, size_t b)
{
    while (b != 0) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

hki_rotation_t hki_rotation_get(size_t arena_bytes, size_t buffer_bytes)
{
    hki_rotation_t rotation = {.places = 1};

    if (arena_bytes == 0 || buffer_bytes == 0) {
        return rotation;
    }
    rotation.stride = (buffer_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    rotation.places = arena_bytes / rotation.stride + 1;
    rotation.step = (size_t)(GOLDEN * (double)rotation.places) + 1;
    while (greatest_divisor(rotation.step, rotation.places) != 1) {
        rotation.step++;
    }
    rotation.step %= rotation.places;
    return rotation;
}

void hki_rotation_next(hki_rotation_t *rotation)
{
    rotation->place += rotation->step;
    rotation->place -= rotation->place >= rotation->places ? rotation->places : 0;
}

hk_status_t hki_bench_cold_plan(hki_bench_t *bench, size_t largest)
{
    const uint64_t nranks = (uint64_t)bench->nranks;
    uint64_t told[2] = {CACHE_UNKNOWN, 0}; // by rank 0: what a cache holds, what is free
    hki_hardware_t *hardware = NULL;
    hk_status_t status = HK_OK;

    if (bench->rank == 0) {
        HKI_TRY(status = hki_hardware_create(&hardware), done);
        told[0] = hardware->cache_bytes > 0 ? hardware->cache_bytes : told[0];
        told[1] = hki_memory_available();
    }
    HKI_TRY(status = hk_broadcast(bench->comm, told, told, 2, HK_U64, 0, NULL, NULL), done);
    const uint64_t arena = CACHE_FACTOR * told[0];
    const uint64_t rank_bytes = BUFFERS * (arena + largest);
    if (rank_bytes > told[1] / FREE_SHARE / nranks) {
        status =
            HKI_FAIL(HK_ERR_NO_MEMORY,
                     "--cold takes %llu MiB a rank (caches of %llu MiB, buffers of up to %zu "
                     "bytes); %d ranks may take half of the %llu MiB that are free; start "
                     "fewer ranks or leave out the largest sizes",
                     (unsigned long long)(rank_bytes >> 20), (unsigned long long)(told[0] >> 20),
                     largest, bench->nranks, (unsigned long long)(told[1] >> 20));
        goto done;
    }
    bench->arena_bytes = (size_t)arena;
done:
    hki_hardware_destroy(&hardware);
    return status;
}

void hki_bench_cold_fill(hki_bench_t *bench, const hki_bench_case_t *what)
{
    const size_t element = hk_dtype_bytes(what->dtype);
    const size_t in_bytes = what->count * (size_t)what->in_blocks * element;
    const size_t out_bytes = what->count * (size_t)what->out_blocks * element;
    const char *first = NULL;

    bench->rotation = hki_rotation_get(bench->arena_bytes, hki_bench_case_bytes(what));
    // in the order of use: what is used next was written longest ago
    for (size_t i = 0; i < bench->rotation.places; i++) {
        char *in = hki_bench_input(bench, what);
        if (!bench->is_inplace) {
            memset(hki_bench_output(bench, what), 0, out_bytes);
        }
        if (first == NULL) {
            hki_bench_fill(bench, what, in);
            first = in;
        } else {
            memcpy(in, first, in_bytes);
        }
        hki_rotation_next(&bench->rotation);
    }
}
