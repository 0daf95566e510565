/*
 * `hocket bench`: measure and check the collectives. This file has the options, makes the list of
 * cases, starts the ranks or is one of them.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "comm/choice.h"
#include "comm/fit.h"
#include "dtype/reduce.h"
#include "file.h"
#include "launch.h"
#include "tool.h"

/* HK_USER, the last op, needs a function */
#define OP_CHOICES "sum|prod|min|max|avg|band|bor|bxor|premulsum"

enum { SAMPLES_MAX = 4096 };

#define AT(field) .offset = offsetof(hki_bench_values_t, field)

static const hki_option_t bench_options[] = {
    {.name = "ranks",
     .letter = 'n',
     .kind = HKI_OPTION_SIZES,
     AT(ranks),
     .arg = "N",
     .min = 1,
     .max = 1024,
     .help = "start so many ranks; without it this process is one rank of the job it is started "
             "in. With --vs a list, 2,4,8 unless given",
     .hint = "say how many ranks to start, e.g. -n 4"},
    {.name = "bind",
     .kind = HKI_OPTION_CHOICE,
     AT(bind),
     .arg = "WHERE",
     .preset = "core",
     .choices = HKI_BIND_CHOICES,
     .help = "with -n: as hocket run --bind",
     .hint = "write --bind none to leave ranks where they are"},
    {.name = "colls",
     .letter = 'c',
     .kind = HKI_OPTION_CHOICES,
     AT(colls),
     .arg = "LIST",
     .preset = "all_reduce",
     .choices = HKI_BENCH_COLLS,
     .help = "collectives; send_recv is a ping-pong of ranks 0 and 1, half a round trip",
     .hint = "e.g. --colls all_reduce,broadcast or --colls all"},
    {.name = "sizes",
     .letter = 's',
     .kind = HKI_OPTION_SIZES,
     AT(sizes),
     .arg = "LIST",
     .preset = "8:16M:x8",
     .max = HKI_BENCH_BYTES_MAX,
     .help = "bytes of the larger buffer of a rank, rounded to whole elements for each rank",
     .hint = "e.g. --sizes 8,64K,1M or --sizes 8:128M:x4"},
    {.name = "dtypes",
     .letter = 'd',
     .kind = HKI_OPTION_CHOICES,
     AT(dtypes),
     .arg = "LIST",
     .preset = "f32",
     .choices = HKI_BENCH_DTYPES,
     .help = "element types",
     .hint = "e.g. --dtypes f32,bf16"},
    {.name = "ops",
     .letter = 'o',
     .kind = HKI_OPTION_CHOICES,
     AT(ops),
     .arg = "LIST",
     .preset = "sum",
     .choices = OP_CHOICES,
     .help = "operations of reductions; pairs of dtype and op that do not exist are left out",
     .hint = "e.g. --ops sum,max"},
    {.name = "root",
     .kind = HKI_OPTION_INT,
     AT(root),
     .arg = "RANK",
     .preset = "0",
     .max = 1023,
     .help = "root of rooted collectives",
     .hint = "give a rank, e.g. --root 0"},
    {.name = "algo",
     .kind = HKI_OPTION_STRING,
     AT(algo),
     .arg = "RULES",
     .help = "force algorithms, in the form of HOCKET_ALGO",
     .hint = "e.g. --algo all_reduce:0-8K=direct,8K-=halving"},
    {.name = "order",
     .kind = HKI_OPTION_CHOICE,
     AT(order),
     .arg = "ORDER",
     .preset = "tree",
     .choices = "tree|any",
     .help = "tree: always the same bits; any: allows ring. Floating sums by other orders are "
             "counted as wrong",
     .hint = "write --order tree or --order any"},
    {.name = "memory",
     .kind = HKI_OPTION_CHOICE,
     AT(memory),
     .arg = "KIND",
     .preset = "private",
     .choices = "private|shared",
     .help = "where buffers lie; shared: from hk_mem_alloc()",
     .hint = "write --memory shared to use hk_mem_alloc()"},
    {.name = "in-place",
     .kind = HKI_OPTION_FLAG,
     AT(is_inplace),
     .help = "input and output share memory"},
    {.name = "cold",
     .kind = HKI_OPTION_FLAG,
     AT(is_cold),
     .help = "buffers that are in no cache: each operation takes others, in memory of four times "
             "the outermost cache; see above"},
    {.name = "loop",
     .kind = HKI_OPTION_CHOICE,
     AT(loop),
     .arg = "KIND",
     .preset = "plain",
     .choices = HKI_BENCH_LOOPS,
     .help = "plain: as described above; fresh: the loop of --vs",
     .hint = "write --loop fresh to measure as --vs does"},
    {.name = "cases",
     .kind = HKI_OPTION_STRING,
     AT(cases),
     .arg = "COLL:DTYPE:BYTES,...",
     .help = "measure these and print lines of JSON as the peers' drivers do; the better of in "
             "place and not",
     .hint = "e.g. --cases all_reduce:f32:8,reduce:bf16:1024",
     .is_hidden = true},
    {.name = "vs",
     .kind = HKI_OPTION_CHOICES,
     AT(peers),
     .arg = "LIST",
     .choices = HKI_BENCH_PEERS,
     .help = "compare with other libraries that this machine has, in alternation",
     .hint = "e.g. --vs openmpi,mpich,gloo or --vs all"},
    {.name = "alternations",
     .kind = HKI_OPTION_INT,
     AT(alternations),
     .arg = "N",
     .preset = "5",
     .min = 1,
     .max = HKI_VS_ALTERNATIONS_MAX,
     .help = "with --vs: how often each takes its turn",
     .hint = "e.g. --alternations 5"},
    {.name = "patience",
     .kind = HKI_OPTION_DOUBLE,
     AT(patience_s),
     .arg = "SECONDS",
     .preset = "4",
     .max = 1e6,
     .help = "with --vs: a library whose turns at a line have taken so long takes no more there, 3 "
             "at least",
     .hint = "e.g. --patience 10"},
    {.name = "max-memory",
     .kind = HKI_OPTION_SIZE,
     AT(memory_max),
     .arg = "BYTES",
     .preset = "0",
     .max = 1ULL << 50,
     .help = "with --vs: leave out sizes for which the two buffers of all ranks take more; 0: half "
             "of what is free, and never more than that",
     .hint = "e.g. --max-memory 1G"},
    {.name = "markdown",
     .kind = HKI_OPTION_STRING,
     AT(markdown),
     .arg = "FILE",
     .help = "with --vs: also put the table into this file, between the lines <!-- hocket bench "
             "--vs: begin --> and <!-- hocket bench --vs: end -->, or at its end",
     .hint = "name a file that can be written"},
    {.name = "plot",
     .kind = HKI_OPTION_STRING,
     AT(plot),
     .arg = "FILE",
     .help = "also draw time against size, one panel a collective, into this SVG file",
     .hint = "name a file that can be written"},
    {.name = "check",
     .kind = HKI_OPTION_FLAG,
     AT(is_check),
     .help = "look for times that contradict each other; see above"},
    {.name = "fit",
     .kind = HKI_OPTION_FLAG,
     AT(is_fit),
     .help = "measure what messages, bytes and sums cost here and store it; see above"},
    {.name = "explain",
     .kind = HKI_OPTION_FLAG,
     AT(is_explain),
     .help = "list every algorithm of the collectives at the sizes, with predicted and measured "
             "times"},
    {.name = "iters",
     .letter = 'i',
     .kind = HKI_OPTION_INT,
     AT(iterations),
     .arg = "N",
     .preset = "0",
     .max = SAMPLES_MAX,
     .help = "samples for a line; 0: as many as the budget allows, 5 at least",
     .hint = "e.g. --iters 100"},
    {.name = "warmup",
     .letter = 'w',
     .kind = HKI_OPTION_INT,
     AT(warmup),
     .arg = "N",
     .preset = "3",
     .min = 1,
     .max = 1000,
     .help = "operations before the first sample",
     .hint = "e.g. --warmup 3"},
    {.name = "budget",
     .letter = 'b',
     .kind = HKI_OPTION_DOUBLE,
     AT(budget_s),
     .arg = "SECONDS",
     .preset = "0.3",
     .min = 0.001,
     .max = 3600,
     .help = "time for a line of the table, about; with --vs for each turn of each library",
     .hint = "e.g. --budget 1"},
    {.name = "timeout",
     .kind = HKI_OPTION_DOUBLE,
     AT(timeout_s),
     .arg = "SECONDS",
     .min = 0.001,
     .max = 1e6,
     .help = "with -n: deadline of every wait for another rank",
     .hint = "give seconds, e.g. --timeout 30"},
    {.name = "json",
     .kind = HKI_OPTION_STRING,
     AT(json),
     .arg = "FILE",
     .help = "also write the table to this file",
     .hint = "name a file that can be written"},
    {.name = "lecture",
     .kind = HKI_OPTION_FLAG,
     AT(is_lecture),
     .help = "the measurement of Stanford's CS336 instead: all_reduce and reduce_scatter of "
             "--elements f32; with 4 ranks unless -n says otherwise"},
    {.name = "elements",
     .kind = HKI_OPTION_SIZE,
     AT(elements),
     .arg = "N",
     .preset = "100M",
     .min = 1,
     .max = 1ULL << 36,
     .help = "of the lecture's measurement",
     .hint = "e.g. --elements 100M"},
    {.name = "startup",
     .kind = HKI_OPTION_FLAG,
     AT(is_startup),
     .help = "instead, how long a job takes to start: from hocket run to the end of the first "
             "all_reduce, --iters times; with 2 ranks unless -n says otherwise"},
    {.name = NULL},
};

static const hki_command_t bench_command = {
    .name = "bench",
    .summary = "measure and check the collectives",
    .description =
        "Every line is one collective, size, type and operation. Inputs are rewritten before each "
        "measured operation, and a barrier stands before and after. p50, p99 and min are of single "
        "operations, the slowest rank's time; they contain how unevenly ranks leave the barrier. "
        "time is the median over runs of K operations back to back, divided by K, as the OSU and "
        "NVIDIA tests measure latency; K is such that a run lasts half a millisecond, 1 for long "
        "operations. algbw is size / time, busbw that times the share the busiest link carries, as "
        "nccl-tests defines them, in 10^9 bytes a second. wrong counts elements, of all ranks, "
        "that "
        "differ in any bit from the reference. The exit status is 1 if there are any.\n\n"
        "--cold shows what an operation takes whose buffers are in no cache. Inputs are written "
        "before all operations instead of before each, and each operation takes other places of "
        "two arenas of twice the outermost cache each, in no order that prefetching sees. Where "
        "all ranks would take more than half of the memory that is free, it is refused.\n\n"
        "--vs runs the peers that are installed and hocket, with private and with shared memory, "
        "in turn, and prints the median over the turns of each one's median, the ratio of hocket "
        "to the fastest peer, and beside it the ratio that hocket must reach where there is one. "
        "The loop is the same in all, --loop fresh: every rank rewrites its whole input before "
        "each operation; operations of more than 8 KiB are timed alone, after a barrier; of "
        "smaller ones, unless one takes more than 100 us, K = 16 KiB / size, 64 at most, follow "
        "one "
        "barrier, each preceded by the rewriting of its input, which is then part of the time. The "
        "slowest rank counts; of in place and not, the faster. A line has at least 3 operations a "
        "turn, whatever its budget. Collectives that add nothing are measured with the first of "
        "--dtypes only. A peer that is 4 times as slow as the fastest takes 2 turns. bf16 sums of "
        "MPI, which has no bf16, are a user-defined operation. Up to as many ranks as cores are "
        "pinned one a core, more are "
        "not pinned. Programs of the peers are built beside hocket or in the user's cache "
        "directory. HOCKET_TORCH_PYTHON names a Python that has PyTorch, for gloo.\n\n"
        "--check measures and reports: all_reduce slower than reduce and broadcast, all_gather "
        "slower than gather and broadcast, barrier slower than an all_reduce of 8 bytes, a time "
        "that falls with the size, or grows by more than 1.5 times the ratio of two neighbouring "
        "sizes, times what a byte of a plain copy then costs more, since data leave the caches. "
        "What is found is measured again twice, and counts if it is found each time by "
        "more than the noise. The exit status is then 1.\n\n"
        "--fit measures, for this number of ranks, what a message, a byte and the sum of a byte "
        "cost, for each algorithm, and stores it in $XDG_CACHE_HOME/hocket or ~/.cache/hocket; "
        "later jobs on this machine choose their algorithms by it. Remove the file to undo.",
    .options = bench_options,
    .values_bytes = sizeof(hki_bench_values_t),
};

const char *hki_bench_coll_name(int coll)
{
    return coll == HKI_BENCH_SEND_RECV ? "send_recv" : hki_coll_name((hki_coll_t)coll);
}

bool hki_bench_has_op(int coll)
{
    return coll == HKI_COLL_REDUCE || coll == HKI_COLL_ALL_REDUCE ||
           coll == HKI_COLL_REDUCE_SCATTER;
}

size_t hki_bench_case_bytes(const hki_bench_case_t *what)
{
    const int blocks = what->in_blocks > what->out_blocks ? what->in_blocks : what->out_blocks;

    return what->count * (size_t)blocks * hk_dtype_bytes(what->dtype);
}

/** The case of a collective at a size, whatever its type. */
static hki_bench_case_t make_case(const hki_bench_values_t *values, int nranks, int coll,
                                  size_t bytes)
{
    const bool is_scatter = coll == HKI_COLL_SCATTER || coll == HKI_COLL_REDUCE_SCATTER;
    const bool is_gather = coll == HKI_COLL_GATHER || coll == HKI_COLL_ALL_GATHER;
    const bool is_exchange = coll == HKI_COLL_ALL_TO_ALL;
    hki_bench_case_t what = {
        .coll = coll,
        .root = values->root,
        .in_blocks = is_scatter || is_exchange ? nranks : 1,
        .out_blocks = is_gather || is_exchange ? nranks : 1,
        .count = bytes,
    };

    if (what.in_blocks > 1 || what.out_blocks > 1) {
        what.count = bytes / (size_t)nranks + (bytes > 0 && bytes < (size_t)nranks);
    }
    return what;
}

/** Set type and operation. @return false: such a case does not exist */
static bool complete_case(hki_bench_case_t *what, hk_dtype_t dtype, hk_op_t op)
{
    const hki_reduction_t reduction = {.dtype = dtype, .op = op, .nranks = 1, .scalar = 1.0};
    const size_t bytes = what->count;

    what->dtype = dtype;
    what->op = op;
    what->count = bytes / hk_dtype_bytes(dtype);
    if (what->count == 0 && bytes > 0) {
        what->count = 1;
    }
    if (what->coll == HKI_COLL_BARRIER) {
        what->count = 0;
    }
    return !hki_bench_has_op(what->coll) || hki_reduction_check(&reduction) == HK_OK;
}

bool hki_bench_case(const hki_bench_t *bench, int coll, size_t bytes, hk_dtype_t dtype, hk_op_t op,
                    hki_bench_case_t *what_out)
{
    *what_out = make_case(bench->values, bench->nranks, coll, bytes);
    return complete_case(what_out, dtype, op);
}

/** Rows measured so far; kept for the JSON file. */
typedef struct rows {
    hki_bench_row_t *row;
    size_t count;
    size_t capacity;
    uint64_t wrong;
    size_t found; /**< contradictions */
} rows_t;

static hk_status_t keep_row(rows_t *rows, const hki_bench_row_t *row)
{
    if (rows->count == rows->capacity) {
        const size_t capacity = rows->capacity == 0 ? 64 : 2 * rows->capacity;
        hki_bench_row_t *more = hki_calloc(capacity, sizeof(*more));
        if (more == NULL) {
            return HKI_FAIL(HK_ERR_NO_MEMORY, "%zu rows", capacity);
        }
        if (rows->row != NULL) {
            memcpy(more, rows->row, rows->count * sizeof(*more));
        }
        hki_free(rows->row);
        rows->row = more;
        rows->capacity = capacity;
    }
    rows->row[rows->count++] = *row;
    rows->wrong += row->wrong;
    return HK_OK;
}

/** All types and operations of a collective at one size. */
static hk_status_t measure_size(hki_bench_t *bench, int coll, size_t bytes, rows_t *rows)
{
    const hki_bench_values_t *values = bench->values;
    hk_status_t status = HK_OK;

    for (size_t i = 0; i < values->dtypes.count * values->ops.count && status == HK_OK; i++) {
        const hk_dtype_t dtype = (hk_dtype_t)values->dtypes.value[i / values->ops.count];
        const hk_op_t op = (hk_op_t)values->ops.value[i % values->ops.count];
        hki_bench_case_t what;
        hki_bench_row_t row;
        const bool is_repeat = i % values->ops.count > 0 && !hki_bench_has_op(coll);
        if (is_repeat || !hki_bench_case(bench, coll, bytes, dtype, op, &what)) {
            continue;
        }
        status = hki_bench_measure(bench, &what, &row);
        if (status == HK_OK && bench->rank == 0) {
            hki_bench_print_row(&row);
        }
        if (status == HK_OK) {
            status = keep_row(rows, &row);
        }
    }
    return status;
}

static hk_status_t measure_all(hki_bench_t *bench, rows_t *rows)
{
    const hki_bench_values_t *values = bench->values;
    hk_status_t status = HK_OK;

    if (bench->rank == 0) {
        hki_bench_print_head(bench);
    }
    for (size_t c = 0; c < values->colls.count && status == HK_OK; c++) {
        const int coll = values->colls.value[c];
        const size_t sizes = coll == HKI_COLL_BARRIER ? 1 : values->sizes.count;
        if (coll == HKI_BENCH_SEND_RECV && bench->nranks < 2) {
            continue;
        }
        for (size_t s = 0; s < sizes && status == HK_OK; s++) {
            status = measure_size(bench, coll, values->sizes.value[s], rows);
        }
    }
    return status;
}

/** Bytes of the largest buffer that any case needs. */
static size_t buffer_bytes(const hki_bench_values_t *values, int nranks)
{
    hki_bench_cell_t cell;
    size_t most = 0;

    if (values->is_lecture) {
        return values->elements * 4 * (size_t)nranks;
    }
    if (values->is_fit) {
        most = HKI_BENCH_FIT_BYTES_MAX;
    }
    for (const char *text = values->cases;
         text != NULL && *text != '\0' && hki_bench_cell_read(&text, &cell);) {
        most = cell.bytes > most ? cell.bytes : most;
    }
    for (size_t s = 0; s < values->sizes.count && values->cases == NULL; s++) {
        most = values->sizes.value[s] > most ? values->sizes.value[s] : most;
    }
    most *= values->is_check ? 2 : 1; // hki_bench_copy()
    return most + (size_t)nranks * 8; // small sizes are rounded up to an element for each rank
}

static hk_status_t get_memory(const hki_bench_t *bench, size_t bytes, char **memory_out)
{
    if (bench->values->memory == 0) {
        *memory_out = hki_calloc_aligned(bytes, 1, 4096);
        return *memory_out != NULL ? HK_OK
                                   : HKI_FAIL(HK_ERR_NO_MEMORY, "buffer of %zu bytes", bytes);
    }
    void *shared;
    const hk_status_t status = hk_mem_alloc(bench->comm, bytes, &shared);
    if (status == HK_OK) {
        *memory_out = shared;
    }
    return status;
}

static void put_memory(const hki_bench_t *bench, char *memory)
{
    if (bench->values->memory == 0) {
        hki_free(memory);
    } else {
        hk_mem_free(bench->comm, memory);
    }
}

static hk_status_t run_mode(hki_bench_t *bench, rows_t *rows)
{
    const hki_bench_values_t *values = bench->values;

    if (values->is_lecture) {
        return hki_bench_lecture(bench);
    }
    if (values->is_fit) {
        return hki_bench_fit(bench);
    }
    if (values->is_explain) {
        return hki_bench_explain(bench);
    }
    if (values->cases != NULL) {
        return hki_bench_cases(bench, &rows->wrong);
    }
    hk_status_t status = measure_all(bench, rows);
    if (status == HK_OK && values->is_check) {
        status = hki_bench_check_rows(bench, rows->row, rows->count, &rows->found);
    }
    return status;
}

/** Everything between the opening of the communicator and its closing. */
static hk_status_t run_rank(hki_bench_t *bench, rows_t *rows)
{
    const size_t largest = buffer_bytes(bench->values, bench->nranks);
    hk_status_t status = HK_OK;

    HKI_TRY(status = hki_bench_costs(bench), done);
    bench->samples_max = SAMPLES_MAX;
    bench->samples = hki_calloc(SAMPLES_MAX, sizeof(*bench->samples));
    if (bench->samples == NULL) {
        HKI_TRY(status = HKI_FAIL(HK_ERR_NO_MEMORY, "%d samples", SAMPLES_MAX), done);
    }
    if (bench->values->is_cold) {
        HKI_TRY(status = hki_bench_cold_plan(bench, largest), done);
    }
    HKI_TRY(status = get_memory(bench, bench->arena_bytes + largest, &bench->in), done);
    HKI_TRY(status = get_memory(bench, bench->arena_bytes + largest, &bench->out), done);
    status = run_mode(bench, rows);
    if (status == HK_OK && bench->rank == 0 && bench->values->json != NULL) {
        status = hki_bench_json_write(bench, rows->row, rows->count);
    }
    if (status == HK_OK && bench->rank == 0 && bench->values->plot != NULL) {
        status = hki_bench_plot_write(bench, rows->row, rows->count);
    }
done:
    put_memory(bench, bench->in);
    put_memory(bench, bench->out);
    hki_free(bench->samples);
    return status;
}

static int rank_main(const hki_bench_values_t *values)
{
    hki_bench_t bench = {.values = values, .is_inplace = values->is_inplace};
    hk_comm_opts_t opts = hk_comm_opts_default();
    rows_t rows = {0};

    opts.algo = values->algo;
    opts.order = (hk_order_t)values->order;
    hk_status_t status = hk_comm_open(&opts, &bench.comm);
    if (status != HK_OK) {
        return hki_tool_failed(&bench_command);
    }
    bench.rank = hk_comm_rank(bench.comm);
    bench.nranks = hk_comm_size(bench.comm);
    if (values->root >= bench.nranks) {
        hk_comm_close(&bench.comm);
        (void)hki_option_refuse(&bench_command, "root", NULL, "%d is not a rank of %d",
                                values->root, bench.nranks);
        return hki_tool_usage();
    }
    status = run_rank(&bench, &rows);
    const int result =
        status != HK_OK ? hki_tool_failed(&bench_command) : rows.wrong + rows.found > 0;
    hki_free(rows.row);
    hk_comm_close(&bench.comm);
    return result;
}

/** A file that is written at the end must be writable at the start. */
static hk_status_t check_file(const char *option, const char *path)
{
    char reason[200];

    if (path == NULL || hki_file_check(path) == HK_OK) {
        return HK_OK;
    }
    (void)snprintf(reason, sizeof(reason), "%.190s", hk_last_error());
    return hki_option_refuse(&bench_command, option, path, "cannot be written: %s", reason);
}

static hk_status_t check_cases(const char *cases)
{
    hki_bench_cell_t cell;

    while (cases != NULL && *cases != '\0') {
        if (!hki_bench_cell_read(&cases, &cell)) {
            return hki_option_refuse(&bench_command, "cases", cases, "is not a list of cases");
        }
    }
    return HK_OK;
}

/** What can be refused before anything is started. */
static hk_status_t check_values(const hki_bench_values_t *values)
{
    hki_choice_t *choice = NULL;

    if (check_file("json", values->json) != HK_OK || check_file("plot", values->plot) != HK_OK ||
        check_file("markdown", values->markdown) != HK_OK || check_cases(values->cases) != HK_OK) {
        return HK_ERR_INVALID_ARG;
    }
    if (values->is_cold && (values->peers.count > 0 || values->loop != HKI_BENCH_PLAIN ||
                            values->is_fit || values->is_lecture || values->is_startup)) {
        return hki_option_refuse(&bench_command, "cold", NULL,
                                 "is for the plain loop, not for --vs, --loop fresh, --fit, "
                                 "--lecture or --startup");
    }
    if (values->ranks.count > 1 && values->peers.count == 0) {
        return hki_option_refuse(&bench_command, "ranks", NULL, "takes one number without --vs");
    }
    if (values->nranks > 0 && values->root >= values->nranks) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "hocket bench: --root %d is not in 0..%d; give a rank",
                        values->root, values->nranks - 1);
    }
    if (values->algo != NULL && hki_choice_create("--algo", values->algo, &choice) != HK_OK) {
        char reason[200];
        (void)snprintf(reason, sizeof(reason), "%.190s", hk_last_error());
        return hki_option_refuse(&bench_command, "algo", values->algo, "cannot be: %s", reason);
    }
    hki_choice_destroy(&choice);
    return HK_OK;
}

/** --check compares collectives with each other: all of them. */
static void check_all(hki_choice_list_t *colls)
{
    for (colls->count = 0; colls->count < HKI_COLL_COUNT; colls->count++) {
        colls->value[colls->count] = (int)colls->count;
    }
}

static int bench_main(int argc, char **argv)
{
    hki_bench_values_t values;
    hki_parsed_t parsed;
    const int status = hki_tool_parse(&bench_command, argc, argv, &values, &parsed);

    if (status >= 0) {
        return status;
    }
    if (values.is_check && !hki_option_is_given(&bench_command, &parsed, "colls")) {
        check_all(&values.colls);
    }
    values.nranks = values.ranks.count > 0 ? (int)values.ranks.value[0] : 0;
    if (values.is_lecture && values.nranks == 0 && !hki_launch_is_rank()) {
        values.nranks = 4;
    }
    if (values.is_startup && values.nranks == 0) {
        values.nranks = 2;
    }
    if (check_values(&values) != HK_OK) {
        return hki_tool_usage();
    }
    if (values.is_startup) {
        const hk_status_t startup =
            hki_launch_is_rank() ? hki_bench_startup_rank() : hki_bench_startup(&values);
        return startup == HK_OK ? 0 : hki_tool_failed(&bench_command);
    }
    if (values.peers.count > 0) {
        return hki_bench_vs(&values);
    }
    if (values.nranks == 0 || hki_launch_is_rank()) {
        return rank_main(&values);
    }
    const hki_launch_opts_t opts = {
        .command = "bench",
        .nranks = values.nranks,
        .bind = (hki_bind_t)values.bind,
        .timeout_s = values.timeout_s,
        .grace_s = 2.0,
    };

    return hki_launch_self(&opts, argc, argv);
}

const hki_subcommand_t hki_subcommand_bench = {&bench_command, bench_main};
