/**
 * @file all_reduce_doubling.c
 * @brief Recursive doubling all-reduce for every P, in canonical order.
 *
 * P is a sum of powers of two, the largest first; cut the ranks into groups of these sizes. The
 * canonical tree of all ranks is T_0 o (T_1 o (T_2 o ...)), T_i the tree of group i. Let j be this
 * rank's number in its group of n ranks, S_i = T_i o S_i+1, and S = T in the last group.
 *
 *   1. for d = 1, 2, .. n/2: exchange sums with j^d, keep (lower j's) o (higher j's): gives T_i
 *   2. unless the last group: take S_i+1 from member j of group i+1, or, where that is smaller,
 *      from j minus its highest bit in this group; pass it on to j+d for larger powers d;
 *      S_i = T_i o S_i+1
 *   3. groups but the first: give S_i to member j of group i-1, take the result from the first
 *      group
 *
 * Sums alternate between two slots of ACC, so that a round overwrites what its last but one round
 * sent. For P = 5, groups {0, 1, 2, 3} and {4}:
 *
 *        rank 0        rank 1        rank 2        rank 3        rank 4
 *   1.1  with 1        with 0        with 3        with 2        T_1 = x4
 *   1.2  with 2        with 3        with 0        with 1
 *   2    S_1 from 4    S_1 from 0    S_1 from 0    S_1 from 1
 *   3    OUT to 4                                                OUT from 0
 *
 * Cost per rank: log2 P messages of N elements, N log2 P reduced, where P is a power of two; else
 * up to 2 log2 P + 2 messages. Best for small N.
 * Reproducible: the canonical tree.
 * Source: Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521; the
 * groups for other P are ours.
 */
#include "algo/build.h"

enum { SLOT_SUFFIX = 2, SLOT_SUM = 3, SLOTS = 4 };

/** The group a rank is in. */
typedef struct group {
    int first;      /* its first rank */
    int size;       /* ranks, a power of two */
    int prev_first; /* first rank of the group before, -1 if there is none */
    int next_size;  /* ranks of the group after, 0 if there is none */
} group_t;

static group_t group_of(int rank, int nranks)
{
    group_t group = {.first = 0, .size = hki_power_floor(nranks), .prev_first = -1};

    while (rank >= group.first + group.size) {
        group.prev_first = group.first;
        group.first += group.size;
        group.size = hki_power_floor(nranks - group.first);
    }
    const int left = nranks - group.first - group.size;

    group.next_size = left == 0 ? 0 : hki_power_floor(left);
    return group;
}

/** Step 1. @return where the sum of the group lies */
static hk_span_t sum_group(hk_builder_t *builder, const hk_schedule_opts_t *opts,
                           const group_t *group)
{
    const bool is_alone = group->size == opts->nranks;
    hk_span_t sum = hki_block(opts, HK_REGION_IN, 0);

    if (group->size == 1) {
        const hk_span_t dst =
            is_alone ? hki_block(opts, HK_REGION_OUT, 0) : hki_slots(opts, HK_REGION_ACC, 0, 1);
        hki_reduce_one(builder, dst, sum);
        return dst;
    }
    for (int d = 1, slot = 0; d < group->size; d *= 2, slot = 1 - slot) {
        const int peer = group->first + ((opts->rank - group->first) ^ d);
        const bool is_result = is_alone && 2 * d == group->size;
        const hk_span_t dst =
            is_result ? hki_block(opts, HK_REGION_OUT, 0) : hki_slots(opts, HK_REGION_ACC, slot, 1);
        const hk_operand_t own = hki_own(sum);
        const hk_operand_t other = hki_from(peer, d > 1);

        // in place, two ranks would each wait for the other to read before it writes
        hki_send(builder, peer, sum, opts->alias != HK_ALIAS_NONE && opts->nranks == 2);
        hki_reduce_pair(builder, dst, peer < opts->rank ? other : own,
                        peer < opts->rank ? own : other);
        sum = dst;
    }
    return sum;
}

/** Step 2. @return where S_i lies */
static hk_span_t add_suffix(hk_builder_t *builder, const hk_schedule_opts_t *opts,
                            const group_t *group, hk_span_t sum)
{
    const int j = opts->rank - group->first;
    const int from =
        j < group->next_size ? opts->rank + group->size : opts->rank - hki_power_floor(j);
    const hk_span_t suffix = hki_slots(opts, HK_REGION_ACC, SLOT_SUFFIX, 1);
    const hk_span_t dst = group->first == 0 ? hki_block(opts, HK_REGION_OUT, 0)
                                            : hki_slots(opts, HK_REGION_ACC, SLOT_SUM, 1);

    hk_builder_recv(builder, from, suffix);
    for (int d = group->next_size; d < group->size; d *= 2) {
        if (j < d) {
            hk_builder_send(builder, opts->rank + d, suffix);
        }
    }
    hki_reduce_pair(builder, dst, hki_own(sum), hki_own(suffix));
    return dst;
}

hk_status_t hki_all_reduce_doubling(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_reduce_doubling", .acc_slots = SLOTS};
    const group_t group = group_of(opts->rank, opts->nranks);
    const int lead = hki_power_floor(opts->nranks); // ranks of the first group
    const hk_span_t out = hki_block(opts, HK_REGION_OUT, 0);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    hk_span_t sum = sum_group(builder, opts, &group);

    if (group.next_size != 0) {
        sum = add_suffix(builder, opts, &group, sum);
    }
    if (group.prev_first >= 0) {
        hk_builder_send(builder, group.prev_first + opts->rank - group.first, sum);
        hk_builder_recv(builder, opts->rank - lead, out);
    } else if (opts->rank + lead < opts->nranks) {
        hk_builder_send(builder, opts->rank + lead, out);
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_reduce_doubling_cost(int nranks, double block_bytes)
{
    const int lead = hki_power_floor(nranks);
    double messages = hki_rounds(lead);
    double sums = messages;

    if (lead != nranks) { // the suffix comes and goes down a tree, the result goes back
        messages += 2 + hki_rounds(lead) - hki_rounds(hki_power_floor(nranks - lead));
        sums += 1;
    }
    return (hki_cost_t){messages, messages * block_bytes, sums * block_bytes, 0};
}
