/**
 * @file brief.h
 * @brief A schedule for one call of few bytes: with every place worked out, and all messages inside
 *        their cache lines.
 *
 * Such a run stages nothing and lends nothing, so it needs no turn of the staging memory and no
 * fences; what is left is to move words, those of sends in a row at once. Steps are those of the
 * schedule, one for one.
 */
#ifndef HKI_EXEC_BRIEF_H
#define HKI_EXEC_BRIEF_H

#include "exec/run.h"

/** A place: bytes from the start of a region. */
typedef struct hki_place {
    uint32_t region; /**< hk_region_t */
    uint32_t bytes;
    size_t offset;
} hki_place_t;

typedef struct hki_brief_operand {
    int peer; /**< -1: at `place`; else the next message from it, of place.bytes */
    bool is_partial;
    hki_place_t place;
} hki_brief_operand_t;

typedef struct hki_brief_step {
    hki_step_kind_t kind;
    int peer;     /**< SEND, RECV */
    uint32_t row; /**< SEND, RECV: how many of the kind follow one another, with this one; of a cast
                       those that are one message */
    bool is_partial;   /**< REDUCE: dst holds partial sums */
    hki_place_t place; /**< SEND: source; else destination */
    hki_place_t from;  /**< COPY: source */
    uint32_t operand_first;
    uint32_t operand_count;
    size_t length; /**< REDUCE: elements of dst */
} hki_brief_step_t;

struct hki_brief {
    bool is_cast; /**< rows of sends are one message to all, and what arrives are such messages */
    uint32_t step_count;
    hki_brief_step_t *steps;       /**< owned */
    hki_brief_operand_t *operands; /**< owned */
};

/** The same as hki_run_steps(), of a lane whose operation has a brief schedule. */
hk_status_t hki_brief_run(hki_endpoint_t *ep, hki_lane_t *lane, bool *moved);

#endif /* HKI_EXEC_BRIEF_H */
