/*
 * What made other libraries hang or go wrong in silence, by real processes: who leaves early, who
 * exits, forks, aborts, escapes; and deaths in a training run whose ranks meet in several groups.
 */
#include "support/hk_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

enum { RANKS = 4 };

static job_t job;

static void start_scene(const char *n, const char *scene)
{
    const char *const args[] = {
        "run", "-n", n, "--timeout", "60", "--grace", "20", job_rank_program("cases"), scene, NULL};

    job_start(&job, args);
}

static void assert_all_right(int nranks)
{
    for (int rank = 0; rank < nranks; rank++) {
        char line[32];
        (void)snprintf(line, sizeof(line), "rank %d is right", rank);
        assert_string_equal(job_line(&job, line), line);
    }
}

static void a_scene_is_right(const char *n, int nranks, const char *scene)
{
    start_scene(n, scene);
    const int status = job_end(&job);
    if (status != 0) {
        fail_msg("%s: status %d:\n%s", scene, status, job.text);
    }
    assert_all_right(nranks);
}

/** Rank 0 is done and gone; rank 1 waits for rank 2, which will go on. Nobody has failed. */
static void who_is_done_may_close_while_others_are_behind(void **state)
{
    // through staging memory, where a sender is done before its data has been read
    const char *const args[] = {"run",
                                "-n",
                                "3",
                                "--timeout",
                                "60",
                                "--grace",
                                "20",
                                "env",
                                "HOCKET_SINGLE_COPY=off",
                                job_rank_program("cases"),
                                "behind",
                                NULL};

    (void)state;
    job_start(&job, args);
    const pid_t stopped = (pid_t)job_number(&job, "rank 2 stops in ");
    job_expect(&job, "rank 1 ");
    assert_int_equal(kill(stopped, SIGCONT), 0);
    assert_int_equal(job_end(&job), 0);
    assert_int_equal(job_count(&job, "rank 1 still waits"), 1);
    assert_all_right(3);
}

static void what_was_sent_before_exit_arrives(void **state)
{
    (void)state;
    a_scene_is_right("2", 2, "send_exit");
}

static void ten_thousand_messages_cross_between_processes(void **state)
{
    (void)state;
    a_scene_is_right("2", 2, "many");
}

static void children_of_ranks_harm_nobody(void **state)
{
    (void)state;
    a_scene_is_right("3", 3, "fork");
}

static void a_scene_fails(const char *scene, const char *reason)
{
    start_scene("3", scene);
    assert_int_equal(job_end(&job), 1);
    for (int rank = 0; rank < 3; rank += 2) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d failed 1: ", rank);
        if (strstr(job_line(&job, start), reason) == NULL) {
            fail_msg("%s: '%s' is not in '%s'", scene, reason, job_line(&job, start));
        }
    }
}

static void exit_with_an_operation_under_way_is_an_error_that_names_the_rank(void **state)
{
    (void)state;
    a_scene_fails("unfinished", "exited with status 0");
}

static void abort_of_one_rank_ends_all(void **state)
{
    (void)state;
    a_scene_fails("abort", "rank 1 aborted: enough of it");
}

static void what_escapes_and_writes_on_does_not_keep_the_launcher(void **state)
{
    static const char script[] = "setsid sh -c ': >up; exec yes' & "
                                 "while [ ! -e up ]; do :; done; rm up";
    const char *const args[] = {"run", "-n", "1", "sh", "-c", script, NULL};
    const char *const outer[] = {
        "run",      "-n",    "1",     "sh",    "-c",    "\"$0\" \"$@\" >/dev/null",
        job_tool(), args[0], args[1], args[2], args[3], args[4],
        args[5],    NULL};

    (void)state;
    assert_int_equal(job_run(&job, outer), 0);
}

/** Start a run of two by two ranks that goes on for ever, and wait for its first step. */
static void start_train(const char *timeout)
{
    const char *const args[] = {
        "train",    "-n",      "4",        "--model",   "mlp",     "--mesh", "data=2,pipe=2",
        "--layers", "4",       "--dim",    "64",        "--batch", "8",      "--unit",
        "1",        "--steps", "10000000", "--timeout", timeout,   NULL};

    (void)setenv("HOCKET_OPEN_TIMEOUT", "60", 1); // what is short is for the steps
    job_start(&job, args);
    (void)unsetenv("HOCKET_OPEN_TIMEOUT");
    job_expect(&job, "step 1/");
}

/** All but the victim say what happened to it; in a group, ranks have other numbers than here. */
static void assert_named(pid_t pid, const char *how, int victim)
{
    char text[64];
    int count = 0;

    (void)snprintf(text, sizeof(text), "pid %d) %s", (int)pid, how);
    for (const char *at = job.text; (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    if (count < RANKS - 1) {
        fail_msg("victim %d: '%s' came %d times in:\n%s", victim, text, count, job.text);
    }
}

static void a_rank_killed_in_training_is_named_by_all(void **state)
{
    (void)state;
    for (int victim = 0; victim < RANKS; victim++) {
        start_train("60");
        const pid_t pid = job_rank_pid(&job, victim);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(job_end(&job), 128 + SIGKILL);
        assert_named(pid, "was killed by signal 9", victim);
    }
}

static void a_rank_stopped_in_training_is_named_by_all(void **state)
{
    (void)state;
    for (int victim = 0; victim < RANKS; victim += 3) {
        start_train("3");
        const pid_t pid = job_rank_pid(&job, victim);
        assert_int_equal(kill(pid, SIGSTOP), 0);
        job_expect(&job, "exited with status"); // the first one gives up at the deadline
        assert_int_not_equal(job_end(&job), 0);
        assert_named(pid, "is stopped", victim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_done_may_close_while_others_are_behind),
        cmocka_unit_test(what_was_sent_before_exit_arrives),
        cmocka_unit_test(ten_thousand_messages_cross_between_processes),
        cmocka_unit_test(children_of_ranks_harm_nobody),
        cmocka_unit_test(exit_with_an_operation_under_way_is_an_error_that_names_the_rank),
        cmocka_unit_test(abort_of_one_rank_ends_all),
        cmocka_unit_test(what_escapes_and_writes_on_does_not_keep_the_launcher),
        cmocka_unit_test(a_rank_killed_in_training_is_named_by_all),
        cmocka_unit_test(a_rank_stopped_in_training_is_named_by_all),
    };

    return cmocka_run_group_tests_name("multiproc/cases_hangs", tests, NULL, NULL);
}
