/**
 * @file journal_test.c
 * @brief Tests of src/train/journal.c. Method: write a log, read it back with cJSON.
 */
#include "support/hk_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/alloc.h"
#include "train/journal.h"

typedef struct place {
    char folder[64];
    char path[96];
} place_t;

static int place_open(void **state)
{
    static place_t place;

    (void)snprintf(place.folder, sizeof(place.folder), "/tmp/hocket_journal_XXXXXX");
    if (mkdtemp(place.folder) == NULL) {
        return -1;
    }
    (void)snprintf(place.path, sizeof(place.path), "%s/log.jsonl", place.folder);
    *state = &place;
    return 0;
}

static int place_close(void **state)
{
    const place_t *place = *state;

    (void)remove(place->path);
    return rmdir(place->folder);
}

/** Line `index` (from 0) of a file as JSON, or NULL; the caller deletes it. */
static cJSON *line_of(const char *path, int index)
{
    char line[4096];
    cJSON *object = NULL;
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    for (int i = 0; i <= index; i++) {
        if (fgets(line, sizeof(line), file) == NULL) {
            (void)fclose(file);
            return NULL;
        }
    }
    object = cJSON_Parse(line);
    (void)fclose(file);
    return object;
}

static hk_status_t journal_write(const char *path, const double *losses, int count)
{
    hki_journal_t *journal = NULL;
    hk_status_t status = hki_journal_open(path, count, &journal);

    for (int i = 0; status == HK_OK && i < count; i++) {
        const hki_journal_step_t record = {i + 1, losses[i], 0.25, 1.5, 1000, 0.125};
        status = hki_journal_step(journal, &record);
    }
    if (status == HK_OK) {
        status = hki_journal_eval(journal, count, 0.75);
    }
    if (status == HK_OK) {
        status = hki_journal_end(journal, "abc", 3.5);
    }
    hki_journal_close(&journal);
    return status;
}

static void writes_a_record_a_step_and_one_at_the_end(void **state)
{
    const place_t *place = *state;
    const double losses[] = {5.0 / 3.0, 1e-300};

    assert_ok(journal_write(place->path, losses, 2));
    cJSON *step = line_of(place->path, 1);
    assert_int_equal(cJSON_GetObjectItem(step, "step")->valueint, 2);
    assert_true(cJSON_GetObjectItem(step, "rate")->valuedouble == 0.25);
    cJSON_Delete(step);

    cJSON *end = line_of(place->path, 3);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(end, "end")));
    assert_int_equal(cJSON_GetObjectItem(end, "steps")->valueint, 2);
    assert_string_equal(cJSON_GetObjectItem(end, "weights_digest")->valuestring, "abc");
    cJSON *hex = cJSON_GetObjectItem(end, "losses");
    assert_int_equal(cJSON_GetArraySize(hex), 2);
    for (int i = 0; i < 2; i++) { // every bit comes back
        assert_true(strtod(cJSON_GetArrayItem(hex, i)->valuestring, NULL) == losses[i]);
    }
    cJSON_Delete(end);
    assert_null(line_of(place->path, 4));
}

static void keeps_losses_that_json_has_no_number_for(void **state)
{
    const place_t *place = *state;
    const double losses[] = {(double)NAN, (double)INFINITY};

    assert_ok(journal_write(place->path, losses, 2));
    cJSON *step = line_of(place->path, 0);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(step, "loss")));
    assert_non_null(strstr(cJSON_GetObjectItem(step, "loss_hex")->valuestring, "nan"));
    cJSON_Delete(step);
}

static void refuses_a_path_that_cannot_be_written(void **state)
{
    const place_t *place = *state;
    hki_journal_t *journal = NULL;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/none/log.jsonl", place->folder);
    assert_int_equal(hki_journal_check(path), HK_ERR_IO);
    assert_non_null(strstr(hk_last_error(), path));
    assert_int_equal(hki_journal_open(path, 1, &journal), HK_ERR_IO);
    assert_null(journal);
    assert_int_equal(hki_journal_check(place->folder), HK_ERR_IO); // a folder
}

static void checks_a_path_without_leaving_a_trace(void **state)
{
    const place_t *place = *state;
    FILE *file;

    (void)remove(place->path);
    assert_ok(hki_journal_check(place->path));
    assert_int_not_equal(access(place->path, F_OK), 0);
    file = fopen(place->path, "wb");
    assert_non_null(file);
    assert_true(fputs("old\n", file) >= 0);
    (void)fclose(file);
    assert_ok(hki_journal_check(place->path));
    file = fopen(place->path, "rb");
    assert_non_null(file);
    assert_int_equal(fgetc(file), 'o');
    (void)fclose(file);
}

static void survives_the_failure_of_any_allocation(void **state)
{
    const place_t *place = *state;
    const double losses[] = {1, 2};
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;

    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = journal_write(place->path, losses, 2);
        assert_true(status == HK_OK || status == HK_ERR_NO_MEMORY);
        assert_int_equal(hki_alloc_live(), 0);
    }
    hki_alloc_fail_at(0);
    assert_true(n > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_a_record_a_step_and_one_at_the_end),
        cmocka_unit_test(keeps_losses_that_json_has_no_number_for),
        cmocka_unit_test(refuses_a_path_that_cannot_be_written),
        cmocka_unit_test(checks_a_path_without_leaving_a_trace),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("train/journal", tests, place_open, place_close);
}
