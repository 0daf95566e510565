/*
 * What a job takes of the machine, by real processes: shared memory as it is reported and no more,
 * processor time of ranks that have nothing to do, errors where there is no memory for what is
 * taken at first use.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { IDLE_US_MAX = 10000, WAITING_US_MAX = 50000 }; // of the second that the ranks do nothing

static job_t job;

static int run_scene(const char *n, const char *scene)
{
    const char *const args[] = {"run", "-n", n, "--timeout", "60", job_rank_program("frugal"),
                                scene, NULL};

    return job_run(&job, args);
}

static void shared_memory_is_what_is_reported(void **state)
{
    static const char *const counts[] = {"2", "3", "17"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (run_scene(counts[i], "memory") != 0) {
            fail_msg("%s ranks:\n%s", counts[i], job.text);
        }
        assert_int_equal(job_count(&job, "1 communicators take "), 1);
        assert_int_equal(job_count(&job, "2 communicators take "), 1);
    }
}

static void what_is_needed_is_there_from_the_opening_on(void **state)
{
    static const char *const counts[] = {"2", "4", "17"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (run_scene(counts[i], "opened") != 0) {
            fail_msg("%s ranks:\n%s", counts[i], job.text);
        }
    }
}

static void assert_time(const char *scene, long us_max)
{
    assert_int_equal(run_scene("8", scene), 0);
    for (int rank = 0; rank < 8; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d took ", rank);
        const long us = strtol(job_line(&job, start) + strlen(start), NULL, 10);
        if (us > us_max) {
            fail_msg("%s: rank %d took %ld us of processor time in a second", scene, rank, us);
        }
    }
}

static void idle_ranks_take_no_processor_time(void **state)
{
    (void)state;
    assert_time("idle", IDLE_US_MAX);
}

static void ranks_that_wait_long_sleep(void **state)
{
    (void)state;
    assert_time("waiting", WAITING_US_MAX);
}

static const char *error_of(int rank)
{
    char start[32];

    (void)snprintf(start, sizeof(start), "rank %d got: ", rank);
    return job_line(&job, start);
}

static void memory_that_ends_at_first_use_is_an_error_on_all(void **state)
{
    static const char *const scenes[] = {"send", "scratch", "split"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        if (run_scene("2", scenes[i]) != 0) {
            fail_msg("%s:\n%s", scenes[i], job.text);
        }
        assert_non_null(strstr(error_of(0), " bytes needed, about "));
        if (strstr(error_of(1), " bytes needed, about ") == NULL) {
            fail_msg("%s: rank 1 is not told why: %s", scenes[i], error_of(1));
        }
    }
}

static void a_rank_that_gets_no_memory_tells_all_why(void **state)
{
    (void)state;
    assert_int_equal(run_scene("5", "open"), 1);
    for (int rank = 0; rank < 5; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d failed: ", rank);
        if (strstr(job_line(&job, start), " bytes needed, about ") == NULL) {
            fail_msg("rank %d is not told why:\n%s", rank, job.text);
        }
    }
}

static void memory_that_ends_for_the_user_leaves_the_rest_usable(void **state)
{
    (void)state;
    assert_int_equal(run_scene("2", "alloc"), 0);
    for (int rank = 0; rank < 2; rank++) {
        assert_non_null(strstr(error_of(rank), "100000 bytes needed, about "));
        assert_non_null(strstr(error_of(rank), "No space left on device"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_is_what_is_reported),
        cmocka_unit_test(what_is_needed_is_there_from_the_opening_on),
        cmocka_unit_test(idle_ranks_take_no_processor_time),
        cmocka_unit_test(ranks_that_wait_long_sleep),
        cmocka_unit_test(memory_that_ends_at_first_use_is_an_error_on_all),
        cmocka_unit_test(a_rank_that_gets_no_memory_tells_all_why),
        cmocka_unit_test(memory_that_ends_for_the_user_leaves_the_rest_usable),
    };

    return cmocka_run_group_tests_name("multiproc/frugal", tests, NULL, NULL);
}
