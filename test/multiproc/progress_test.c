/*
 * The progress thread in real processes: what moves while nobody calls, what is noticed, and what
 * the thread costs while there is nothing to do. ranks/progress.c plays the scenes.
 */
#include "support/hk_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { IDLE_US_MAX = 10000, WAITING_US_MAX = 50000 }; // of the second that the ranks do nothing

static job_t job;

static int run_scene(const char *n, const char *scene)
{
    const char *const args[] = {"run", "-n", n, "--timeout", "60", job_rank_program("progress"),
                                scene, NULL};

    return job_run(&job, args);
}

/** All ranks must be right. */
static void assert_right(const char *n, const char *scene)
{
    if (run_scene(n, scene) != 0 || job_count(&job, "rank ") < atoi(n)) {
        fail_msg("%s ranks, %s:\n%s", n, scene, job.text);
    }
}

static void operations_move_while_their_caller_computes(void **state)
{
    static const char *const counts[] = {"2", "3", "5"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        assert_right(counts[i], "absent");
    }
}

static void also_on_kernels_that_wait_for_one_word_only(void **state)
{
    (void)state;
    assert_right("3", "old");
}

static void a_killed_peer_is_noticed_without_a_call(void **state)
{
    (void)state;
    assert_int_equal(run_scene("2", "killed"), 128 + SIGKILL);
    const char *line = job_line(&job, "rank 0 got: ");
    // the launcher says by what, unless it has no turn for long
    if (strstr(line, "rank 1 (pid ") == NULL ||
        (strstr(line, ") was killed by signal 9") == NULL && strstr(line, ") died") == NULL)) {
        fail_msg("%s", line);
    }
}

static void there_is_one_thread_from_the_first_request_on(void **state)
{
    (void)state;
    assert_right("2", "threads");
}

static void assert_time(const char *scene, long us_max)
{
    assert_right("2", scene);
    for (int rank = 0; rank < 2; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d took ", rank);
        const long us = strtol(job_line(&job, start) + strlen(start), NULL, 10);
        if (us > us_max) {
            fail_msg("%s: rank %d took %ld us of processor time in a second", scene, rank, us);
        }
    }
}

static void the_thread_takes_no_processor_time_while_nothing_moves(void **state)
{
    (void)state;
    assert_time("idle", IDLE_US_MAX);
    assert_time("waiting", WAITING_US_MAX);
}

static void forked_children_get_a_thread_of_their_own(void **state)
{
    (void)state;
    assert_right("1", "fork");
    assert_right("2", "fork");
}

static void the_thread_does_not_keep_a_process_from_ending(void **state)
{
    (void)state;
    assert_right("1", "exit");
}

static void without_a_thread_operations_move_in_calls(void **state)
{
    (void)state;
    assert_right("1", "none");
    assert_int_equal(job_count(&job, "hocket 0/1 comm warn: no progress thread: "), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_move_while_their_caller_computes),
        cmocka_unit_test(also_on_kernels_that_wait_for_one_word_only),
        cmocka_unit_test(a_killed_peer_is_noticed_without_a_call),
        cmocka_unit_test(there_is_one_thread_from_the_first_request_on),
        cmocka_unit_test(the_thread_takes_no_processor_time_while_nothing_moves),
        cmocka_unit_test(forked_children_get_a_thread_of_their_own),
        cmocka_unit_test(the_thread_does_not_keep_a_process_from_ending),
        cmocka_unit_test(without_a_thread_operations_move_in_calls),
    };

    return cmocka_run_group_tests_name("multiproc/progress", tests, NULL, NULL);
}
