/*
 * What `hocket bench` prints: the table, in the columns of nccl-tests, and the JSON file.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"

void hki_bench_print_head(const hki_bench_t *bench)
{
    const hki_bench_values_t *values = bench->values;

    (void)printf("# hocket %s bench: %d ranks, %s memory%s, order %s, algorithm %s\n", hk_version(),
                 bench->nranks, values->memory == 0 ? "private" : "shared",
                 values->is_inplace ? ", in place" : "",
                 values->order == HK_ORDER_ANY ? "any" : "tree",
                 values->algo != NULL ? values->algo : "chosen");
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

hk_status_t hki_bench_json_check(const char *path)
{
    char copy[4096];
    struct stat info;

    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy) || path[0] == '\0') {
        return HKI_FAIL(HK_ERR_IO, "the name is empty or too long");
    }
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return HKI_FAIL(HK_ERR_IO, "it is a directory");
        }
        if (access(path, W_OK) != 0) {
            return HKI_FAIL(HK_ERR_IO, "%s", strerror(errno));
        }
        return HK_OK;
    }
    const char *folder = dirname(copy);
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode) || access(folder, W_OK | X_OK) != 0) {
        return HKI_FAIL(HK_ERR_IO, "folder %.160s: %s", folder,
                        errno != 0 ? strerror(errno) : "not a folder");
    }
    return HK_OK;
}

static bool add_row(cJSON *array, const hki_bench_row_t *row)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"bytes", (double)row->bytes},    {"count", (double)row->what.count},
        {"root", (double)row->what.root}, {"time_us", row->time_us},
        {"p50_us", row->p50_us},          {"p99_us", row->p99_us},
        {"min_us", row->min_us},          {"predicted_us", row->predicted_us},
        {"algbw_gbs", row->algbw},        {"busbw_gbs", row->busbw},
        {"wrong", (double)row->wrong},    {"iterations", (double)row->iterations},
        {"batch", (double)row->batch},
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

static hk_status_t write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) {
        return HKI_FAIL(HK_ERR_IO, "%s: %s", path, strerror(errno));
    }
    const bool is_written = fputs(text, file) >= 0 && fputc('\n', file) != EOF;
    if (fclose(file) != 0 || !is_written) {
        return HKI_FAIL(HK_ERR_IO, "%s: %s", path, strerror(errno));
    }
    return HK_OK;
}

hk_status_t hki_bench_json_write(const hki_bench_t *bench, const hki_bench_row_t *rows,
                                 size_t count)
{
    const char *path = bench->values->json;
    char partial[4096 + 16];
    struct stat info;
    char *text = make_text(bench, rows, count);
    hk_status_t status;

    if (text == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "JSON of %zu rows", count);
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { // a pipe, /dev/stdout
        status = write_text(path, text);
    } else {
        (void)snprintf(partial, sizeof(partial), "%s.%d", path, (int)getpid());
        status = write_text(partial, text);
        if (status == HK_OK && rename(partial, path) != 0) {
            status = HKI_FAIL(HK_ERR_IO, "%s: %s", path, strerror(errno));
        }
        if (status != HK_OK) {
            (void)unlink(partial);
        }
    }
    cJSON_free(text);
    return status;
}
