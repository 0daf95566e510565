/**
 * @file all_checked_test.c
 * @brief Every algorithm of the registry, proven for 1 to 64 ranks.
 *
 * Method: the checker (sched/checker.h) proves the schedules of all ranks: matching, no deadlock,
 * the exact expression of every element. One test a subject; all algorithms in each, and all group
 * sizes in those that decide, with more counts and places for small groups.
 * Takes some seconds: it is the one long unit test.
 */
#include "coll_case.h"

enum { DENSE_MAX = 20 }; /* up to so many ranks, more of everything */

/** Call for every algorithm and 1 .. 64 ranks. */
static void for_all(void (*body)(coll_case_t *c, const hki_algo_t *algo))
{
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);

    for (int a = 0; a < count; a++) {
        for (int nranks = 1; nranks <= CASE_RANKS_MAX; nranks++) {
            coll_case_t c = {.coll = algos[a].coll, .algo = algos[a].name, .nranks = nranks};

            body(&c, &algos[a]);
        }
    }
}

/** Is its buffer cut into chunks, so that the count matters? */
static bool has_one_block(hki_coll_t coll)
{
    return coll == HKI_COLL_BROADCAST || coll == HKI_COLL_REDUCE || coll == HKI_COLL_ALL_REDUCE;
}

static void check_counts(coll_case_t *c, const hki_algo_t *algo)
{
    const size_t p = (size_t)c->nranks;
    const size_t chunked[] = {0, 1, p - 1, p, p + 1, 2 * p + 3};
    const size_t whole[] = {0, 1, 3};
    const bool is_chunked = has_one_block(algo->coll);
    const size_t n = is_chunked ? ARRAY_LEN(chunked) : ARRAY_LEN(whole);
    const size_t stride = c->nranks <= DENSE_MAX ? 1 : n - 2; // the second and the last

    for (size_t i = stride == 1 ? 0 : 1; i < n; i += stride) {
        c->count = is_chunked ? chunked[i] : whole[i];
        c->run_count = c->count;
        c->root = (int)((i * 5) % p);
        case_check_result(c);
    }
}

static void check_in_place(coll_case_t *c, const hki_algo_t *algo)
{
    (void)algo;
    c->count = has_one_block(algo->coll) ? (size_t)c->nranks + 3 : 2;
    c->run_count = c->count;
    c->root = c->nranks / 2;
    c->place = CASE_MIXED;
    case_check_result(c);
    c->place = CASE_IN_PLACE;
    if (c->nranks <= DENSE_MAX || c->nranks % 8 <= 1) {
        case_check_result(c);
    }
}

static void check_fewer_elements(coll_case_t *c, const hki_algo_t *algo)
{
    (void)algo;
    c->count = has_one_block(algo->coll) ? 2 * (size_t)c->nranks + 1 : 3;
    c->root = c->nranks - 1;
    c->place = CASE_MIXED;
    for (size_t cut = 1; cut <= c->count; cut = 4 * cut + 1) {
        if (c->nranks > DENSE_MAX && c->nranks % 8 > 1) {
            return;
        }
        c->run_count = c->count - cut;
        case_check_result(c);
    }
}

static void check_unequal_blocks(coll_case_t *c, const hki_algo_t *algo)
{
    c->count = 4;
    c->run_count = 4;
    c->root = c->nranks / 3;
    c->is_unequal = true;
    for (int place = CASE_APART; place <= CASE_MIXED && algo->is_block_form;
         place += c->nranks <= DENSE_MAX ? 1 : 2) {
        c->place = (case_place_t)place;
        case_check_result(c);
    }
}

static void every_count_gives_the_promised_result(void **state)
{
    (void)state;
    for_all(check_counts);
}

static void buffers_in_place_on_some_or_all_ranks_change_nothing(void **state)
{
    (void)state;
    for_all(check_in_place);
}

static void a_run_with_fewer_elements_is_as_good(void **state)
{
    (void)state;
    for_all(check_fewer_elements);
}

static void block_forms_take_blocks_of_unequal_lengths(void **state)
{
    (void)state;
    for_all(check_unequal_blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_gives_the_promised_result),
        cmocka_unit_test(buffers_in_place_on_some_or_all_ranks_change_nothing),
        cmocka_unit_test(a_run_with_fewer_elements_is_as_good),
        cmocka_unit_test(block_forms_take_blocks_of_unequal_lengths),
    };
    return cmocka_run_group_tests_name("algo/all_checked", tests, NULL, NULL);
}
