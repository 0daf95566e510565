/*
 * What users of other libraries ran into while a job starts, by real processes: ranks that never
 * come, that stop or fail on the way, want of files and memory, a host without a network.
 */
#include "support/hk_test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

enum { MANY_RANKS = 128 };

static job_t job;

/** Run `script` in sh as n ranks; $0 is the program of the scenes. @return exit status */
static int run_script(const char *n, const char *timeout, const char *script)
{
    const char *const args[] = {"run",
                                "-n",
                                n,
                                "--timeout",
                                timeout,
                                "--grace",
                                "2",
                                "sh",
                                "-c",
                                script,
                                job_rank_program("cases"),
                                NULL};

    return job_run(&job, args);
}

static void assert_rank_says(int rank, const char *part)
{
    char start[32];

    (void)snprintf(start, sizeof(start), "rank %d failed ", rank);
    if (strstr(job_line(&job, start), part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, job_line(&job, start));
    }
}

static void a_rank_that_never_opens_is_named_with_its_status(void **state)
{
    const uint64_t start_ns = job_now_ns();

    (void)state;
    assert_int_equal(run_script("3", "60", "[ $HOCKET_RANK = 1 ] || exec $0 hello"), 1);
    assert_rank_says(0, "rank 1 exited with status 0 before it joined the job");
    assert_rank_says(2, "rank 1 exited with status 0 before it joined the job");
    assert_true(job_now_ns() - start_ns < UINT64_C(20000000000)); // not the deadline
}

static void a_rank_without_memory_tells_all_ranks_why(void **state)
{
    (void)state;
    assert_int_equal(
        run_script("3", "60", "[ $HOCKET_RANK = 1 ] && ulimit -v 20000; exec $0 hello"), 1);
    for (int rank = 0; rank < 3; rank++) {
        assert_rank_says(rank, "bytes needed");
        assert_rank_says(rank, "see ulimit -v");
    }
}

static void a_rank_that_stops_while_it_joins_is_listed_as_missing(void **state)
{
    // a rank that has said hello, and stops before it joins: its options are read, then it stops
    static const char script[] = "[ $HOCKET_RANK = 2 ] || exec $0 hello; kill -STOP $$";

    (void)state;
    assert_int_not_equal(run_script("4", "3", script), 0);
    for (int rank = 0; rank < 4; rank++) {
        if (rank != 2) {
            assert_rank_says(rank, "arrived 0-1, 3; missing 2");
        }
    }
}

static void fractions_of_seconds_and_days_are_deadlines(void **state)
{
    (void)state;
    assert_int_equal(run_script("2", "20.5", "exec $0 hello"), 0);
    assert_int_equal(run_script("2", "1000000", "exec $0 hello"), 0);
}

static void many_ranks_start_where_few_files_may_be_open(void **state)
{
    const char *const args[] = {
        "run",      "-n",
        "1",        "sh",
        "-c",       "ulimit -Sn 256; exec \"$0\" run -n 128 --timeout 60 \"$1\" hello",
        job_tool(), job_rank_program("cases"),
        NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    for (int rank = 0; rank < MANY_RANKS; rank++) {
        char line[32];
        (void)snprintf(line, sizeof(line), "rank %d is right", rank);
        assert_string_equal(job_line(&job, line), line);
    }
}

static void sixty_four_ranks_start_and_add(void **state)
{
    const char *const args[] = {"bench", "--startup", "-n", "64", "--iters", "1", NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    assert_int_equal(job_count(&job, "# 64 ranks, 1 starts"), 1);
    assert_int_equal(job_count(&job, "all have the sum"), 1);
}

static void too_few_files_for_the_launcher_are_an_error(void **state)
{
    const char *const args[] = {"run",      "-n",
                                "1",        "sh",
                                "-c",       "ulimit -n 64; exec \"$0\" run -n 40 \"$1\" hello",
                                job_tool(), job_rank_program("cases"),
                                NULL};

    (void)state;
    assert_int_not_equal(job_run(&job, args), 0);
    assert_true(job_has(&job, "Too many open files"));
}

static void too_few_files_for_the_ranks_are_an_error_on_all(void **state)
{
    static const char script[] = "ulimit -n 24; exec $0 hello";

    (void)state;
    assert_int_not_equal(run_script("24", "60", script), 0);
    for (int rank = 0; rank < 24; rank++) {
        assert_rank_says(rank, "ulimit -n");
    }
}

static void a_host_without_any_network_is_enough(void **state)
{
    const char *const args[] = {"run",
                                "-n",
                                "1",
                                "sh",
                                "-c",
                                "unshare -rn true || { echo not allowed; exit 0; }; "
                                "exec unshare -rn \"$0\" run -n 4 --timeout 60 \"$1\" hello",
                                job_tool(),
                                job_rank_program("cases"),
                                NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    if (job_has(&job, "not allowed")) {
        skip();
    }
    assert_int_equal(job_count(&job, "rank "), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_never_opens_is_named_with_its_status),
        cmocka_unit_test(a_rank_without_memory_tells_all_ranks_why),
        cmocka_unit_test(a_rank_that_stops_while_it_joins_is_listed_as_missing),
        cmocka_unit_test(fractions_of_seconds_and_days_are_deadlines),
        cmocka_unit_test(many_ranks_start_where_few_files_may_be_open),
        cmocka_unit_test(sixty_four_ranks_start_and_add),
        cmocka_unit_test(too_few_files_for_the_launcher_are_an_error),
        cmocka_unit_test(too_few_files_for_the_ranks_are_an_error_on_all),
        cmocka_unit_test(a_host_without_any_network_is_enough),
    };

    return cmocka_run_group_tests_name("multiproc/cases_startup", tests, NULL, NULL);
}
