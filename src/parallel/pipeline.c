/**
 * @file pipeline.c
 * @brief The interpreter of pipeline schedules.
 *
 * Unit u lives in slot u % nslots from its forward to its backward; as units start and end in
 * order, the slot is free again when unit u + nslots comes. Forward messages travel up, backward
 * ones down, both in unit order, so the k-th send always meets the k-th receive.
 */
#include "parallel/pipeline.h"

#include <stdio.h>
#include <string.h>

#include <hocket/coll.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

enum { CAUSE_BYTES = 1024 };

/** Requests of one slot, NULL when there is none. */
typedef struct traffic {
    hk_request_t *recv[2]; // by hki_pipe_kind_t: in, dout
    hk_request_t *send[2]; // out, din
    bool is_posted[2];     // a receive that may have ended already
} traffic_t;

struct hki_pipeline {
    hki_pipeline_opts_t opts;
    int stage;
    int nslots;
    hki_stage_port_t *ports; // (nslots,)
    traffic_t *traffic;      // (nslots,)
};

hk_status_t hki_pipeline_create(const hki_pipeline_opts_t *opts, hki_pipeline_t **pipeline_out)
{
    hki_pipeline_t *pipeline = hki_calloc(1, sizeof(*pipeline));

    if (pipeline != NULL) {
        pipeline->opts = *opts;
        pipeline->stage = hk_comm_rank(opts->comm);
        pipeline->nslots = hki_pipe_in_flight_max(opts->schedule, pipeline->stage);
        pipeline->ports = hki_calloc((size_t)pipeline->nslots, sizeof(*pipeline->ports));
        pipeline->traffic = hki_calloc((size_t)pipeline->nslots, sizeof(*pipeline->traffic));
    }
    if (pipeline == NULL || pipeline->ports == NULL || pipeline->traffic == NULL) {
        hki_pipeline_destroy(&pipeline);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "pipeline of %d units", opts->schedule->nunits);
    }
    memcpy(pipeline->ports, opts->ports, (size_t)pipeline->nslots * sizeof(*pipeline->ports));
    *pipeline_out = pipeline;
    return HK_OK;
}

void hki_pipeline_destroy(hki_pipeline_t **pipeline)
{
    if (*pipeline == NULL) {
        return;
    }
    hki_free((*pipeline)->ports);
    hki_free((*pipeline)->traffic);
    hki_free(*pipeline);
    *pipeline = NULL;
}

/** The stage whose message an action needs, or -1. */
static int source_of(const hki_pipeline_t *pipeline, hki_pipe_kind_t kind)
{
    const int peer = kind == HKI_PIPE_FORWARD ? pipeline->stage - 1 : pipeline->stage + 1;

    return peer < pipeline->opts.schedule->nstages ? peer : -1;
}

/** The stage that needs an action's result, or -1. */
static int target_of(const hki_pipeline_t *pipeline, hki_pipe_kind_t kind)
{
    return source_of(pipeline, kind == HKI_PIPE_FORWARD ? HKI_PIPE_BACKWARD : HKI_PIPE_FORWARD);
}

static hk_status_t wait_for(hki_pipeline_t *pipeline, hk_request_t **request)
{
    if (*request == NULL) {
        return HK_OK;
    }
    const uint64_t start = hki_clock_ns();
    const hk_status_t status = hk_request_wait(request);
    *pipeline->opts.waited_ns += hki_clock_ns() - start;
    return status;
}

/** Start to receive what an action needs, unless that has been done. */
static hk_status_t recv_post(hki_pipeline_t *pipeline, hki_pipe_action_t action)
{
    const int slot = action.unit % pipeline->nslots;
    const int peer = source_of(pipeline, action.kind);
    traffic_t *traffic = &pipeline->traffic[slot];
    const hki_stage_port_t *port = &pipeline->ports[slot];

    if (peer < 0 || traffic->is_posted[action.kind]) {
        return HK_OK;
    }
    traffic->is_posted[action.kind] = true;
    return hk_recv(pipeline->opts.comm, action.kind == HKI_PIPE_FORWARD ? port->in : port->dout,
                   pipeline->opts.border_count, HK_F32, peer, NULL, &traffic->recv[action.kind]);
}

static hk_status_t result_send(hki_pipeline_t *pipeline, hki_pipe_action_t action)
{
    const int slot = action.unit % pipeline->nslots;
    const int peer = target_of(pipeline, action.kind);
    const hki_stage_port_t *port = &pipeline->ports[slot];

    if (peer < 0) {
        return HK_OK;
    }
    return hk_send(pipeline->opts.comm, action.kind == HKI_PIPE_FORWARD ? port->out : port->din,
                   pipeline->opts.border_count, HK_F32, peer, NULL,
                   &pipeline->traffic[slot].send[action.kind]);
}

/** One action; `next` NULL at the end of the list. */
static hk_status_t action_run(hki_pipeline_t *pipeline, hki_pipe_action_t action,
                              const hki_pipe_action_t *next)
{
    const int slot = action.unit % pipeline->nslots;
    traffic_t *traffic = &pipeline->traffic[slot];
    hk_status_t status;

    HKI_TRY(status = recv_post(pipeline, action), done);
    HKI_TRY(status = wait_for(pipeline, &traffic->recv[action.kind]), done);
    traffic->is_posted[action.kind] = false;
    // the next message may come meanwhile, unless it goes into a buffer that this action reads
    if (next != NULL && next->unit % pipeline->nslots != slot) {
        HKI_TRY(status = recv_post(pipeline, *next), done);
    }
    HKI_TRY(status = wait_for(pipeline, &traffic->send[action.kind]), done);
    HKI_TRY(status = action.kind == HKI_PIPE_FORWARD
                         ? pipeline->opts.forward(pipeline->opts.cookie, action.unit, slot)
                         : pipeline->opts.backward(pipeline->opts.cookie, action.unit, slot),
            done);
    status = result_send(pipeline, action);
done:
    return status;
}

/** Index of the next action to run from `index` on; the list's length if there is none. */
static int next_index(const hki_pipeline_t *pipeline, int index, bool is_forward_only)
{
    const hki_pipe_schedule_t *schedule = pipeline->opts.schedule;

    while (is_forward_only && index < 2 * schedule->nunits &&
           hki_pipe_action(schedule, pipeline->stage, index).kind != HKI_PIPE_FORWARD) {
        index++;
    }
    return index;
}

/** Every buffer is the stage's own again. Goes on after an error, so that no request is left. */
static hk_status_t requests_end(hki_pipeline_t *pipeline, hk_status_t status)
{
    for (int slot = 0; slot < pipeline->nslots; slot++) {
        traffic_t *traffic = &pipeline->traffic[slot];
        for (int kind = 0; kind < 2; kind++) {
            const hk_status_t sent = wait_for(pipeline, &traffic->send[kind]);
            const hk_status_t received = wait_for(pipeline, &traffic->recv[kind]);
            traffic->is_posted[kind] = false;
            status = status == HK_OK ? sent : status;
            status = status == HK_OK ? received : status;
        }
    }
    return status;
}

hk_status_t hki_pipeline_run(hki_pipeline_t *pipeline, bool is_forward_only)
{
    const hki_pipe_schedule_t *schedule = pipeline->opts.schedule;
    const int end = 2 * schedule->nunits;
    int index = next_index(pipeline, 0, is_forward_only);
    hk_status_t status = HK_OK;

    while (status == HK_OK && index < end) {
        const int after = next_index(pipeline, index + 1, is_forward_only);
        hki_pipe_action_t next = {HKI_PIPE_FORWARD, 0};
        if (after < end) {
            next = hki_pipe_action(schedule, pipeline->stage, after);
        }
        status = action_run(pipeline, hki_pipe_action(schedule, pipeline->stage, index),
                            after < end ? &next : NULL);
        index = after;
    }
    if (status == HK_OK) {
        return requests_end(pipeline, status);
    }
    char cause[CAUSE_BYTES]; // ending the requests below fails too, and is not what went wrong
    status = pipeline->opts.failed(pipeline->opts.cookie, status);
    (void)snprintf(cause, sizeof(cause), "%s", hk_last_error());
    return hki_fail_again(requests_end(pipeline, status), cause);
}
