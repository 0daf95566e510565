/*
 * Communicators of the mix. Method: which group comes next is drawn alike on all ranks; what a rank
 * passes to the split is a function of its rank in the world.
 */
#include "mix.h"

#include <stdio.h>

enum { WAYS = 5 };

/** A random part of the parent's ranks, at least one, in random order. */
static hk_status_t make_group(hk_comm_t *parent, mix_random_t common, hk_comm_t **comm_out)
{
    const int nranks = hk_comm_size(parent);
    const int wanted = 1 + (int)mix_draw(&common, (uint64_t)nranks);
    int ranks[RANKS_RUN_MAX];
    bool is_member = false;

    for (int r = 0; r < nranks; r++) {
        ranks[r] = r;
    }
    for (int i = 0; i < wanted; i++) {
        const int other = i + (int)mix_draw(&common, (uint64_t)(nranks - i));
        const int swap = ranks[i];

        ranks[i] = ranks[other];
        ranks[other] = swap;
        is_member = is_member || ranks[i] == hk_comm_rank(parent);
    }
    return is_member ? hk_comm_group(parent, ranks, wanted, (int)mix_draw(&common, 100), comm_out)
                     : HK_OK;
}

bool mix_comms_renew(mix_comms_t *all, int k, mix_random_t common)
{
    hk_comm_t *world = all->comms[0];
    const int rank = hk_comm_rank(world);
    const int parent_at = mix_draw(&common, 2) == 0 ? 0 : (int)mix_draw(&common, MIX_COMMS);
    const uint64_t way = mix_draw(&common, WAYS);
    const uint64_t seed = mix_draw(&common, UINT64_MAX);
    hk_comm_t *parent = all->comms[parent_at == k ? 0 : parent_at];
    hk_comm_t *comm = NULL;
    hk_status_t status = HK_OK;

    hk_comm_close(&all->comms[k]);
    if (parent == NULL) {
        return true;
    }
    switch (way) {
    case 0: // halves
        status = hk_comm_split(parent, rank % 2, rank, &comm);
        break;
    case 1: // a duplicate
        status = hk_comm_split(parent, 0, 0, &comm);
        break;
    case 2: // one in reverse order
        status = hk_comm_split(parent, 0, -rank, &comm);
        break;
    case 3: // parts of any size and order, and ranks in none
        status = hk_comm_split(parent, (int)(ref_mix(seed + (uint64_t)rank) % 4) - 1,
                               (int)(ref_mix(seed * 3 + (uint64_t)rank) % 10), &comm);
        break;
    default:
        status = make_group(parent, common, &comm);
        break;
    }
    if (status != HK_OK) {
        fprintf(stderr, "rank %d of the world, way %d of making a communicator: %s\n", rank,
                (int)way, hk_last_error());
        return false;
    }
    all->comms[k] = comm;
    return true;
}

void mix_comms_close(mix_comms_t *all)
{
    for (int k = 1; k < MIX_COMMS; k++) {
        hk_comm_close(&all->comms[k]);
    }
}
