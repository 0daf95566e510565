/*
 * Operations, runs and lanes. Method: runs are numbered through over all operations in the order of
 * posting; a lane does runs lane, lane + lane_count, ... one after the other, so all ranks agree on
 * the order of messages in every stream without talking. A lane points at the operation its next
 * run belongs to, or at none if that has not been started.
 */
#include "exec/exec.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/brief.h"
#include "exec/history.h"
#include "exec/run.h"

struct hki_engine {
    hki_endpoint_t *ep;
    hki_engine_opts_t opts;
    hki_op_t *head;      /**< oldest operation not done */
    hki_op_t *tail;      /**< newest */
    hki_op_t *unstarted; /**< first that is queued only, or NULL */
    hki_history_t history;
    uint64_t next_run;  /**< number of the first run of the next operation */
    int agreeing;       /**< operations whose data is done and that still compare announcements */
    hk_status_t status; /**< HK_OK, or what it was cancelled with */
    hki_lane_t *lanes;  /**< (lane_count,) owned */
    char *bounce;       /**< (HKI_BOUNCE_BYTES,) owned; NULL: not needed so far */
};

void hki_engine_destroy(hki_engine_t **engine)
{
    hki_engine_t *e = *engine;

    if (e == NULL) {
        return;
    }
    for (int i = 0; e->lanes != NULL && i < e->opts.lane_count; i++) {
        hki_lane_t *lane = &e->lanes[i];

        if (lane->tmp != NULL) {
            e->ep->ops->mem_free(e->ep, lane->tmp);
        }
        if (lane->acc != NULL) {
            e->ep->ops->mem_free(e->ep, lane->acc);
        }
        hki_free(lane->pending);
        hki_free(lane->sources);
        hki_free(lane->pieces);
        hki_free(lane->shifts);
        hki_free(lane->inbox);
        hki_free(lane->few);
    }
    hki_free(e->bounce);
    hki_free(e->lanes);
    hki_free(e);
    *engine = NULL;
}

hk_status_t hki_engine_create(hki_endpoint_t *ep, const hki_engine_opts_t *opts,
                              hki_engine_t **engine_out)
{
    hki_engine_t *engine = hki_calloc(1, sizeof(*engine));

    if (engine == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "executor, %zu bytes", sizeof(*engine));
    }
    engine->ep = ep;
    engine->opts = *opts;
    engine->lanes = hki_calloc((size_t)opts->lane_count, sizeof(*engine->lanes));
    if (engine->lanes == NULL) {
        hki_engine_destroy(&engine);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "executor, %d lanes", opts->lane_count);
    }
    for (int i = 0; i < opts->lane_count; i++) {
        engine->lanes[i].run = (uint64_t)i;
        engine->lanes[i].home = opts->lane_first + i;
    }
    *engine_out = engine;
    return HK_OK;
}

/** A larger array with the old contents; the old one is freed. NULL: no memory, nothing changed. */
static void *grown(void *old, size_t old_count, size_t count, size_t bytes)
{
    void *array = hki_calloc(count, bytes);

    if (array != NULL && old_count != 0) {
        memcpy(array, old, old_count * bytes);
    }
    if (array != NULL) {
        hki_free(old);
    }
    return array;
}

/** Room for the messages that a brief run moves at once; nothing in it is kept. */
static hk_status_t few_grow(hki_engine_t *engine, hki_lane_t *lane, uint32_t count)
{
    if (count > lane->few_max) {
        hki_few_t *few = hki_calloc(count, sizeof(*few));

        if (few == NULL) {
            return HKI_FAIL(HK_ERR_NO_MEMORY, "executor of rank %d, %u messages", engine->ep->rank,
                            (unsigned)count);
        }
        hki_free(lane->few);
        lane->few = few;
        lane->few_max = count;
    }
    return HK_OK;
}

/** Room for this many steps and operands in a lane, whose run may be under way. */
static hk_status_t lane_grow(hki_engine_t *engine, hki_lane_t *lane, uint32_t steps,
                             uint32_t operands)
{
    if (steps > lane->step_max) {
        hki_pending_t *pending =
            grown(lane->pending, lane->step_max, steps, sizeof(*lane->pending));

        if (pending == NULL) {
            return HKI_FAIL(HK_ERR_NO_MEMORY, "executor of rank %d, %u steps", engine->ep->rank,
                            (unsigned)steps);
        }
        lane->pending = pending;
        lane->step_max = steps;
    }
    if (operands > lane->operand_max) {
        hki_source_t *sources =
            grown(lane->sources, lane->operand_max, operands, sizeof(*lane->sources));
        hki_source_t *pieces = hki_calloc(operands, sizeof(*pieces));
        uint8_t *shifts = grown(lane->shifts, lane->operand_max, operands, sizeof(*shifts));
        void *inbox = grown(lane->inbox, lane->operand_max, operands, sizeof(*lane->inbox));

        lane->inbox = inbox != NULL ? inbox : lane->inbox;
        lane->sources = sources != NULL ? sources : lane->sources;
        lane->shifts = shifts != NULL ? shifts : lane->shifts;
        if (sources == NULL || pieces == NULL || shifts == NULL || inbox == NULL) {
            hki_free(pieces);
            return HKI_FAIL(HK_ERR_NO_MEMORY, "executor of rank %d, %u operands", engine->ep->rank,
                            (unsigned)operands);
        }
        hki_free(lane->pieces);
        lane->pieces = pieces;
        lane->operand_max = operands;
    }
    return few_grow(engine, lane, steps > operands ? steps : operands);
}

/** Scratch of one kind, all of it at the first use: it cannot move while a run is under way. */
static hk_status_t scratch_get(hki_engine_t *engine, size_t bytes, char **scratch)
{
    void *memory = NULL;

    if (bytes > engine->opts.scratch_bytes) {
        return HKI_FAIL(HK_ERR_LIMIT, "a schedule needs %zu bytes of scratch, a lane has %zu",
                        bytes, engine->opts.scratch_bytes);
    }
    if (bytes == 0 || *scratch != NULL) {
        return HK_OK;
    }
    const hk_status_t status =
        engine->ep->ops->mem_alloc(engine->ep, engine->opts.scratch_bytes, &memory);
    if (status == HK_OK) {
        *scratch = memory;
    }
    return status;
}

hk_status_t hki_engine_reserve(hki_engine_t *engine, const hk_schedule_t *schedule,
                               size_t elem_bytes, size_t acc_bytes)
{
    uint32_t operands = 0;
    hk_status_t status = HK_OK;

    for (uint32_t i = 0; i < schedule->step_count; i++) {
        if (schedule->steps[i].operand_count > operands) {
            operands = schedule->steps[i].operand_count;
        }
    }
    if (engine->ep->ops->fetch != NULL && engine->bounce == NULL) {
        engine->bounce = hki_calloc_aligned(HKI_BOUNCE_BYTES, 1, HKI_BOUNCE_ALIGNMENT);
        if (engine->bounce == NULL) {
            return HKI_FAIL(HK_ERR_NO_MEMORY, "executor of rank %d, %d bytes", engine->ep->rank,
                            HKI_BOUNCE_BYTES);
        }
    }
    for (int i = 0; i < engine->opts.lane_count; i++) {
        hki_lane_t *lane = &engine->lanes[i];

        lane->bounce = engine->bounce;
        HKI_TRY(status = lane_grow(engine, lane, schedule->step_count, operands), fail);
        HKI_TRY(status = scratch_get(engine, schedule->opts.tmp_count * elem_bytes, &lane->tmp),
                fail);
        HKI_TRY(status = scratch_get(engine, schedule->opts.acc_count * acc_bytes, &lane->acc),
                fail);
    }
fail:
    return status;
}

/** Let the lane stand before its run `lane->run`, which is one of this operation's. */
static void lane_stand(const hki_engine_t *engine, hki_lane_t *lane, hki_op_t *op)
{
    const size_t tile = (size_t)(lane->run - op->first_run);
    lane->op = op;
    lane->first = tile * op->tile_count;
    lane->schedule = tile + 1 == op->ntiles ? op->last_schedule : op->schedule;
    lane->pc = 0;
    lane->is_begun = op->brief != NULL; // which stages nothing
    lane->stream =
        op->brief != NULL && op->brief->is_cast ? lane->home + engine->ep->nlanes : lane->home;
    lane->operands_here = 0;
    lane->operands_remote = 0;
    lane->sent = NULL;
    lane->pending_first = 0;
    lane->pending_count = 0;
}

/** Let the lane stand before its run `lane->run`, if an operation from `op` on has it. */
static void lane_attach(hki_engine_t *engine, hki_lane_t *lane, hki_op_t *op)
{
    while (op != engine->unstarted && lane->run >= op->first_run + op->ntiles) {
        op = op->next;
    }
    if (op == engine->unstarted) {
        lane->op = NULL;
        return;
    }
    lane_stand(engine, lane, op);
}

void hki_engine_cancel(hki_engine_t *engine, hk_status_t status)
{
    if (engine->status == HK_OK) {
        engine->status = status;
    }
    for (int i = 0; i < engine->opts.lane_count; i++) {
        engine->lanes[i].op = NULL;
    }
    while (engine->head != NULL) {
        hki_op_t *op = engine->head;

        engine->head = op->next;
        op->status = engine->status;
        op->is_done = true;
    }
    engine->tail = NULL;
    engine->unstarted = NULL;
    engine->agreeing = 0;
}

/** Which lane a run is on; without a division where it can be. */
static uint64_t lane_of(const hki_engine_t *engine, uint64_t run)
{
    const uint64_t lane_count = (uint64_t)engine->opts.lane_count;

    return (lane_count & (lane_count - 1)) == 0 ? run & (lane_count - 1) : run % lane_count;
}

/** All ranks may know now that this operation has begun here. */
static void start(hki_engine_t *engine, hki_op_t *op)
{
    op->first_run = engine->next_run;
    engine->next_run += op->ntiles;
    hki_history_add(&engine->history, op);
    engine->ep->ops->announce(engine->ep, &op->announcement, hki_history_is_awaited(op));
}

/** Start queued operations as far as the limits allow. @return true if any were, or all ended */
static bool start_queued(hki_engine_t *engine)
{
    const uint64_t lane_count = (uint64_t)engine->opts.lane_count;
    bool moved = false;

    while (engine->unstarted != NULL &&
           engine->unstarted->op_number - engine->head->op_number < HKI_STARTED_MAX) {
        hki_op_t *op = engine->unstarted;
        const hk_status_t status =
            hki_history_make_room(&engine->history, engine->ep, op->op_number);

        if (status != HK_OK) {
            if (status != HK_IN_PROGRESS) {
                hki_engine_cancel(engine, status);
            }
            return moved || status != HK_IN_PROGRESS;
        }
        moved = true;
        engine->unstarted = op->next;
        start(engine, op);
        for (uint64_t k = 0; k < op->ntiles && k < lane_count; k++) {
            hki_lane_t *lane = &engine->lanes[lane_of(engine, op->first_run + k)];

            if (lane->op == NULL) {
                lane_attach(engine, lane, op);
            }
        }
    }
    return moved;
}

/** Take a done operation out of the queue. */
static void op_end(hki_engine_t *engine, hki_op_t *op)
{
    hki_op_t *before = NULL;

    for (hki_op_t *o = engine->head; o != op; o = o->next) {
        before = o;
    }
    if (before == NULL) {
        engine->head = op->next;
    } else {
        before->next = op->next;
    }
    if (engine->tail == op) {
        engine->tail = before;
    }
    op->status = HK_OK;
    op->is_done = true;
    if (engine->unstarted != NULL) {
        (void)start_queued(engine);
    }
}

/**
 * End an operation whose part is done here; well, unless the group has failed: a rank that gave up
 * may use its buffers again, and what was read from them last may be anything.
 */
static void op_complete(hki_engine_t *engine, hki_op_t *op)
{
    hki_failure_t failure;

    if (!engine->ep->ops->is_failed(engine->ep)) {
        if (op->hears_all) {
            hki_history_agree(&engine->history, op->op_number);
        }
        op_end(engine, op);
        return;
    }
    engine->ep->ops->failure(engine->ep, &failure);
    hki_engine_cancel(engine, failure.status);
}

/** All operations whose data is done and that wait for announcements. @return true if any ended */
static bool agree_all(hki_engine_t *engine)
{
    bool moved = false;
    hki_op_t *next = NULL;

    for (hki_op_t *op = engine->head; op != engine->unstarted && op != NULL; op = next) {
        next = op->next;
        if (op->tiles_done < op->ntiles) {
            continue;
        }
        const hk_status_t status =
            hki_history_compare(&engine->history, engine->ep, op->op_number, &op->agreed);
        if (status == HK_OK) {
            engine->agreeing--;
            op_complete(engine, op);
            if (engine->status != HK_OK) {
                return true;
            }
            moved = true;
        } else if (status != HK_IN_PROGRESS) {
            hki_engine_cancel(engine, status);
            return true;
        }
    }
    return moved;
}

/** All data of an operation has been moved here. */
static inline void op_moved(hki_engine_t *engine, hki_op_t *op)
{
    if (op->needs_agreement) {
        engine->agreeing++;
    } else {
        op_complete(engine, op);
    }
}

/** A lane's run is complete: step to its next one, and see whether the operation is. */
static void run_end(hki_engine_t *engine, hki_lane_t *lane)
{
    hki_op_t *op = lane->op;

    lane->run += (uint64_t)engine->opts.lane_count;
    lane_attach(engine, lane, op);
    op->tiles_done++;
    if (op->tiles_done == op->ntiles) {
        op_moved(engine, op);
    }
}

static inline hk_status_t run(hki_endpoint_t *ep, hki_lane_t *lane, bool *moved)
{
    return lane->op->brief != NULL ? hki_brief_run(ep, lane, moved)
                                   : hki_run_steps(ep, lane, moved);
}

/** Run a lane as far as it goes. @return true if anything moved */
static bool lane_progress(hki_engine_t *engine, hki_lane_t *lane)
{
    bool moved = false;

    while (lane->op != NULL) {
        const hk_status_t status = run(engine->ep, lane, &moved);

        if (status == HK_IN_PROGRESS) {
            break;
        }
        moved = true;
        if (status != HK_OK) {
            hki_engine_cancel(engine, status);
            break;
        }
        run_end(engine, lane);
    }
    return moved;
}

bool hki_engine_progress(hki_engine_t *engine)
{
    bool moved = engine->unstarted != NULL && start_queued(engine);

    for (int i = 0; i < engine->opts.lane_count; i++) {
        moved |= lane_progress(engine, &engine->lanes[i]);
    }
    if (engine->agreeing != 0 && agree_all(engine)) {
        moved = true;
    }
    return moved;
}

/** The only operation, of one run: most are. @return false: it must queue */
static bool start_alone(hki_engine_t *engine, hki_op_t *op)
{
    bool moved = false;

    if (op->ntiles != 1 ||
        hki_history_make_room(&engine->history, engine->ep, op->op_number) != HK_OK) {
        return false; // a difference that was found is found again in the queue
    }
    hki_lane_t *lane = &engine->lanes[lane_of(engine, engine->next_run)];
    engine->head = op;
    engine->tail = op;
    start(engine, op);
    lane_stand(engine, lane, op);
    const hk_status_t status = run(engine->ep, lane, &moved);
    if (status == HK_OK) {
        lane->run += (uint64_t)engine->opts.lane_count;
        lane->op = NULL; // there is no other
        op->tiles_done = 1;
        op_moved(engine, op);
        if (engine->agreeing != 0) {
            (void)agree_all(engine);
        }
    } else if (status != HK_IN_PROGRESS) {
        hki_engine_cancel(engine, status);
    }
    return true;
}

void hki_engine_post(hki_engine_t *engine, hki_op_t *op)
{
    op->next = NULL;
    op->tiles_done = 0;
    op->agreed = 0;
    op->is_done = false;
    op->status = HK_IN_PROGRESS;
    if (engine->status != HK_OK) {
        op->status = engine->status;
        op->is_done = true;
        return;
    }
    if (engine->tail == NULL) {
        if (start_alone(engine, op)) {
            return;
        }
        engine->head = op;
    } else {
        engine->tail->next = op;
    }
    engine->tail = op;
    if (engine->unstarted == NULL) {
        engine->unstarted = op;
    }
    (void)hki_engine_progress(engine);
}

const hki_op_t *hki_engine_oldest(const hki_engine_t *engine)
{
    return engine->head;
}

const hki_op_t *hki_engine_overdue(const hki_engine_t *engine, uint64_t now_ns)
{
    for (const hki_op_t *op = engine->head; op != NULL; op = op->next) {
        if (op->deadline_ns <= now_ns) {
            return op;
        }
    }
    return NULL;
}

int hki_engine_waits_for(const hki_engine_t *engine)
{
    const hki_op_t *op = engine->head;
    const hki_lane_t *oldest = NULL;

    if (op == NULL) {
        return -1;
    }
    if (op == engine->unstarted) {
        return engine->history.target_ranks < engine->ep->nranks ? engine->history.target_ranks
                                                                 : -1;
    }
    if (op->tiles_done == op->ntiles) {
        return op->agreed < engine->ep->nranks ? op->agreed : -1;
    }
    for (int i = 0; i < engine->opts.lane_count; i++) {
        const hki_lane_t *lane = &engine->lanes[i];

        if (lane->op == op && (oldest == NULL || lane->run < oldest->run)) {
            oldest = lane;
        }
    }
    return oldest == NULL ? -1 : hki_run_waits_for(engine->ep, oldest);
}

bool hki_engine_is_comparing(const hki_engine_t *engine)
{
    return engine->agreeing != 0;
}

int hki_engine_awaits(const hki_engine_t *engine, int *lane_out)
{
    const hki_op_t *op = engine->head;

    if (op == NULL || op->next != NULL || op->ntiles != 1 || op->tiles_done != 0) {
        return -1;
    }
    const hki_lane_t *lane = &engine->lanes[lane_of(engine, op->first_run)];
    *lane_out = lane->stream;
    return lane->op == op ? hki_run_awaits(lane) : -1;
}

void hki_engine_watch(hki_engine_t *engine)
{
    const hki_op_t *op = engine->head;
    const bool is_started = op != NULL && op != engine->unstarted;
    const hk_status_t status =
        hki_history_look(&engine->history, engine->ep, is_started ? op : NULL);

    if (status == HK_ERR_MISMATCH) {
        hki_engine_cancel(engine, status);
    }
}
