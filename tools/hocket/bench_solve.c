/*
 * Least squares with coefficients >= 0. Method: with at most seven terms there are at most 127 sets
 * of terms that may be above zero; solve the normal equations of each, by elimination with pivots,
 * and keep the best solution that has nothing negative.
 */
#include "bench_solve.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-12 /* of a pivot, after scaling */

enum { N = HKI_SOLVE_TERMS_MAX };

/** Solve a (n, n) x = b in place. @return 0: singular */
static int eliminate(double a[N][N], double *b, int n)
{
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int r = c + 1; r < n; r++) {
            pivot = fabs(a[r][c]) > fabs(a[pivot][c]) ? r : pivot;
        }
        if (fabs(a[pivot][c]) < SINGULAR) {
            return 0;
        }
        for (int k = 0; k < n; k++) {
            const double swap = a[c][k];
            a[c][k] = a[pivot][k];
            a[pivot][k] = swap;
        }
        const double swap = b[c];
        b[c] = b[pivot];
        b[pivot] = swap;
        for (int r = 0; r < n; r++) {
            const double factor = r == c ? 0.0 : a[r][c] / a[c][c];
            for (int k = c; k < n; k++) {
                a[r][k] -= factor * a[c][k];
            }
            b[r] -= factor * b[c];
        }
    }
    for (int c = 0; c < n; c++) {
        b[c] /= a[c][c];
    }
    return 1;
}

/** Largest |term / time| of each term: scales the equations. 0: no row has it. */
static void find_scales(const hki_solve_row_t *rows, size_t count, double *scales)
{
    for (int t = 0; t < N; t++) {
        scales[t] = 0.0;
        for (size_t i = 0; i < count; i++) {
            scales[t] = fmax(scales[t], fabs(rows[i].terms[t] / rows[i].time));
        }
    }
}

/** The best x for one set of terms, others 0. @return 0: none that is not negative */
static int solve_set(const hki_solve_row_t *rows, size_t count, unsigned set, const double *scales,
                     double *x)
{
    double a[N][N] = {{0}};
    double b[N] = {0};
    int terms[N];
    int n = 0;

    for (int t = 0; t < N; t++) {
        if ((set >> t & 1U) != 0) {
            terms[n++] = t;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (int r = 0; r < n; r++) {
            const double row = rows[i].terms[terms[r]] / (rows[i].time * scales[terms[r]]);
            for (int c = 0; c < n; c++) {
                a[r][c] += row * rows[i].terms[terms[c]] / (rows[i].time * scales[terms[c]]);
            }
            b[r] += row;
        }
    }
    if (!eliminate(a, b, n)) {
        return 0;
    }
    memset(x, 0, N * sizeof(*x));
    for (int r = 0; r < n; r++) {
        x[terms[r]] = b[r] / scales[terms[r]];
        if (x[terms[r]] < 0.0) {
            return 0;
        }
    }
    return 1;
}

static double error_of(const hki_solve_row_t *rows, size_t count, const double *x)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++) {
        double time = 0.0;
        for (int t = 0; t < N; t++) {
            time += rows[i].terms[t] * x[t];
        }
        const double error = time / rows[i].time - 1.0;
        sum += error * error;
    }
    return count == 0 ? 1.0 : sqrt(sum / (double)count);
}

double hki_solve(const hki_solve_row_t *rows, size_t count, int nterms, double *x_out)
{
    double scales[N];
    double best = HUGE_VAL;
    double x[N] = {0};

    memset(x_out, 0, N * sizeof(*x_out));
    find_scales(rows, count, scales);
    for (unsigned set = 1; set < 1U << nterms; set++) {
        int is_empty = 0;
        for (int t = 0; t < N; t++) {
            is_empty |= (set >> t & 1U) != 0 && scales[t] <= 0.0;
        }
        if (is_empty || !solve_set(rows, count, set, scales, x)) {
            continue;
        }
        const double error = error_of(rows, count, x);
        if (error < best) {
            best = error;
            memcpy(x_out, x, sizeof(x));
        }
    }
    return error_of(rows, count, x_out);
}
