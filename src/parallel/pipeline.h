/**
 * @file pipeline.h
 * @brief Runs a pipeline schedule: one stage's list, with asynchronous sends and receives.
 *
 * Knows no model: forward and backward are callbacks, borders are buffers. The message of the next
 * action is received while this one computes, and what is sent is waited for only when its buffer
 * is needed again.
 *
 * Threads: one at a time per pipeline. Nothing is allocated after create.
 */
#ifndef HKI_PARALLEL_PIPELINE_H
#define HKI_PARALLEL_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/comm.h>

#include "parallel/pipe_schedule.h"
#include "parallel/stage.h"

typedef struct hki_pipeline hki_pipeline_t;

typedef struct hki_pipeline_opts {
    const hki_pipe_schedule_t *schedule; /**< borrowed; passes the check */
    hk_comm_t *comm;                     /**< borrowed; rank s runs stage s */
    size_t border_count;                 /**< f32 elements of a message between stages */
    const hki_stage_port_t *ports;       /**< (nslots,) copied; nslots = hki_pipe_in_flight_max() */
    hk_status_t (*forward)(void *cookie, int unit, int slot);
    hk_status_t (*backward)(void *cookie, int unit, int slot);
    /** An action failed with this status and hk_last_error(): break the communicator, so that no
     *  stage waits for messages that will never come. @return the status to end with */
    hk_status_t (*failed)(void *cookie, hk_status_t status);
    void *cookie;
    uint64_t *waited_ns; /**< borrowed; time spent waiting for other stages is added */
} hki_pipeline_opts_t;

/** @param[out] pipeline_out  set on success only; end it with hki_pipeline_destroy()
 *  @return HK_OK, HK_ERR_NO_MEMORY */
hk_status_t hki_pipeline_create(const hki_pipeline_opts_t *opts, hki_pipeline_t **pipeline_out);

/** No run may be under way. */
void hki_pipeline_destroy(hki_pipeline_t **pipeline);

/**
 * Run this stage's list once. Collective over the communicator.
 *
 * @param is_forward_only  leave the backwards out (evaluation)
 * @return HK_OK, or the first error of a callback or a message; the communicator is then broken
 */
hk_status_t hki_pipeline_run(hki_pipeline_t *pipeline, bool is_forward_only);

#endif /* HKI_PARALLEL_PIPELINE_H */
