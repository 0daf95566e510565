/*
 * One rank calls something else than the others: every rank gets an error that shows both calls, in
 * under a second. What differs, and which rank does it, is the grid.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include "job.h"

enum { RANKS = 4 };

static job_t job;

typedef struct difference {
    const char *what;
    const char *most; /**< what the others called, as the error shows it */
    const char *odd;  /**< what the odd rank called */
} difference_t;

static void differ(const difference_t *d, int odd, int reporters)
{
    char number[16];
    const char *const args[] = {"run",   "-n",      "4",  "--timeout",
                                "20",    "--grace", "10", job_rank_program("differ"),
                                d->what, number,    NULL};

    (void)snprintf(number, sizeof(number), "%d", odd);
    assert_int_equal(job_run(&job, args), 1);
    for (int rank = 0; rank < RANKS; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d failed ", rank);
        if (job_count(&job, start) == 0) {
            continue;
        }
        const char *line = job_line(&job, start);
        if (strstr(line, d->most) == NULL || strstr(line, d->odd) == NULL) {
            fail_msg("%s, odd rank %d: '%s' and '%s' are not both in '%s'", d->what, odd, d->most,
                     d->odd, line);
        }
    }
    int count = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        char start[32];
        (void)snprintf(start, sizeof(start), "rank %d failed ", rank);
        count += job_count(&job, start);
    }
    if (count < reporters) {
        fail_msg("%s, odd rank %d: %d ranks reported it, not %d:\n%s", d->what, odd, count,
                 reporters, job.text);
    }
}

static void every_rank_shows_both_calls(void **state)
{
    static const difference_t differences[] = {
        {"count", "all_reduce count 5 f32 sum", "all_reduce count 6 f32 sum"},
        {"dtype", "count 5 f32 sum", "count 5 i32 sum"},
        {"op", "count 5 f32 sum", "count 5 f32 max"},
        {"root", "root 0", "root 1"},
        {"collective", "all_reduce count 5", "broadcast count 5"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(differences); i++) {
        differ(&differences[i], 0, RANKS);
        differ(&differences[i], (int)(1 + i % 3), RANKS);
    }
}

static void one_operation_more_is_an_error_that_names_who_left(void **state)
{
    static const difference_t more = {"more", "a peer failed or left: rank ",
                                      "has closed the communicator"};

    (void)state;
    differ(&more, 0, 1);
    differ(&more, 3, 1);
}

static void a_message_and_a_receive_of_other_lengths_fail_on_both_sides(void **state)
{
    static const difference_t length = {"length", "3", "4"};

    (void)state;
    differ(&length, 0, 2);
    differ(&length, 2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_shows_both_calls),
        cmocka_unit_test(one_operation_more_is_an_error_that_names_who_left),
        cmocka_unit_test(a_message_and_a_receive_of_other_lengths_fail_on_both_sides),
    };

    return cmocka_run_group_tests_name("multiproc/mismatch", tests, NULL, NULL);
}
