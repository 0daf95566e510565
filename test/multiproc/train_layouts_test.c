/*
 * `hocket train` on every layout, as real processes: 50 steps of 8 units of a GPT and of an MLP.
 * The log's end record must hold the same weights_digest and losses, to the bit, as that of one
 * rank; with the model axis, losses within 1e-5 of it at every step.
 */
#include "support/hk_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "job.h"

enum { STEPS = 50, TEXT_BYTES = 40000, LOG_BYTES = 1 << 18, ARGS_MAX = 40 };

#define STEPS_TEXT "50"

typedef struct outcome {
    char digest[65];
    char losses[STEPS][40];
    char held_out[40];
} outcome_t;

static job_t job;
static char folder[64];
static char text_path[96];
static char log_path[96];

static const char *const gpt[] = {"--model",  "gpt", "--layers",  "4",     "--dim",  "64",
                                  "--heads",  "4",   "--context", "32",    "--data", text_path,
                                  "--sample", "20",  "--lr",      "0.003", NULL};
static const char *const mlp[] = {"--model", "mlp", "--layers", "4", "--dim", "64", NULL};

static int folder_open(void **state)
{
    uint32_t x = 1;
    FILE *file;

    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/hocket_layouts_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    (void)snprintf(text_path, sizeof(text_path), "%s/text.txt", folder);
    (void)snprintf(log_path, sizeof(log_path), "%s/log.jsonl", folder);
    file = fopen(text_path, "wb");
    for (int i = 0; file != NULL && i < TEXT_BYTES; i++) { // letters that depend on those before
        x = x * 1664525U + 1013904223U + (uint32_t)i / 7;
        (void)fputc(x >> 30 == 0 ? ' ' : (int)('a' + (x >> 27) % 13), file);
    }
    return file == NULL || fclose(file) != 0 ? -1 : 0;
}

static int folder_close(void **state)
{
    (void)state;
    (void)remove(text_path);
    (void)remove(log_path);
    return rmdir(folder);
}

/** The last line of the log, parsed; the caller deletes it. */
static cJSON *end_record(void)
{
    static char text[LOG_BYTES];
    FILE *file = fopen(log_path, "rb");

    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    char *line = strstr(text, "{\"end\":true");
    assert_non_null(line);
    cJSON *record = cJSON_Parse(line);
    assert_non_null(record);
    return record;
}

static void copy(char *to, size_t bytes, const cJSON *from)
{
    assert_true(cJSON_IsString(from));
    (void)snprintf(to, bytes, "%s", from->valuestring);
}

/** Train, and read what the log says at its end. */
static void train(const char *const *model, const char *mesh, const char *pipeline,
                  outcome_t *outcome)
{
    const char *args[ARGS_MAX] = {"train", "--mesh",    mesh, "--pipeline", pipeline,   "--batch",
                                  "8",     "--unit",    "1",  "--steps",    STEPS_TEXT, "--threads",
                                  "1",     "--timeout", "60", "--log",      log_path};
    size_t n = 17;

    for (size_t i = 0; model[i] != NULL; i++) {
        assert_true(n + 1 < ARGS_MAX);
        args[n++] = model[i];
    }
    const int status = job_run(&job, args);
    if (status != 0) {
        fail_msg("%s %s ended with %d:\n%s", mesh, pipeline, status, job.text);
    }
    cJSON *record = end_record();
    const cJSON *losses = cJSON_GetObjectItem(record, "losses");
    copy(outcome->digest, sizeof(outcome->digest), cJSON_GetObjectItem(record, "weights_digest"));
    copy(outcome->held_out, sizeof(outcome->held_out),
         cJSON_GetObjectItem(record, "held_out_loss_hex"));
    assert_int_equal(cJSON_GetArraySize(losses), STEPS);
    for (int step = 0; step < STEPS; step++) {
        copy(outcome->losses[step], sizeof(outcome->losses[step]),
             cJSON_GetArrayItem(losses, step));
    }
    cJSON_Delete(record);
    assert_int_equal(strlen(outcome->digest), 64);
}

static const char *const exact_layouts[][2] = {
    {"data=2", "1f1b"},         {"data=4", "1f1b"},        {"data=8", "1f1b"},
    {"pipe=2", "gpipe"},        {"pipe=2", "1f1b"},        {"pipe=4", "gpipe"},
    {"pipe=4", "1f1b"},         {"data=2,pipe=2", "1f1b"}, {"data=4,pipe=2", "1f1b"},
    {"data=4,pipe=2", "gpipe"},
};

static void keeps_the_bits(const char *const *model)
{
    outcome_t want;
    outcome_t got;

    train(model, "data=1", "1f1b", &want);
    assert_string_not_equal(want.losses[0], want.losses[STEPS - 1]);
    for (size_t i = 0; i < ARRAY_LEN(exact_layouts); i++) {
        const char *mesh = exact_layouts[i][0];
        train(model, mesh, exact_layouts[i][1], &got);
        for (int step = 0; step < STEPS; step++) {
            if (strcmp(got.losses[step], want.losses[step]) != 0) {
                fail_msg("%s %s %s step %d: loss %s, want %s", model[1], mesh, exact_layouts[i][1],
                         step + 1, got.losses[step], want.losses[step]);
            }
        }
        if (strcmp(got.digest, want.digest) != 0 || strcmp(got.held_out, want.held_out) != 0) {
            fail_msg("%s %s %s: digest %s, want %s; held-out loss %s, want %s", model[1], mesh,
                     exact_layouts[i][1], got.digest, want.digest, got.held_out, want.held_out);
        }
    }
}

static void trains_a_gpt_to_the_same_bits_on_every_layout(void **state)
{
    (void)state;
    keeps_the_bits(gpt);
}

static void trains_an_mlp_to_the_same_bits_on_every_layout(void **state)
{
    (void)state;
    keeps_the_bits(mlp);
}

static void stays_within_rounding_when_matrices_are_divided(const char *const *model)
{
    static const char *const meshes[] = {"model=2", "model=4", "data=2,model=2", "pipe=2,model=2",
                                         "data=2,pipe=2,model=2"};
    outcome_t want;
    outcome_t got;

    train(model, "data=1", "1f1b", &want);
    for (size_t i = 0; i < ARRAY_LEN(meshes); i++) {
        train(model, meshes[i], "1f1b", &got);
        for (int step = 0; step < STEPS; step++) {
            const double error =
                fabs(strtod(got.losses[step], NULL) / strtod(want.losses[step], NULL) - 1);
            if (!(error <= 1e-5)) {
                fail_msg("%s %s step %d: loss %s is off by %g, want %s", model[1], meshes[i],
                         step + 1, got.losses[step], error, want.losses[step]);
            }
        }
    }
}

static void divides_the_matrices_of_a_gpt(void **state)
{
    (void)state;
    stays_within_rounding_when_matrices_are_divided(gpt);
}

static void divides_the_matrices_of_an_mlp(void **state)
{
    (void)state;
    stays_within_rounding_when_matrices_are_divided(mlp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_a_gpt_to_the_same_bits_on_every_layout),
        cmocka_unit_test(trains_an_mlp_to_the_same_bits_on_every_layout),
        cmocka_unit_test(divides_the_matrices_of_a_gpt),
        cmocka_unit_test(divides_the_matrices_of_an_mlp),
    };
    return cmocka_run_group_tests_name("multiproc/train_layouts", tests, folder_open, folder_close);
}
