/**
 * @file bench_ratio.h
 * @brief The table of `hocket bench --vs`: times of several systems, their ratios, what they must
 *        reach. Pure: no processes, no files.
 */
#ifndef HKI_TOOLS_HOCKET_BENCH_RATIO_H
#define HKI_TOOLS_HOCKET_BENCH_RATIO_H

#include <stdint.h>

#include <hocket/hocket.h>

#include "base/text.h"

/** Choices of --vs, in the order of hki_vs_system_t from HKI_VS_OPENMPI on. */
#define HKI_BENCH_PEERS "openmpi|mpich|gloo"

enum { HKI_VS_ALTERNATIONS_MAX = 25, HKI_VS_NAME_BYTES = 24 };

enum {
    HKI_VS_TURNS_FAR = 2,   /**< turns of a peer that is far from the fastest */
    HKI_VS_TURNS_LEAST = 3, /**< turns of all others, however long they take */
    HKI_VS_FAR = 4,         /**< its quickest turn takes so many times the fastest peer's slowest */
};

typedef enum hki_vs_system {
    HKI_VS_PRIVATE, /**< hocket, private memory */
    HKI_VS_SHARED,  /**< hocket, memory of hk_mem_alloc() */
    HKI_VS_OPENMPI,
    HKI_VS_MPICH,
    HKI_VS_GLOO,
    HKI_VS_SYSTEMS,
} hki_vs_system_t;

/** One line of the table. */
typedef struct hki_vs_row {
    int nranks;
    char coll[HKI_VS_NAME_BYTES];
    char dtype[HKI_VS_NAME_BYTES];
    size_t bytes;
    int counts[HKI_VS_SYSTEMS];
    double times_us[HKI_VS_SYSTEMS][HKI_VS_ALTERNATIONS_MAX]; /**< medians, one an alternation */
    double took_s[HKI_VS_SYSTEMS];                            /**< by all turns together */
} hki_vs_row_t;

/** Zero it to begin; end it with hki_vs_fini(). */
typedef struct hki_vs_table {
    hki_vs_row_t *rows; /**< (count,), owned */
    size_t count;
    size_t capacity;
    uint64_t wrong; /**< elements that hocket computed wrongly */
} hki_vs_table_t;

/** "hocket private", "openmpi" and the like. */
const char *hki_vs_name(int system);

/** May a system take another turn at a line? */
typedef enum hki_vs_verdict {
    HKI_VS_ON,
    HKI_VS_TOO_FAR, /**< no, it has shown that it is not the fastest peer: see HKI_VS_TURNS_FAR */
    HKI_VS_SPENT,   /**< no, its turns took as long as they may, and are HKI_VS_TURNS_LEAST */
} hki_vs_verdict_t;

/** Hocket is never too far. @param patience_s  how long the turns of a system may take */
hki_vs_verdict_t hki_vs_judge(const hki_vs_row_t *row, int system, double patience_s);

/** A row without times, unless it is there; its key is the ranks, names and bytes of `key`.
 *  @return HK_OK, HK_ERR_NO_MEMORY */
hk_status_t hki_vs_plan(hki_vs_table_t *table, const hki_vs_row_t *key);

/**
 * Take up the lines of one run of a system: JSON objects with coll, dtype, bytes, time_us and
 * perhaps wrong and took_s, one a line. Other lines are skipped.
 *
 * @param[out] added_out  how many were taken
 * @return HK_OK, HK_ERR_NO_MEMORY
 */
hk_status_t hki_vs_add(hki_vs_table_t *table, int nranks, int system, const char *lines,
                       size_t *added_out);

/** Median over the alternations [us]; 0: not measured. */
double hki_vs_time(const hki_vs_row_t *row, int system);
/** The fastest peer, or -1. */
int hki_vs_best(const hki_vs_row_t *row);
/** hocket's time over the fastest peer's; 0: not known. */
double hki_vs_ratio(const hki_vs_row_t *row, int system);
/** The ratio that hocket must reach, at most; 0: none is asked. */
double hki_vs_target(const hki_vs_row_t *row, int system);

/** The heading, and rows [first, end), as a table for the terminal or for Markdown. */
void hki_vs_print(const hki_vs_table_t *table, size_t first, bool is_markdown, hki_text_t *text);
void hki_vs_print_head(bool is_markdown, hki_text_t *text);
/** How many lines of hocket have a target, and how many of them reach it. */
void hki_vs_count(const hki_vs_table_t *table, size_t *asked_out, size_t *reached_out);
/** How many systems took fewer turns than `alternations` at a row, and why. */
void hki_vs_short(const hki_vs_table_t *table, int alternations, double patience_s, size_t *far_out,
                  size_t *spent_out);
/** All rows as JSON. @return HK_OK, HK_ERR_NO_MEMORY */
hk_status_t hki_vs_json(const hki_vs_table_t *table, const char *machine, hki_text_t *text);

/**
 * Put `part` into `old` between the marker lines, or behind it if there are none.
 *
 * @param old  the text so far, "" for none
 */
void hki_vs_splice(const char *old, const char *part, hki_text_t *text);

void hki_vs_fini(hki_vs_table_t *table);

#endif /* HKI_TOOLS_HOCKET_BENCH_RATIO_H */
