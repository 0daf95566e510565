/*
 * Forced algorithms: what the text means, and what is refused.
 */
#include "support/hk_test.h"

#include <string.h>

#include "base/alloc.h"
#include "comm/choice.h"

static void rules_choose_by_collective_and_size(void **state)
{
    static const struct {
        hki_coll_t coll;
        size_t bytes;
        const char *name; /**< NULL: not forced */
    } wants[] = {
        {HKI_COLL_ALL_REDUCE, 0, "direct"},     {HKI_COLL_ALL_REDUCE, 8191, "direct"},
        {HKI_COLL_ALL_REDUCE, 8192, "halving"}, {HKI_COLL_ALL_REDUCE, SIZE_MAX / 2, "halving"},
        {HKI_COLL_BROADCAST, 5, "chain"},       {HKI_COLL_ALL_GATHER, 5, NULL},
    };
    hki_choice_t *choice = NULL;
    hki_choice_t *copy = NULL;

    (void)state;
    assert_ok(hki_choice_create("HOCKET_ALGO", "all_reduce:0-8K=direct,8K-=halving;broadcast=chain",
                                &choice));
    assert_ok(hki_choice_copy(choice, &copy));
    hki_choice_destroy(&choice);
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        const hki_algo_t *algo = hki_choice_find(copy, wants[i].coll, wants[i].bytes);
        const char *got = algo == NULL ? "nothing" : algo->name;

        if (strcmp(got, wants[i].name == NULL ? "nothing" : wants[i].name) != 0) {
            fail_msg("%s of %zu bytes: got %s", hki_coll_name(wants[i].coll), wants[i].bytes, got);
        }
    }
    hki_choice_destroy(&copy);
}

static void no_text_forces_nothing(void **state)
{
    hki_choice_t *choice = NULL;

    (void)state;
    assert_ok(hki_choice_create("opts.algo", "", &choice));
    assert_null(choice);
    assert_null(hki_choice_find(NULL, HKI_COLL_ALL_REDUCE, 1));
    hki_choice_destroy(&choice);
}

static void wrong_texts_are_refused_with_the_way_out(void **state)
{
    static const char *const wrong[][2] = {
        {"all_reduce", "\":\" or \"=\" expected"},
        {"all_reduce:direct", "a size like 8K expected"},
        {"all_reduce:0-8Q=direct", "\"=\" expected"},
        {"all_reduce:8=direct", "\"-\" expected"},
        {"all_reduce=magic", "there are: direct"},
        {"everything=direct", "there is no collective \"everything\""},
        {"all_reduce=direct;", "the name of a collective expected"},
        {"all_reduce=direct!", "the end expected"},
        {"all_reduce:0-=", "the name of an algorithm expected"},
        {"all_reduce:0-99999999999999999999G=direct", "size too large"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        hki_choice_t *choice = NULL;
        const hk_status_t status = hki_choice_create("HOCKET_ALGO", wrong[i][0], &choice);

        if (status != HK_ERR_INVALID_ARG || choice != NULL ||
            strstr(hk_last_error(), wrong[i][1]) == NULL) {
            fail_msg("\"%s\": status %d, \"%s\"", wrong[i][0], (int)status, hk_last_error());
        }
    }
}

static void memory_may_run_out(void **state)
{
    hki_choice_t *choice = NULL;
    hki_choice_t *copy = NULL;

    (void)state;
    hki_alloc_fail_at(1);
    assert_int_equal(hki_choice_create("x", "all_reduce=direct", &choice), HK_ERR_NO_MEMORY);
    assert_ok(hki_choice_create("x", "all_reduce=direct", &choice));
    hki_alloc_fail_at(1);
    assert_int_equal(hki_choice_copy(choice, &copy), HK_ERR_NO_MEMORY);
    hki_alloc_fail_at(0);
    assert_null(copy);
    hki_choice_destroy(&choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_choose_by_collective_and_size),
        cmocka_unit_test(no_text_forces_nothing),
        cmocka_unit_test(wrong_texts_are_refused_with_the_way_out),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests_name("comm/choice", tests, NULL, NULL);
}
