/**
 * @file trainer_state.h
 * @brief What the files of the trainer share.
 */
#ifndef HKI_TRAIN_TRAINER_STATE_H
#define HKI_TRAIN_TRAINER_STATE_H

#include <hocket/coll.h>
#include <hocket/mesh.h>

#include "parallel/buffer.h"
#include "parallel/grad_tree.h"
#include "parallel/pipeline.h"
#include "parallel/stage.h"
#include "train/trainer.h"

struct hki_trainer {
    hki_train_config_t config;
    hki_corpus_t *corpus; // borrowed
    hk_comm_t *comm;      // of all ranks, borrowed: shared memory; NULL if there is one rank only
    hk_mesh_t *mesh;
    hk_comm_t *lines[HKI_AXIS_COUNT]; // the mesh's
    int at[HKI_AXIS_COUNT];           // coordinates
    hki_model_t *model;
    hki_stage_t *stage;
    hki_pipe_schedule_t *schedule;
    hki_pipe_schedule_t *eval_schedule;
    hki_pipeline_t *pipeline;
    hki_pipeline_t *eval_pipeline;
    hki_grad_tree_t *grads;
    float *first;     // AdamW: moments of this stage's parameters
    float *second;    //
    double *losses;   // of this rank's units, of a step or of an evaluation
    double *sums;     // (parameters of the model + 1,): sums of squares, loss
    float *whole;     // a whole parameter on its way to rank 0; NULL where none passes
    float *parts;     // the same from all model ranks, one after the other; NULL likewise
    float *logits;    // (num_vocab,) GPT
    uint64_t comm_ns; // time spent in communication since the start
    int step;         // of the next batch
    bool is_evaluating;
    bool is_ended; // by an error
};

/** Replace x (count,) by its sum along an axis, in the canonical tree; nothing to do on one
 *  rank. */
hk_status_t hki_trainer_sum(hki_trainer_t *trainer, hki_axis_t axis, void *x, size_t count,
                            hk_dtype_t dtype);

/**
 * Tell the ranks of all axes that this one is at its end, so that none waits for it, and who is to
 * blame, as a rank of the whole job: errors of an axis only know its own numbers.
 *
 * @return status, which may be HK_OK: then nothing is done
 */
hk_status_t hki_trainer_end(hki_trainer_t *trainer, hk_status_t status);

/** Stage that owns a parameter. */
int hki_trainer_stage_of(const hki_trainer_t *trainer, int param);

#endif /* HKI_TRAIN_TRAINER_STATE_H */
