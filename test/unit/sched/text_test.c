/**
 * @file text_test.c
 * @brief Tests of src/sched/text.c and parse.c.
 *
 * Method: what is written is read again and written again: both texts must be equal. Broken texts
 * must give one error with the line; then every prefix, and every text with one byte changed, must
 * be refused or read without harm.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "sched/text.h"

static const char whole[] = "schedule all_steps # with a comment\n"
                            "rank 1 of 3 root 2 alias same\n"
                            "\n"
                            "count 10 in 1 out 1 tmp 20 acc 10\n"
                            "send 0 in[0][0:10]\n"
                            "send 2 acc[5:10] copied\n"
                            "recv 0 out[0][0:4]\n"
                            "recv 0 acc[0:4]\n"
                            "copy tmp[10:14] in[0][6:10]\n"
                            "reduce out[0][2:6] = tmp[10:14] + rank 0 + partial 2 + acc[0:4]\n"
                            "recv_token 0\n"
                            "send_token 2";

/** Read a text, write it. @return the text; end it with hki_text_fini() */
static hki_text_t reread(const char *text)
{
    hk_schedule_t *schedule = NULL;
    hki_text_t written = {0};

    if (hki_schedule_parse(text, strlen(text), &schedule) != HK_OK) {
        fail_msg("%s", hk_last_error());
    }
    hki_schedule_write(schedule, &written);
    hk_schedule_destroy(&schedule);
    return written;
}

static void what_is_written_reads_as_the_same(void **state)
{
    hki_text_t once = reread(whole);
    hki_text_t twice = reread(once.data);
    (void)state;

    assert_string_equal(once.data, twice.data);
    assert_non_null(strstr(once.data, "reduce out[0][2:6] = tmp[10:14] + rank 0 + partial 2 + "
                                      "acc[0:4]\nrecv_token 0\nsend_token 2\n"));
    assert_non_null(strstr(once.data, "send 2 acc[5:10] copied\n"));
    hki_text_fini(&once);
    hki_text_fini(&twice);
}

static void fences_are_found_again_from_the_text(void **state)
{
    hk_schedule_t *schedule = NULL;
    (void)state;

    assert_ok(hki_schedule_parse(whole, strlen(whole), &schedule));
    assert_int_equal(schedule->step_count, 8);
    assert_int_equal(schedule->steps[2].sends_before, 1); // OUT is IN, which step 0 sends
    assert_int_equal(schedule->steps[3].sends_before, 0); // another part of ACC, and copied
    hk_schedule_destroy(&schedule);
}

typedef struct bad_text {
    const char *from; /* replaced in `whole` */
    const char *to;
    const char *error; /* must be in the text of the error */
} bad_text_t;

static void errors_name_the_line_and_what_was_expected(void **state)
{
    static const bad_text_t bad[] = {
        {"schedule all_steps", "schedul all_steps", "line 1: expected schedule"},
        {"rank 1 of 3", "rank 1 of", "line 2: expected a number"},
        {"alias same", "alias other", "line 2: expected none, same"},
        {"count 10", "count 99999999999999999999999", "line 4: expected a number"},
        {"in[0][0:10]", "in[0][0:10", "line 5: expected ]"},
        {"in[0][0:10]", "in[0][9:8]", "line 5: expected a range"},
        {"in[0][0:10]", "in[1][0:10]", "line 5: span in[1]"},
        {"in[0][0:10]", "in[0][0:11]", "line 5: span in[0]"},
        {"copied", "copiedd", "line 6: expected the end of the line"},
        {"recv 0 out", "recv 1 out", "line 7: peer 1"},
        {"recv 0 out", "receive 0 out", "line 7: expected a step"},
        {"+ rank 0", "+ rank 2", "line 10: two messages of rank 2"},
        {"= tmp[10:14]", "= tmp[10:13]", "line 10: reduce of 4"},
        {"send_token 2", "send_token 3", "line 12: peer 3"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        hk_schedule_t *schedule = NULL;
        hki_text_t text = {0};
        const char *at = strstr(whole, bad[i].from);

        hki_text_append(&text, whole, (size_t)(at - whole));
        hki_text_add(&text, "%s%s", bad[i].to, at + strlen(bad[i].from));
        if (hki_schedule_parse(text.data, text.length, &schedule) == HK_OK || schedule != NULL ||
            strstr(hk_last_error(), bad[i].error) == NULL) {
            fail_msg("'%s': got '%s', want '%s'", bad[i].to, hk_last_error(), bad[i].error);
        }
        hki_text_fini(&text);
    }
    assert_int_equal(hki_alloc_live(), 0);
}

static void any_bytes_are_read_without_harm(void **state)
{
    char text[sizeof(whole)];
    (void)state;

    for (size_t n = 0; n < sizeof(whole); n++) {
        for (int change = 0; change < 256; change += 5) {
            hk_schedule_t *schedule = NULL;

            memcpy(text, whole, sizeof(whole));
            text[n] = (char)change;
            if (hki_schedule_parse(text, change == 0 ? n : sizeof(whole) - 1, &schedule) != HK_OK) {
                assert_null(schedule);
            }
            hk_schedule_destroy(&schedule);
        }
    }
    assert_int_equal(hki_alloc_live(), 0);
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_schedule_t *schedule = NULL;
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = hki_schedule_parse(whole, strlen(whole), &schedule);
        hki_alloc_fail_at(0);
        if (status != HK_OK) {
            assert_int_equal(status, HK_ERR_NO_MEMORY);
            assert_null(schedule);
            assert_int_equal(hki_alloc_live(), 0);
        }
    }
    assert_true(n > 4);
    hk_schedule_destroy(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_as_the_same),
        cmocka_unit_test(fences_are_found_again_from_the_text),
        cmocka_unit_test(errors_name_the_line_and_what_was_expected),
        cmocka_unit_test(any_bytes_are_read_without_harm),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("sched/text", tests, NULL, NULL);
}
