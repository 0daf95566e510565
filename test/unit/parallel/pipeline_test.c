/**
 * @file pipeline_test.c
 * @brief Tests of src/parallel/pipeline.c, with ranks as threads.
 *
 * Method: stages that add 16^stage to what comes in, in both directions, over a grid of stages,
 * units and message sizes; so each hex digit of a result counts the visits of one stage. Rank
 * threads only return a status; the main thread looks at it.
 */
#include "support/hk_test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <hocket/comm.h>

#include "base/alloc.h"
#include "base/error.h"
#include "parallel/pipeline.h"

enum { STAGES_MAX = 4, UNITS_MAX = 9, COUNT_MAX = 3000, RUNS = 3, TIMEOUT_MS = 20000 };

typedef struct stage {
    hk_comm_t *comm;
    const hki_pipe_schedule_t *schedule;
    int rank;
    size_t count;
    bool is_forward_only;
    int fails_at; // unit whose forward fails; -1: none
    int backwards;
    hki_stage_port_t ports[UNITS_MAX];
    float buffers[UNITS_MAX][4][COUNT_MAX];
    hk_status_t status;
    char error[256];
} stage_t;

static stage_t stages[STAGES_MAX];

static float digit(int stage)
{
    return (float)(1 << (4 * stage));
}

/** to = from + 16^stage; every element of `from` must be what unit and direction say. */
static hk_status_t pass(const stage_t *stage, float *to, const float *from, float expected,
                        int unit)
{
    for (size_t i = 0; i < stage->count; i++) {
        if (from[i] != expected) {
            return HKI_FAIL(HK_ERR_INTERNAL, "stage %d unit %d element %zu: got %g, want %g",
                            stage->rank, unit, i, (double)from[i], (double)expected);
        }
        to[i] = from[i] + digit(stage->rank);
    }
    return HK_OK;
}

static hk_status_t forward(void *cookie, int unit, int slot)
{
    stage_t *stage = cookie;
    const hki_stage_port_t *port = &stage->ports[slot];
    float expected = (float)unit / 16;

    if (unit == stage->fails_at) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED, "the test wants unit %d to fail", unit);
    }
    if (stage->rank == 0) {
        for (size_t i = 0; i < stage->count; i++) {
            port->in[i] = expected;
        }
    }
    for (int s = 0; s < stage->rank; s++) {
        expected += digit(s);
    }
    return pass(stage, port->out, port->in, expected, unit);
}

static hk_status_t backward(void *cookie, int unit, int slot)
{
    stage_t *stage = cookie;
    const hki_stage_port_t *port = &stage->ports[slot];
    float expected = (float)unit / 16;

    if (unit != stage->backwards++ % stage->schedule->nunits) {
        return HKI_FAIL(HK_ERR_INTERNAL, "backward of unit %d out of order", unit);
    }
    if (stage->rank == stage->schedule->nstages - 1) {
        for (size_t i = 0; i < stage->count; i++) {
            port->dout[i] = expected;
        }
    }
    for (int s = stage->schedule->nstages - 1; s > stage->rank; s--) {
        expected += digit(s);
    }
    return pass(stage, port->din, port->dout, expected, unit);
}

static hk_status_t failed(void *cookie, hk_status_t status)
{
    stage_t *stage = cookie;
    char cause[256];

    (void)snprintf(cause, sizeof(cause), "%s", hk_last_error());
    hk_comm_abort(stage->comm, cause);
    return hki_fail_again(status, cause);
}

static void *stage_run(void *cookie)
{
    stage_t *stage = cookie;
    uint64_t waited_ns = 0;
    hki_pipeline_t *pipeline = NULL;
    const hki_pipeline_opts_t opts = {
        .schedule = stage->schedule,
        .comm = stage->comm,
        .border_count = stage->count,
        .ports = stage->ports,
        .forward = forward,
        .backward = backward,
        .failed = failed,
        .cookie = stage,
        .waited_ns = &waited_ns,
    };

    stage->status = hki_pipeline_create(&opts, &pipeline);
    for (int run = 0; stage->status == HK_OK && run < RUNS; run++) {
        stage->status = hki_pipeline_run(pipeline, stage->is_forward_only);
    }
    (void)snprintf(stage->error, sizeof(stage->error), "%s", hk_last_error());
    hki_pipeline_destroy(&pipeline);
    hk_comm_close(&stage->comm);
    return NULL;
}

typedef struct run_opts {
    const char *name;
    int nstages, nunits;
    size_t count;
    bool is_forward_only;
    int fails_on_stage; // -1: none
} run_opts_t;

/** Run all stages; their statuses and errors are in `stages`. */
static void run(const run_opts_t *opts)
{
    hk_comm_opts_t comm_opts = hk_comm_opts_default();
    hk_comm_t *comms[STAGES_MAX];
    pthread_t threads[STAGES_MAX];
    hki_pipe_schedule_t *schedule = NULL;

    comm_opts.timeout_ms = TIMEOUT_MS;
    assert_ok(hki_pipe_schedule_create(opts->name, opts->nstages, opts->nunits, &schedule));
    assert_ok(hk_comm_open_threads(&comm_opts, opts->nstages, comms));
    for (int s = 0; s < opts->nstages; s++) {
        stage_t *stage = &stages[s];
        memset(stage, 0, sizeof(*stage));
        stage->comm = comms[s];
        stage->schedule = schedule;
        stage->rank = s;
        stage->count = opts->count;
        stage->is_forward_only = opts->is_forward_only;
        stage->fails_at = s == opts->fails_on_stage ? 1 : -1;
        for (int u = 0; u < UNITS_MAX; u++) {
            stage->ports[u] = (hki_stage_port_t){stage->buffers[u][0], stage->buffers[u][1],
                                                 stage->buffers[u][2], stage->buffers[u][3]};
        }
        assert_int_equal(pthread_create(&threads[s], NULL, stage_run, stage), 0);
    }
    for (int s = 0; s < opts->nstages; s++) {
        assert_int_equal(pthread_join(threads[s], NULL), 0);
    }
    hki_pipe_schedule_destroy(&schedule);
}

static void check(const run_opts_t *opts)
{
    run(opts);
    for (int s = 0; s < opts->nstages; s++) {
        const int backwards = opts->is_forward_only ? 0 : RUNS * opts->nunits;
        if (stages[s].status != HK_OK || stages[s].backwards != backwards) {
            fail_msg("%s, %d stages, %d units, %zu elements, stage %d: %s, %d backwards",
                     opts->name, opts->nstages, opts->nunits, opts->count, s, stages[s].error,
                     stages[s].backwards);
        }
    }
}

static void passes_every_unit_through_every_stage(void **state)
{
    static const char *const names[] = {"gpipe", "1f1b"};
    static const size_t counts[] = {1, 128, COUNT_MAX};
    (void)state;

    for (int n = 0; n < 2 * STAGES_MAX * UNITS_MAX * 3; n++) {
        const run_opts_t opts = {names[n % 2],
                                 n / 2 % STAGES_MAX + 1,
                                 n / 2 / STAGES_MAX % UNITS_MAX + 1,
                                 counts[n / 2 / STAGES_MAX / UNITS_MAX],
                                 false,
                                 -1};
        check(&opts);
    }
}

static void leaves_the_backwards_out_when_asked_to(void **state)
{
    (void)state;
    for (int nunits = 1; nunits <= UNITS_MAX; nunits++) {
        const run_opts_t opts = {"1f1b", 3, nunits, 128, true, -1};
        check(&opts);
    }
}

static void tells_the_other_stages_when_one_fails(void **state)
{
    const run_opts_t opts = {"1f1b", 3, 4, 128, false, /*fails_on_stage=*/1};
    (void)state;

    run(&opts);
    assert_int_equal(stages[1].status, HK_ERR_UNSUPPORTED);
    assert_non_null(strstr(stages[1].error, "the test wants unit 1 to fail"));
    for (int s = 0; s < 3; s += 2) { // long before the deadline, with the cause
        assert_int_equal(stages[s].status, HK_ERR_ABORTED);
        assert_non_null(strstr(stages[s].error, "the test wants unit 1 to fail"));
    }
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_comm_t *comm = NULL;
    hki_pipe_schedule_t *schedule = NULL;
    hki_pipeline_t *pipeline = NULL;
    uint64_t waited_ns = 0;
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    assert_ok(hki_pipe_schedule_create("1f1b", 1, 2, &schedule));
    assert_ok(hk_comm_open_threads(NULL, 1, &comm));
    const size_t live = hki_alloc_live();
    const hki_pipeline_opts_t opts = {
        .schedule = schedule, .comm = comm, .ports = stages[0].ports, .waited_ns = &waited_ns};
    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = hki_pipeline_create(&opts, &pipeline);
        assert_true(status == HK_OK || (status == HK_ERR_NO_MEMORY && pipeline == NULL));
        assert_true(status == HK_OK || hki_alloc_live() == live);
    }
    hki_alloc_fail_at(0);
    assert_int_equal(n, 4);
    hki_pipeline_destroy(&pipeline);
    assert_int_equal(hki_alloc_live(), live);
    hk_comm_close(&comm);
    hki_pipe_schedule_destroy(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_every_unit_through_every_stage),
        cmocka_unit_test(leaves_the_backwards_out_when_asked_to),
        cmocka_unit_test(tells_the_other_stages_when_one_fails),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("parallel/pipeline", tests, NULL, NULL);
}
