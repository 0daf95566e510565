/*
 * Time of the reduce kernels, one thread: what a byte of a source costs, as a multiple of what it
 * costs in an f32 sum of as many sources of as many bytes, where these lie in the first-level cache
 * (4 KiB a source), in the second (64 KiB) and in memory.
 *
 * Method: many short runs, f32 and the other in turn, so that both see the same state of the
 * machine; the fastest counts (other work can only add), in memory the lower quartile, since there
 * the fastest would be the luckiest. There, a run reduces the next 64 KiB of a large buffer, which
 * has not been touched for as long as it takes to pass over all of it.
 *
 * usage: reduce_bench [dtype|all [op|all [sources|0 [milliseconds a figure]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dtype/reduce.h"

enum {
    SOURCES_MAX = 16,
    L1_BYTES = 4 << 10,
    L2_BYTES = 64 << 10,
    MEMORY_BYTES = 16 << 20,
    RUNS_MAX = 4096,
    STAGGER_BYTES = 320, // so that rows do not fall on the same lines of the caches
};

static char *g_rows[SOURCES_MAX + 1]; // the last: results
static double g_milliseconds = 4;

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/** Nanoseconds of `repeats` calls on the `bytes` that begin at `offset`. */
static double run_ns(const hki_reduction_t *r, int n, size_t offset, size_t bytes, int repeats)
{
    hki_source_t sources[SOURCES_MAX];

    for (int s = 0; s < n; s++) {
        sources[s] = (hki_source_t){g_rows[s] + offset, false};
    }
    const double start = now_ns();
    for (int k = 0; k < repeats; k++) {
        hki_reduce(r, g_rows[SOURCES_MAX] + offset, false, sources, n,
                   bytes / hk_dtype_bytes(r->dtype));
    }
    return now_ns() - start;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/** Picoseconds a byte of a source, of the reduction and of f32 sum. */
static void measure(const hki_reduction_t *r, int n, size_t bytes, double *ps_out, double *f32_out)
{
    static double times[2][RUNS_MAX];
    const hki_reduction_t f32 = {.dtype = HK_F32, .op = HK_SUM, .nranks = 1};
    const bool is_memory = bytes > L2_BYTES;
    const size_t run_bytes = is_memory ? L2_BYTES : bytes;
    const int repeats = bytes == L1_BYTES ? 16 : 1;
    const double end = now_ns() + g_milliseconds * 1e6;
    static size_t offset; // goes on where the last call ended: in no cache any more
    int runs = 0;

    while (runs < 8 || (now_ns() < end && runs < RUNS_MAX)) {
        for (int which = 0; which < 2; which++) {
            times[which][runs] =
                run_ns(which == 0 ? r : &f32, n, is_memory ? offset : 0, run_bytes, repeats);
            offset = is_memory ? (offset + L2_BYTES) % bytes : offset;
        }
        runs++;
    }
    for (int which = 0; which < 2; which++) {
        const double all_bytes = (double)run_bytes * n * repeats;

        qsort(times[which], (size_t)runs, sizeof(double), compare);
        *(which == 0 ? ps_out : f32_out) = 1e3 * times[which][is_memory ? runs / 4 : 0] / all_bytes;
    }
}

static void row_print(hk_dtype_t dtype, hk_op_t op, int only_n)
{
    static const int numbers[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16};
    static const size_t sizes[] = {L1_BYTES, L2_BYTES, MEMORY_BYTES};
    const hki_reduction_t r = {.dtype = dtype, .op = op, .nranks = 3, .scalar = 3};

    for (size_t size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++) {
        static const char *const names[] = {"first", "second", "memory"};
        double worst_f32 = 0;

        printf("%-8s %-9s %-6s", hk_dtype_name(dtype), hk_op_name(op), names[size]);
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
            double ps = 0;
            double f32 = 0;

            if (only_n != 0 && numbers[k] != only_n) {
                continue;
            }
            measure(&r, numbers[k], sizes[size], &ps, &f32);
            worst_f32 = f32 > worst_f32 ? f32 : worst_f32;
            printf(" %2d: %5.2f", numbers[k], ps / f32);
        }
        printf("   (f32: at most %.1f ps a byte)\n", worst_f32);
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const char *dtype = argc > 1 ? argv[1] : "all";
    const char *op = argc > 2 ? argv[2] : "all";
    const int n = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;

    g_milliseconds = argc > 4 ? strtod(argv[4], NULL) : g_milliseconds;
    for (int s = 0; s <= SOURCES_MAX; s++) {
        char *row = aligned_alloc(4096, MEMORY_BYTES + SOURCES_MAX * STAGGER_BYTES * 2);
        if (row == NULL) {
            (void)fprintf(stderr, "reduce_bench: no memory for %d buffers of %d bytes\n",
                          SOURCES_MAX + 1, MEMORY_BYTES);
            return 1;
        }
        g_rows[s] = row + s * STAGGER_BYTES;
        memset(g_rows[s], 0x3e + s % 2, MEMORY_BYTES); // near 1 in every floating type
    }
    printf("level %s; time a byte as a multiple of an f32 sum's, by number of sources\n",
           hki_simd_name(hki_simd_level()));
    for (int d = 0; d < HK_DTYPE_COUNT; d++) {
        for (int o = 0; o < HK_USER; o++) {
            const hki_reduction_t r = {
                .dtype = (hk_dtype_t)d, .op = (hk_op_t)o, .nranks = 3, .scalar = 3};

            if ((strcmp(dtype, "all") == 0 || strcmp(dtype, hk_dtype_name(r.dtype)) == 0) &&
                (strcmp(op, "all") == 0 || strcmp(op, hk_op_name(r.op)) == 0) &&
                hki_reduction_check(&r) == HK_OK) {
                row_print(r.dtype, r.op, n);
            }
        }
    }
    return 0;
}
