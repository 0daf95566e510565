/**
 * @file config.h
 * @brief Everything that a training run is a function of, and what is refused before it starts.
 */
#ifndef HKI_TRAIN_CONFIG_H
#define HKI_TRAIN_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "parallel/shape.h"
#include "train/optimizer.h"
#include "train/rate.h"

typedef struct hki_train_config {
    hki_model_config_t model;
    hki_mesh_shape_t shape;
    const char *pipeline; /**< "gpipe" or "1f1b"; borrowed */
    int batch;            /**< sequences a step, over all ranks */
    int unit;             /**< sequences of a unit, which is computed whole */
    uint64_t seed;
    hki_rate_t rate; /**< rate.steps is the length of the run */
    hki_optimizer_t optimizer;
    double clip;    /**< most norm of the gradient; 0: any */
    int eval_units; /**< units of an evaluation, the same on all layouts */
    bool is_exact;  /**< refuse layouts whose sums would depend on the layout */
} hki_train_config_t;

/** Units of a step; units of a step that one rank computes. */
int hki_train_units(const hki_train_config_t *config);
int hki_train_rank_units(const hki_train_config_t *config);

/** Tokens that a unit's sequences have: the context; 1 for an MLP. */
int hki_train_tokens(const hki_train_config_t *config);

/**
 * Refuse what cannot be run, before any rank starts. Messages name options of `hocket train`.
 *
 * @return HK_OK, HK_ERR_INVALID_ARG, HK_ERR_NO_MEMORY
 */
hk_status_t hki_train_config_check(const hki_train_config_t *config);

#endif /* HKI_TRAIN_CONFIG_H */
