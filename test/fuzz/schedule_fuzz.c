/*
 * Schedules as text: what is accepted can be written, and what was written is accepted again and
 * written alike.
 */
#include "fuzz.h"

#include "base/alloc.h"
#include "sched/text.h"

static void check_round_trip(const hk_schedule_t *schedule)
{
    hki_text_t first = {0};
    hki_text_t second = {0};
    hk_schedule_t *again = NULL;

    hki_schedule_write(schedule, &first);
    FUZZ_CHECK(!first.is_failed);
    FUZZ_CHECK(hki_schedule_parse(first.data, first.length, &again) == HK_OK);
    hki_schedule_write(again, &second);
    FUZZ_CHECK(first.length == second.length);
    FUZZ_CHECK(memcmp(first.data, second.data, first.length) == 0);
    hk_schedule_destroy(&again);
    hki_text_fini(&first);
    hki_text_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t live = hki_alloc_live();
    hk_schedule_t *schedule = NULL;

    if (hki_schedule_parse((const char *)data, size, &schedule) == HK_OK) {
        check_round_trip(schedule);
        hk_schedule_destroy(&schedule);
    }
    FUZZ_CHECK(hki_alloc_live() == live);
    return 0;
}
