/*
 * Want of resources, by real processes: limits of files and memory, system calls that a sandbox
 * forbids, memory that must stay flat, jobs killed outright again and again. `cases_resources_test
 * N` kills N jobs instead of a few.
 */
#include "support/hk_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

enum { KILLS = 10, FLAT_PAGES_MAX = 1024 };

static job_t job;
static int g_kills = KILLS;

/** Run `script` in sh under the launcher; $0 is `hocket`, $1 the program of the scenes. */
static int run_script(const char *script)
{
    const char *const args[] = {
        "run", "-q", "-n", "1", "sh", "-c", script, job_tool(), job_rank_program("cases"), NULL};

    return job_run(&job, args);
}

static void a_limit_of_file_sizes_is_an_error_not_a_signal(void **state)
{
    (void)state;
    assert_int_equal(run_script("ulimit -f 0; exec \"$0\" run -n 2 \"$1\" hello"), 1);
    assert_true(job_has(&job, "bytes needed, files may have 0; see ulimit -f"));
    assert_int_equal(run_script("ulimit -f 1024; exec \"$0\" run -n 2 \"$1\" hello"), 1);
    for (int rank = 0; rank < 2; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d failed ", rank);
        assert_non_null(strstr(job_line(&job, start), "bytes needed in each of 2 ranks"));
    }
}

static void staging_memory_beyond_all_bounds_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run_script("HOCKET_SEGMENT=4000000000G exec \"$0\" run -n 3 \"$1\" hello"), 1);
    assert_int_equal(job_count(&job, "rank 0 failed -2: out of memory: "), 1);
    assert_int_equal(run_script("HOCKET_SEGMENT=400G exec \"$0\" run -n 3 \"$1\" hello"), 1);
    assert_int_equal(job_count(&job, "rank 2 failed -2: out of memory: "), 1);
}

static void memory_for_each_rank_but_not_for_all_is_refused_at_once(void **state)
{
    static const char script[] = "kib=$(awk '/^MemAvailable/ { print int($2 * 0.6) }' "
                                 "/proc/meminfo); HOCKET_SEGMENT=${kib}K exec \"$0\" run -n 3 "
                                 "\"$1\" hello";

    (void)state;
    assert_int_equal(run_script(script), 1);
    for (int rank = 0; rank < 3; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d failed ", rank);
        assert_non_null(strstr(job_line(&job, start), " bytes needed, about "));
    }
}

static void little_address_space_is_enough_to_communicate(void **state)
{
    (void)state;
    assert_int_equal(run_script("ulimit -v 200000; exec \"$0\" run -n 2 \"$1\" hello"), 0);
    assert_int_equal(job_count(&job, "rank 0 is right"), 1);
    assert_int_equal(job_count(&job, "rank 1 is right"), 1);
}

static void little_address_space_for_a_library_is_an_error_not_a_hang(void **state)
{
    (void)state;
    assert_int_equal(run_script("ulimit -v 150000; HOCKET_GEMM=cblas exec \"$0\" train --model mlp "
                                "--steps 1"),
                     2);
    assert_true(job_has(&job, "HOCKET_GEMM=cblas: there is no cblas here"));
}

static void a_full_or_forbidden_dev_shm_does_not_matter(void **state)
{
    static const char script[] =
        "unshare -rm true || { echo not allowed; exit 0; }; exec unshare -rm sh -c 'mount -t tmpfs "
        "-o size=4k,mode=000 none /dev/shm && exec \"$0\" run -n 2 \"$1\" hello' \"$0\" \"$1\"";

    (void)state;
    const int status = run_script(script);
    if (job_has(&job, "not allowed")) {
        skip();
    }
    assert_int_equal(status, 0);
    assert_int_equal(job_count(&job, "rank 0 is right"), 1);
    assert_int_equal(job_count(&job, "rank 1 is right"), 1);
}

static void a_sandbox_that_forbids_calls_changes_nothing(void **state)
{
    static const char *const scenes[] = {"hello", "fork", "many"};
    char script[128];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        (void)snprintf(script, sizeof(script),
                       "CASES_FORBID=1 exec \"$0\" run --timeout 60 -n 2 \"$1\" %s", scenes[i]);
        if (run_script(script) != 0) {
            fail_msg("%s:\n%s", scenes[i], job.text);
        }
        assert_int_equal(job_count(&job, "rank 0 is right"), 1);
        assert_int_equal(job_count(&job, "rank 1 is right"), 1);
    }
}

static void a_killed_rank_is_named_in_such_a_sandbox_too(void **state)
{
    const char *const args[] = {"run",     "-n", "3",   "--timeout",      "60",
                                "--grace", "20", "env", "CASES_FORBID=1", job_rank_program("cases"),
                                "stand",   NULL};

    (void)state;
    job_start(&job, args);
    assert_int_equal(kill((pid_t)job_number(&job, "rank 1 stands in "), SIGKILL), 0);
    assert_int_equal(job_end(&job), 128 + SIGKILL);
    assert_non_null(strstr(job_line(&job, "rank 0 failed 1: "), "was killed by signal 9"));
    assert_non_null(strstr(job_line(&job, "rank 2 failed 1: "), "was killed by signal 9"));
}

static void memory_stays_flat_when_every_call_is_new(void **state)
{
    (void)state;
    assert_int_equal(run_script("exec \"$0\" run --timeout 60 -n 2 \"$1\" flat"), 0);
    for (int rank = 0; rank < 2; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d grew by ", rank);
        const long pages = strtol(job_line(&job, start) + strlen(start), NULL, 10);
        if (pages > FLAT_PAGES_MAX) {
            fail_msg("rank %d grew by %ld pages", rank, pages);
        }
    }
}

/** The launcher itself is killed, now here, now there; job_end() looks for what is left. */
static void jobs_killed_outright_leave_nothing(void **state)
{
    const char *const args[] = {"run", "-n", "3", job_rank_program("cases"), "stand", NULL};

    (void)state;
    for (int i = 0; i < g_kills; i++) {
        job_start(&job, args);
        if (i % 3 != 0) { // else while it starts
            job_expect(&job, "rank 1 stands in ");
        }
        assert_int_equal(kill(job.pid, SIGKILL), 0);
        assert_int_equal(job_end(&job), 128 + SIGKILL);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_file_sizes_is_an_error_not_a_signal),
        cmocka_unit_test(staging_memory_beyond_all_bounds_is_refused),
        cmocka_unit_test(memory_for_each_rank_but_not_for_all_is_refused_at_once),
        cmocka_unit_test(little_address_space_is_enough_to_communicate),
        cmocka_unit_test(little_address_space_for_a_library_is_an_error_not_a_hang),
        cmocka_unit_test(a_full_or_forbidden_dev_shm_does_not_matter),
        cmocka_unit_test(a_sandbox_that_forbids_calls_changes_nothing),
        cmocka_unit_test(a_killed_rank_is_named_in_such_a_sandbox_too),
        cmocka_unit_test(memory_stays_flat_when_every_call_is_new),
        cmocka_unit_test(jobs_killed_outright_leave_nothing),
    };

    g_kills = argc > 1 ? atoi(argv[1]) : KILLS;
    return cmocka_run_group_tests_name("multiproc/cases_resources", tests, NULL, NULL);
}
