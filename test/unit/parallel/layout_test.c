/**
 * @file layout_test.c
 * @brief Tests of src/parallel/layout.c.
 *
 * Method: the traffic of a small GPT on known meshes, counted by hand; the table must name every
 * parameter once.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "parallel/layout.h"

/** 4 layers, width 8, 16 ids, 4 tokens; 8 units of 2 sequences. */
typedef struct fixture {
    hki_model_t *model;
    hki_pipe_schedule_t *schedule;
    hki_layout_t layout;
} fixture_t;

enum {
    ACTIVATION_BYTES = 2 * 4 * 8 * 4,
    SUMS = 8 * 4 * (2 + 2), // units, layers, forward and backward
};

static hk_status_t fixture_open(fixture_t *fixture, const char *mesh)
{
    const hki_model_config_t config = {.kind = HKI_MODEL_GPT,
                                       .num_layers = 4,
                                       .num_dim = 8,
                                       .num_heads = 2,
                                       .num_vocab = 16,
                                       .num_context = 4};
    hki_mesh_shape_t shape;
    hk_status_t status;

    *fixture = (fixture_t){0};
    assert_ok(hki_mesh_shape_parse(mesh, &shape));
    status = hki_model_create(&config, 0, shape.sizes[HKI_AXIS_MODEL], &fixture->model);
    if (status == HK_OK) {
        status = hki_pipe_schedule_create("1f1b", shape.sizes[HKI_AXIS_PIPE],
                                          8 / shape.sizes[HKI_AXIS_DATA], &fixture->schedule);
    }
    fixture->layout = (hki_layout_t){fixture->model, shape, fixture->schedule, 8, 2, 4};
    return status;
}

static void fixture_close(fixture_t *fixture)
{
    hki_pipe_schedule_destroy(&fixture->schedule);
    hki_model_destroy(&fixture->model);
}

/** Calls and bytes of what `what` moves on a stage along an axis; 0 x 0 if it does not. */
static void check_move(const fixture_t *fixture, int stage, const char *what, hki_axis_t axis,
                       size_t calls, size_t bytes)
{
    hki_layout_move_t moves[HKI_LAYOUT_MOVES_MAX];
    const int n = hki_layout_moves(&fixture->layout, stage, moves);
    size_t got_calls = 0;
    size_t got_bytes = 0;

    for (int m = 0; m < n; m++) {
        if (strcmp(moves[m].what, what) == 0 && moves[m].axis == axis) {
            got_calls += moves[m].calls;
            got_bytes = moves[m].bytes;
        }
    }
    if (got_calls != calls || got_bytes != bytes) {
        fail_msg("stage %d, %s: %zu calls of %zu bytes, want %zu of %zu", stage, what, got_calls,
                 got_bytes, calls, bytes);
    }
}

static void moves_nothing_on_one_rank(void **state)
{
    hki_layout_move_t moves[HKI_LAYOUT_MOVES_MAX];
    fixture_t fixture;
    (void)state;

    assert_ok(fixture_open(&fixture, ""));
    assert_int_equal(hki_layout_moves(&fixture.layout, 0, moves), 0);
    fixture_close(&fixture);
}

static void reduces_all_gradients_once_over_data(void **state)
{
    fixture_t fixture;
    (void)state;

    assert_ok(fixture_open(&fixture, "data=4"));
    check_move(&fixture, 0, "gradients", HKI_AXIS_DATA, 1, hki_model_count(fixture.model) * 4);
    check_move(&fixture, 0, "loss", HKI_AXIS_DATA, 1, 8);
    check_move(&fixture, 0, "activations", HKI_AXIS_PIPE, 0, 0);
    fixture_close(&fixture);
}

static void sends_each_units_activations_between_stages(void **state)
{
    fixture_t fixture;
    (void)state;

    assert_ok(fixture_open(&fixture, "data=2,pipe=4"));
    for (int s = 0; s < 4; s++) {
        check_move(&fixture, s, "activations", HKI_AXIS_PIPE, s < 3 ? 4 : 0,
                   s < 3 ? ACTIVATION_BYTES : 0);
        check_move(&fixture, s, "activation gradients", HKI_AXIS_PIPE, s > 0 ? 4 : 0,
                   s > 0 ? ACTIVATION_BYTES : 0);
        check_move(&fixture, s, "tied gradient", HKI_AXIS_PIPE, s % 3 == 0 ? 1 : 0,
                   s % 3 == 0 ? 16 * 8 * 4 : 0); // the embedding and the head
    }
    fixture_close(&fixture);
}

static void sums_in_every_block_when_matrices_are_divided(void **state)
{
    fixture_t fixture;
    (void)state;

    assert_ok(fixture_open(&fixture, "model=2"));
    check_move(&fixture, 0, "block sums", HKI_AXIS_MODEL, SUMS, ACTIVATION_BYTES);
    fixture_close(&fixture);
}

static void names_every_parameter(void **state)
{
    fixture_t fixture;
    hki_text_t text = {0};
    (void)state;

    assert_ok(fixture_open(&fixture, "data=2,pipe=2,model=2"));
    assert_ok(hki_layout_explain(&fixture.layout, &text));
    for (int p = 0; p < hki_model_num_params(fixture.model); p++) {
        const char *name = hki_model_param(fixture.model, p)->name;
        if (strstr(text.data, name) == NULL) {
            fail_msg("%s is not explained", name);
        }
    }
    assert_non_null(strstr(text.data, "sharded(1, heads)"));
    assert_non_null(strstr(text.data, "mesh    pipe=2 data=2 model=2, 8 ranks"));
    assert_non_null(strstr(text.data, "stage 1    .    F0"));
    hki_text_fini(&text);
    fixture_close(&fixture);
}

static void maps_each_axis_to_at_most_one_mesh_axis(void **state)
{
    (void)state;
    assert_int_equal(hki_layout_rule("heads"), HKI_AXIS_MODEL);
    assert_int_equal(hki_layout_rule("layers"), HKI_AXIS_PIPE);
    assert_int_equal(hki_layout_rule("batch"), HKI_AXIS_DATA);
    assert_int_equal(hki_layout_rule("embed"), -1);
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    while (status != HK_OK) {
        fixture_t fixture;
        hki_text_t text = {0};
        hki_alloc_fail_at(++n);
        status = fixture_open(&fixture, "data=2,pipe=2");
        if (status == HK_OK) {
            status = hki_layout_explain(&fixture.layout, &text);
        }
        assert_true(status == HK_OK || status == HK_ERR_NO_MEMORY);
        hki_text_fini(&text);
        fixture_close(&fixture);
        assert_int_equal(hki_alloc_live(), 0);
    }
    hki_alloc_fail_at(0);
    assert_true(n > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_nothing_on_one_rank),
        cmocka_unit_test(reduces_all_gradients_once_over_data),
        cmocka_unit_test(sends_each_units_activations_between_stages),
        cmocka_unit_test(sums_in_every_block_when_matrices_are_divided),
        cmocka_unit_test(names_every_parameter),
        cmocka_unit_test(maps_each_axis_to_at_most_one_mesh_axis),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("parallel/layout", tests, NULL, NULL);
}
