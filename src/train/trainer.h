/**
 * @file trainer.h
 * @brief One rank of a training run: the step, the evaluation, the digest of the weights.
 *
 * A step: the rank's units run through its pipeline stage; their gradients are summed in the
 * canonical tree, over the units here and on over the data axis; tied gradients are added; the mean
 * is clipped by the global norm; the optimizer steps. Loss and weights are a function of the
 * configuration without its mesh and pipeline schedule, to the bit, unless the model axis is used.
 *
 * All calls are collective over the communicator. After an error the run is over.
 *
 * Threads: one at a time per trainer. Nothing is allocated after create.
 */
#ifndef HKI_TRAIN_TRAINER_H
#define HKI_TRAIN_TRAINER_H

#include <hocket/comm.h>

#include "train/config.h"
#include "train/corpus.h"
#include "train/digest.h"

typedef struct hki_trainer hki_trainer_t;

typedef struct hki_step_report {
    double loss;      /**< mean over the units, the same on every rank */
    double grad_norm; /**< before clipping */
    double rate;
    uint64_t step_ns; /**< time of the step on this rank [ns] */
    uint64_t comm_ns; /**< of it, time spent in communication */
} hki_step_report_t;

/**
 * @param[in]  config       copied; passes hki_train_config_check()
 * @param[in]  corpus       GPT: borrowed, must outlive the trainer, fits; MLP: NULL
 * @param[in]  comm         borrowed; as many ranks as the mesh
 * @param[out] trainer_out  set on success only; end it with hki_trainer_destroy()
 */
hk_status_t hki_trainer_create(const hki_train_config_t *config, hki_corpus_t *corpus,
                               hk_comm_t *comm, hki_trainer_t **trainer_out);
void hki_trainer_destroy(hki_trainer_t **trainer);

/** Train on the next batch. */
hk_status_t hki_trainer_step(hki_trainer_t *trainer, hki_step_report_t *report_out);

/** Mean loss of the evaluation units: of the held-out part (GPT), or of features that no step uses
 *  (MLP). The same bits on every rank and layout. */
hk_status_t hki_trainer_evaluate(hki_trainer_t *trainer, double *loss_out);

/**
 * SHA-256 of all weights as little-endian f32 in model order, tied copies once, the same however
 * they are laid out. They travel to rank 0 one by one. text is written on rank 0 only.
 */
hk_status_t hki_trainer_digest(hki_trainer_t *trainer, char text[HKI_DIGEST_TEXT_BYTES]);

/**
 * Continue a text, token by token (GPT).
 *
 * @param[in]     temperature  0: the most likely token; 1: as the model says
 * @param[in,out] ids          (count + num_new,): count >= 1 tokens of the prompt; the new ones are
 *                             added, on all ranks with data coordinate 0
 */
hk_status_t hki_trainer_sample(hki_trainer_t *trainer, double temperature, int32_t *ids, int count,
                               int num_new);

/** Weights of the whole model, tied copies once. */
size_t hki_trainer_weight_count(const hki_trainer_t *trainer);

#endif /* HKI_TRAIN_TRAINER_H */
