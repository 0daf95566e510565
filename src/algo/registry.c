/**
 * @file registry.c
 * @brief The table of all algorithms, made from registry.def, and its listing.
 */
#include "algo/registry.h"

#include <string.h>

/* the collectives of registry.def as constants */
#define COLL_broadcast      HKI_COLL_BROADCAST
#define COLL_reduce         HKI_COLL_REDUCE
#define COLL_scatter        HKI_COLL_SCATTER
#define COLL_gather         HKI_COLL_GATHER
#define COLL_all_gather     HKI_COLL_ALL_GATHER
#define COLL_reduce_scatter HKI_COLL_REDUCE_SCATTER
#define COLL_all_reduce     HKI_COLL_ALL_REDUCE
#define COLL_all_to_all     HKI_COLL_ALL_TO_ALL
#define COLL_barrier        HKI_COLL_BARRIER

enum { TREE = true, ANY = false, BLOCKS = true, EVEN = false };

static const hki_algo_t g_algos[] = {
#define ROW(coll, name, text, order, form, is_near)                               \
    {COLL_##coll, #name,   text, hki_##coll##_##name, hki_##coll##_##name##_cost, \
     order,       is_near, form},
#define HKI_ALGO(coll, name, text, order, form)      ROW(coll, name, text, order, form, false)
#define HKI_ALGO_NEAR(coll, name, text, order, form) ROW(coll, name, text, order, form, true)
#include "algo/registry.def"
#undef HKI_ALGO_NEAR
#undef HKI_ALGO
#undef ROW
};

_Static_assert(sizeof(g_algos) / sizeof(g_algos[0]) <= HKI_ALGOS_MAX, "raise HKI_ALGOS_MAX");

const char *hki_coll_name(hki_coll_t coll)
{
    switch (coll) {
#define COLL_CASE(name, text) \
    case HKI_COLL_##name:     \
        return text;
        HKI_COLL_MAP(COLL_CASE)
#undef COLL_CASE
    case HKI_COLL_COUNT:
        break;
    }
    return "?";
}

const hki_algo_t *hki_algo_all(int *count_out)
{
    *count_out = (int)(sizeof(g_algos) / sizeof(g_algos[0]));
    return g_algos;
}

const hki_algo_t *hki_algo_find(hki_coll_t coll, const char *name)
{
    for (size_t i = 0; i < sizeof(g_algos) / sizeof(g_algos[0]); i++) {
        if (g_algos[i].coll == coll && strcmp(g_algos[i].name, name) == 0) {
            return &g_algos[i];
        }
    }
    return NULL;
}

static void write_collective(hki_text_t *text, hki_coll_t coll)
{
    enum { RANKS = 8 };

    hki_text_add(text,
                 "## %s\n\n"
                 "| algorithm | when | order of sums | unequal blocks | messages | bytes sent | "
                 "bytes reduced |\n| --- | --- | --- | --- | --- | --- | --- |\n",
                 hki_coll_name(coll));
    for (size_t i = 0; i < sizeof(g_algos) / sizeof(g_algos[0]); i++) {
        const hki_algo_t *algo = &g_algos[i];
        const hki_cost_t cost = algo->cost(RANKS, 1.0);

        if (algo->coll == coll) {
            hki_text_add(text, "| `%s` | %s | %s | %s | %.4g | %.4g n | %.4g n |\n", algo->name,
                         algo->text, algo->is_tree_order ? "canonical" : "any",
                         algo->is_block_form ? "yes" : "no", cost.messages, cost.sent_bytes,
                         cost.reduced_bytes);
        }
    }
    hki_text_add(text, "\n");
}

void hki_algo_write_markdown(hki_text_t *text)
{
    hki_text_add(text, "Cost is that of the busiest chain of ranks, for 8 ranks and blocks of n\n"
                       "bytes: messages one after the other, bytes one after the other.\n\n");
    for (int coll = 0; coll < HKI_COLL_COUNT; coll++) {
        write_collective(text, (hki_coll_t)coll);
    }
}
