/**
 * @file cost.c
 * @brief Predicts the time of an algorithm and finds the cheapest one that is allowed.
 *
 * Method: time = alpha * messages + beta * bytes + gamma * reduced bytes, on the busiest chain of
 * ranks (Hockney's model with a term for sums). Messages that follow one another without waiting
 * overlap: each but the first of a round costs OVERLAPPED alpha. With more ranks than cores a round
 * also costs a turn of all ranks on the core, which is more than all its messages. The first of
 * equals wins, in the order of registry.def.
 *
 * Where ranks lie behind several caches, or in several memory domains, crossing costs more: alpha
 * on the messages of the rank that crosses most, beta on all bytes that go through the border of
 * the busiest part, since its ranks share what leads out of it. Left out: that one core reads far
 * memory more slowly even when nobody else does (that is the same for all algorithms that move as
 * many bytes), and that what several ranks of a part read may cross only once.
 */
#include "algo/algo.h"

#include <string.h>

#include "base/error.h"

static const double OVERLAPPED = 0.25;

static double rounds_of(const hki_cost_t *cost)
{
    return cost->rounds > 0.0 ? cost->rounds : cost->messages;
}

static double hops_of(double messages, double rounds)
{
    return messages <= rounds ? messages : rounds + OVERLAPPED * (messages - rounds);
}

double hki_cost_hops(const hki_cost_t *cost)
{
    return hops_of(cost->messages, rounds_of(cost));
}

double hki_crossing_hops(const hki_algo_t *algo, int nranks, const hki_crossing_t *crossing)
{
    const hki_cost_t cost = algo->cost(nranks, 1.0);

    return hops_of(crossing->messages, rounds_of(&cost));
}

static size_t index_of(const hki_algo_t *algo)
{
    int count;

    return (size_t)(algo - hki_algo_all(&count));
}

void hki_costs_cross(hki_costs_t *costs, const hki_algo_t *algo, int nranks,
                     const hki_crossing_t *crossings)
{
    hki_far_t far = {0.0, 0.0};

    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        const hki_cross_params_t *params = &costs->cross[level];

        far.ns += params->alpha_ns * hki_crossing_hops(algo, nranks, &crossings[level]);
        far.byte_ns += params->beta_ns * crossings[level].bytes;
    }
    costs->far[index_of(algo)] = far;
}

void hki_costs_init(hki_costs_t *costs, const hki_cost_params_t *common)
{
    memset(costs, 0, sizeof(*costs));
    costs->common = *common;
    for (int i = 0; i < HKI_ALGOS_MAX; i++) {
        costs->of[i] = *common;
    }
}

bool hki_algo_is_allowed(const hki_algo_t *algo, const hki_costs_t *costs, bool any_order,
                         bool needs_blocks)
{
    return (any_order || algo->is_tree_order) && (!needs_blocks || algo->is_block_form) &&
           (costs->near_ranks > 1 || !algo->is_grouped);
}

double hki_algo_time(const hki_algo_t *algo, const hki_costs_t *costs, int nranks,
                     double block_bytes)
{
    const hki_cost_t cost = algo->cost(nranks, block_bytes);
    const hki_cost_params_t *params = &costs->of[index_of(algo)];
    const hki_far_t *far = &costs->far[index_of(algo)];

    return params->turn_ns * rounds_of(&cost) + params->alpha_ns * hki_cost_hops(&cost) +
           params->beta_ns * cost.sent_bytes + params->gamma_ns * cost.reduced_bytes + far->ns +
           far->byte_ns * block_bytes;
}

const hki_algo_t *hki_algo_choose(hki_coll_t coll, const hki_costs_t *costs, int nranks,
                                  double block_bytes, bool any_order, bool needs_blocks)
{
    const hki_algo_t *best = NULL;
    double best_ns = 0;
    int count;
    const hki_algo_t *algos = hki_algo_all(&count);

    for (int i = 0; i < count; i++) {
        const hki_algo_t *algo = &algos[i];

        if (algo->coll != coll || !hki_algo_is_allowed(algo, costs, any_order, needs_blocks)) {
            continue;
        }
        const double ns = hki_algo_time(algo, costs, nranks, block_bytes);

        if (best == NULL || ns < best_ns) {
            best = algo;
            best_ns = ns;
        }
    }
    HKI_ASSERT(best != NULL); // registry_test: every collective has one in block form, tree order
    return best;
}
