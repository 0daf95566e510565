/**
 * @file shape_test.c
 * @brief Tests of src/parallel/shape.c.
 *
 * Method: every shape of small axes; ranks to coordinates and back; text that must be refused, with
 * what the message has to name.
 */
#include "support/hk_test.h"

#include <string.h>

#include "parallel/shape.h"

static void finds_every_rank_by_its_coordinates(void **state)
{
    (void)state;
    for (int n = 0; n < 4 * 4 * 4; n++) {
        const hki_mesh_shape_t shape = {{n / 16 + 1, n / 4 % 4 + 1, n % 4 + 1}};
        for (int rank = 0; rank < hki_mesh_shape_ranks(&shape); rank++) {
            int at[HKI_AXIS_COUNT];
            for (int a = 0; a < HKI_AXIS_COUNT; a++) {
                at[a] = hki_mesh_coordinate(&shape, rank, (hki_axis_t)a);
                if (at[a] < 0 || at[a] >= shape.sizes[a]) {
                    fail_msg("shape %d rank %d axis %d: coordinate %d", n, rank, a, at[a]);
                }
            }
            if (hki_mesh_rank(&shape, at) != rank) {
                fail_msg("shape %d rank %d: found again as %d", n, rank, hki_mesh_rank(&shape, at));
            }
        }
    }
}

static void numbers_model_ranks_as_neighbours(void **state)
{
    hki_mesh_shape_t shape;
    (void)state;

    assert_ok(hki_mesh_shape_parse("model=2,pipe=3,data=4", &shape)); // the order says nothing
    assert_int_equal(hki_mesh_rank(&shape, (const int[]){0, 0, 1}), 1);
    assert_int_equal(hki_mesh_rank(&shape, (const int[]){0, 1, 0}), 2);
    assert_int_equal(hki_mesh_rank(&shape, (const int[]){1, 0, 0}), 8);
}

static void gives_size_one_to_axes_not_named(void **state)
{
    hki_mesh_shape_t shape;
    (void)state;

    assert_ok(hki_mesh_shape_parse("data=4", &shape));
    assert_int_equal(shape.sizes[HKI_AXIS_PIPE], 1);
    assert_int_equal(shape.sizes[HKI_AXIS_DATA], 4);
    assert_int_equal(shape.sizes[HKI_AXIS_MODEL], 1);
    assert_ok(hki_mesh_shape_parse("", &shape));
    assert_int_equal(hki_mesh_shape_ranks(&shape), 1);
    assert_ok(hki_mesh_shape_parse(NULL, &shape));
    assert_int_equal(hki_mesh_shape_ranks(&shape), 1);
}

static void refuses_bad_text_and_names_it(void **state)
{
    static const struct {
        const char *text;
        const char *named; // must stand in the message
    } cases[] = {
        {"dat=2", "'dat'"},
        {"data=0", "data=0"},
        {"data", "'data'"},
        {"data=", "'data='"},
        {"data=-1", "data=-1"},
        {"data=2x", "data=2x"},
        {"data=2,data=2", "twice"},
        {"data=2,", "comma"},
        {",data=2", "''"},
        {"data=99999", "65536"},
        {"data=65536,pipe=2", "65536"},
        {"data=2 ,pipe=2", "data=2 "},
        {"data=99999999999999999999", "65536"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        hki_mesh_shape_t shape = {{7, 7, 7}};
        if (hki_mesh_shape_parse(cases[i].text, &shape) != HK_ERR_INVALID_ARG) {
            fail_msg("'%s' was accepted", cases[i].text);
        }
        if (strstr(hk_last_error(), cases[i].named) == NULL) {
            fail_msg("'%s': the message does not name %s: %s", cases[i].text, cases[i].named,
                     hk_last_error());
        }
        assert_int_equal(shape.sizes[0], 7); // outputs stay untouched on failure
    }
}

static void refuses_a_shape_that_does_not_fit_the_ranks(void **state)
{
    const hki_mesh_shape_t shape = {{2, 3, 1}};
    (void)state;

    assert_ok(hki_mesh_shape_check(&shape, 6));
    assert_int_equal(hki_mesh_shape_check(&shape, 4), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "needs 6 ranks and there are 4"));
}

static void knows_its_axes_by_name(void **state)
{
    (void)state;
    for (int a = 0; a < HKI_AXIS_COUNT; a++) {
        assert_int_equal(hki_axis_of(hki_axis_name((hki_axis_t)a)), a);
    }
    assert_int_equal(hki_axis_of("expert"), -1);
    assert_int_equal(hki_axis_of(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_rank_by_its_coordinates),
        cmocka_unit_test(numbers_model_ranks_as_neighbours),
        cmocka_unit_test(gives_size_one_to_axes_not_named),
        cmocka_unit_test(refuses_bad_text_and_names_it),
        cmocka_unit_test(refuses_a_shape_that_does_not_fit_the_ranks),
        cmocka_unit_test(knows_its_axes_by_name),
    };
    return cmocka_run_group_tests_name("parallel/shape", tests, NULL, NULL);
}
