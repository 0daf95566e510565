/**
 * @file bench.h
 * @brief What the files of `hocket bench` share.
 */
#ifndef HKI_TOOLS_HOCKET_BENCH_H
#define HKI_TOOLS_HOCKET_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/hocket.h>

#include "algo/algo.h"
#include "base/options.h"
#include "bench_ratio.h"

/** Behind the collectives of hki_coll_t: ping-pong between ranks 0 and 1. */
enum { HKI_BENCH_SEND_RECV = HKI_COLL_COUNT };

/** Collectives and element types as choices of options: all of them, in their order. */
#define HKI_BENCH_CHOICE(name, text)                     text "|"
#define HKI_BENCH_COLLS                                  HKI_COLL_MAP(HKI_BENCH_CHOICE) "send_recv"
#define HKI_BENCH_DTYPE_CHOICE(name, value, bytes, text) text "|"
#define HKI_BENCH_DTYPES                                 HK_DTYPE_MAP(HKI_BENCH_DTYPE_CHOICE)

/** How one operation is timed; the choices of --loop. */
#define HKI_BENCH_LOOPS "plain|fresh"
enum { HKI_BENCH_PLAIN, HKI_BENCH_FRESH };

#define HKI_BENCH_BYTES_MAX (1ULL << 40) /* of a buffer */

enum { HKI_BENCH_FIT_BYTES_MAX = 4 << 20 }; /* largest size that --fit measures */

#define HKI_BENCH_SCALAR 2.0 /* factor of HK_PREMULSUM */

typedef struct hki_bench_values {
    hki_size_list_t ranks; /**< as given; several only with --vs */
    int nranks;            /**< the first of them, 0: none */
    int bind;
    hki_choice_list_t colls;
    hki_size_list_t sizes;
    hki_choice_list_t dtypes;
    hki_choice_list_t ops;
    int root;
    const char *algo; /**< forced algorithms, as HOCKET_ALGO; or NULL */
    int order;        /**< hk_order_t */
    int memory;       /**< 0 private, 1 shared */
    bool is_inplace;
    int loop;                /**< HKI_BENCH_PLAIN, ... */
    hki_choice_list_t peers; /**< --vs; indices into HKI_BENCH_PEERS */
    int alternations;
    double patience_s;    /**< with --vs: of a line, for one system */
    size_t memory_max;    /**< with --vs: of all ranks' buffers; 0: by what is free */
    const char *markdown; /**< or NULL */
    const char *plot;     /**< or NULL */
    bool is_check;
    bool is_fit;
    bool is_explain;
    const char *cases; /**< as bench_cases.c describes, both forms of each; or NULL */
    int iterations;    /**< 0: by the budget */
    int warmup;
    bool is_cold;
    double budget_s; /**< time for one line of the table */
    double timeout_s;
    const char *json; /**< or NULL */
    bool is_lecture;
    size_t elements; /**< of the lecture's measurement */
    bool is_startup;
} hki_bench_values_t;

/** One thing to measure. */
typedef struct hki_bench_case {
    int coll; /**< hki_coll_t, or HKI_BENCH_SEND_RECV */
    hk_dtype_t dtype;
    hk_op_t op;
    int root;
    size_t count; /**< elements of a block */
    int in_blocks;
    int out_blocks;
} hki_bench_case_t;

/** One line of the table. Times are those of the slowest rank [us]. */
typedef struct hki_bench_row {
    hki_bench_case_t what;
    size_t bytes;                  /**< of the larger buffer of a rank */
    const char *algo;              /**< borrowed; "" where none is chosen */
    double time_us;                /**< back to back, median; see --help */
    double p50_us, p99_us, min_us; /**< alone, with a barrier before each */
    double best_us;                /**< the quickest of what `time_us` is the median of */
    double noise_us;               /**< between the quartiles of what `time_us` is the median of */
    double predicted_us;           /**< 0: not known */
    double copy_us;                /**< with --check: all ranks copy so many bytes; 0: not known */
    double double_copy_us;         /**< with --check: twice as many */
    double algbw, busbw;           /**< [GB/s], 10^9 */
    uint64_t wrong;                /**< elements, of all ranks */
    int iterations;
    int batch;       /**< operations back to back */
    bool is_inplace; /**< which form the times are of */
} hki_bench_row_t;

/** Places of a buffer, of which each operation takes another; places 1: always the same. */
typedef struct hki_rotation {
    size_t stride; /**< from a place to the next [bytes] */
    size_t places;
    size_t step;
    size_t place; /**< the next operation's */
} hki_rotation_t;

/** A rank that measures. */
typedef struct hki_bench {
    const hki_bench_values_t *values;
    hk_comm_t *comm; /**< owned by bench.c */
    int rank;
    int nranks;
    char *in; /**< largest input of all cases; with --cold behind `arena_bytes` of places */
    char *out;
    size_t arena_bytes; /**< 0: buffers are not rotated */
    hki_rotation_t rotation;
    double *samples; /**< (samples_max,) */
    size_t samples_max;
    uint64_t seed;          /**< of the inputs now in `in` */
    bool is_inplace;        /**< of the case being measured */
    const hki_algo_t *algo; /**< of the case being measured; NULL: as the communicator chooses */
    hki_costs_t costs;      /**< what the communicator chooses by */
} hki_bench_t;

/** "all_reduce" and the like, "send_recv". */
const char *hki_bench_coll_name(int coll);
/** Does this collective reduce? */
bool hki_bench_has_op(int coll);

/**
 * What one line of the table measures: a collective at a size, with a type and an operation.
 *
 * @return false: the type does not have the operation
 */
bool hki_bench_case(const hki_bench_t *bench, int coll, size_t bytes, hk_dtype_t dtype, hk_op_t op,
                    hki_bench_case_t *what_out);
/** Bytes of the larger buffer of a rank. */
size_t hki_bench_case_bytes(const hki_bench_case_t *what);

/* bench_parts.c */

/** Set bench->costs: what the communicator chooses by, of all collectives. */
hk_status_t hki_bench_costs(hki_bench_t *bench);
/** Do ranks lie in several parts of the machine, at this level of hki_cross_params_t? */
bool hki_bench_is_divided(const hki_bench_t *bench, int level);
/** What an algorithm crosses. @param[out] crossings_out  (HKI_CROSS_LEVELS,) */
hk_status_t hki_bench_crossing(const hki_bench_t *bench, const hki_algo_t *algo,
                               hki_crossing_t *crossings_out);
/** Print a line for each level at which there are several parts. */
void hki_bench_print_parts(const hki_bench_t *bench);

/* bench_data.c: inputs that every rank can compute for every other, and the right answers. */

/** Write this rank's input of a case, other bits for every seed. */
void hki_bench_fill(const hki_bench_t *bench, const hki_bench_case_t *what, char *in);
/** Elements of `out` that differ, in any bit, from the reference reduction (or copy). */
hk_status_t hki_bench_check(const hki_bench_t *bench, const hki_bench_case_t *what, const char *out,
                            uint64_t *wrong_out);

/* bench_loop.c */

/** Measure one case. Collective. @param[out] row_out  equal on all ranks */
hk_status_t hki_bench_measure(hki_bench_t *bench, const hki_bench_case_t *what,
                              hki_bench_row_t *row_out);

/** Where this rank's input of a case lies, in the next operation. */
void *hki_bench_input(const hki_bench_t *bench, const hki_bench_case_t *what);
/** And its output. */
void *hki_bench_output(const hki_bench_t *bench, const hki_bench_case_t *what);
/** One operation, without any filling or waiting. */
hk_status_t hki_bench_operate(const hki_bench_t *bench, const hki_bench_case_t *what);
/** (count,) values become the largest of all ranks. Collective. */
hk_status_t hki_bench_agree(const hki_bench_t *bench, double *values, size_t count);
void hki_bench_sort(double *values, size_t count);
/** The sample below which a share of all (count,) lies. */
double hki_bench_quantile(const double *sorted, size_t count, double share);

/* bench_cold.c */

/** Places of a buffer in an arena of so many bytes and one buffer. No arena: one place. */
hki_rotation_t hki_rotation_get(size_t arena_bytes, size_t buffer_bytes);
/** The place of the next operation. All have their turn before one comes again. */
void hki_rotation_next(hki_rotation_t *rotation);
/** Choose bench->arena_bytes by the caches of rank 0's machine. Collective.
 *  @param largest  bytes of the largest buffer
 *  @return HK_OK; HK_ERR_NO_MEMORY: it would take more than half of what is free, on all ranks */
hk_status_t hki_bench_cold_plan(hki_bench_t *bench, size_t largest);
/** Cut the arenas into places for a case, and write all inputs. */
void hki_bench_cold_fill(hki_bench_t *bench, const hki_bench_case_t *what);

/* bench_fresh.c */

/** The loop that the peers' drivers have too; fills in the times. Collective. */
hk_status_t hki_bench_fresh(hki_bench_t *bench, hki_bench_row_t *row);

/* bench_copy.c */

/** What plain memory can do: all ranks copy `bytes` at once from input to output, again and again.
 *  Collective. @param[out] us_out  median over runs of the slowest rank's time, as `time_us` is */
hk_status_t hki_bench_copy(hki_bench_t *bench, size_t bytes, double *us_out);

/* bench_check.c */

/** Measure again what contradicts itself; rank 0 prints it. Collective.
 *  @param[out] found_out  how many contradictions remain */
hk_status_t hki_bench_check_rows(hki_bench_t *bench, const hki_bench_row_t *rows, size_t count,
                                 size_t *found_out);

/* bench_cases.c */

/** What the drivers of bench/peers call a case. */
typedef struct hki_bench_cell {
    int coll;
    hk_dtype_t dtype;
    size_t bytes; /**< of the larger buffer of a rank */
} hki_bench_cell_t;

/** Read one of "all_reduce:f32:1024,reduce:bf16:8"; `text` moves behind it and its comma.
 *  @return false: it is something else */
bool hki_bench_cell_read(const char **text, hki_bench_cell_t *cell_out);
/** Measure values->cases; rank 0 prints a line each. Collective. @param[out] wrong_out  elements */
hk_status_t hki_bench_cases(hki_bench_t *bench, uint64_t *wrong_out);

/* bench_fit.c */

/** Measure all algorithms and store what they cost. Collective; rank 0 prints. */
hk_status_t hki_bench_fit(hki_bench_t *bench);

/* bench_explain.c */

/** Every algorithm of the collectives at the sizes, predicted and measured. Collective; rank 0
 *  prints. */
hk_status_t hki_bench_explain(hki_bench_t *bench);

/* bench_vs.c */

/** `hocket bench --vs`, whole. @return exit status */
int hki_bench_vs(const hki_bench_values_t *values);

/* bench_report.c */

void hki_bench_print_head(const hki_bench_t *bench);
void hki_bench_print_row(const hki_bench_row_t *row);
/** The line of JSON that the peers' drivers print. @param took_s  time of the whole case */
void hki_bench_print_line(const hki_bench_row_t *row, double took_s);
/** Draw time against size, a panel a collective. */
hk_status_t hki_bench_plot_write(const hki_bench_t *bench, const hki_bench_row_t *rows,
                                 size_t count);
/** Write all rows; the file appears whole or not at all. */
hk_status_t hki_bench_json_write(const hki_bench_t *bench, const hki_bench_row_t *rows,
                                 size_t count);

/* bench_lecture.c */

/** CS336's measurement of all_reduce and reduce_scatter. Collective; rank 0 prints. */
hk_status_t hki_bench_lecture(hki_bench_t *bench);

/* bench_startup.c */

/** Start `hocket run` again and again and print how long it takes. */
hk_status_t hki_bench_startup(const hki_bench_values_t *values);
/** What each of its ranks does: open, sum, print when. */
hk_status_t hki_bench_startup_rank(void);

#endif /* HKI_TOOLS_HOCKET_BENCH_H */
