/**
 * @file choice.h
 * @brief Which algorithm a call gets: forced by name and size, else the cheapest.
 */
#ifndef HKI_COMM_CHOICE_H
#define HKI_COMM_CHOICE_H

#include "algo/algo.h"

typedef struct hki_choice hki_choice_t;

/**
 * Parse forced algorithms: "all_reduce:0-8K=direct,8K-=halving;broadcast=chain". Sizes are bytes of
 * a block, lower end included, upper end not; K, M, G are 1024s. The first rule that fits counts.
 *
 * @param source  where the text comes from, for errors: "HOCKET_ALGO", "opts.algo"
 * @param[out] choice_out  set on success only; NULL for an empty text
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_INVALID_ARG (names what exists)
 */
hk_status_t hki_choice_create(const char *source, const char *text, hki_choice_t **choice_out);
/** A copy that lives on its own. NULL gives NULL. */
hk_status_t hki_choice_copy(const hki_choice_t *choice, hki_choice_t **choice_out);
/** Accepts NULL. */
void hki_choice_destroy(hki_choice_t **choice);

/** The forced algorithm, or NULL. `choice` may be NULL. */
const hki_algo_t *hki_choice_find(const hki_choice_t *choice, hki_coll_t coll, size_t block_bytes);

/** The algorithm of that name. @return HK_OK, HK_ERR_INVALID_ARG (lists those that exist) */
hk_status_t hki_algo_named(hki_coll_t coll, const char *name, const hki_algo_t **algo_out);

#endif /* HKI_COMM_CHOICE_H */
