/*
 * `hocket bench --check`. What the first measurement finds is measured twice more, each pair on its
 * own and right after one another, so that what the machine did meanwhile does not count.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bench_findings.h"

enum { FINDINGS_MAX = 1024, AGAIN = 2, LINE_BYTES = 320 };

/** Measure the rows of a finding again. @param[out] holds_out  it is still so */
static hk_status_t measure_again(hki_bench_t *bench, const hki_finding_t *finding,
                                 const hki_bench_row_t *rows, hki_bench_row_t *again,
                                 bool *holds_out)
{
    for (int i = 0; i < finding->row_count; i++) {
        const hk_status_t status =
            hki_bench_measure(bench, &rows[finding->rows[i]].what, &again[i]);
        if (status != HK_OK) {
            return status;
        }
    }
    *holds_out = hki_finding_holds(finding->kind, again);
    return HK_OK;
}

hk_status_t hki_bench_check_rows(hki_bench_t *bench, const hki_bench_row_t *rows, size_t count,
                                 size_t *found_out)
{
    hki_finding_t *findings = hki_calloc(FINDINGS_MAX, sizeof(*findings));
    hki_bench_row_t again[3];
    char line[LINE_BYTES];
    hk_status_t status = HK_OK;
    size_t found = 0;

    if (findings == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "%d findings", FINDINGS_MAX);
    }
    const size_t suspects = hki_findings_get(rows, count, findings, FINDINGS_MAX);
    for (size_t f = 0; f < suspects && status == HK_OK; f++) {
        bool holds = true;
        for (int turn = 0; turn < AGAIN && holds && status == HK_OK; turn++) {
            status = measure_again(bench, &findings[f], rows, again, &holds);
        }
        if (holds && status == HK_OK) {
            found++;
            hki_finding_describe(findings[f].kind, again, line, sizeof(line));
        }
        if (holds && status == HK_OK && bench->rank == 0) {
            (void)printf("# !! %s\n", line);
            (void)fflush(stdout);
        }
    }
    if (status == HK_OK && bench->rank == 0) {
        (void)printf("# check: %zu of %zu lines contradict others\n", found, count);
    }
    hki_free(findings);
    *found_out = found;
    return status;
}
