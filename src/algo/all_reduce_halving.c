/**
 * @file all_reduce_halving.c
 * @brief Recursive halving, then recursive doubling, for every P and in canonical order.
 *
 * Q is the largest power of two up to P; chunk c of Q belongs to one of the ranks 0 .. Q-1: to the
 * one whose bits are those of c in reverse order. The ranks from Q on give their chunks directly to
 * the owners: the canonical tree is (tree of 0 .. Q-1) o (tree of Q .. P-1).
 *
 *   1. r >= Q: send each chunk of IN to its owner, receive OUT from r-Q; that is all
 *   2. for d = 1, 2, .. Q/2: with peer r^d, send it the half of my range of chunks that it keeps,
 *      and keep the sum of the other half: the lower if bit d of r is 0
 *   3. if P > Q: OUT[own chunk] = (sum of 0 .. Q-1) o tree(chunks of Q .. P-1)
 *   4. for d = Q/2, .. 2, 1: with peer r^d, exchange what we have of OUT
 *   5. send OUT to r+Q, if it exists
 *
 * For P = 4:
 *
 *        rank 0         rank 1         rank 2         rank 3
 *   2  2 3 to 1       0 1 to 0       2 3 to 3       0 1 to 2
 *   2  1 to 2         3 to 3         0 to 0         2 to 1        own: 0, 2, 1, 3
 *   4  0 to 2         2 to 3         1 to 0         3 to 1
 *   4  0 1 to 1       2 3 to 0       0 1 to 3       2 3 to 2
 *
 * Cost per rank: 2 log2 P messages, 2N(P-1)/P elements sent, which is the lower bound, N(P-1)/P
 * reduced, where P is a power of two. Best for medium N on networks.
 * Reproducible: the canonical tree.
 * Source: Rabenseifner, ICCS 2004, doi:10.1007/978-3-540-24685-5_1; the ranks from Q on are ours.
 */
#include "algo/build.h"

/** Chunks [first, first + n) of Q, as one range. */
static hki_chunk_t chunks(const hk_schedule_opts_t *opts, int first, int n)
{
    const int lead = hki_power_floor(opts->nranks);
    const hki_chunk_t low = hki_chunk(opts->count, lead, first);
    const hki_chunk_t high = hki_chunk(opts->count, lead, first + n - 1);

    return (hki_chunk_t){low.offset, high.offset + high.length - low.offset};
}

/** The chunk of rank r < Q: its bits in reverse order. */
static int own_chunk(const hk_schedule_opts_t *opts, int rank)
{
    int first = 0;

    for (int d = 1, n = hki_power_floor(opts->nranks) / 2; n >= 1; d *= 2, n /= 2) {
        first += (rank & d) != 0 ? n : 0;
    }
    return first;
}

/** Step 1. */
static void give_and_take(hk_builder_t *builder, const hk_schedule_opts_t *opts)
{
    const int lead = hki_power_floor(opts->nranks);

    for (int s = 0; s < lead; s++) {
        const int peer = (opts->rank + s) % lead;

        hk_builder_send(builder, peer,
                        hki_part(HK_REGION_IN, 0, chunks(opts, own_chunk(opts, peer), 1)));
    }
    hk_builder_recv(builder, opts->rank - lead, hki_block(opts, HK_REGION_OUT, 0));
}

/** Step 2. Leaves the sum of the own chunk in ACC, or, if P = Q, in OUT. */
static void halve(hk_builder_t *builder, const hk_schedule_opts_t *opts)
{
    const int lead = hki_power_floor(opts->nranks);
    hk_region_t region = HK_REGION_IN;
    int first = 0;

    for (int d = 1, n = lead / 2; n >= 1; d *= 2, n /= 2) {
        const int peer = opts->rank ^ d;
        const bool is_low = opts->rank < peer;
        const hki_chunk_t theirs = chunks(opts, is_low ? first + n : first, n);

        first = is_low ? first : first + n;

        const hki_chunk_t mine = chunks(opts, first, n);
        const hk_operand_t own = hki_own(hki_part(region, 0, mine));
        const hk_operand_t other = hki_from(peer, d > 1);
        const bool is_result = n == 1 && lead == opts->nranks;

        hk_builder_send(builder, peer, hki_part(region, 0, theirs));
        hki_reduce_pair(builder, hki_part(is_result ? HK_REGION_OUT : HK_REGION_ACC, 0, mine),
                        is_low ? own : other, is_low ? other : own);
        region = HK_REGION_ACC;
    }
}

/** Step 3. */
static void add_rest(hk_builder_t *builder, const hk_schedule_opts_t *opts)
{
    const int lead = hki_power_floor(opts->nranks);
    const hki_ranks_t rest = {.first = lead, .n = opts->nranks - lead, .rank = opts->rank};
    const hki_chunk_t mine = chunks(opts, own_chunk(opts, opts->rank), 1);
    const hk_span_t suffix = hki_slot_part(opts, HK_REGION_ACC, 1, mine);

    hki_reduce_ranks(builder, suffix, &rest);
    hki_reduce_pair(builder, hki_part(HK_REGION_OUT, 0, mine),
                    hki_own(hki_part(HK_REGION_ACC, 0, mine)), hki_own(suffix));
}

/** Step 4. */
static void gather(hk_builder_t *builder, const hk_schedule_opts_t *opts)
{
    const int lead = hki_power_floor(opts->nranks);
    int first = own_chunk(opts, opts->rank);

    for (int d = lead / 2, n = 1; d >= 1; d /= 2, n *= 2) {
        const int peer = opts->rank ^ d;
        const int other = opts->rank < peer ? first + n : first - n;

        hk_builder_send(builder, peer, hki_part(HK_REGION_OUT, 0, chunks(opts, first, n)));
        hk_builder_recv(builder, peer, hki_part(HK_REGION_OUT, 0, chunks(opts, other, n)));
        first = first < other ? first : other;
    }
}

hk_status_t hki_all_reduce_halving(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "all_reduce_halving", .acc_slots = 2};
    const int lead = hki_power_floor(opts->nranks);
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    if (opts->nranks == 1) {
        hki_reduce_one(builder, hki_block(opts, HK_REGION_OUT, 0),
                       hki_block(opts, HK_REGION_IN, 0));
    } else if (opts->rank >= lead) {
        give_and_take(builder, opts);
    } else {
        halve(builder, opts);
        if (lead < opts->nranks) {
            add_rest(builder, opts);
        }
        gather(builder, opts);
        if (opts->rank + lead < opts->nranks) {
            hk_builder_send(builder, opts->rank + lead, hki_block(opts, HK_REGION_OUT, 0));
        }
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_all_reduce_halving_cost(int nranks, double block_bytes)
{
    const int lead = hki_power_floor(nranks);
    const double chunk_bytes = block_bytes / lead;

    if (lead == nranks) {
        const double others = nranks - 1;

        return (hki_cost_t){2.0 * hki_rounds(nranks), 2 * others * chunk_bytes,
                            others * chunk_bytes, 0};
    }
    // Q chunks of each rank from Q on, one after the other; then the doubling and one message more
    return (hki_cost_t){lead + hki_rounds(lead) + 1, block_bytes * 2 + (lead - 1) * chunk_bytes,
                        (nranks - 1) * chunk_bytes, 0};
}
