/*
 * The rules of HOCKET_ALGO: what is accepted gives, for every collective and size, no algorithm or
 * one of that collective, also from a copy.
 */
#include "fuzz.h"

#include "base/alloc.h"
#include "comm/choice.h"

static void check_rules(const hki_choice_t *choice, const hki_choice_t *copy)
{
    static const size_t bytes[] = {0, 1, 8191, 8192, 1U << 20, SIZE_MAX};

    for (int coll = 0; coll < HKI_COLL_COUNT; coll++) {
        for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
            const hki_algo_t *algo = hki_choice_find(choice, (hki_coll_t)coll, bytes[i]);
            FUZZ_CHECK(algo == NULL || algo->coll == (hki_coll_t)coll);
            FUZZ_CHECK(hki_choice_find(copy, (hki_coll_t)coll, bytes[i]) == algo);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t live = hki_alloc_live();
    char *text = fuzz_string(data, size);
    hki_choice_t *choice = NULL;

    if (hki_choice_create("fuzz", text, &choice) == HK_OK) {
        hki_choice_t *copy = NULL;
        FUZZ_CHECK(hki_choice_copy(choice, &copy) == HK_OK);
        check_rules(choice, copy);
        hki_choice_destroy(&copy);
        hki_choice_destroy(&choice);
    }
    free(text);
    FUZZ_CHECK(hki_alloc_live() == live);
    return 0;
}
