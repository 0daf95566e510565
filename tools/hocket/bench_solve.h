/**
 * @file bench_solve.h
 * @brief Least squares with coefficients that are not negative, for `hocket bench --fit`. Pure.
 */
#ifndef HKI_TOOLS_HOCKET_BENCH_SOLVE_H
#define HKI_TOOLS_HOCKET_BENCH_SOLVE_H

#include <stddef.h>

enum { HKI_SOLVE_TERMS_MAX = 7 };

/** One measurement: what it counts, and its time. */
typedef struct hki_solve_row {
    double terms[HKI_SOLVE_TERMS_MAX]; /**< what is counted */
    double time;                       /**< above 0 */
} hki_solve_row_t;

/**
 * The x >= 0 that minimise the sum over rows of ((terms . x - time) / time)^2: relative errors, so
 * that small sizes count as much as large ones.
 *
 * @param nterms  1 to HKI_SOLVE_TERMS_MAX; further terms are ignored
 * @param[out] x_out  (HKI_SOLVE_TERMS_MAX,); 0 for terms that no row has
 * @return the root of the mean square of the relative errors; 1 if there are no rows
 */
double hki_solve(const hki_solve_row_t *rows, size_t count, int nterms, double *x_out);

#endif /* HKI_TOOLS_HOCKET_BENCH_SOLVE_H */
