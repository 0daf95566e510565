/*
 * kill -9 of a rank in the middle of `hocket train`: every other rank must name it, by its number
 * in the job and not along an axis, and the command must end with 128 + 9, in time.
 */
#include "support/hk_test.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { RANKS = 4, ENVIRON_BYTES = 1 << 16 };

#define END_NS_MAX UINT64_C(3000000000) /* of which death to error is far below a second */

static job_t job;

/** Does /proc/PID/environ hold this "NAME=VALUE"? */
static bool has_variable(const char *pid, const char *variable)
{
    static char text[ENVIRON_BYTES];
    char path[64];
    size_t length = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    file = fopen(path, "rb");
    if (file != NULL) {
        length = fread(text, 1, sizeof(text) - 1, file);
        (void)fclose(file);
    }
    text[length] = '\0';
    for (const char *at = text; at < text + length; at += strlen(at) + 1) {
        if (strcmp(at, variable) == 0) {
            return true;
        }
    }
    return false;
}

/** The process that is this rank of the job. */
static pid_t pid_of(int rank)
{
    char variable[32];
    char mark[96];
    pid_t pid = -1;
    DIR *folder = opendir("/proc");

    assert_non_null(folder);
    (void)snprintf(variable, sizeof(variable), "HOCKET_RANK=%d", rank);
    (void)snprintf(mark, sizeof(mark), "HOCKET_TEST_MARK=%s", job.mark);
    for (const struct dirent *entry; pid < 0 && (entry = readdir(folder)) != NULL;) {
        if (isdigit((unsigned char)entry->d_name[0]) && has_variable(entry->d_name, mark) &&
            has_variable(entry->d_name, variable)) {
            pid = (pid_t)atoi(entry->d_name);
        }
    }
    (void)closedir(folder);
    assert_true(pid > 0);
    return pid;
}

static void kill_in(const char *mesh, int victim)
{
    const char *const args[] = {"train",   "--model",   "mlp", "--mesh",    mesh, "--steps",
                                "1000000", "--batch",   "8",   "--threads", "1",  "--eval-units",
                                "8",       "--timeout", "60",  NULL};
    char name[16];

    job_start(&job, args);
    job_expect(&job, "step 1/");
    const uint64_t start_ns = job_now_ns();
    assert_int_equal(kill(pid_of(victim), SIGKILL), 0);
    const int status = job_end(&job);
    const uint64_t taken_ns = job_now_ns() - start_ns;
    (void)snprintf(name, sizeof(name), "rank %d ", victim);
    int named = 0;
    for (const char *line = job.text; (line = strstr(line, "hocket train: ")) != NULL; line++) {
        const char *end = strchr(line, '\n');
        const char *found = strstr(line, name);
        named += found != NULL && end != NULL && found < end ? 1 : 0;
    }
    // three ranks and the launcher
    if (status != 128 + SIGKILL || named != RANKS || taken_ns > END_NS_MAX) {
        fail_msg("%s, victim %d: status %d, named in %d lines, %.1f s\n%s", mesh, victim, status,
                 named, (double)taken_ns / 1e9, job.text);
    }
}

static void names_the_rank_that_was_killed(void **state)
{
    static const char *const meshes[] = {"data=4", "pipe=4", "data=2,pipe=2", "pipe=2,model=2"};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(meshes); i++) {
        kill_in(meshes[i], 2);
    }
    kill_in("data=2,pipe=2", 0);
    kill_in("data=2,model=2", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_rank_that_was_killed),
    };
    return cmocka_run_group_tests_name("multiproc/train_death", tests, NULL, NULL);
}
