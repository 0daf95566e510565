/*
 * kill -9 and SIGSTOP of one rank at every kind of moment. The victim says where it stands still (a
 * line on its stdout), the others say that they wait and are seen asleep; then it is killed, and
 * every other rank must report it by number and signal, in under a second.
 */
#include "support/hk_test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "job.h"

enum { RANKS = 4 };

#define SURVIVE_NS_MAX UINT64_C(1000000000)

static job_t job;

/** Start the job and wait until everybody is where the moment wants him. @return the victim's
 *  pid */
static pid_t start(const char *moment, int victim, const char *timeout, const char *grace)
{
    char number[16];
    const char *const args[] = {"run",   "-n",      "4",   "--timeout",
                                timeout, "--grace", grace, job_rank_program("victim"),
                                moment,  number,    NULL};

    (void)snprintf(number, sizeof(number), "%d", victim);
    job_start(&job, args);
    for (int rank = 0; rank < RANKS; rank++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "rank %d waits in ", rank);
        if (rank != victim) {
            const pid_t pid = (pid_t)job_number(&job, text);
            if (strcmp(moment, "loop") != 0) {
                job_wait_state(pid, 'S');
            }
        }
    }
    return (pid_t)job_number(&job, "victim ");
}

/** Every other rank must have failed with a text that holds both. */
static void assert_all_say(const char *moment, int victim, const char *name, const char *reason)
{
    char failed[32];

    for (int rank = 0; rank < RANKS; rank++) {
        if (rank == victim) {
            continue;
        }
        (void)snprintf(failed, sizeof(failed), "rank %d failed ", rank);
        const char *line = job_line(&job, failed);
        const char *text = strstr(line, ": ");
        if (strstr(text, name) == NULL || strstr(text, reason) == NULL) {
            fail_msg("%s, victim %d: '%s', '%s' are not in '%s'", moment, victim, name, reason,
                     line);
        }
    }
}

static const char *name_of(int rank)
{
    static char name[16];

    (void)snprintf(name, sizeof(name), "rank %d", rank);
    return name;
}

static void kill_at(const char *moment, int victim)
{
    char reason[96];
    const pid_t pid = start(moment, victim, "60", "20");
    const uint64_t start_ns = job_now_ns();

    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int rank = 0; rank < RANKS; rank++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "rank %d failed", rank);
        if (rank != victim) {
            job_expect(&job, text);
        }
    }
    const uint64_t took_ns = job.read_ns - start_ns;
    assert_int_equal(job_end(&job), 128 + SIGKILL);
    assert_all_say(moment, victim, name_of(victim), "was killed by signal 9");
    (void)snprintf(reason, sizeof(reason),
                   "hocket run: rank %d (pid %d) was killed by signal 9 (Killed)", victim,
                   (int)pid);
    assert_string_equal(job_line(&job, "hocket run: rank "), reason);
    if (took_ns > SURVIVE_NS_MAX) {
        fail_msg("%s, victim %d: the others needed %.3f s", moment, victim, (double)took_ns / 1e9);
    }
}

static void stop_at(const char *moment, int victim, const char *name, const char *reason)
{
    const pid_t pid = start(moment, victim, "2", "0.2");

    assert_int_equal(kill(pid, SIGSTOP), 0);
    const int status = job_end(&job);
    if (status == 0) {
        fail_msg("%s: status 0", moment);
    }
    assert_all_say(moment, victim, name, reason);
    assert_true(job_has(&job, "by the launcher"));
}

static void a_rank_killed_in_the_rendezvous_is_named(void **state)
{
    (void)state;
    kill_at("open", 0);
    kill_at("open", 2);
}

static void a_rank_killed_before_the_first_operation_is_named(void **state)
{
    (void)state;
    kill_at("first", 0);
    kill_at("first", 3);
}

static void a_rank_killed_between_operations_is_named(void **state)
{
    (void)state;
    kill_at("between", 0);
    kill_at("between", 1);
}

static void a_rank_killed_in_a_large_operation_is_named(void **state)
{
    (void)state;
    kill_at("large", 0);
    kill_at("large", 2);
}

static void a_rank_killed_while_all_work_is_named(void **state)
{
    (void)state;
    kill_at("loop", 0);
    kill_at("loop", 3);
}

static void a_rank_killed_before_it_sends_is_named(void **state)
{
    (void)state;
    kill_at("recv", 0);
    kill_at("recv", 1);
}

static void a_stopped_rank_is_named_at_the_deadline(void **state)
{
    (void)state;
    stop_at("open", 1, "missing 1", "not all of 4 ranks have come in time");
    stop_at("first", 1, "rank 1", "is stopped");
    stop_at("between", 0, "rank 0", "is stopped");
    stop_at("large", 2, "rank 2", "is stopped");
    stop_at("loop", 3, "rank 3", "is stopped");
    stop_at("recv", 1, "rank 1", "is stopped");
}

static void a_rank_that_exits_with_3_is_named_with_it(void **state)
{
    const char *const args[] = {"run", "-n", "4", job_rank_program("victim"), "exit3", "2", NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 3);
    assert_all_say("exit3", 2, "rank 2", "exited with status 3");
    assert_non_null(strstr(job_line(&job, "hocket run: rank 2 "), "exited with status 3"));
}

static void a_rank_that_leaves_early_is_named(void **state)
{
    const char *const args[] = {"run", "-n", "4", job_rank_program("victim"), "leave", "2", NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 1);
    assert_all_say("leave", 2, "rank 2", "closed");
    assert_non_null(strstr(job_line(&job, "  rank 2: "), "exited with status 0"));
}

static void a_rank_killed_in_a_bench_is_named_by_all(void **state)
{
    const char *const args[] = {"bench", "-n", "4", "--sizes", "64K", "--budget", "100", NULL};

    (void)state;
    job_start(&job, args);
    job_expect(&job, "# collective");
    const pid_t pid = job_rank_pid(&job, 2);
    assert_true(pid > 0);
    const uint64_t start_ns = job_now_ns();
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(job_end(&job), 128 + SIGKILL);
    assert_int_equal(job_count(&job, "hocket bench: rank 2 (pid "), RANKS); // launcher and ranks
    assert_true(job.read_ns - start_ns < SURVIVE_NS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_killed_in_the_rendezvous_is_named),
        cmocka_unit_test(a_rank_killed_before_the_first_operation_is_named),
        cmocka_unit_test(a_rank_killed_between_operations_is_named),
        cmocka_unit_test(a_rank_killed_in_a_large_operation_is_named),
        cmocka_unit_test(a_rank_killed_while_all_work_is_named),
        cmocka_unit_test(a_rank_killed_before_it_sends_is_named),
        cmocka_unit_test(a_stopped_rank_is_named_at_the_deadline),
        cmocka_unit_test(a_rank_that_exits_with_3_is_named_with_it),
        cmocka_unit_test(a_rank_that_leaves_early_is_named),
        cmocka_unit_test(a_rank_killed_in_a_bench_is_named_by_all),
    };

    return cmocka_run_group_tests_name("multiproc/death", tests, NULL, NULL);
}
