/*
 * Bad input to `hocket train`: one line that names the value and the way out, exit status 2, no
 * rank started and nothing written.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

enum { FILES = 4, ARGS_MAX = 12, TEXT_BYTES = 4000 };

static job_t job;
static char folder[64];
static char paths[FILES][96]; // a text, an empty file, a truncated token file, one with a bad id
static char log_path[96];
static char lost_log_path[96];

static int file_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    const bool is_written = file != NULL && fwrite(bytes, 1, count, file) == count;

    return file == NULL || fclose(file) != 0 || !is_written ? -1 : 0;
}

static int folder_open(void **state)
{
    static const char *const names[FILES] = {"text.txt", "empty.txt", "short.bin", "beyond.bin"};
    static unsigned char bytes[TEXT_BYTES];

    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/hocket_refusals_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, names[i]);
    }
    (void)snprintf(log_path, sizeof(log_path), "%s/log.jsonl", folder);
    (void)snprintf(lost_log_path, sizeof(lost_log_path), "%s/none/log.jsonl", folder);
    memset(bytes, 'a', sizeof(bytes));
    if (file_write(paths[0], bytes, sizeof(bytes)) != 0 || file_write(paths[1], bytes, 0) != 0 ||
        file_write(paths[2], bytes, 3999) != 0) {
        return -1;
    }
    bytes[2001] = 0xff; // id 0xff61 in the middle
    return file_write(paths[3], bytes, sizeof(bytes));
}

static int folder_close(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        (void)remove(paths[i]);
    }
    return rmdir(folder); // fails if anything else was written
}

/** Must be refused with a line that has both words; always with a log, which must not appear. */
static void refuses(const char *const *options, const char *value, const char *way_out)
{
    const char *args[ARGS_MAX] = {"train", "--log", log_path, NULL};
    size_t n = 3;

    for (size_t i = 0; options[i] != NULL; i++) {
        args[n++] = options[i];
    }
    const int status = job_run(&job, args);
    const char *end = strchr(job.text, '\n');
    if (status != 2 || end == NULL || end[1] != '\0') {
        fail_msg("%s: want status 2 and one line, got %d and:\n%s", value, status, job.text);
    }
    if (strstr(job.text, value) == NULL || strstr(job.text, way_out) == NULL) {
        fail_msg("'%s' and '%s' are not in: %s", value, way_out, job.text);
    }
    assert_int_not_equal(access(log_path, F_OK), 0);
}

#define REFUSES(value, way_out, ...) \
    refuses((const char *const[]){__VA_ARGS__, NULL}, value, way_out)

static void refuses_options_that_make_no_sense(void **state)
{
    const char *text = paths[0];
    (void)state;

    REFUSES("--bogus", "--help", "--bogus");
    REFUSES("0", "-n 4", "--data", text, "-n", "0");
    REFUSES("many", "--batch 32", "--data", text, "--batch", "many");
    REFUSES("rnn", "gpt or mlp", "--model", "rnn");
    REFUSES("--data", "book.txt", "--steps", "3");
    REFUSES(paths[0], "--model gpt", "--model", "mlp", "--data", text);
    REFUSES("--batch 10", "--unit 3", "--data", text, "--batch", "10", "--unit", "3");
    REFUSES("dim 10", "heads 4", "--data", text, "--dim", "10", "--heads", "4");
}

static void refuses_meshes_that_do_not_fit(void **state)
{
    const char *text = paths[0];
    (void)state;

    REFUSES("'dat'", "pipe, data and model", "--data", text, "--mesh", "dat=2");
    REFUSES("data=0", "data=2", "--data", text, "--mesh", "data=0");
    REFUSES("needs 4 ranks and there are 3", "start 4 ranks", "--data", text, "-n", "3", "--mesh",
            "data=2,pipe=2");
    REFUSES("data=3", "a multiple of 3", "--data", text, "--mesh", "data=3", "--batch", "8");
    REFUSES("6 a rank", "--exact off", "--data", text, "--mesh", "data=2", "--batch", "12");
    REFUSES("pipe=8", "pipe=4", "--data", text, "--mesh", "pipe=8", "--context", "16");
    REFUSES("heads 4", "model ranks 3", "--data", text, "--mesh", "model=3", "--batch", "8");
}

static void refuses_data_that_cannot_be_right(void **state)
{
    (void)state;
    REFUSES("no-such-file", "readable file", "--data", "no-such-file");
    REFUSES(folder, "readable file", "--data", folder);
    REFUSES(paths[1], "is empty", "--data", paths[1]);
    REFUSES(paths[2], "truncated", "--data", paths[2], "--context", "16");
    REFUSES("id 65377 at position 1000", "--vocab bytes", "--data", paths[3], "--context", "16");
    REFUSES("4000 tokens", "--context below 400", "--data", paths[0], "--context", "1000");
}

static void refuses_a_log_that_cannot_be_written(void **state)
{
    (void)state;
    REFUSES(lost_log_path, "writable path", "--data", paths[0], "--context", "16", "--log",
            lost_log_path);
}

static void explains_without_starting_ranks(void **state)
{
    const char *const args[] = {"train", "--explain", "--mesh", "data=2,pipe=2,model=2", NULL};
    (void)state;

    assert_int_equal(job_run(&job, args), 0);
    assert_non_null(strstr(job.text, "h.3.mlp.c_proj.weight"));
    assert_non_null(strstr(job.text, "all_reduce over data"));
    assert_non_null(strstr(job.text, "bytes a step"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_options_that_make_no_sense),
        cmocka_unit_test(refuses_meshes_that_do_not_fit),
        cmocka_unit_test(refuses_data_that_cannot_be_right),
        cmocka_unit_test(refuses_a_log_that_cannot_be_written),
        cmocka_unit_test(explains_without_starting_ranks),
    };
    return cmocka_run_group_tests_name("multiproc/train_refusals", tests, folder_open,
                                       folder_close);
}
