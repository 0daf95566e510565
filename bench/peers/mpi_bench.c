/*
 * The loop of `hocket bench --loop fresh`, for any MPI. `hocket bench --vs` compiles it once with
 * each MPI's own wrapper and reads the lines it prints.
 *
 * Method: every rank rewrites its whole input before each operation. Operations of more than 8 KiB
 * are timed alone: rewrite, barrier, clock, operation, clock. Smaller ones would drown in the skew
 * of the barrier: K = 16 KiB / bytes of them, 64 at most, follow one barrier, and each is preceded
 * by the rewriting of its input, which is then part of the time; but not where one operation takes
 * more than 100 us. A sample is the slowest rank's.
 * Both forms, in place and not, are measured; the one with the lower median is printed:
 *
 *     {"coll":"all_reduce","dtype":"f32","bytes":1024,"time_us":1.4,"samples":100,"in_place":false}
 *
 * bytes are those of the larger buffer of a rank, rounded to whole elements for each rank.
 * send_recv is half a ping-pong of ranks 0 and 1.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SAMPLES_MAX = 2000,
    SAMPLES_MIN = 5,
    WARMUP = 2,
    STRETCH_BYTES = 16384,
    STRETCH_MAX = 64,
    PAGE_BYTES = 4096,
};

#define LONG_S 1e-4 /* beside such an operation the barrier's skew is nothing */

typedef enum coll {
    ALL_REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    BROADCAST,
    ALL_TO_ALL,
    REDUCE,
    GATHER,
    SCATTER,
    SEND_RECV,
    COLL_COUNT,
} coll_t;

static const char *const coll_names[COLL_COUNT] = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all",
    "reduce",     "gather",         "scatter",    "send_recv",
};

/** One case. */
typedef struct bench {
    coll_t coll;
    int rank;
    int nranks;
    int count; /**< elements of a block */
    int in_blocks;
    int out_blocks;
    bool is_inplace;
    float *in;
    float *out;
    double budget_s;
    double samples[SAMPLES_MAX];
} bench_t;

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** Where this rank's input lies: in place it is part of the output. */
static float *input_of(const bench_t *b)
{
    const bool is_gather = b->coll == ALL_GATHER || (b->coll == GATHER && b->rank == 0);

    if (!b->is_inplace || b->coll == SCATTER || (b->coll == GATHER && b->rank != 0)) {
        return b->in;
    }
    return is_gather ? b->out + (size_t)b->rank * (size_t)b->count : b->out;
}

static void rewrite(const bench_t *b, int turn)
{
    float *in = input_of(b);
    const size_t count = (size_t)b->count * (size_t)b->in_blocks;
    const float value = (float)(b->rank + 1 + turn % 7);

    for (size_t i = 0; i < count; i++) {
        in[i] = value;
    }
}

static void ping_pong(const bench_t *b)
{
    const int peer = 1 - b->rank;

    if (b->rank == 0) {
        MPI_Send(b->in, b->count, MPI_FLOAT, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(b->out, b->count, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (b->rank == 1) {
        MPI_Recv(b->out, b->count, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(b->in, b->count, MPI_FLOAT, peer, 0, MPI_COMM_WORLD);
    }
}

static void operate(const bench_t *b)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const bool is_root = b->rank == 0;
    const int n = b->count;
    const void *in = b->is_inplace ? MPI_IN_PLACE : b->in;
    const void *root_in = b->is_inplace && is_root ? MPI_IN_PLACE : input_of(b);

    switch (b->coll) {
    case ALL_REDUCE:
        MPI_Allreduce(in, b->out, n, MPI_FLOAT, MPI_SUM, world);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block(in, b->out, n, MPI_FLOAT, MPI_SUM, world);
        break;
    case ALL_GATHER:
        MPI_Allgather(in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, world);
        break;
    case BROADCAST:
        MPI_Bcast(b->in, n, MPI_FLOAT, 0, world);
        break;
    case ALL_TO_ALL:
        MPI_Alltoall(in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, world);
        break;
    case REDUCE:
        MPI_Reduce(root_in, b->out, n, MPI_FLOAT, MPI_SUM, 0, world);
        break;
    case GATHER:
        MPI_Gather(root_in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, 0, world);
        break;
    case SCATTER:
        MPI_Scatter(b->in, n, MPI_FLOAT, b->is_inplace && is_root ? MPI_IN_PLACE : b->out, n,
                    MPI_FLOAT, 0, world);
        break;
    default:
        ping_pong(b);
    }
}

/** Seconds of one operation on this rank. */
static double sample(const bench_t *b, int stretch, int turn)
{
    double start;

    if (stretch == 1) {
        rewrite(b, turn);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = now_s();
    for (int k = 0; k < stretch; k++) {
        if (stretch > 1) {
            rewrite(b, turn + k);
        }
        operate(b);
    }
    return (now_s() - start) / stretch / (b->coll == SEND_RECV ? 2 : 1);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/** Seconds of the slowest rank's quickest of a few runs, the same on all ranks; whole: with the
 *  rewriting and the barrier. */
static double warm_up(const bench_t *b, int stretch, bool is_whole)
{
    double best = 1e9;

    for (int i = 0; i < WARMUP; i++) {
        const double start = now_s();
        const double alone = sample(b, stretch, i);
        const double taken = is_whole ? now_s() - start : alone;
        best = taken < best ? taken : best;
    }
    MPI_Allreduce(MPI_IN_PLACE, &best, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return best;
}

/** Operations after one barrier: see the head comment. */
static int choose_stretch(const bench_t *b, size_t bytes)
{
    const size_t fit = STRETCH_BYTES / (bytes > 0 ? bytes : 1);

    if (warm_up(b, 1, false) > LONG_S || fit < 1) {
        return 1;
    }
    return fit > STRETCH_MAX ? STRETCH_MAX : (int)fit;
}

/** Median of the slowest rank's time [us], the same on all ranks. */
static double measure(bench_t *b, size_t bytes, int *samples_out)
{
    const int stretch = choose_stretch(b, bytes);
    const double more = b->budget_s / (warm_up(b, stretch, true) + 1e-9);
    const int count =
        more < SAMPLES_MIN ? SAMPLES_MIN : (more > SAMPLES_MAX ? SAMPLES_MAX : (int)more);

    for (int i = 0; i < count; i++) {
        b->samples[i] = sample(b, stretch, i);
    }
    MPI_Allreduce(MPI_IN_PLACE, b->samples, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(b->samples, (size_t)count, sizeof(b->samples[0]), compare);
    *samples_out = count;
    return b->samples[count / 2] * 1e6;
}

static void set_shape(bench_t *b, size_t bytes)
{
    const bool is_scatter = b->coll == SCATTER || b->coll == REDUCE_SCATTER;
    const bool is_gather = b->coll == GATHER || b->coll == ALL_GATHER;
    const bool is_exchange = b->coll == ALL_TO_ALL;

    b->in_blocks = is_scatter || is_exchange ? b->nranks : 1;
    b->out_blocks = is_gather || is_exchange ? b->nranks : 1;
    if (is_scatter || is_gather || is_exchange) {
        bytes /= (size_t)b->nranks;
    }
    b->count = bytes < sizeof(float) ? 1 : (int)(bytes / sizeof(float));
}

static void run_case(bench_t *b, size_t bytes)
{
    const bool has_two_forms = b->coll != BROADCAST && b->coll != SEND_RECV;
    double best = 0.0;
    bool is_best_inplace = false;
    int samples = 0;

    set_shape(b, bytes);
    for (int form = 0; form < (has_two_forms ? 2 : 1); form++) {
        b->is_inplace = form == 1;
        const double us = measure(b, bytes, &samples);
        if (form == 0 || us < best) {
            best = us;
            is_best_inplace = form == 1;
        }
    }
    const int blocks = b->in_blocks > b->out_blocks ? b->in_blocks : b->out_blocks;
    if (b->rank == 0) {
        (void)printf("{\"coll\":\"%s\",\"dtype\":\"f32\",\"bytes\":%zu,\"time_us\":%.4f,"
                     "\"samples\":%d,\"in_place\":%s}\n",
                     coll_names[b->coll], (size_t)b->count * (size_t)blocks * sizeof(float), best,
                     samples, is_best_inplace ? "true" : "false");
        (void)fflush(stdout);
    }
}

/** Every collective of "a,b" with every size of "8,1024". */
static void run_all(bench_t *b, const char *colls, const char *sizes)
{
    for (int c = 0; c < COLL_COUNT; c++) {
        const char *found = strstr(colls, coll_names[c]);
        const size_t length = strlen(coll_names[c]);
        // "reduce" stands in "all_reduce" too: look for the whole word
        while (found != NULL && ((found > colls && found[-1] != ',') ||
                                 (found[length] != ',' && found[length] != '\0'))) {
            found = strstr(found + 1, coll_names[c]);
        }
        if (found == NULL) {
            continue;
        }
        b->coll = (coll_t)c;
        for (const char *at = sizes; *at != '\0';) {
            char *end;
            const size_t bytes = strtoull(at, &end, 10);
            run_case(b, bytes);
            at = *end == ',' ? end + 1 : end;
            if (end == at && *end != '\0') {
                break; // not a number
            }
        }
    }
}

int main(int argc, char **argv)
{
    static bench_t bench;
    size_t most = 0;

    MPI_Init(&argc, &argv);
    if (argc != 4) {
        (void)fprintf(stderr, "usage: mpi_bench COLLECTIVES SIZES SECONDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.nranks);
    bench.budget_s = strtod(argv[3], NULL) / 2; // each case has two forms
    for (const char *at = argv[2]; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        const size_t bytes = strtoull(at, NULL, 10);
        most = bytes > most ? bytes : most;
    }
    most =
        (most / PAGE_BYTES + 1 + (size_t)bench.nranks) * PAGE_BYTES; // an element a rank at least
    bench.in = aligned_alloc(PAGE_BYTES, most);
    bench.out = aligned_alloc(PAGE_BYTES, most);
    if (bench.in == NULL || bench.out == NULL) {
        (void)fprintf(stderr, "mpi_bench: no memory for two buffers of %zu bytes\n", most);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(bench.in, 0, most);
    memset(bench.out, 0, most);
    run_all(&bench, argv[1], argv[2]);
    MPI_Finalize();
    free(bench.in);
    free(bench.out);
    return 0;
}
