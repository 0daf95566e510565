/**
 * @file registry.h
 * @brief Prototypes of all algorithms and their costs, made from registry.def, and the registry as
 *        a document.
 */
#ifndef HKI_ALGO_REGISTRY_H
#define HKI_ALGO_REGISTRY_H

#include "algo/algo.h"
#include "base/text.h"

#define HKI_ALGO(coll, name, text, order, form)                                                    \
    hk_status_t hki_##coll##_##name(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out); \
    hki_cost_t hki_##coll##_##name##_cost(int nranks, double block_bytes);
#define HKI_ALGO_NEAR HKI_ALGO
#include "algo/registry.def"
#undef HKI_ALGO_NEAR
#undef HKI_ALGO

/** Append the registry as Markdown: one table a collective, one line an algorithm, with its cost
 *  for 8 ranks as computed by its cost function. */
void hki_algo_write_markdown(hki_text_t *text);

#endif /* HKI_ALGO_REGISTRY_H */
