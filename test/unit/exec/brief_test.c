/*
 * Which schedules have a brief form. That it computes the same is tested with engines
 * (engine_test.c) and with all algorithms (conformance).
 */
#include "support/hk_test.h"

#include "base/alloc.h"
#include "exec/brief.h"

enum { NRANKS = 3, RANK = 1 };

static hk_builder_t *builder_open(size_t count, size_t tmp_count)
{
    hk_schedule_opts_t opts = hk_schedule_opts_default();
    hk_builder_t *builder = NULL;

    opts.rank = RANK;
    opts.nranks = NRANKS;
    opts.count = count;
    opts.tmp_count = tmp_count;
    assert_ok(hk_builder_open(&opts, &builder));
    return builder;
}

/** Exchanges the halves of IN, one after the other, and adds them. */
static hk_schedule_t *halves_schedule(size_t count)
{
    hk_builder_t *builder = builder_open(count, 0);
    hk_schedule_t *schedule = NULL;
    const size_t half = count / 2;

    for (int part = 0; part < 2; part++) {
        const hk_span_t in = {HK_REGION_IN, 0, part == 0 ? 0 : half,
                              part == 0 ? half : count - half};
        const hk_span_t out = {HK_REGION_OUT, 0, in.offset, in.length};
        const hk_operand_t operands[] = {{0, 0, in}, {-1, 0, in}, {2, 0, in}};

        hk_builder_send(builder, 0, in);
        hk_builder_send(builder, 2, in);
        hk_builder_reduce(builder, out, operands, NRANKS);
    }
    assert_ok(hk_builder_finish(&builder, &schedule));
    return schedule;
}

/** Passes a whole block on, by way of TMP. */
static hk_schedule_t *pass_schedule(size_t count)
{
    hk_builder_t *builder = builder_open(count, count);
    hk_schedule_t *schedule = NULL;
    const hk_span_t tmp = {HK_REGION_TMP, 0, 0, count};

    hk_builder_recv(builder, 0, tmp);
    hk_builder_send(builder, 2, tmp);
    hk_builder_copy(builder, (hk_span_t){HK_REGION_OUT, 0, 0, count}, tmp);
    assert_ok(hk_builder_finish(&builder, &schedule));
    return schedule;
}

static void only_what_fits_into_lines_has_a_brief_form(void **state)
{
    (void)state;
    for (size_t count = 1; count < 12; count++) {
        const hki_brief_shape_t shape = {
            .count = count, .elem_bytes = 4, .acc_bytes = 8, .most_bytes = 16};
        hk_schedule_t *halves = halves_schedule(count);
        hk_schedule_t *pass = pass_schedule(count);
        hki_brief_t *brief = NULL;

        assert_ok(hki_brief_create(halves, &shape, &brief));
        assert_int_equal(brief != NULL, (count + 1) / 2 * 4 <= 16);
        hki_brief_destroy(&brief);
        assert_ok(hki_brief_create(pass, &shape, &brief));
        assert_int_equal(brief != NULL, count * 4 <= 16);
        hki_brief_destroy(&brief);
        for (size_t n = 1; n <= 3; n++) { // allocations
            hki_alloc_fail_at(n);
            const hk_status_t status = hki_brief_create(halves, &shape, &brief);
            hki_alloc_fail_at(0);
            assert_int_equal(status, HK_ERR_NO_MEMORY);
            assert_null(brief);
        }
        hk_schedule_destroy(&halves);
        hk_schedule_destroy(&pass);
    }
}

static void sends_in_a_row_are_counted(void **state)
{
    const hki_brief_shape_t shape = {.count = 2, .elem_bytes = 4, .acc_bytes = 4, .most_bytes = 40};
    hk_schedule_t *schedule = halves_schedule(2);
    hki_brief_t *brief = NULL;
    const uint32_t rows[] = {2, 1, 0, 2, 1, 0};

    (void)state;
    assert_ok(hki_brief_create(schedule, &shape, &brief));
    assert_int_equal(brief->step_count, ARRAY_LEN(rows));
    for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
        assert_int_equal(brief->steps[k].kind, rows[k] != 0 ? HKI_STEP_SEND : HKI_STEP_REDUCE);
        assert_true(rows[k] == 0 || brief->steps[k].row == rows[k]);
    }
    hki_brief_destroy(&brief);
    hk_schedule_destroy(&schedule);
}

/** A row to all other ranks is one message of a cast, and only such rows. */
static void rows_to_all_can_be_cast(void **state)
{
    const hki_brief_shape_t shape = {
        .count = 2, .elem_bytes = 4, .acc_bytes = 4, .most_bytes = 40, .is_cast = true};
    hk_schedule_t *schedule = halves_schedule(2);
    hk_schedule_t *pass = pass_schedule(2);
    hki_brief_t *brief = NULL;

    (void)state;
    assert_true(hki_schedule_is_cast(schedule));
    assert_false(hki_schedule_is_cast(pass));
    assert_int_equal(hki_schedule_cast_at(schedule, 0), NRANKS - 1);
    assert_int_equal(hki_schedule_cast_at(schedule, 1), 0); // not its first
    assert_ok(hki_brief_create(schedule, &shape, &brief));
    assert_true(brief->is_cast);
    assert_int_equal(brief->steps[0].row, NRANKS - 1);
    assert_int_equal(brief->steps[3].row, NRANKS - 1);
    hki_brief_destroy(&brief);
    schedule->steps[1].src.length = 0; // another payload
    assert_false(hki_schedule_is_cast(schedule));
    assert_int_equal(hki_brief_create(schedule, &shape, &brief), HK_ERR_INTERNAL);
    assert_null(brief);
    schedule->steps[1].src.length = 1;
    assert_true(hki_schedule_is_cast(schedule));
    schedule->steps[1].peer = schedule->steps[0].peer; // twice to the same
    assert_false(hki_schedule_is_cast(schedule));
    schedule->steps[1].peer = 2;
    hk_schedule_destroy(&schedule);
    hk_schedule_destroy(&pass);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_fits_into_lines_has_a_brief_form),
        cmocka_unit_test(sends_in_a_row_are_counted),
        cmocka_unit_test(rows_to_all_can_be_cast),
    };
    return cmocka_run_group_tests_name("exec/brief", tests, NULL, NULL);
}
