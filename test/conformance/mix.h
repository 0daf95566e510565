/**
 * @file mix.h
 * @brief Parts of the random mix: its communicators, its sends and receives.
 */
#ifndef HK_CONFORMANCE_MIX_H
#define HK_CONFORMANCE_MIX_H

#include "grid.h"

enum { MIX_COMMS = 6 };

/** A stream of random numbers. Ranks that begin it with the same seed draw the same. */
typedef struct mix_random {
    uint64_t state;
} mix_random_t;

/** The next number, 0 <= .. < bound. */
static inline uint64_t mix_draw(mix_random_t *random, uint64_t bound)
{
    random->state++;
    return ref_mix(random->state) % bound;
}

/** A stream of its own, from one draw of another. */
static inline mix_random_t mix_branch(mix_random_t *random)
{
    return (mix_random_t){.state = mix_draw(random, UINT64_MAX)};
}

/** Elements of something: a few mostly, some thousands often, some millions seldom. */
size_t mix_draw_count(mix_random_t *random);

/** comms[0] is the world and stays; the others come and go. NULL: this rank is not in it. */
typedef struct mix_comms {
    hk_comm_t *comms[MIX_COMMS];
} mix_comms_t;

/** Close communicator `k`, if this rank is in it, and make another: a part, a duplicate or a group
 *  of the world or of one of the others. `common` is equal on all ranks. @return false: it failed,
 *  and was said */
bool mix_comms_renew(mix_comms_t *all, int k, mix_random_t common);

/** Close all but the world. */
void mix_comms_close(mix_comms_t *all);

/**
 * Some sends and receives between random ranks of `comm`.
 *
 * @param common  equal on all ranks of comm: who sends what to whom
 * @param own     of this rank: in which order it starts them, in which memory
 * @param pool    shared memory of this rank
 * @return false: something is wrong, and was said
 */
bool mix_transfers(hk_comm_t *comm, mix_random_t common, mix_random_t *own, area_pool_t *pool);

#endif /* HK_CONFORMANCE_MIX_H */
