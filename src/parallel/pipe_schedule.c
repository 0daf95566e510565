/**
 * @file pipe_schedule.c
 * @brief Pipeline schedules: GPipe, 1F1B, the checker and the drawing.
 *
 * GPipe (Huang et al. 2019, arXiv:1811.06965): all forwards, then all backwards; a stage holds all
 * units' activations. 1F1B (PipeDream-flush, Narayanan et al. 2021, arXiv:2006.09503): stage s runs
 * nstages-1-s forwards, then alternates, so it holds at most nstages-s units. Same time, same
 * gradients; both are right for any number of units, also fewer than stages. Backwards run in unit
 * order in both, because gradients are summed in that order.
 *
 * The checker runs all stages against each other, one action a slot, as early as the data allows.
 */
#include "parallel/pipe_schedule.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/** One run of a schedule on paper. */
typedef struct run {
    const hki_pipe_schedule_t *schedule;
    int *done;    // (nstages, nunits, 2): slot in which the action ended, 1-based; 0: not yet
    int *next;    // (nstages,): index of the next action of each stage
    int slot;     // now, 1-based
    char *canvas; // NULL, or (nstages, line_bytes): the drawing
    size_t line_bytes;
} run_t;

enum { CELL = 5, MARGIN = 11 }; // characters of one slot; of "stage 12   "

static void gpipe_fill(hki_pipe_action_t *actions, int stage, int nstages, int nunits)
{
    (void)stage;
    (void)nstages;
    for (int u = 0; u < nunits; u++) {
        actions[u] = (hki_pipe_action_t){HKI_PIPE_FORWARD, u};
        actions[nunits + u] = (hki_pipe_action_t){HKI_PIPE_BACKWARD, u};
    }
}

static void one_f_one_b_fill(hki_pipe_action_t *actions, int stage, int nstages, int nunits)
{
    const int ahead = nstages - 1 - stage;
    const int warmup = ahead < nunits ? ahead : nunits;
    int n = 0;

    for (int u = 0; u < warmup; u++) {
        actions[n++] = (hki_pipe_action_t){HKI_PIPE_FORWARD, u};
    }
    for (int u = 0; u < nunits; u++) {
        if (warmup + u < nunits) {
            actions[n++] = (hki_pipe_action_t){HKI_PIPE_FORWARD, warmup + u};
        }
        actions[n++] = (hki_pipe_action_t){HKI_PIPE_BACKWARD, u};
    }
}

static const struct {
    const char *name;
    void (*fill)(hki_pipe_action_t *actions, int stage, int nstages, int nunits);
} builders[] = {
    {"gpipe", gpipe_fill},
    {"1f1b", one_f_one_b_fill},
};

hk_status_t hki_pipe_schedule_create(const char *name, int nstages, int nunits,
                                     hki_pipe_schedule_t **schedule_out)
{
    hki_pipe_schedule_t *schedule = NULL;
    size_t b = 0;

    while (b < sizeof(builders) / sizeof(builders[0]) && strcmp(builders[b].name, name) != 0) {
        b++;
    }
    if (b == sizeof(builders) / sizeof(builders[0])) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "pipeline schedule '%s' is not known; use gpipe or 1f1b", name);
    }
    if (nstages < 1 || nunits < 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "a pipeline of %d stages and %d units; both must be at least 1", nstages,
                        nunits);
    }
    schedule = hki_calloc(1, sizeof(*schedule));
    if (schedule != NULL) {
        schedule->name = builders[b].name;
        schedule->nstages = nstages;
        schedule->nunits = nunits;
        schedule->actions =
            hki_calloc((size_t)nstages * 2 * (size_t)nunits, sizeof(*schedule->actions));
    }
    if (schedule == NULL || schedule->actions == NULL) {
        hki_pipe_schedule_destroy(&schedule);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "pipeline schedule of %d stages and %d units", nstages,
                        nunits);
    }
    for (int s = 0; s < nstages; s++) {
        builders[b].fill(schedule->actions + (size_t)s * 2 * (size_t)nunits, s, nstages, nunits);
    }
    *schedule_out = schedule;
    return HK_OK;
}

void hki_pipe_schedule_destroy(hki_pipe_schedule_t **schedule)
{
    if (*schedule == NULL) {
        return;
    }
    hki_free((*schedule)->actions);
    hki_free(*schedule);
    *schedule = NULL;
}

hki_pipe_action_t hki_pipe_action(const hki_pipe_schedule_t *schedule, int stage, int index)
{
    return schedule->actions[(size_t)stage * 2 * (size_t)schedule->nunits + (size_t)index];
}

int hki_pipe_in_flight_max(const hki_pipe_schedule_t *schedule, int stage)
{
    int held = 0;
    int most = 0;

    for (int i = 0; i < 2 * schedule->nunits; i++) {
        held += hki_pipe_action(schedule, stage, i).kind == HKI_PIPE_FORWARD ? 1 : -1;
        most = held > most ? held : most;
    }
    return most;
}

/** Where the end of an action is noted. */
static int *done_at(const run_t *run, int stage, int unit, hki_pipe_kind_t kind)
{
    const size_t row = (size_t)stage * (size_t)run->schedule->nunits + (size_t)unit;

    return &run->done[2 * row + (size_t)kind];
}

/** True if the action had ended before this slot began. */
static bool is_over(const run_t *run, int stage, int unit, hki_pipe_kind_t kind)
{
    const int end = *done_at(run, stage, unit, kind);

    return end != 0 && end < run->slot;
}

static bool is_ready(const run_t *run, int stage, hki_pipe_action_t action)
{
    if (action.kind == HKI_PIPE_FORWARD) {
        return stage == 0 || is_over(run, stage - 1, action.unit, HKI_PIPE_FORWARD);
    }
    return is_over(run, stage, action.unit, HKI_PIPE_FORWARD) &&
           (stage == run->schedule->nstages - 1 ||
            is_over(run, stage + 1, action.unit, HKI_PIPE_BACKWARD));
}

/** Every unit forward and backward exactly once, and in order. */
static hk_status_t lists_check(const hki_pipe_schedule_t *schedule)
{
    for (int s = 0; s < schedule->nstages; s++) {
        int due[2] = {0, 0}; // unit of the next forward, of the next backward
        for (int i = 0; i < 2 * schedule->nunits; i++) {
            const hki_pipe_action_t action = hki_pipe_action(schedule, s, i);
            const bool is_forward = action.kind == HKI_PIPE_FORWARD;
            if (due[action.kind] == schedule->nunits || action.unit != due[action.kind]) {
                return HKI_FAIL(HK_ERR_INVALID_ARG,
                                "stage %d action %d is %s of unit %d where unit %d of %d is due; "
                                "each unit runs once, in order",
                                s, i, is_forward ? "forward" : "backward", action.unit,
                                due[action.kind], schedule->nunits);
            }
            due[action.kind]++;
        }
    }
    return HK_OK;
}

/** Write one cell of the drawing; `action` NULL for an idle slot. */
static void cell_draw(const run_t *run, int stage, const hki_pipe_action_t *action)
{
    char cell[16] = ".";

    if (run->canvas == NULL) {
        return;
    }
    if (action != NULL) {
        (void)snprintf(cell, sizeof(cell), "%c%d", action->kind == HKI_PIPE_FORWARD ? 'F' : 'B',
                       action->unit);
    }
    char *at =
        run->canvas + (size_t)stage * run->line_bytes + MARGIN + (size_t)(run->slot - 1) * CELL;
    for (int i = 0; i < CELL && cell[i] != '\0'; i++) {
        at[i] = cell[i]; // between spaces: no zero byte
    }
}

/** Let every stage whose next action is ready take it. @return stages that did */
static int slot_run(run_t *run)
{
    const hki_pipe_schedule_t *schedule = run->schedule;
    int moved = 0;

    for (int s = 0; s < schedule->nstages; s++) {
        if (run->next[s] == 2 * schedule->nunits) {
            continue;
        }
        const hki_pipe_action_t action = hki_pipe_action(schedule, s, run->next[s]);
        if (!is_ready(run, s, action)) {
            cell_draw(run, s, NULL);
            continue;
        }
        *done_at(run, s, action.unit, action.kind) = run->slot;
        cell_draw(run, s, &action);
        run->next[s]++;
        moved++;
    }
    return moved;
}

/** The first stage that is not at its end waits for ever: say for what. */
static hk_status_t deadlock_report(const run_t *run)
{
    const hki_pipe_schedule_t *schedule = run->schedule;
    int s = 0;

    while (run->next[s] == 2 * schedule->nunits) {
        s++;
    }
    const hki_pipe_action_t action = hki_pipe_action(schedule, s, run->next[s]);
    const bool is_forward = action.kind == HKI_PIPE_FORWARD;
    const bool is_own = !is_forward && !is_over(run, s, action.unit, HKI_PIPE_FORWARD);
    return HKI_FAIL(
        HK_ERR_INVALID_ARG,
        "deadlock: stage %d action %d, %s of unit %d, waits for ever for %s of stage %d", s,
        run->next[s], is_forward ? "forward" : "backward", action.unit,
        is_forward || is_own ? "forward" : "backward", is_forward ? s - 1 : (is_own ? s : s + 1));
}

/** Run all stages to the end. @param[out] slots_out set on success only */
static hk_status_t play(run_t *run, int *slots_out)
{
    const hki_pipe_schedule_t *schedule = run->schedule;
    int left = schedule->nstages * 2 * schedule->nunits;

    for (run->slot = 1; left > 0; run->slot++) {
        const int moved = slot_run(run);
        if (moved == 0) {
            return deadlock_report(run);
        }
        left -= moved;
    }
    *slots_out = run->slot - 1;
    return HK_OK;
}

static hk_status_t run_open(run_t *run, const hki_pipe_schedule_t *schedule)
{
    *run = (run_t){.schedule = schedule};
    run->done =
        hki_calloc(2 * (size_t)schedule->nstages * (size_t)schedule->nunits, sizeof(*run->done));
    run->next = hki_calloc((size_t)schedule->nstages, sizeof(*run->next));
    if (run->done == NULL || run->next == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "check of a pipeline of %d stages and %d units",
                        schedule->nstages, schedule->nunits);
    }
    return HK_OK;
}

static void run_close(run_t *run)
{
    hki_free(run->done);
    hki_free(run->next);
}

hk_status_t hki_pipe_schedule_check(const hki_pipe_schedule_t *schedule,
                                    hki_pipe_facts_t *facts_out)
{
    run_t run;
    int slots = 0;
    hk_status_t status;

    HKI_TRY(status = run_open(&run, schedule), done);
    HKI_TRY(status = lists_check(schedule), done);
    HKI_TRY(status = play(&run, &slots), done);
    if (facts_out != NULL) {
        hki_pipe_facts_t facts = {.slots = slots};
        for (int s = 0; s < schedule->nstages; s++) {
            const int held = hki_pipe_in_flight_max(schedule, s);
            facts.in_flight_max = held > facts.in_flight_max ? held : facts.in_flight_max;
        }
        facts.bubble = 1.0 - 2.0 * schedule->nunits / slots;
        *facts_out = facts;
    }
done:
    run_close(&run);
    return status;
}

hk_status_t hki_pipe_schedule_draw(const hki_pipe_schedule_t *schedule, char **text_out)
{
    hki_pipe_facts_t facts;
    char *text = NULL;
    int slots;
    run_t run = {0};
    hk_status_t status;

    HKI_TRY(status = hki_pipe_schedule_check(schedule, &facts), done);
    HKI_TRY(status = run_open(&run, schedule), done);
    run.line_bytes = MARGIN + (size_t)facts.slots * CELL + 1;
    text = hki_calloc((size_t)schedule->nstages * run.line_bytes + 1, 1);
    if (text == NULL) {
        status = HKI_FAIL(HK_ERR_NO_MEMORY, "drawing of %d stages", schedule->nstages);
        goto done;
    }
    run.canvas = text;
    memset(text, ' ', (size_t)schedule->nstages * run.line_bytes);
    for (int s = 0; s < schedule->nstages; s++) {
        char label[MARGIN + 1];
        const int n = snprintf(label, sizeof(label), "stage %d", s);
        memcpy(text + (size_t)s * run.line_bytes, label, (size_t)(n < MARGIN ? n : MARGIN));
        text[(size_t)(s + 1) * run.line_bytes - 1] = '\n';
    }
    HKI_TRY(status = play(&run, &slots), done);
    *text_out = text;
    text = NULL; // transferred
done:
    hki_free(text);
    run_close(&run);
    return status;
}
