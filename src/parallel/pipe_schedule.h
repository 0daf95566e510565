/**
 * @file pipe_schedule.h
 * @brief Pipeline schedules as data: for every stage, the order of its forwards and backwards.
 *
 * A model cut into `nstages` stages runs `nunits` units (micro-batches) a step. Stage s may run
 * forward u when stage s-1 has, and backward u when stage s+1 has (the last stage: after its own
 * forward u). A schedule is the list each stage works through, one action after the other.
 *
 * Threads: a finished schedule is immutable.
 */
#ifndef HKI_PARALLEL_PIPE_SCHEDULE_H
#define HKI_PARALLEL_PIPE_SCHEDULE_H

#include <hocket/base.h>

typedef enum hki_pipe_kind {
    HKI_PIPE_FORWARD = 0,
    HKI_PIPE_BACKWARD = 1,
} hki_pipe_kind_t;

typedef struct hki_pipe_action {
    hki_pipe_kind_t kind;
    int unit; /**< 0 <= unit < nunits */
} hki_pipe_action_t;

typedef struct hki_pipe_schedule {
    const char *name; /**< "gpipe", "1f1b"; static */
    int nstages;
    int nunits;
    hki_pipe_action_t *actions; /**< (nstages, 2 * nunits): stage after stage */
} hki_pipe_schedule_t;

/** What the checker finds out besides that a schedule is right. */
typedef struct hki_pipe_facts {
    int in_flight_max; /**< most units any stage holds activations of */
    int slots;         /**< time of the whole with every action taking one slot */
    double bubble;     /**< idle share of all stages' time, 0 <= bubble < 1 */
} hki_pipe_facts_t;

/** The schedule of this name, "gpipe" or "1f1b".
 *  @return HK_OK, HK_ERR_INVALID_ARG (name, nstages < 1, nunits < 1), HK_ERR_NO_MEMORY */
hk_status_t hki_pipe_schedule_create(const char *name, int nstages, int nunits,
                                     hki_pipe_schedule_t **schedule_out);
void hki_pipe_schedule_destroy(hki_pipe_schedule_t **schedule);

/** Action `index` (0 <= index < 2 * nunits) of a stage. */
hki_pipe_action_t hki_pipe_action(const hki_pipe_schedule_t *schedule, int stage, int index);

/** Most units that `stage` holds activations of at one time. */
int hki_pipe_in_flight_max(const hki_pipe_schedule_t *schedule, int stage);

/**
 * Prove, without running it, that every stage runs every unit's forward and backward once, each
 * after what it needs, both in unit order (gradients are summed in that order, and messages between
 * stages keep theirs), and that no stage ever waits for ever.
 *
 * @param[out] facts_out  may be NULL; set on success only
 * @return HK_OK, HK_ERR_INVALID_ARG (names the stage, the action and what it waits for),
 *         HK_ERR_NO_MEMORY
 */
hk_status_t hki_pipe_schedule_check(const hki_pipe_schedule_t *schedule,
                                    hki_pipe_facts_t *facts_out);

/**
 * Draw a schedule that passes the check: a line per stage, a column per slot.
 *
 *     stage 0  F0 F1 F2 F3 .  .  B0 ...
 *
 * @param[out] text_out  owned by the caller, free with hki_free()
 */
hk_status_t hki_pipe_schedule_draw(const hki_pipe_schedule_t *schedule, char **text_out);

#endif /* HKI_PARALLEL_PIPE_SCHEDULE_H */
