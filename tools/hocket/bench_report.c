/*
 * What `hocket bench` prints: the table, in the columns of nccl-tests, and the JSON file.
 */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"
#include "bench_plot.h"
#include "file.h"

void hki_bench_print_head(const hki_bench_t *bench)
{
    const hki_bench_values_t *values = bench->values;

    (void)printf("# hocket %s bench: %d ranks, %s memory%s, order %s, algorithm %s\n", hk_version(),
                 bench->nranks, values->memory == 0 ? "private" : "shared",
                 values->is_inplace ? ", in place" : "",
                 values->order == HK_ORDER_ANY ? "any" : "tree",
                 values->algo != NULL ? values->algo : "chosen");
    if (bench->arena_bytes > 0) {
        (void)printf("# cold: inputs and outputs rotate through %.1f MiB each, on each rank\n",
                     (double)bench->arena_bytes / (1 << 20));
    }
    (void)printf("# time: median of K operations back to back / K; p50, p99, min: one operation "
                 "after a barrier; slowest rank\n");
    (void)printf("# %-14s %10s %8s %9s %-9s %-12s %9s %9s %9s %9s %9s %7s %7s %6s\n", "collective",
                 "bytes", "count", "dtype", "op", "algorithm", "time us", "p50 us", "p99 us",
                 "min us", "predicted", "algbw", "busbw", "wrong");
    (void)fflush(stdout);
}

void hki_bench_print_row(const hki_bench_row_t *row)
{
    (void)printf("  %-14s %10zu %8zu %9s %-9s %-12s %9.2f %9.2f %9.2f %9.2f %9.2f %7.2f %7.2f "
                 "%6llu\n",
                 hki_bench_coll_name(row->what.coll), row->bytes, row->what.count,
                 hk_dtype_name(row->what.dtype),
                 hki_bench_has_op(row->what.coll) ? hk_op_name(row->what.op) : "-",
                 row->algo[0] != '\0' ? row->algo : "-", row->time_us, row->p50_us, row->p99_us,
                 row->min_us, row->predicted_us, row->algbw, row->busbw,
                 (unsigned long long)row->wrong);
    (void)fflush(stdout);
}

void hki_bench_print_line(const hki_bench_row_t *row, double took_s)
{
    (void)printf("{\"coll\":\"%s\",\"dtype\":\"%s\",\"bytes\":%zu,\"time_us\":%.4f,\"samples\":%d,"
                 "\"in_place\":%s,\"wrong\":%llu,\"took_s\":%.4f}\n",
                 hki_bench_coll_name(row->what.coll), hk_dtype_name(row->what.dtype), row->bytes,
                 row->time_us, row->iterations, row->is_inplace ? "true" : "false",
                 (unsigned long long)row->wrong, took_s);
    (void)fflush(stdout);
}

static bool add_row(cJSON *array, const hki_bench_row_t *row)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"bytes", (double)row->bytes},
        {"count", (double)row->what.count},
        {"root", (double)row->what.root},
        {"time_us", row->time_us},
        {"p50_us", row->p50_us},
        {"p99_us", row->p99_us},
        {"min_us", row->min_us},
        {"predicted_us", row->predicted_us},
        {"algbw_gbs", row->algbw},
        {"busbw_gbs", row->busbw},
        {"wrong", (double)row->wrong},
        {"iterations", (double)row->iterations},
        {"batch", (double)row->batch},
        {"copy_us", row->copy_us},
        {"double_copy_us", row->double_copy_us},
    };
    cJSON *object = cJSON_CreateObject();
    bool is_ok = cJSON_AddItemToArray(array, object) != 0;

    is_ok = is_ok && cJSON_AddStringToObject(object, "collective",
                                             hki_bench_coll_name(row->what.coll)) != NULL;
    is_ok =
        is_ok && cJSON_AddStringToObject(object, "dtype", hk_dtype_name(row->what.dtype)) != NULL;
    if (hki_bench_has_op(row->what.coll)) {
        is_ok = is_ok && cJSON_AddStringToObject(object, "op", hk_op_name(row->what.op)) != NULL;
    }
    is_ok = is_ok && cJSON_AddStringToObject(object, "algorithm", row->algo) != NULL;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        is_ok = is_ok && cJSON_AddNumberToObject(object, numbers[i].name, numbers[i].value) != NULL;
    }
    return is_ok;
}

/** The text of the file, to be freed with cJSON_free(); NULL: no memory. */
static char *make_text(const hki_bench_t *bench, const hki_bench_row_t *rows, size_t count)
{
    const hki_bench_values_t *values = bench->values;
    cJSON *root = cJSON_CreateObject();
    char *text = NULL;
    bool is_ok = cJSON_AddStringToObject(root, "hocket", hk_version()) != NULL;

    is_ok = is_ok && cJSON_AddNumberToObject(root, "ranks", bench->nranks) != NULL;
    is_ok = is_ok && cJSON_AddStringToObject(root, "memory",
                                             values->memory == 0 ? "private" : "shared") != NULL;
    is_ok = is_ok && cJSON_AddBoolToObject(root, "in_place", values->is_inplace) != NULL;
    is_ok = is_ok && cJSON_AddBoolToObject(root, "cold", values->is_cold) != NULL;
    is_ok = is_ok && cJSON_AddStringToObject(
                         root, "order", values->order == HK_ORDER_ANY ? "any" : "tree") != NULL;
    cJSON *array = cJSON_AddArrayToObject(root, "rows");
    for (size_t i = 0; is_ok && i < count; i++) {
        is_ok = array != NULL && add_row(array, &rows[i]);
    }
    if (is_ok) {
        text = cJSON_Print(root);
    }
    cJSON_Delete(root);
    return text;
}

hk_status_t hki_bench_json_write(const hki_bench_t *bench, const hki_bench_row_t *rows,
                                 size_t count)
{
    char *text = make_text(bench, rows, count);

    if (text == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "JSON of %zu rows", count);
    }
    const hk_status_t status = hki_file_put(bench->values->json, text);
    cJSON_free(text);
    return status;
}

hk_status_t hki_bench_plot_write(const hki_bench_t *bench, const hki_bench_row_t *rows,
                                 size_t count)
{
    hki_plot_t *plot = hki_calloc(1, sizeof(*plot));
    hki_text_t svg = {0};
    char series[HKI_PLOT_NAME_BYTES];

    if (plot == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "plot of %zu rows", count);
    }
    for (size_t i = 0; i < count; i++) {
        const hki_bench_row_t *row = &rows[i];
        (void)snprintf(series, sizeof(series), "%s%s%s", hk_dtype_name(row->what.dtype),
                       hki_bench_has_op(row->what.coll) ? " " : "",
                       hki_bench_has_op(row->what.coll) ? hk_op_name(row->what.op) : "");
        hki_plot_add(plot, hki_bench_coll_name(row->what.coll), series, (double)row->bytes,
                     row->time_us);
    }
    hki_plot_svg(plot, &svg);
    const bool is_failed = svg.is_failed || plot->is_failed;
    const hk_status_t status = is_failed ? HKI_FAIL(HK_ERR_NO_MEMORY, "plot of %zu rows", count)
                                         : hki_file_put(bench->values->plot, svg.data);
    hki_plot_fini(plot);
    hki_free(plot);
    hki_text_fini(&svg);
    return status;
}
