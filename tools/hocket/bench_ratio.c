/*
 * The table of `hocket bench --vs`. Method: a row holds the median of every turn of every system;
 * a cell is the median of these. Targets are ratios to the fastest peer of the same run, since
 * times move by tens of percent from hour to hour on shared machines.
 */
#include "bench_ratio.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define MARK_BEGIN "<!-- hocket bench --vs: begin -->\n"
#define MARK_END   "<!-- hocket bench --vs: end -->\n"

/** What all_reduce of f32 must reach; found by ranks and bytes. */
typedef struct target {
    int nranks;
    size_t bytes;
    double private_ratio;
    double shared_ratio; /**< 0: none */
} target_t;

static const target_t all_reduce_targets[] = {
    {2, 8, 0.65, 0},         {2, 1024, 0.7, 0},        {2, 65536, 0.95, 0.35},
    {2, 1048576, 0.85, 0.3}, {2, 16777216, 0.9, 0.42}, {2, 134217728, 0.8, 0.38},
    {4, 8, 0.65, 0},         {4, 65536, 0.6, 0.4},     {4, 1048576, 0.8, 0.45},
    {4, 16777216, 0.9, 0.5}, {8, 8, 0.5, 0},           {8, 65536, 0.4, 0.3},
    {8, 1048576, 0.8, 0.45}, {8, 16777216, 0.9, 0.5},
};

/** All others: not slower, and with shared memory 1.5 times faster from here up. */
#define SHARED_RATIO (1.0 / 1.5)
enum { SHARED_FROM_BYTES = 65536 };

const char *hki_vs_name(int system)
{
    static const char *const names[HKI_VS_SYSTEMS] = {"hocket private", "hocket shared", "openmpi",
                                                      "mpich", "gloo"};

    return names[system];
}

static hki_vs_row_t *find(const hki_vs_table_t *table, const hki_vs_row_t *key)
{
    for (size_t i = table->count; i > 0; i--) { // the newest are asked for most
        hki_vs_row_t *row = &table->rows[i - 1];
        if (row->nranks == key->nranks && row->bytes == key->bytes &&
            strcmp(row->coll, key->coll) == 0 && strcmp(row->dtype, key->dtype) == 0) {
            return row;
        }
    }
    return NULL;
}

/** A new row. NULL: no memory. */
static hki_vs_row_t *append(hki_vs_table_t *table, const hki_vs_row_t *key)
{
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity == 0 ? 64 : 2 * table->capacity;
        hki_vs_row_t *more = hki_calloc(capacity, sizeof(*more));
        if (more == NULL) {
            return NULL;
        }
        if (table->rows != NULL) {
            memcpy(more, table->rows, table->count * sizeof(*more));
        }
        hki_free(table->rows);
        table->rows = more;
        table->capacity = capacity;
    }
    table->rows[table->count] = *key;
    return &table->rows[table->count++];
}

static double number(const cJSON *object, const char *name, double missing)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(item) ? item->valuedouble : missing;
}

hk_status_t hki_vs_plan(hki_vs_table_t *table, const hki_vs_row_t *key)
{
    if (find(table, key) == NULL && append(table, key) == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "%zu rows", table->count + 1);
    }
    return HK_OK;
}

static bool copy_name(const cJSON *object, const char *name, char *copy)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

    return text != NULL && strlen(text) < HKI_VS_NAME_BYTES && strcpy(copy, text) == copy;
}

/** One object. @param[out] added_out  one more if it was a line of the table */
static hk_status_t add_object(hki_vs_table_t *table, hki_vs_row_t *key, int system,
                              const cJSON *object, size_t *added_out)
{
    const double time_us = number(object, "time_us", -1.0);
    const double bytes = number(object, "bytes", -1.0);

    if (!copy_name(object, "coll", key->coll) || !copy_name(object, "dtype", key->dtype) ||
        !(time_us > 0.0) || !(bytes >= 0.0 && bytes < 1e18)) {
        return HK_OK;
    }
    key->bytes = (size_t)bytes;
    hki_vs_row_t *row = find(table, key);
    if (row == NULL) {
        row = append(table, key);
    }
    if (row == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "%zu rows", table->count + 1);
    }
    if (row->counts[system] < HKI_VS_ALTERNATIONS_MAX) {
        row->times_us[system][row->counts[system]++] = time_us;
        row->took_s[system] += number(object, "took_s", 0.0);
        table->wrong += (uint64_t)number(object, "wrong", 0.0);
        (*added_out)++;
    }
    return HK_OK;
}

hk_status_t hki_vs_add(hki_vs_table_t *table, int nranks, int system, const char *lines,
                       size_t *added_out)
{
    hk_status_t status = HK_OK;
    size_t added = 0;

    while (lines != NULL && *lines != '\0' && status == HK_OK) {
        const char *end = strchr(lines, '\n');
        const size_t length = end == NULL ? strlen(lines) : (size_t)(end - lines);
        if (*lines == '{') {
            hki_vs_row_t key = {.nranks = nranks};
            cJSON *object = cJSON_ParseWithLength(lines, length);
            status = add_object(table, &key, system, object, &added);
            cJSON_Delete(object);
        }
        lines = end == NULL ? NULL : end + 1;
    }
    if (status == HK_OK) {
        *added_out = added;
    }
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

double hki_vs_time(const hki_vs_row_t *row, int system)
{
    double sorted[HKI_VS_ALTERNATIONS_MAX];
    const int count = row->counts[system];

    if (count == 0) {
        return 0.0;
    }
    memcpy(sorted, row->times_us[system], (size_t)count * sizeof(*sorted));
    qsort(sorted, (size_t)count, sizeof(*sorted), compare_doubles);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
}

int hki_vs_best(const hki_vs_row_t *row)
{
    int best = -1;

    for (int system = HKI_VS_OPENMPI; system < HKI_VS_SYSTEMS; system++) {
        const double us = hki_vs_time(row, system);
        if (us > 0.0 && (best < 0 || us < hki_vs_time(row, best))) {
            best = system;
        }
    }
    return best;
}

/** The quickest turn, or the slowest [us]. */
static double extreme(const hki_vs_row_t *row, int system, bool is_slowest)
{
    double found = row->times_us[system][0];

    for (int i = 1; i < row->counts[system]; i++) {
        const double us = row->times_us[system][i];
        found = (us > found) == is_slowest ? us : found;
    }
    return found;
}

hki_vs_verdict_t hki_vs_judge(const hki_vs_row_t *row, int system, double patience_s)
{
    const int best = hki_vs_best(row);
    const int count = row->counts[system];

    if (system >= HKI_VS_OPENMPI && count >= HKI_VS_TURNS_FAR && system != best &&
        row->counts[best] >= HKI_VS_TURNS_FAR &&
        extreme(row, system, false) > HKI_VS_FAR * extreme(row, best, true)) {
        return HKI_VS_TOO_FAR;
    }
    return count >= HKI_VS_TURNS_LEAST && row->took_s[system] >= patience_s ? HKI_VS_SPENT
                                                                            : HKI_VS_ON;
}

double hki_vs_ratio(const hki_vs_row_t *row, int system)
{
    const int best = hki_vs_best(row);

    return best < 0 ? 0.0 : hki_vs_time(row, system) / hki_vs_time(row, best);
}

double hki_vs_target(const hki_vs_row_t *row, int system)
{
    const bool is_shared = system == HKI_VS_SHARED;

    if (strcmp(row->coll, "all_reduce") == 0) {
        for (size_t i = 0; i < sizeof(all_reduce_targets) / sizeof(all_reduce_targets[0]); i++) {
            const target_t *target = &all_reduce_targets[i];
            if (target->nranks == row->nranks && target->bytes == row->bytes) {
                return is_shared ? target->shared_ratio : target->private_ratio;
            }
        }
    }
    if (is_shared) {
        return row->bytes >= SHARED_FROM_BYTES ? SHARED_RATIO : 0.0;
    }
    return 1.0;
}

/** A time in few digits. */
static void add_time(hki_text_t *text, double us, int width)
{
    if (us <= 0.0) {
        hki_text_add(text, " %*s", width, "-");
    } else {
        hki_text_add(text, " %*.*f", width, us < 10 ? 2 : us < 1000 ? 1 : 0, us);
    }
}

/** "0.61 (0.65)", with a mark where the target is missed. */
static void add_ratio(hki_text_t *text, const hki_vs_row_t *row, int system)
{
    const double ratio = hki_vs_ratio(row, system);
    const double target = hki_vs_target(row, system);
    char cell[40] = "-";

    if (ratio > 0.0 && target > 0.0) {
        (void)snprintf(cell, sizeof(cell), "%.2f (%.2f)%s", ratio, target,
                       ratio > target ? " !" : "");
    } else if (ratio > 0.0) {
        (void)snprintf(cell, sizeof(cell), "%.2f", ratio);
    }
    hki_text_add(text, " %13s", cell);
}

void hki_vs_print_head(bool is_markdown, hki_text_t *text)
{
    if (is_markdown) {
        hki_text_add(text, "| ranks | collective | dtype | bytes | openmpi | mpich | gloo | hocket "
                           "private | hocket shared | private / best peer | shared / best peer |\n"
                           "|--:|:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        return;
    }
    hki_text_add(text,
                 "# times in us, medians; ratio to the fastest peer (must reach), ! where missed\n"
                 "# %5s %-14s %-6s %10s %9s %9s %9s %9s %9s %13s %13s\n",
                 "ranks", "collective", "dtype", "bytes", "openmpi", "mpich", "gloo", "private",
                 "shared", "private/best", "shared/best");
}

static void add_cells(hki_text_t *text, const hki_vs_row_t *row, const char *bar, int width)
{
    static const int order[] = {HKI_VS_OPENMPI, HKI_VS_MPICH, HKI_VS_GLOO, HKI_VS_PRIVATE,
                                HKI_VS_SHARED};

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        hki_text_add(text, "%s", bar);
        add_time(text, hki_vs_time(row, order[i]), width);
    }
    for (int system = HKI_VS_PRIVATE; system <= HKI_VS_SHARED; system++) {
        hki_text_add(text, "%s", bar);
        add_ratio(text, row, system);
    }
}

void hki_vs_print(const hki_vs_table_t *table, size_t first, bool is_markdown, hki_text_t *text)
{
    for (size_t i = first; i < table->count; i++) {
        const hki_vs_row_t *row = &table->rows[i];
        hki_text_add(text, is_markdown ? "| %d | %s | %s | %zu" : "  %5d %-14s %-6s %10zu",
                     row->nranks, row->coll, row->dtype, row->bytes);
        add_cells(text, row, is_markdown ? " |" : "", is_markdown ? 1 : 9);
        hki_text_add(text, is_markdown ? " |\n" : "\n");
    }
}

void hki_vs_count(const hki_vs_table_t *table, size_t *asked_out, size_t *reached_out)
{
    size_t asked = 0;
    size_t reached = 0;

    for (size_t i = 0; i < 2 * table->count; i++) {
        const hki_vs_row_t *row = &table->rows[i / 2];
        const int system = i % 2 == 0 ? HKI_VS_PRIVATE : HKI_VS_SHARED;
        const double target = hki_vs_target(row, system);
        const double ratio = hki_vs_ratio(row, system);
        if (target > 0.0 && ratio > 0.0) {
            asked++;
            reached += ratio <= target;
        }
    }
    *asked_out = asked;
    *reached_out = reached;
}

void hki_vs_short(const hki_vs_table_t *table, int alternations, double patience_s, size_t *far_out,
                  size_t *spent_out)
{
    size_t far = 0;
    size_t spent = 0;

    for (size_t i = 0; i < table->count * HKI_VS_SYSTEMS; i++) {
        const hki_vs_row_t *row = &table->rows[i / HKI_VS_SYSTEMS];
        const int system = (int)(i % HKI_VS_SYSTEMS);
        if (row->counts[system] > 0 && row->counts[system] < alternations) {
            const hki_vs_verdict_t verdict = hki_vs_judge(row, system, patience_s);
            far += verdict == HKI_VS_TOO_FAR;
            spent += verdict == HKI_VS_SPENT;
        }
    }
    *far_out = far;
    *spent_out = spent;
}

static bool add_row(cJSON *array, const hki_vs_row_t *row)
{
    cJSON *object = cJSON_CreateObject();
    bool is_ok = cJSON_AddItemToArray(array, object) != 0;
    const int best = hki_vs_best(row);

    is_ok = is_ok && cJSON_AddNumberToObject(object, "ranks", row->nranks) != NULL;
    is_ok = is_ok && cJSON_AddStringToObject(object, "collective", row->coll) != NULL;
    is_ok = is_ok && cJSON_AddStringToObject(object, "dtype", row->dtype) != NULL;
    is_ok = is_ok && cJSON_AddNumberToObject(object, "bytes", (double)row->bytes) != NULL;
    cJSON *times = cJSON_AddObjectToObject(object, "times_us");
    for (int system = 0; is_ok && system < HKI_VS_SYSTEMS; system++) {
        if (row->counts[system] > 0) {
            is_ok = cJSON_AddItemToObject(
                        times, hki_vs_name(system),
                        cJSON_CreateDoubleArray(row->times_us[system], row->counts[system])) != 0;
        }
    }
    if (best >= 0) {
        is_ok = is_ok && cJSON_AddStringToObject(object, "best_peer", hki_vs_name(best)) != NULL;
    }
    for (int system = 0; is_ok && system <= HKI_VS_SHARED; system++) {
        const bool is_shared = system == HKI_VS_SHARED;
        const double ratio = hki_vs_ratio(row, system);
        const double target = hki_vs_target(row, system);
        is_ok = ratio <= 0.0 || cJSON_AddNumberToObject(
                                    object, is_shared ? "shared_ratio" : "private_ratio", ratio);
        is_ok = is_ok && (target <= 0.0 ||
                          cJSON_AddNumberToObject(
                              object, is_shared ? "shared_must" : "private_must", target) != NULL);
    }
    return is_ok;
}

hk_status_t hki_vs_json(const hki_vs_table_t *table, const char *machine, hki_text_t *text)
{
    cJSON *root = cJSON_CreateObject();
    char *json = NULL;
    bool is_ok = cJSON_AddStringToObject(root, "hocket", hk_version()) != NULL &&
                 cJSON_AddStringToObject(root, "machine", machine) != NULL;
    cJSON *array = cJSON_AddArrayToObject(root, "rows");

    for (size_t i = 0; is_ok && i < table->count; i++) {
        is_ok = array != NULL && add_row(array, &table->rows[i]);
    }
    if (is_ok) {
        json = cJSON_Print(root);
    }
    cJSON_Delete(root);
    if (json == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "JSON of %zu rows", table->count);
    }
    hki_text_add(text, "%s\n", json);
    cJSON_free(json);
    return text->is_failed ? HKI_FAIL(HK_ERR_NO_MEMORY, "JSON of %zu rows", table->count) : HK_OK;
}

void hki_vs_splice(const char *old, const char *part, hki_text_t *text)
{
    const char *begin = strstr(old, MARK_BEGIN);
    const char *end = begin == NULL ? NULL : strstr(begin, MARK_END);
    const char *rest = end == NULL ? "" : end + strlen(MARK_END);
    const size_t kept = end == NULL ? strlen(old) : (size_t)(begin - old);

    hki_text_append(text, old, kept);
    if (end == NULL && kept > 0) {
        hki_text_add(text, old[kept - 1] == '\n' ? "\n" : "\n\n");
    }
    hki_text_add(text, "%s\n%s\n%s%s", MARK_BEGIN, part, MARK_END, rest);
}

void hki_vs_fini(hki_vs_table_t *table)
{
    hki_free(table->rows);
    memset(table, 0, sizeof(*table));
}
