/**
 * @file parts.h
 * @brief The parts of the machine that the ranks of a communicator lie in, and what that costs.
 *
 * All ranks see where all ranks run (hki_endpoint_ops_t.home), so all come to the same costs.
 */
#ifndef HKI_COMM_PARTS_H
#define HKI_COMM_PARTS_H

#include "algo/algo.h"
#include "transport/transport.h"

/** Messages of communicators of more ranks are not counted: that would take too long. They choose
 *  as if all ranks were near each other. */
enum { HKI_PARTS_RANKS_MAX = 128 };

typedef struct hki_parts {
    int nranks;
    int *of[HKI_CROSS_LEVELS]; /**< (nranks,) part of each rank; owned; NULL: nothing to tell apart,
                                    since all ranks are in one part, each is in one of its own, or
                                    that of some is not known */
    int near_ranks;   /**< ranks lie in parts one after the other, of so many each, of fewer in the
                         last: of memory domains, else of caches; 1: they do not */
    uint32_t counted; /**< collectives whose costs know of them, a bit each */
} hki_parts_t;

/** Look where all ranks run. @return HK_OK, HK_ERR_NO_MEMORY */
HK_NODISCARD hk_status_t hki_parts_init(hki_parts_t *parts, const hki_endpoint_t *ep);
void hki_parts_fini(hki_parts_t *parts);

/** Are there several at this level? */
static inline bool hki_parts_are(const hki_parts_t *parts, int level)
{
    return parts->of[level] != NULL;
}

/** What an algorithm crosses here. @param[out] crossings_out  (HKI_CROSS_LEVELS,) */
HK_NODISCARD hk_status_t hki_parts_count(const hki_parts_t *parts, const hki_algo_t *algo,
                                         hki_crossing_t *crossings_out);

/** Let `costs` know what crosses in a collective. Takes long once for each, a few milliseconds for
 *  64 ranks; no time where there are no parts. @return HK_OK, HK_ERR_NO_MEMORY */
HK_NODISCARD hk_status_t hki_parts_cross(hki_parts_t *parts, hki_coll_t coll, hki_costs_t *costs);

#endif /* HKI_COMM_PARTS_H */
