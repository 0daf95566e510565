/**
 * @file mutation_test.c
 * @brief Does the checker see every fault? Tests of src/sched/checker.c on real algorithms.
 *
 * Method: take the schedules of every algorithm, spoil one step of one rank in one way, and expect
 * to be refused. Every step of every rank is spoiled in turn.
 */
#include "coll_case.h"

#include <string.h>

/** Spoil step `index`. @return false if this way does not apply to it */
typedef bool (*spoil_fn)(hk_schedule_t *schedule, uint32_t index);

/** All algorithms on 5 and on 4 ranks: each spoiled step must be refused. @return spoiled */
static int spoil_all(spoil_fn spoil, const char *how, case_place_t place)
{
    int spoiled = 0;
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);

    for (int a = 0; a < 2 * count; a++) {
        const int nranks = a % 2 == 0 ? 5 : 4;
        const coll_case_t c = {.coll = algos[a / 2].coll,
                               .algo = algos[a / 2].name,
                               .nranks = nranks,
                               .root = 1,
                               .count = 10,
                               .run_count = 10,
                               .place = place};

        for (int rank = 0; rank < nranks; rank++) {
            uint32_t steps = 1;

            for (uint32_t i = 0; i < steps; i++) {
                case_schedules_t schedules;

                case_build(&c, &schedules);
                steps = schedules.rank[rank]->step_count;
                if (steps != 0 && spoil(schedules.rank[rank], i)) {
                    spoiled++;
                    if (case_prove(&c, &schedules, NULL) != HK_ERR_INVALID_ARG) {
                        case_fail(&c, how);
                    }
                }
                case_destroy(&c, &schedules);
            }
        }
    }
    return spoiled;
}

static bool drop(hk_schedule_t *schedule, uint32_t index)
{
    schedule->step_count--;
    memmove(&schedule->steps[index], &schedule->steps[index + 1],
            (schedule->step_count - index) * sizeof(*schedule->steps));
    for (uint32_t i = index; i < schedule->step_count; i++) { // fences keep what they mean
        schedule->steps[i].sends_before -= schedule->steps[i].sends_before > index;
    }
    return true;
}

static bool swap_operands(hk_schedule_t *schedule, uint32_t index)
{
    const hki_step_t *step = &schedule->steps[index];
    hk_operand_t *operands = &schedule->operands[step->operand_first];
    const hk_operand_t first = operands == NULL ? (hk_operand_t){0} : operands[0];

    if (step->operand_count < 2 || strstr(schedule->name, "ring") != NULL) {
        return false;
    }
    operands[0] = operands[step->operand_count - 1];
    operands[step->operand_count - 1] = first;
    return true;
}

static bool turn_to_another_peer(hk_schedule_t *schedule, uint32_t index)
{
    hki_step_t *step = &schedule->steps[index];

    if (step->peer < 0) {
        return false;
    }
    do {
        step->peer = (step->peer + 1) % schedule->opts.nranks;
    } while (step->peer == schedule->opts.rank);
    return true;
}

static bool shorten(hk_schedule_t *schedule, uint32_t index)
{
    hki_step_t *step = &schedule->steps[index];

    if (step->is_token) {
        return false;
    }
    step->src.length -= step->kind == HKI_STEP_SEND;
    step->dst.length -= step->kind != HKI_STEP_SEND;
    return true;
}

/** Write to the place one further; only where the region has room. */
static bool shift_destination(hk_schedule_t *schedule, uint32_t index)
{
    hki_step_t *step = &schedule->steps[index];

    if (step->kind == HKI_STEP_SEND || step->is_token || step->dst.region != HK_REGION_OUT ||
        schedule->opts.out_blocks == 1) {
        return false;
    }
    step->dst.block = (step->dst.block + 1) % schedule->opts.out_blocks;
    return true;
}

static bool forget_the_fence(hk_schedule_t *schedule, uint32_t index)
{
    hki_step_t *step = &schedule->steps[index];

    if (step->sends_before == 0) {
        return false;
    }
    step->sends_before--;
    return true;
}

static void a_dropped_step_is_seen(void **state)
{
    (void)state;
    assert_true(spoil_all(drop, "dropped a step", CASE_APART) > 1000);
}

static void swapped_operands_are_seen(void **state)
{
    (void)state;
    assert_true(spoil_all(swap_operands, "swapped operands", CASE_APART) > 50);
}

static void a_wrong_peer_is_seen(void **state)
{
    (void)state;
    assert_true(spoil_all(turn_to_another_peer, "wrong peer", CASE_APART) > 500);
}

static void a_wrong_length_is_seen(void **state)
{
    (void)state;
    assert_true(spoil_all(shorten, "shortened", CASE_APART) > 500);
}

static void a_wrong_block_is_seen(void **state)
{
    (void)state;
    assert_true(spoil_all(shift_destination, "wrong block", CASE_APART) > 100);
}

static void a_missing_fence_is_seen(void **state)
{
    (void)state;
    assert_true(spoil_all(forget_the_fence, "forgot a fence", CASE_IN_PLACE) > 20);
}

static void the_checker_survives_the_failure_of_any_allocation(void **state)
{
    const coll_case_t c = {
        .coll = HKI_COLL_ALL_REDUCE, .algo = "doubling", .nranks = 5, .count = 3, .run_count = 3};
    hk_status_t status = HK_ERR_NO_MEMORY;
    case_schedules_t schedules;
    size_t n = 0;
    (void)state;

    case_build(&c, &schedules);
    const size_t live = hki_alloc_live();

    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = case_prove(&c, &schedules, NULL);
        hki_alloc_fail_at(0);
        assert_true(status == HK_OK || status == HK_ERR_NO_MEMORY);
        assert_int_equal(hki_alloc_live(), live);
    }
    assert_true(n > 10);
    case_destroy(&c, &schedules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_step_is_seen),
        cmocka_unit_test(swapped_operands_are_seen),
        cmocka_unit_test(a_wrong_peer_is_seen),
        cmocka_unit_test(a_wrong_length_is_seen),
        cmocka_unit_test(a_wrong_block_is_seen),
        cmocka_unit_test(a_missing_fence_is_seen),
        cmocka_unit_test(the_checker_survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("algo/mutation", tests, NULL, NULL);
}
