/**
 * @file golden_file.h
 * @brief Read the files of gpt_torch.py, and set a model up from one.
 */
#ifndef HK_TEST_GOLDEN_GOLDEN_FILE_H
#define HK_TEST_GOLDEN_GOLDEN_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/model/run.h"

typedef struct golden_file {
    char *bytes;
    size_t byte_count;
} golden_file_t;

static inline bool golden_open(golden_file_t *golden, const char *path)
{
    FILE *file = fopen(path, "rb");

    memset(golden, 0, sizeof(*golden));
    if (file == NULL) {
        return false;
    }
    (void)fseek(file, 0, SEEK_END);
    golden->byte_count = (size_t)ftell(file);
    rewind(file);
    golden->bytes = hki_calloc(golden->byte_count + 1, 1);
    const bool is_read = golden->bytes != NULL &&
                         fread(golden->bytes, 1, golden->byte_count, file) == golden->byte_count;
    (void)fclose(file);
    return is_read;
}

static inline void golden_close(golden_file_t *golden)
{
    hki_free(golden->bytes);
    golden->bytes = NULL;
}

/** Copy tensor `prefix` + `name` of `count` elements of `bytes` bytes to out. False if there is
 *  none of this name and size. */
static inline bool golden_get(const golden_file_t *golden, const char *prefix, const char *name,
                              size_t bytes, size_t count, void *out)
{
    char wanted[128];
    size_t at = 0;

    (void)snprintf(wanted, sizeof(wanted), "%s%s", prefix, name);
    while (at < golden->byte_count) {
        char found[128] = "";
        char kind[8] = "";
        unsigned long long found_count = 0;
        const char *end = memchr(golden->bytes + at, '\n', golden->byte_count - at);

        if (end == NULL ||
            sscanf(golden->bytes + at, "%127s %7s %llu", found, kind, &found_count) != 3) {
            return false;
        }
        const size_t found_bytes = found_count * (strcmp(kind, "f64") == 0 ? 8 : 4);
        const size_t start = (size_t)(end - golden->bytes) + 1;
        if (start + found_bytes > golden->byte_count) {
            return false;
        }
        if (strcmp(found, wanted) == 0) {
            if (found_bytes != bytes * count) {
                return false;
            }
            memcpy(out, golden->bytes + start, found_bytes);
            return true;
        }
        at = start + found_bytes;
    }
    return false;
}

/** A model of the file's configuration with the file's parameters and unit. `ids` and `targets` are
 *  the caller's, (capacity,). */
static inline bool golden_run_open(const golden_file_t *golden, run_t *run, int32_t *ids,
                                   int32_t *targets, size_t capacity)
{
    int32_t c[8];

    if (!golden_get(golden, "", "config", 4, 8, c)) {
        return false;
    }
    const size_t rows = (size_t)c[6] * (size_t)c[7];
    const hki_model_config_t config = {HKI_MODEL_GPT, c[0], c[1], c[2], c[3], c[4], c[5]};
    const hki_unit_t unit = {
        .num_sequences = c[6], .num_tokens = c[7], .ids = ids, .targets = targets};

    if (rows > capacity || !golden_get(golden, "", "ids", 4, rows, ids) ||
        !golden_get(golden, "", "targets", 4, rows, targets) ||
        run_open(run, &config, 0, 1, &unit) != HK_OK) {
        return false;
    }
    for (int i = 0; i < hki_model_num_params(run->model); i++) {
        const hki_param_info_t *p = hki_model_param(run->model, i);
        const char *name = p->tie < 0 ? p->name : hki_model_param(run->model, p->tie)->name;

        if (!golden_get(golden, "", name, 4, p->count, run->params + p->offset)) {
            return false;
        }
    }
    return true;
}

/** Add the gradients of tied copies to those of their originals, as a trainer does. */
static inline void golden_join_ties(run_t *run)
{
    for (int i = 0; i < hki_model_num_params(run->model); i++) {
        const hki_param_info_t *p = hki_model_param(run->model, i);

        for (size_t j = 0; j < p->count && p->tie >= 0; j++) {
            run->grads[hki_model_param(run->model, p->tie)->offset + j] +=
                run->grads[p->offset + j];
        }
    }
}

#endif /* HK_TEST_GOLDEN_GOLDEN_FILE_H */
