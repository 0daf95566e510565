/**
 * @file journal.c
 * @brief The log of a training run, written with cJSON, line by line.
 */
#include "train/journal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/alloc.h"
#include "base/error.h"

enum { HEX_BYTES = 40, PATH_BYTES = 256 };

struct hki_journal {
    FILE *file;
    char path[PATH_BYTES]; // for messages
    double *losses;        // (steps_max,)
    int steps_max;
    int steps; // written
    double held_out_loss;
    bool has_held_out;
};

static hk_status_t write_failed(const char *path)
{
    return HKI_FAIL(HK_ERR_IO, "log %s cannot be written: %s; give --log a writable path", path,
                    strerror(errno));
}

hk_status_t hki_journal_check(const char *path)
{
    FILE *there = fopen(path, "rb");
    FILE *file;

    errno = 0;
    file = fopen(path, "ab"); // appending nothing changes nothing
    if (file == NULL) {
        const hk_status_t status = write_failed(path);
        if (there != NULL) {
            (void)fclose(there);
        }
        return status;
    }
    (void)fclose(file);
    if (there != NULL) {
        (void)fclose(there);
    } else {
        (void)remove(path); // it was not there before
    }
    return HK_OK;
}

hk_status_t hki_journal_open(const char *path, int steps_max, hki_journal_t **journal_out)
{
    hki_journal_t *journal = hki_calloc(1, sizeof(*journal));

    if (journal != NULL) {
        journal->losses = hki_calloc((size_t)steps_max, sizeof(*journal->losses));
    }
    if (journal == NULL || journal->losses == NULL) {
        hki_journal_close(&journal);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "log of %d steps", steps_max);
    }
    journal->steps_max = steps_max;
    (void)snprintf(journal->path, sizeof(journal->path), "%s", path);
    errno = 0;
    journal->file = fopen(path, "wb");
    if (journal->file == NULL) {
        hki_journal_close(&journal);
        return write_failed(path);
    }
    *journal_out = journal;
    return HK_OK;
}

void hki_journal_close(hki_journal_t **journal)
{
    if (*journal == NULL) {
        return;
    }
    if ((*journal)->file != NULL) {
        (void)fclose((*journal)->file);
    }
    hki_free((*journal)->losses);
    hki_free(*journal);
    *journal = NULL;
}

/** Write an object as one line and free it. NULL objects mean that memory ran out on the way. */
static hk_status_t line_write(hki_journal_t *journal, cJSON *object, bool is_complete)
{
    char *line = is_complete ? cJSON_PrintUnformatted(object) : NULL;
    hk_status_t status = HK_OK;

    cJSON_Delete(object);
    if (line == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "a line of log %s", journal->path);
    }
    errno = 0;
    if (fprintf(journal->file, "%s\n", line) < 0 || fflush(journal->file) != 0) {
        status = write_failed(journal->path);
    }
    cJSON_free(line);
    return status;
}

/** "name": number; numbers that JSON does not have (NaN, infinity) become null. */
static bool number_add(cJSON *object, const char *name, double value)
{
    return cJSON_AddNumberToObject(object, name, value) != NULL;
}

static bool hex_add(cJSON *object, const char *name, double value)
{
    char hex[HEX_BYTES];

    (void)snprintf(hex, sizeof(hex), "%a", value);
    return cJSON_AddStringToObject(object, name, hex) != NULL;
}

hk_status_t hki_journal_step(hki_journal_t *journal, const hki_journal_step_t *record)
{
    cJSON *object = cJSON_CreateObject();
    bool is_complete = object != NULL;

    HKI_ASSERT(journal->steps < journal->steps_max);
    journal->losses[journal->steps++] = record->loss;
    is_complete = is_complete && number_add(object, "step", record->step);
    is_complete = is_complete && number_add(object, "loss", record->loss);
    is_complete = is_complete && hex_add(object, "loss_hex", record->loss);
    is_complete = is_complete && number_add(object, "rate", record->rate);
    is_complete = is_complete && number_add(object, "grad_norm", record->grad_norm);
    is_complete = is_complete && number_add(object, "tokens_per_s", record->tokens_per_s);
    is_complete = is_complete && number_add(object, "comm_share", record->comm_share);
    return line_write(journal, object, is_complete);
}

hk_status_t hki_journal_eval(hki_journal_t *journal, int step, double loss)
{
    cJSON *object = cJSON_CreateObject();
    bool is_complete = object != NULL;

    journal->held_out_loss = loss;
    journal->has_held_out = true;
    is_complete = is_complete && number_add(object, "eval_step", step);
    is_complete = is_complete && number_add(object, "held_out_loss", loss);
    is_complete = is_complete && hex_add(object, "held_out_loss_hex", loss);
    return line_write(journal, object, is_complete);
}

hk_status_t hki_journal_end(hki_journal_t *journal, const char *weights_digest, double seconds)
{
    cJSON *object = cJSON_CreateObject();
    bool is_complete = object != NULL;

    is_complete = is_complete && cJSON_AddTrueToObject(object, "end") != NULL;
    is_complete = is_complete && number_add(object, "steps", journal->steps);
    is_complete = is_complete && number_add(object, "seconds", seconds);
    is_complete =
        is_complete && cJSON_AddStringToObject(object, "weights_digest", weights_digest) != NULL;
    if (journal->has_held_out) {
        is_complete = is_complete && number_add(object, "held_out_loss", journal->held_out_loss);
        is_complete = is_complete && hex_add(object, "held_out_loss_hex", journal->held_out_loss);
    }
    cJSON *losses = is_complete ? cJSON_AddArrayToObject(object, "losses") : NULL;
    is_complete = losses != NULL;
    for (int i = 0; is_complete && i < journal->steps; i++) {
        char hex[HEX_BYTES];
        (void)snprintf(hex, sizeof(hex), "%a", journal->losses[i]);
        cJSON *text = cJSON_CreateString(hex);
        is_complete = text != NULL && cJSON_AddItemToArray(losses, text);
        if (!is_complete) {
            cJSON_Delete(text);
        }
    }
    return line_write(journal, object, is_complete);
}
