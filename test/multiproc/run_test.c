/*
 * `hocket run` with shell scripts as ranks: statuses, messages, whole lines, signals, and that
 * nothing is left behind, not even when the launcher itself is killed (job_end() looks).
 */
#include "support/hk_test.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

static job_t job;

/** Start `hocket run -n N options sh -c script`. */
static void start(const char *ranks, const char *grace, const char *script)
{
    const char *const args[] = {"run", "-n", ranks, "--grace", grace, "sh", "-c", script, NULL};

    job_start(&job, args);
}

static void every_rank_gets_its_place(void **state)
{
    (void)state;
    start("3", "2", "echo rank $HOCKET_RANK of $HOCKET_NRANKS in $HOCKET_JOB");
    assert_int_equal(job_end(&job), 0);
    assert_int_equal(job_count(&job, "rank 0 of 3 in hocket-"), 1);
    assert_int_equal(job_count(&job, "rank 1 of 3 in hocket-"), 1);
    assert_int_equal(job_count(&job, "rank 2 of 3 in hocket-"), 1);
}

static void success_is_silent(void **state)
{
    (void)state;
    start("2", "2", "exit 0");
    assert_int_equal(job_end(&job), 0);
    assert_string_equal(job.text, "");
}

static void the_status_is_that_of_the_first_rank_that_fails(void **state)
{
    (void)state;
    start("3", "0.05", "[ $HOCKET_RANK = 1 ] && exit 7; exec sleep 100");
    assert_int_equal(job_end(&job), 7);
    assert_non_null(strstr(job_line(&job, "hocket run: rank 1 (pid "), "exited with status 7"));
    assert_int_equal(job_count(&job, "  rank 1: exited with status 7, first"), 1);
    assert_int_equal(
        job_count(&job, "  rank 2: was killed by signal 15 (Terminated) by the launcher"), 1);
}

static void a_signal_gives_128_and_its_number(void **state)
{
    (void)state;
    start("2", "0.05", "[ $HOCKET_RANK = 0 ] && kill -SEGV $$; exec sleep 100");
    assert_int_equal(job_end(&job), 128 + SIGSEGV);
    assert_non_null(strstr(job_line(&job, "hocket run: rank 0 (pid "), "was killed by signal 11"));
}

static void a_rank_that_ignores_sigterm_is_killed(void **state)
{
    (void)state;
    start("2", "0.05", "trap '' TERM; [ $HOCKET_RANK = 1 ] && exit 4; while :; do sleep 100; done");
    assert_int_equal(job_end(&job), 4);
    assert_int_equal(job_count(&job, "  rank 0: was killed by signal 9 (Killed) by the launcher"),
                     1);
}

static void what_ranks_started_ends_with_them(void **state)
{
    (void)state;
    start("2", "2", "sleep 1000 & exit 0");
    assert_int_equal(job_end(&job), 0);
}

static void quiet_says_nothing_but_the_status(void **state)
{
    const char *const args[] = {"run", "-n", "1", "--quiet", "false", NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 1);
    assert_string_equal(job.text, "");
}

static void a_program_that_is_not_there_is_127(void **state)
{
    const char *const missing[] = {"run", "-n", "4", "no-such-program", NULL};
    const char *const folder[] = {"run", "-n", "4", "/etc/passwd", NULL};

    (void)state;
    assert_int_equal(job_run(&job, missing), 127);
    assert_string_equal(job.text, "hocket run: program no-such-program was not found; give its "
                                  "path, e.g. ./no-such-program\n");
    assert_int_equal(job_run(&job, folder), 126);
    assert_true(job_has(&job, "may not be executed"));
}

static void lines_stay_whole_and_carry_their_rank(void **state)
{
    static const char script[] =
        "i=0; while [ $i -lt 300 ]; do printf 'aaaaaaaaaaaaaaaaaaaaaaaa'; "
        "printf 'bbbbbbbbbbbbbbbbbbbbbbbb\\n'; i=$((i + 1)); done; printf 'no end'";
    const char *const args[] = {"run", "-n", "4", "--prefix", "sh", "-c", script, NULL};
    static const char line[] = "aaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbb\n";

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    for (int rank = 0; rank < 4; rank++) {
        char start_text[80];
        (void)snprintf(start_text, sizeof(start_text), "[%d] %s", rank, line);
        assert_int_equal(job_count(&job, start_text), 300);
        (void)snprintf(start_text, sizeof(start_text), "[%d] no end\n", rank);
        assert_int_equal(job_count(&job, start_text), 1);
    }
    assert_int_equal(job.length, 4 * (300 * (4 + strlen(line)) + strlen("[0] no end\n")));
}

static void signals_reach_every_rank(void **state)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGINT, SIGQUIT};
    static const char script[] = "for s in HUP INT QUIT TERM USR1 USR2; do "
                                 "trap \"echo rank $HOCKET_RANK got $s; exit 0\" $s; done; "
                                 "echo ready $HOCKET_RANK; while :; do sleep 0.01; done";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        start("2", "5", script);
        job_expect(&job, "ready 0");
        job_expect(&job, "ready 1");
        assert_int_equal(kill(job.pid, numbers[i]), 0);
        if (job_end(&job) != 0 || job_count(&job, "rank 0 got ") != 1 ||
            job_count(&job, "rank 1 got ") != 1) {
            fail_msg("signal %d: %s", numbers[i], job.text);
        }
    }
}

static void what_the_caller_ignores_stays_ignored(void **state)
{
    static const char script[] =
        "trap '' HUP; exec \"$0\" run -n 2 sh -c 'echo ready $HOCKET_RANK; "
        "while [ ! -e go ]; do sleep 0.01; done'";
    const char *const args[] = {"run", "-n", "1", "sh", "-c", script, job_tool(), NULL};
    char file[96];

    (void)state;
    job_start(&job, args);
    job_expect(&job, "ready 0");
    job_expect(&job, "ready 1");
    assert_int_equal(kill(job_rank_pid(&job, 0), SIGHUP), 0); // the inner launcher
    (void)snprintf(file, sizeof(file), "%s/go", job.folder);
    FILE *go = fopen(file, "we");
    assert_non_null(go);
    assert_int_equal(fclose(go), 0);
    while (job_rank_pid(&job, 0) > 0) { // the shells see the file, then it may go
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(unlink(file), 0);
    assert_int_equal(job_end(&job), 0);
    assert_false(job_has(&job, "signal"));
}

static void a_second_signal_kills(void **state)
{
    (void)state;
    start("2", "5", "trap '' TERM; echo ready $HOCKET_RANK; while :; do sleep 0.01; done");
    job_expect(&job, "ready 0");
    job_expect(&job, "ready 1");
    assert_int_equal(kill(job.pid, SIGTERM), 0);
    job_expect(&job, "was passed to all ranks");
    assert_int_equal(kill(job.pid, SIGTERM), 0);
    assert_int_equal(job_end(&job), 128 + SIGKILL);
}

static void a_job_can_be_stopped_and_continued(void **state)
{
    char file[96];
    int status = 0;

    (void)state;
    // without a child: a shell whose child is stopped before its exec cannot be stopped itself
    start("2", "5", "echo ready $HOCKET_RANK $$; while [ ! -e go ]; do :; done; echo went");
    const pid_t ranks[] = {(pid_t)job_number(&job, "ready 0 "),
                           (pid_t)job_number(&job, "ready 1 ")};
    assert_int_equal(kill(job.pid, SIGTSTP), 0);
    assert_int_equal(waitpid(job.pid, &status, WUNTRACED), job.pid);
    assert_true(WIFSTOPPED(status));
    job_wait_state(ranks[0], 'T');
    job_wait_state(ranks[1], 'T');
    (void)snprintf(file, sizeof(file), "%s/go", job.folder);
    FILE *go = fopen(file, "we");
    assert_non_null(go);
    assert_int_equal(fclose(go), 0);
    assert_int_equal(kill(job.pid, SIGCONT), 0);
    job_expect(&job, "went\nwent");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(job_end(&job), 0);
}

static void no_rank_outlives_a_killed_launcher(void **state)
{
    (void)state;
    start("3", "5", "echo ready $HOCKET_RANK; exec sleep 1000");
    job_expect(&job, "ready 0");
    job_expect(&job, "ready 1");
    job_expect(&job, "ready 2");
    assert_int_equal(kill(job.pid, SIGKILL), 0);
    assert_int_equal(job_end(&job), 128 + SIGKILL);
}

static void ranks_hold_no_file_but_their_own(void **state)
{
    (void)state;
    start("2", "2", "exec 3</dev/null 2>/dev/null; ls /proc/self/fd | tr '\\n' ' '; echo");
    assert_int_equal(job_end(&job), 0);
    // 0, 1, 2, the shell's 3, and 4 of ls itself
    assert_int_equal(job_count(&job, "0 1 2 3 4 \n"), 2);
}

static void ranks_are_pinned_in_turn(void **state)
{
    const char *const args[] = {
        "run",  "-n", "3",  "--bind",
        "core", "sh", "-c", "echo rank $HOCKET_RANK on $(grep Cpus_allowed_list /proc/self/status)",
        NULL};
    char first[256];

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    for (int rank = 0; rank < 3; rank++) {
        char start_text[32];
        (void)snprintf(start_text, sizeof(start_text), "rank %d on ", rank);
        (void)snprintf(first, sizeof(first), "%s", job_line(&job, start_text));
        assert_null(strpbrk(strchr(first, ':'), "-,")); // a single core
    }
}

static void twenty_jobs_at_once_do_not_meet(void **state)
{
    enum { JOBS = 20 };
    const char *const args[] = {"run", "-n", "2", job_rank_program("victim"), "leave", "1", NULL};
    job_t *jobs = test_calloc(JOBS, sizeof(*jobs));

    (void)state;
    for (int i = 0; i < JOBS; i++) {
        job_start(&jobs[i], args);
    }
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(job_end(&jobs[i]), 1);
        assert_non_null(strstr(job_line(&jobs[i], "rank 0 failed 1"), "closed"));
    }
    test_free(jobs);
}

static void standard_input_goes_to_rank_0_alone(void **state)
{
    const char *const args[] = {"run", "-n", "2", "--prefix", "wc", "-c", NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 0); // job_start() gives /dev/null
    assert_int_equal(job_count(&job, "[0] 0\n"), 1);
    assert_int_equal(job_count(&job, "[1] 0\n"), 1);
    const char *const piped[] = {"run",      "-n", "1",
                                 "sh",       "-c", "echo hello | \"$0\" run -n 2 --prefix wc -c",
                                 job_tool(), NULL};
    assert_int_equal(job_run(&job, piped), 0);
    assert_int_equal(job_count(&job, "[0] 6\n"), 1);
    assert_int_equal(job_count(&job, "[1] 0\n"), 1);
}

static void a_reader_that_leaves_ends_the_ranks(void **state)
{
    const char *const args[] = {
        "run", "-n", "1", "sh", "-c", "\"$0\" run -q -n 2 yes | head -n 1", job_tool(), NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    assert_string_equal(job.text, "y\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_gets_its_place),
        cmocka_unit_test(success_is_silent),
        cmocka_unit_test(the_status_is_that_of_the_first_rank_that_fails),
        cmocka_unit_test(a_signal_gives_128_and_its_number),
        cmocka_unit_test(a_rank_that_ignores_sigterm_is_killed),
        cmocka_unit_test(what_ranks_started_ends_with_them),
        cmocka_unit_test(quiet_says_nothing_but_the_status),
        cmocka_unit_test(a_program_that_is_not_there_is_127),
        cmocka_unit_test(lines_stay_whole_and_carry_their_rank),
        cmocka_unit_test(signals_reach_every_rank),
        cmocka_unit_test(what_the_caller_ignores_stays_ignored),
        cmocka_unit_test(a_second_signal_kills),
        cmocka_unit_test(a_job_can_be_stopped_and_continued),
        cmocka_unit_test(no_rank_outlives_a_killed_launcher),
        cmocka_unit_test(ranks_hold_no_file_but_their_own),
        cmocka_unit_test(ranks_are_pinned_in_turn),
        cmocka_unit_test(twenty_jobs_at_once_do_not_meet),
        cmocka_unit_test(standard_input_goes_to_rank_0_alone),
        cmocka_unit_test(a_reader_that_leaves_ends_the_ranks),
    };

    return cmocka_run_group_tests_name("multiproc/run", tests, NULL, NULL);
}
