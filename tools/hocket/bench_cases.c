/*
 * `hocket bench --cases`, as `hocket bench --vs` starts it: the cases of a list, in the words of
 * the peers' drivers, and the lines that they print.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench.h"

enum { NAME_BYTES = 24 };

#define NAME_FORMAT "%23[a-z0-9_]"

bool hki_bench_cell_read(const char **text, hki_bench_cell_t *cell_out)
{
    char coll[NAME_BYTES];
    char dtype[NAME_BYTES];
    hki_bench_cell_t cell = {0};
    int length = 0;

    if (sscanf(*text, NAME_FORMAT ":" NAME_FORMAT ":%zu%n", coll, dtype, &cell.bytes, &length) !=
        3) {
        return false;
    }
    cell.coll = hki_option_choice(HKI_BENCH_COLLS, coll);
    const int type = hki_option_choice(HKI_BENCH_DTYPES, dtype);
    const char after = (*text)[length];
    if (cell.coll < 0 || type < 0 || cell.bytes > HKI_BENCH_BYTES_MAX ||
        (after != ',' && after != '\0')) {
        return false;
    }
    cell.dtype = (hk_dtype_t)type;
    *text += length + (after == ',');
    *cell_out = cell;
    return true;
}

hk_status_t hki_bench_cases(hki_bench_t *bench, uint64_t *wrong_out)
{
    hk_status_t status = HK_OK;
    uint64_t wrong = 0;
    hki_bench_cell_t cell;
    hki_bench_case_t what;
    hki_bench_row_t row;

    for (const char *text = bench->values->cases; *text != '\0' && status == HK_OK;) {
        const uint64_t start = hki_clock_ns();
        if (!hki_bench_cell_read(&text, &cell)) {
            break; // refused before
        }
        if (!hki_bench_case(bench, cell.coll, cell.bytes, cell.dtype, HK_SUM, &what)) {
            continue;
        }
        status = hki_bench_measure(bench, &what, &row);
        wrong += status == HK_OK ? row.wrong : 0;
        if (status == HK_OK && bench->rank == 0) {
            hki_bench_print_line(&row, (double)(hki_clock_ns() - start) / 1e9);
        }
    }
    *wrong_out = wrong;
    return status;
}
