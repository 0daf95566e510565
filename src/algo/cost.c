/**
 * @file cost.c
 * @brief Predicts the time of an algorithm and finds the cheapest one that is allowed.
 *
 * Method: time = alpha * messages + beta * bytes + gamma * reduced bytes, on the busiest chain of
 * ranks (Hockney's model with a term for sums). Messages that follow one another without waiting
 * overlap: each but the first of a round costs OVERLAPPED alpha. With more ranks than cores a round
 * also costs a turn of all ranks on the core, which is more than all its messages. The first of
 * equals wins, in the order of registry.def.
 */
#include "algo/algo.h"

#include "base/error.h"

static const double OVERLAPPED = 0.25;

static double rounds_of(const hki_cost_t *cost)
{
    return cost->rounds > 0.0 ? cost->rounds : cost->messages;
}

double hki_cost_hops(const hki_cost_t *cost)
{
    const double rounds = rounds_of(cost);

    return cost->messages <= rounds ? cost->messages
                                    : rounds + OVERLAPPED * (cost->messages - rounds);
}

void hki_costs_init(hki_costs_t *costs, const hki_cost_params_t *common)
{
    costs->common = *common;
    for (int i = 0; i < HKI_ALGOS_MAX; i++) {
        costs->of[i] = *common;
    }
}

double hki_algo_time(const hki_algo_t *algo, const hki_costs_t *costs, int nranks,
                     double block_bytes)
{
    const hki_cost_t cost = algo->cost(nranks, block_bytes);
    int count;
    const hki_cost_params_t *params = &costs->of[algo - hki_algo_all(&count)];

    return params->turn_ns * rounds_of(&cost) + params->alpha_ns * hki_cost_hops(&cost) +
           params->beta_ns * cost.sent_bytes + params->gamma_ns * cost.reduced_bytes;
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

        if (algo->coll != coll || (needs_blocks && !algo->is_block_form) ||
            (!any_order && !algo->is_tree_order)) {
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
