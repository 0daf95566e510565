/*
 * Parts of the machine. Method: nothing is kept where there is nothing to tell apart, which is so
 * on most machines; else what crosses is counted when a collective first chooses.
 */
#include "comm/parts.h"

#include "base/alloc.h"
#include "base/error.h"

_Static_assert((int)HKI_CROSS_CACHE == (int)HKI_HOME_CACHE &&
                   (int)HKI_CROSS_MEMORY == (int)HKI_HOME_MEMORY &&
                   (int)HKI_CROSS_LEVELS == (int)HKI_HOME_LEVELS,
               "levels of costs are those of homes");

static int part_of(const hki_endpoint_t *ep, int rank, int level)
{
    return ep->ops->home(ep, rank).part[level];
}

/** Are there several parts, and one of them with several ranks? Where each rank has a part of its
 *  own, every message crosses, and alpha is what that costs. */
static bool is_divided(const hki_endpoint_t *ep, int level)
{
    bool has_others = false;
    bool has_equals = false;

    for (int rank = 0; rank < ep->nranks; rank++) {
        const int part = part_of(ep, rank, level);

        if (part < 0) {
            return false;
        }
        has_others |= part != part_of(ep, 0, level);
        for (int other = 0; other < rank && !has_equals; other++) {
            has_equals = part == part_of(ep, other, level);
        }
    }
    return has_others && has_equals;
}

/** Ranks of each part, if they lie in them one after the other; else 1. */
static int block_size(const int *parts, int nranks)
{
    int size = 1;

    while (size < nranks && parts[size] == parts[0]) {
        size++;
    }
    for (int rank = 0; rank < nranks; rank++) {
        const int first = rank - rank % size;

        if (parts[rank] != parts[first] || (first > 0 && parts[first] == parts[first - 1])) {
            return 1;
        }
        for (int before = 0; rank == first && before < first; before += size) {
            if (parts[before] == parts[first]) {
                return 1;
            }
        }
    }
    return size;
}

hk_status_t hki_parts_init(hki_parts_t *parts, const hki_endpoint_t *ep)
{
    *parts = (hki_parts_t){.nranks = ep->nranks, .near_ranks = 1};
    if (ep->nranks > HKI_PARTS_RANKS_MAX) {
        return HK_OK;
    }
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        if (!is_divided(ep, level)) {
            continue;
        }
        parts->of[level] = hki_calloc((size_t)ep->nranks, sizeof(*parts->of[level]));
        if (parts->of[level] == NULL) {
            hki_parts_fini(parts);
            return HKI_FAIL(HK_ERR_NO_MEMORY, "parts of %d ranks", ep->nranks);
        }
        for (int rank = 0; rank < ep->nranks; rank++) {
            parts->of[level][rank] = part_of(ep, rank, level);
        }
        const int size = block_size(parts->of[level], ep->nranks);
        parts->near_ranks = size > 1 ? size : parts->near_ranks; // the outer level comes last
    }
    return HK_OK;
}

void hki_parts_fini(hki_parts_t *parts)
{
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        hki_free(parts->of[level]);
        parts->of[level] = NULL;
    }
}

hk_status_t hki_parts_count(const hki_parts_t *parts, const hki_algo_t *algo,
                            hki_crossing_t *crossings_out)
{
    const int *const of[HKI_CROSS_LEVELS] = {parts->of[HKI_CROSS_CACHE],
                                             parts->of[HKI_CROSS_MEMORY]};

    return hki_algo_crossing(algo, parts->nranks, parts->near_ranks, of, crossings_out);
}

hk_status_t hki_parts_cross(hki_parts_t *parts, hki_coll_t coll, hki_costs_t *costs)
{
    const uint32_t bit = UINT32_C(1) << coll;
    int count = 0;
    const hki_algo_t *algos = hki_algo_all(&count);

    if ((!hki_parts_are(parts, HKI_CROSS_CACHE) && !hki_parts_are(parts, HKI_CROSS_MEMORY)) ||
        (parts->counted & bit) != 0) {
        return HK_OK;
    }
    for (int i = 0; i < count; i++) {
        hki_crossing_t crossings[HKI_CROSS_LEVELS];

        if (algos[i].coll != coll) {
            continue;
        }
        const hk_status_t status = hki_parts_count(parts, &algos[i], crossings);
        if (status != HK_OK) {
            return status;
        }
        hki_costs_cross(costs, &algos[i], parts->nranks, crossings);
    }
    parts->counted |= bit;
    return HK_OK;
}
