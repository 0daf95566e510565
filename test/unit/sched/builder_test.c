/**
 * @file builder_test.c
 * @brief Tests of src/sched/builder.c and schedule.c.
 *
 * Method: one wrong call a test case; the first error must come out of hk_builder_finish(), with
 * nothing set. Fences and conflicts are read from small schedules.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "sched/schedule.h"

static hk_schedule_opts_t some_opts(void)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();

    opts.name = "some";
    opts.rank = 1;
    opts.nranks = 3;
    opts.count = 10;
    opts.out_blocks = 3;
    opts.tmp_count = 20;
    opts.acc_count = 20;
    return opts;
}

static hk_span_t span(hk_region_t region, int block, size_t offset, size_t length)
{
    return (hk_span_t){region, block, offset, length};
}

static hk_builder_t *open_some(void)
{
    const hk_schedule_opts_t opts = some_opts();
    hk_builder_t *builder = NULL;

    assert_ok(hk_builder_open(&opts, &builder));
    return builder;
}

/** The builder must refuse, and say `text`. */
static void refuses(hk_builder_t *builder, const char *text)
{
    hk_schedule_t *schedule = NULL;

    hk_builder_send(builder, 0, span(HK_REGION_IN, 0, 0, 1)); // later steps do not heal it
    assert_int_equal(hk_builder_finish(&builder, &schedule), HK_ERR_INVALID_ARG);
    assert_null(builder);
    assert_null(schedule);
    if (strstr(hk_last_error(), text) == NULL) {
        fail_msg("got '%s', want '%s'", hk_last_error(), text);
    }
}

static void options_out_of_range_are_refused(void **state)
{
    hk_builder_t *builder = NULL;
    hk_schedule_opts_t opts[8];
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(opts); i++) {
        opts[i] = some_opts();
    }
    opts[0].rank = 3;
    opts[1].rank = -1;
    opts[2].nranks = 0;
    opts[3].root = 3;
    opts[4].in_blocks = 2;
    opts[5].out_blocks = 0;
    opts[6].alias = HK_ALIAS_SAME; // one block in, three out
    opts[7].struct_size = 0;
    for (size_t i = 0; i < ARRAY_LEN(opts); i++) {
        assert_int_equal(hk_builder_open(&opts[i], &builder), HK_ERR_INVALID_ARG);
        assert_null(builder);
    }
    assert_int_equal(hk_builder_open(NULL, &builder), HK_ERR_INVALID_ARG);
}

static void a_caller_with_fewer_options_gets_defaults_for_the_rest(void **state)
{
    hk_schedule_opts_t opts = some_opts();
    hk_builder_t *builder = NULL;
    hk_schedule_t *schedule = NULL;
    (void)state;

    opts.struct_size = offsetof(hk_schedule_opts_t, tmp_count);
    assert_ok(hk_builder_open(&opts, &builder));
    assert_ok(hk_builder_finish(&builder, &schedule));
    assert_int_equal(schedule->opts.count, 10);
    assert_int_equal(schedule->opts.tmp_count, 0);
    assert_string_equal(schedule->name, "some");
    hk_schedule_destroy(&schedule);
}

static void spans_outside_their_region_are_refused(void **state)
{
    static const hk_span_t bad[] = {
        {HK_REGION_IN, 1, 0, 1},   {HK_REGION_IN, 0, 0, 11},        {HK_REGION_IN, 0, 11, 0},
        {HK_REGION_OUT, 3, 0, 1},  {HK_REGION_OUT, -1, 0, 1},       {HK_REGION_TMP, 1, 0, 1},
        {HK_REGION_TMP, 0, 20, 1}, {HK_REGION_ACC, 0, 5, SIZE_MAX}, {HK_REGION_TMP, 0, 5, 10},
        {HK_REGION_ACC, 0, 0, 11}, {(hk_region_t)7, 0, 0, 1},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        hk_builder_t *builder = open_some();
        hk_builder_send(builder, 0, bad[i]);
        refuses(builder, bad[i].region > HK_REGION_ACC ? "region" : "span");
    }
}

static void peers_outside_the_group_are_refused(void **state)
{
    static const int bad[] = {-1, 1, 3};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        hk_builder_t *builder = open_some();
        hk_builder_recv(builder, bad[i], span(HK_REGION_OUT, 0, 0, 1));
        refuses(builder, "peer");
        builder = open_some();
        hk_builder_send_token(builder, bad[i]);
        refuses(builder, "peer");
    }
}

static void writing_to_the_input_is_refused(void **state)
{
    hk_builder_t *builder = open_some();
    (void)state;

    hk_builder_recv(builder, 0, span(HK_REGION_IN, 0, 0, 1));
    refuses(builder, "read only");
}

static void copies_of_unlike_spans_are_refused(void **state)
{
    hk_builder_t *builder = open_some();
    (void)state;

    hk_builder_copy(builder, span(HK_REGION_OUT, 0, 0, 2), span(HK_REGION_IN, 0, 0, 3));
    refuses(builder, "lengths and kinds");
    builder = open_some();
    hk_builder_copy(builder, span(HK_REGION_OUT, 0, 0, 2), span(HK_REGION_ACC, 0, 0, 2));
    refuses(builder, "lengths and kinds");
    builder = open_some();
    hk_builder_copy(builder, span(HK_REGION_TMP, 0, 1, 2), span(HK_REGION_TMP, 0, 0, 2));
    refuses(builder, "in part");
}

static void wrong_operands_are_refused(void **state)
{
    const hk_span_t dst = span(HK_REGION_TMP, 0, 0, 2);
    const hk_operand_t twice[] = {{.peer = 0}, {.peer = 0}};
    const hk_operand_t longer = {.peer = -1, .span = {HK_REGION_IN, 0, 0, 3}};
    const hk_operand_t across = {.peer = -1, .span = {HK_REGION_TMP, 0, 1, 2}};
    hk_builder_t *builder = open_some();
    (void)state;

    hk_builder_reduce(builder, dst, NULL, 0);
    refuses(builder, "0 operands");
    builder = open_some();
    hk_builder_reduce(builder, dst, twice, 2);
    refuses(builder, "two messages");
    builder = open_some();
    hk_builder_reduce(builder, dst, &longer, 1);
    refuses(builder, "operand of 3");
    builder = open_some();
    hk_builder_reduce(builder, dst, &across, 1);
    refuses(builder, "in part");
}

static void empty_steps_and_copies_to_themselves_are_dropped(void **state)
{
    hk_schedule_opts_t opts = some_opts();
    hk_builder_t *builder = NULL;
    hk_schedule_t *schedule = NULL;
    const hk_operand_t operand = {.peer = 0};
    (void)state;

    opts.alias = HK_ALIAS_OWN_OUT;
    assert_ok(hk_builder_open(&opts, &builder));
    hk_builder_send(builder, 0, span(HK_REGION_IN, 0, 3, 0));
    hk_builder_recv(builder, 0, span(HK_REGION_OUT, 0, 3, 0));
    hk_builder_reduce(builder, span(HK_REGION_OUT, 0, 3, 0), &operand, 1);
    hk_builder_copy(builder, span(HK_REGION_OUT, 1, 0, 4), span(HK_REGION_IN, 0, 0, 4));
    assert_ok(hk_builder_finish(&builder, &schedule));
    assert_int_equal(schedule->step_count, 0);
    assert_int_equal(schedule->operand_count, 0);
    hk_schedule_destroy(&schedule);
}

static void a_step_waits_for_the_last_uncopied_send_it_overwrites(void **state)
{
    hk_schedule_opts_t opts = some_opts();
    hk_builder_t *builder = NULL;
    hk_schedule_t *schedule = NULL;
    (void)state;

    opts.alias = HK_ALIAS_OWN_OUT; // IN is OUT[1]
    assert_ok(hk_builder_open(&opts, &builder));
    hk_builder_send(builder, 0, span(HK_REGION_IN, 0, 0, 5));
    hk_builder_send(builder, 2, span(HK_REGION_OUT, 1, 5, 5));
    hk_builder_send_copied(builder, 2, span(HK_REGION_IN, 0, 0, 10));
    hk_builder_recv(builder, 0, span(HK_REGION_OUT, 1, 0, 5));
    hk_builder_recv(builder, 0, span(HK_REGION_OUT, 1, 4, 2));
    hk_builder_recv(builder, 0, span(HK_REGION_OUT, 0, 0, 10));
    assert_ok(hk_builder_finish(&builder, &schedule));
    assert_int_equal(schedule->steps[3].sends_before, 1);
    assert_int_equal(schedule->steps[4].sends_before, 2);
    assert_int_equal(schedule->steps[5].sends_before, 0);
    hk_schedule_destroy(&schedule);
}

static void steps_conflict_by_overlap_by_stream_and_by_token(void **state)
{
    hk_builder_t *builder = open_some();
    hk_schedule_t *schedule = NULL;
    const hk_operand_t operands[] = {{.peer = 2}, {.peer = -1, .span = {HK_REGION_TMP, 0, 0, 5}}};
    (void)state;

    hk_builder_recv(builder, 0, span(HK_REGION_TMP, 0, 0, 5));
    hk_builder_send(builder, 0, span(HK_REGION_IN, 0, 0, 5));
    hk_builder_reduce(builder, span(HK_REGION_OUT, 0, 0, 5), operands, 2);
    hk_builder_recv(builder, 2, span(HK_REGION_TMP, 0, 5, 5));
    hk_builder_send_token(builder, 2);
    assert_ok(hk_builder_finish(&builder, &schedule));

    const hki_step_t *steps = schedule->steps;
    assert_false(hki_step_conflict(schedule, &steps[0], &steps[1]));
    assert_true(hki_step_conflict(schedule, &steps[0], &steps[2]));  // writes what the sum reads
    assert_false(hki_step_conflict(schedule, &steps[0], &steps[3])); // other peer, other place
    assert_true(hki_step_conflict(schedule, &steps[2], &steps[3]));  // same stream
    assert_true(hki_step_conflict(schedule, &steps[1], &steps[4]));  // token
    hk_schedule_destroy(&schedule);
}

static void scratch_is_clipped_slot_by_slot(void **state)
{
    const hk_schedule_opts_t opts = some_opts();
    (void)state;

    assert_int_equal(hki_span_length(&opts, span(HK_REGION_TMP, 0, 10, 10), 7), 7);
    assert_int_equal(hki_span_length(&opts, span(HK_REGION_TMP, 0, 15, 5), 7), 2);
    assert_int_equal(hki_span_length(&opts, span(HK_REGION_ACC, 0, 8, 2), 7), 0);
    assert_int_equal(hki_span_length(&opts, span(HK_REGION_TMP, 0, 0, 20), 7), 20);
    assert_int_equal(hki_span_length(&opts, span(HK_REGION_OUT, 2, 0, 10), 7), 7);
}

static void finishing_nothing_is_refused(void **state)
{
    hk_builder_t *builder = NULL;
    hk_schedule_t *schedule = NULL;
    (void)state;

    assert_int_equal(hk_builder_finish(&builder, &schedule), HK_ERR_INVALID_ARG);
    assert_int_equal(hk_builder_finish(NULL, &schedule), HK_ERR_INVALID_ARG);
    builder = open_some();
    assert_int_equal(hk_builder_finish(&builder, NULL), HK_ERR_INVALID_ARG);
    assert_null(builder);
    hk_schedule_destroy(&schedule);
    hk_schedule_destroy(NULL);
    assert_int_equal(hki_alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(a_caller_with_fewer_options_gets_defaults_for_the_rest),
        cmocka_unit_test(spans_outside_their_region_are_refused),
        cmocka_unit_test(peers_outside_the_group_are_refused),
        cmocka_unit_test(writing_to_the_input_is_refused),
        cmocka_unit_test(copies_of_unlike_spans_are_refused),
        cmocka_unit_test(wrong_operands_are_refused),
        cmocka_unit_test(empty_steps_and_copies_to_themselves_are_dropped),
        cmocka_unit_test(a_step_waits_for_the_last_uncopied_send_it_overwrites),
        cmocka_unit_test(steps_conflict_by_overlap_by_stream_and_by_token),
        cmocka_unit_test(scratch_is_clipped_slot_by_slot),
        cmocka_unit_test(finishing_nothing_is_refused),
    };
    return cmocka_run_group_tests_name("sched/builder", tests, NULL, NULL);
}
