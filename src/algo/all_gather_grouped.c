/**
 * @file all_gather_grouped.c
 * @brief Each block goes to one rank of every group of near ranks, and from there to all of it.
 *
 * near_ranks n cuts the ranks into G groups of n, the last of which may be smaller. Rank r is
 * member i of group k; s_k is the size of group k.
 *
 *   1. for d = 1 .. G-1: send IN to member i mod s_j of group j = k+d (mod G)
 *   2. send IN to the other members of k; copy it to OUT[r]
 *   3. for d = 1 .. G-1: from the members i, i + s_k, .. of group j = k-d (mod G) receive their
 *      blocks of OUT
 *   4. from the other members of k receive their own blocks
 *   5. for d = 1 .. G-1, t = 0, 1, ..: send the block of member i + t s_k of group k-d, if there is
 *      one, to the other members of k; from each of these, h, receive that of member h + t s_k
 *
 * For P = 5, n = 3, so groups {0, 1, 2} and {3, 4}:
 *
 *        rank 0       rank 1       rank 2       rank 3       rank 4
 *   1  0 to 3       1 to 4       2 to 3       3 to 0       4 to 1
 *   2  0 to 1, 2    1 to 2, 0    2 to 0, 1    3 to 4       4 to 3
 *   5  3 to 1, 2    4 to 2, 0                 0, 2 to 4    1 to 3
 *
 * Cost per rank: P-1 messages of N elements in two hops. Of these only N(P-n) go into each group,
 * which is the lower bound, instead of nN(P-n) by direct. Best for all but the smallest N where
 * messages between groups cost more.
 * Reproducible: nothing is summed.
 * Source: hierarchical gathers are folklore; Traeff, Rougier and Hunold, IPDPS 2014,
 * doi:10.1109/IPDPS.2014.83, divide them among all ranks of a group likewise.
 */
#include "algo/build.h"

/** The groups, seen from one rank. */
typedef struct groups {
    int nranks;
    int near; /**< n */
    int count;
    int own;
    int member; /**< this rank in its own group */
} groups_t;

static groups_t groups_of(const hk_schedule_opts_t *opts)
{
    const int near = opts->near_ranks < opts->nranks ? opts->near_ranks : opts->nranks;

    return (groups_t){.nranks = opts->nranks,
                      .near = near,
                      .count = (opts->nranks - 1) / near + 1,
                      .own = opts->rank / near,
                      .member = opts->rank % near};
}

static int size_of(const groups_t *groups, int group)
{
    const int rest = groups->nranks - group * groups->near;

    return rest < groups->near ? rest : groups->near;
}

static int rank_of(const groups_t *groups, int group, int member)
{
    return group * groups->near + member;
}

static hk_span_t out_of(const hk_schedule_opts_t *opts, int rank)
{
    return hki_block(opts, HK_REGION_OUT, rank);
}

/** To the other members of this rank's group. */
static void give(hk_builder_t *builder, const groups_t *groups, hk_span_t src)
{
    const int size = size_of(groups, groups->own);

    for (int d = 1; d < size; d++) {
        const int member = (groups->member + d) % size;

        hk_builder_send(builder, rank_of(groups, groups->own, member), src);
    }
}

/** From the other members h of this rank's group, the blocks of members h + skip of `group`, if
 *  there are any. */
static void take(hk_builder_t *builder, const hk_schedule_opts_t *opts, const groups_t *groups,
                 int group, int skip)
{
    const int size = size_of(groups, groups->own);

    for (int d = 1; d < size; d++) {
        const int member = hki_mod(groups->member - d, size);

        if (member + skip < size_of(groups, group)) {
            hk_builder_recv(builder, rank_of(groups, groups->own, member),
                            out_of(opts, rank_of(groups, group, member + skip)));
        }
    }
}

/** Steps 1 and 2. */
static void give_own(hk_builder_t *builder, const hk_schedule_opts_t *opts, const groups_t *groups)
{
    const hk_span_t in = hki_block(opts, HK_REGION_IN, 0);

    for (int d = 1; d < groups->count; d++) {
        const int group = (groups->own + d) % groups->count;
        const int member = groups->member % size_of(groups, group);

        hk_builder_send(builder, rank_of(groups, group, member), in);
    }
    give(builder, groups, in);
    hk_builder_copy(builder, out_of(opts, opts->rank), in);
}

/** Step 3. */
static void take_far(hk_builder_t *builder, const hk_schedule_opts_t *opts, const groups_t *groups)
{
    const int stride = size_of(groups, groups->own);

    for (int d = 1; d < groups->count; d++) {
        const int group = hki_mod(groups->own - d, groups->count);

        for (int i = groups->member; i < size_of(groups, group); i += stride) {
            const int peer = rank_of(groups, group, i);

            hk_builder_recv(builder, peer, out_of(opts, peer));
        }
    }
}

hk_status_t hki_all_gather_grouped(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_gather_grouped", .is_out_split = true};
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    const groups_t groups = groups_of(opts);
    const int stride = size_of(&groups, groups.own);
    give_own(builder, opts, &groups);
    take_far(builder, opts, &groups);
    take(builder, opts, &groups, groups.own, 0);
    for (int d = 1; d < groups.count; d++) {
        const int group = hki_mod(groups.own - d, groups.count);

        for (int skip = 0; skip < size_of(&groups, group); skip += stride) {
            if (groups.member + skip < size_of(&groups, group)) {
                give(builder, &groups, out_of(opts, rank_of(&groups, group, groups.member + skip)));
            }
            take(builder, opts, &groups, group, skip);
        }
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_gather_grouped_cost(int nranks, double block_bytes)
{
    const double others = nranks - 1;

    return (hki_cost_t){others, others * block_bytes, 0, nranks > 2 ? 2 : 1};
}
