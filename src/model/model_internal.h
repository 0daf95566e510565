/**
 * @file model_internal.h
 * @brief What a model is made of, for the files of this folder.
 */
#ifndef HKI_MODEL_MODEL_INTERNAL_H
#define HKI_MODEL_MODEL_INTERNAL_H

#include "model/model.h"

struct hki_model {
    hki_model_config_t config;
    int rank;   /**< on the model axis */
    int nranks; /**< of it */
    int num_blocks;
    int num_params;
    size_t count; /**< elements of the flat buffer */
    hki_block_info_t *blocks;
    hki_param_info_t *params;
};

#endif /* HKI_MODEL_MODEL_INTERNAL_H */
