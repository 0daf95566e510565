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
 *     {"coll":"all_reduce","dtype":"f32","bytes":1024,"time_us":1.4,"samples":100,"in_place":false,
 *      "took_s":0.1}
 *
 * bytes are those of the larger buffer of a rank, rounded to whole elements for each rank; took_s
 * is the time of the whole case. send_recv is half a ping-pong of ranks 0 and 1.
 *
 * How much is done follows from the budget: as many samples as fit, 3 at least. Two operations warm
 * up each form, of which the quicker tells how many samples fit; but only one does where it takes
 * more than an eighth of the budget and is timed alone anyway.
 *
 * MPI before 5.0 has no bf16, so bf16 here is what a program that needs it writes today: 16-bit
 * words, summed by a commutative operation made by MPI_Op_create(). It adds in f32 and rounds to
 * the nearest, ties to even, in a loop that the compiler vectorises for the machine it runs on.
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
    SAMPLES_MIN = 3,
    WARMUP = 2,       /* runs, where they matter or cost little */
    WARMUP_SHARE = 8, /* little: so many fit the budget */
    STRETCH_BYTES = 16384,
    STRETCH_MAX = 64,
    PAGE_BYTES = 4096,
    NAME_BYTES = 24,
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
    bool is_bf16; /**< else f32 */
    size_t element_bytes;
    MPI_Datatype type;
    MPI_Op sum;
    MPI_Op bf16_sum;
    char *in;
    char *out;
    double budget_s; /**< of one form */
    double samples[SAMPLES_MAX];
} bench_t;

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float bf16_to_float(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof(value));
    return value;
}

/** Nearest, ties to even. A sum that is a NaN is a quiet one, which cutting leaves a NaN. No
 *  branches: loops of it are vectorised. */
static uint16_t bf16_from_sum(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    const uint32_t up = value == value ? 0x7fff + ((bits >> 16) & 1) : 0;
    return (uint16_t)((bits + up) >> 16);
}

/** The user-defined operation: inout = in + inout. */
static void add_bf16(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const uint16_t *restrict a = in;
    uint16_t *restrict b = inout;

    (void)type;
    for (int i = 0; i < *count; i++) {
        b[i] = bf16_from_sum(bf16_to_float(a[i]) + bf16_to_float(b[i]));
    }
}

/** Where this rank's input lies: in place it is part of the output. */
static char *input_of(const bench_t *b)
{
    const bool is_gather = b->coll == ALL_GATHER || (b->coll == GATHER && b->rank == 0);

    if (!b->is_inplace || b->coll == SCATTER || (b->coll == GATHER && b->rank != 0)) {
        return b->in;
    }
    return is_gather ? b->out + (size_t)b->rank * (size_t)b->count * b->element_bytes : b->out;
}

static float value_of(int rank, int turn)
{
    return (float)(rank + 1 + turn % 7);
}

static void rewrite(const bench_t *b, int turn)
{
    const size_t count = (size_t)b->count * (size_t)b->in_blocks;
    const float value = value_of(b->rank, turn);
    float *floats = (float *)input_of(b);
    uint16_t *words = (uint16_t *)input_of(b);
    const uint16_t word = bf16_from_sum(value);

    for (size_t i = 0; i < count && !b->is_bf16; i++) {
        floats[i] = value;
    }
    for (size_t i = 0; i < count && b->is_bf16; i++) {
        words[i] = word;
    }
}

static void ping_pong(const bench_t *b)
{
    const int peer = 1 - b->rank;

    if (b->rank == 0) {
        MPI_Send(b->in, b->count, b->type, peer, 0, MPI_COMM_WORLD);
        MPI_Recv(b->out, b->count, b->type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (b->rank == 1) {
        MPI_Recv(b->out, b->count, b->type, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(b->in, b->count, b->type, peer, 0, MPI_COMM_WORLD);
    }
}

static void operate(const bench_t *b)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Datatype type = b->type;
    const bool is_root = b->rank == 0;
    const int n = b->count;
    const void *in = b->is_inplace ? MPI_IN_PLACE : b->in;
    const void *root_in = b->is_inplace && is_root ? MPI_IN_PLACE : input_of(b);

    switch (b->coll) {
    case ALL_REDUCE:
        MPI_Allreduce(in, b->out, n, type, b->sum, world);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block(in, b->out, n, type, b->sum, world);
        break;
    case ALL_GATHER:
        MPI_Allgather(in, n, type, b->out, n, type, world);
        break;
    case BROADCAST:
        MPI_Bcast(b->in, n, type, 0, world);
        break;
    case ALL_TO_ALL:
        MPI_Alltoall(in, n, type, b->out, n, type, world);
        break;
    case REDUCE:
        MPI_Reduce(root_in, b->out, n, type, b->sum, 0, world);
        break;
    case GATHER:
        MPI_Gather(root_in, n, type, b->out, n, type, 0, world);
        break;
    case SCATTER:
        MPI_Scatter(b->in, n, type, b->is_inplace && is_root ? MPI_IN_PLACE : b->out, n, type, 0,
                    world);
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

/** Seconds of the slowest rank, the same on all. */
typedef struct cost {
    double alone; /**< of one operation */
    double whole; /**< of a sample, with the rewriting and the barrier */
} cost_t;

/** The quickest of so many samples. */
static cost_t warm_up(const bench_t *b, int stretch, int runs)
{
    double best[2] = {1e9, 1e9};

    for (int i = 0; i < runs; i++) {
        const double start = now_s();
        const double alone = sample(b, stretch, i);
        const double whole = now_s() - start;
        best[0] = alone < best[0] ? alone : best[0];
        best[1] = whole < best[1] ? whole : best[1];
    }
    MPI_Allreduce(MPI_IN_PLACE, best, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (cost_t){best[0], best[1]};
}

/** Median of the slowest rank's time [us], the same on all ranks. */
static double measure(bench_t *b, size_t bytes, int *samples_out)
{
    const size_t fit = STRETCH_BYTES / (bytes > 0 ? bytes : 1);
    cost_t cost = warm_up(b, 1, 1);
    int stretch = 1;

    if (fit > 1 || cost.whole * WARMUP_SHARE < b->budget_s) {
        cost = warm_up(b, 1, WARMUP - 1);
    }
    if (fit > 1 && cost.alone <= LONG_S) {
        stretch = fit > STRETCH_MAX ? STRETCH_MAX : (int)fit;
        cost = warm_up(b, stretch, WARMUP);
    }
    const double more = b->budget_s / (cost.whole + 1e-9);
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

static void set_type(bench_t *b, bool is_bf16)
{
    b->is_bf16 = is_bf16;
    b->element_bytes = is_bf16 ? sizeof(uint16_t) : sizeof(float);
    b->type = is_bf16 ? MPI_UINT16_T : MPI_FLOAT;
    b->sum = is_bf16 ? b->bf16_sum : MPI_SUM;
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
    b->count = bytes < b->element_bytes ? 1 : (int)(bytes / b->element_bytes);
}

/** A sum that is wrong was not worth measuring: the last element, out of place. */
static void check_sum(bench_t *b)
{
    const bool has_result = b->coll != REDUCE || b->rank == 0;
    float want = 0.0f;
    float got;

    b->is_inplace = false;
    rewrite(b, 0);
    operate(b);
    const char *last = b->out + (size_t)(b->count - 1) * b->element_bytes;
    uint16_t word;
    memcpy(&word, last, sizeof(word));
    memcpy(&got, last, b->is_bf16 ? sizeof(word) : sizeof(got));
    got = b->is_bf16 ? bf16_to_float(word) : got;
    for (int rank = 0; rank < b->nranks; rank++) {
        want += value_of(rank, 0);
    }
    // bf16 rounds sums from 256 on, once for each rank at most
    if (has_result && !(got > want * 0.9f && got < want * 1.1f)) {
        (void)fprintf(stderr, "mpi_bench: %s: rank %d has %g instead of %g\n", coll_names[b->coll],
                      b->rank, (double)got, (double)want);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void run_case(bench_t *b, size_t bytes)
{
    const bool has_two_forms = b->coll != BROADCAST && b->coll != SEND_RECV;
    const double start = now_s();
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
    if (b->coll == ALL_REDUCE || b->coll == REDUCE || b->coll == REDUCE_SCATTER) {
        check_sum(b);
    }
    const int blocks = b->in_blocks > b->out_blocks ? b->in_blocks : b->out_blocks;
    if (b->rank == 0) {
        (void)printf("{\"coll\":\"%s\",\"dtype\":\"%s\",\"bytes\":%zu,\"time_us\":%.4f,"
                     "\"samples\":%d,\"in_place\":%s,\"took_s\":%.4f}\n",
                     coll_names[b->coll], b->is_bf16 ? "bf16" : "f32",
                     (size_t)b->count * (size_t)blocks * b->element_bytes, best, samples,
                     is_best_inplace ? "true" : "false", now_s() - start);
        (void)fflush(stdout);
    }
}

/** Read "all_reduce:f32:1024". @return what follows it and its comma; NULL: it is not that */
static const char *read_case(bench_t *b, const char *text, size_t *bytes_out)
{
    char coll[NAME_BYTES];
    char dtype[NAME_BYTES];
    int length = 0;
    int found = COLL_COUNT;

    if (sscanf(text, "%23[a-z_]:%23[a-z0-9]:%zu%n", coll, dtype, bytes_out, &length) != 3) {
        return NULL;
    }
    for (int c = 0; c < COLL_COUNT; c++) {
        found = strcmp(coll, coll_names[c]) == 0 ? c : found;
    }
    const bool is_bf16 = strcmp(dtype, "bf16") == 0;
    if (found == COLL_COUNT || (!is_bf16 && strcmp(dtype, "f32") != 0)) {
        return NULL;
    }
    b->coll = (coll_t)found;
    set_type(b, is_bf16);
    text += length;
    return *text == ',' ? text + 1 : *text == '\0' ? text : NULL;
}

/** Bytes of the largest case; 0: the text is not a list of cases. */
static size_t largest(bench_t *b, const char *cases)
{
    size_t most = 0;
    size_t bytes;

    while (*cases != '\0') {
        cases = read_case(b, cases, &bytes);
        if (cases == NULL) {
            return 0;
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

/** "# Open MPI v4.1.4": the line of --vs that says what is compared. */
static void print_version(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    for (char *tab = strchr(text, '\t'); tab != NULL; tab = strchr(tab, '\t')) {
        *tab = ' ';
    }
    (void)printf("# %s\n", text);
}

int main(int argc, char **argv)
{
    static bench_t bench;
    size_t bytes;

    MPI_Init(&argc, &argv);
    const size_t asked = argc == 3 ? largest(&bench, argv[1]) : 0;
    if (asked == 0) {
        (void)fprintf(stderr, "usage: mpi_bench COLLECTIVE:DTYPE:BYTES[,...] SECONDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.nranks);
    MPI_Op_create(add_bf16, 1, &bench.bf16_sum);
    bench.budget_s = strtod(argv[2], NULL) / 2; // each case has two forms
    // an element a rank at least
    const size_t most = (asked / PAGE_BYTES + 1 + (size_t)bench.nranks) * PAGE_BYTES;
    bench.in = aligned_alloc(PAGE_BYTES, most);
    bench.out = aligned_alloc(PAGE_BYTES, most);
    if (bench.in == NULL || bench.out == NULL) {
        (void)fprintf(stderr, "mpi_bench: no memory for two buffers of %zu bytes\n", most);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(bench.in, 0, most);
    memset(bench.out, 0, most);
    if (bench.rank == 0) {
        print_version();
    }
    for (const char *at = argv[1]; *at != '\0';) {
        at = read_case(&bench, at, &bytes);
        run_case(&bench, bytes);
    }
    MPI_Op_free(&bench.bf16_sum);
    MPI_Finalize();
    free(bench.in);
    free(bench.out);
    return 0;
}
