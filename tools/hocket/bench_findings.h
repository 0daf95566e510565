/**
 * @file bench_findings.h
 * @brief Times that contradict each other. Pure: finds them in measured rows.
 */
#ifndef HKI_TOOLS_HOCKET_BENCH_FINDINGS_H
#define HKI_TOOLS_HOCKET_BENCH_FINDINGS_H

#include "bench.h"

typedef enum hki_finding_kind {
    HKI_FINDING_PARTS,   /**< row 0 is slower than rows 1 and 2 together */
    HKI_FINDING_BARRIER, /**< row 0, a barrier, is slower than row 1 */
    HKI_FINDING_FALL,    /**< row 1 is larger than row 0, and quicker */
    HKI_FINDING_JUMP,    /**< row 1 takes longer than its size and memory explain */
} hki_finding_kind_t;

/** Which rows contradict each other. */
typedef struct hki_finding {
    hki_finding_kind_t kind;
    int row_count;
    size_t rows[3]; /**< indices */
} hki_finding_t;

/**
 * All findings in rows, which stand in the order of their sizes within a collective.
 *
 * @param[out] findings_out  (findings_max,)
 * @return how many were written
 */
size_t hki_findings_get(const hki_bench_row_t *rows, size_t count, hki_finding_t *findings_out,
                        size_t findings_max);

/** Do these rows (of another measurement) contradict each other in this way? By more than a tenth
 *  and twice their noise. @param rows  (row_count,) in the order of the finding */
bool hki_finding_holds(hki_finding_kind_t kind, const hki_bench_row_t *rows);

/** One line for people, without a line end. */
void hki_finding_describe(hki_finding_kind_t kind, const hki_bench_row_t *rows, char *text,
                          size_t text_bytes);

#endif /* HKI_TOOLS_HOCKET_BENCH_FINDINGS_H */
