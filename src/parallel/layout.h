/**
 * @file layout.h
 * @brief How a model is laid out on a mesh, as a table, and what a training step moves: computed
 * from
 *        the model and the mesh, not measured.
 */
#ifndef HKI_PARALLEL_LAYOUT_H
#define HKI_PARALLEL_LAYOUT_H

#include "base/text.h"
#include "model/model.h"
#include "parallel/pipe_schedule.h"
#include "parallel/shape.h"
#include "parallel/stage.h"

/** The mesh axis that cuts what a model calls `name`, or -1: it is whole on every rank. */
int hki_layout_rule(const char *name);

typedef struct hki_layout {
    const hki_model_t *model; /**< of any rank of the model axis; borrowed */
    hki_mesh_shape_t shape;
    const hki_pipe_schedule_t *schedule; /**< of this shape; borrowed */
    int units;                           /**< of a step, over all ranks */
    int num_sequences;                   /**< of a unit */
    int num_tokens;                      /**< of a sequence */
} hki_layout_t;

/** When and between whom something moves. */
typedef struct hki_layout_move {
    const char *what; /**< "gradients" */
    const char *call; /**< "all_reduce", "send/recv" */
    hki_axis_t axis;
    const char *when;
    int stage;         /**< ranks of this stage take part; -1: all */
    size_t calls;      /**< by each of these ranks, a step */
    size_t bytes;      /**< of one call's buffer */
    size_t sent_bytes; /**< a step, by each of these ranks, at the least: all_reduce 2(P-1)/P */
} hki_layout_move_t;

enum { HKI_LAYOUT_MOVES_MAX = 8 };

/**
 * Everything that ranks of a stage move in a step.
 *
 * @param[out] moves  (HKI_LAYOUT_MOVES_MAX,)
 * @return how many
 */
int hki_layout_moves(const hki_layout_t *layout, int stage, hki_layout_move_t *moves);

/**
 * Append the whole table: mesh, rules, stages, parameters, activations, traffic, pipeline.
 *
 * @return HK_OK, HK_ERR_INTERNAL (a parameter is cut along an axis that no rule maps to model),
 *         HK_ERR_NO_MEMORY
 */
hk_status_t hki_layout_explain(const hki_layout_t *layout, hki_text_t *text);

#endif /* HKI_PARALLEL_LAYOUT_H */
