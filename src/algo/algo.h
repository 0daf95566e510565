/**
 * @file algo.h
 * @brief Schedule builders: one function per algorithm, the registry of all, and their cost.
 */
#ifndef HKI_ALGO_ALGO_H
#define HKI_ALGO_ALGO_H

#include <stdbool.h>

#include <hocket/schedule.h>

/** Every collective: name, lower-case name. */
#define HKI_COLL_MAP(X)                 \
    X(BROADCAST, "broadcast")           \
    X(REDUCE, "reduce")                 \
    X(SCATTER, "scatter")               \
    X(GATHER, "gather")                 \
    X(ALL_GATHER, "all_gather")         \
    X(REDUCE_SCATTER, "reduce_scatter") \
    X(ALL_REDUCE, "all_reduce")         \
    X(ALL_TO_ALL, "all_to_all")         \
    X(BARRIER, "barrier")

typedef enum hki_coll {
#define HKI_COLL_ENUM(name, text) HKI_COLL_##name,
    HKI_COLL_MAP(HKI_COLL_ENUM)
#undef HKI_COLL_ENUM
        HKI_COLL_COUNT
} hki_coll_t;

/**
 * Write the schedule of one rank.
 *
 * @param[in]  opts  rank, nranks, root, alias, count and near_ranks of the call (name, blocks and
 *                   scratch are the algorithm's to fill in); never NULL. count = elements of one
 *                   block: all of the buffer for broadcast, reduce, all_reduce; one rank's part
 *                   otherwise
 * @param[out] schedule_out  set on success only; owned by the caller
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_UNSUPPORTED (this nranks or alias)
 */
typedef hk_status_t (*hki_algo_fn)(const hk_schedule_opts_t *opts, hk_schedule_t **schedule_out);

/** What a link and a core cost. Measured by `hocket bench --fit`, else sane constants. */
typedef struct hki_cost_params {
    double alpha_ns; /**< one message, however small [ns] */
    double beta_ns;  /**< one byte sent and received [ns/byte] */
    double gamma_ns; /**< one byte reduced [ns/byte] */
    double turn_ns;  /**< more ranks than cores: until the receiver of a message has its turn; 0 if
                          alpha was measured, for then it is part of that [ns] */
} hki_cost_params_t;

/** Kinds of parts of a machine: caches, and memory domains, of which each may hold several caches.
 *  What crosses from one memory domain to another crosses twice. */
enum { HKI_CROSS_CACHE, HKI_CROSS_MEMORY, HKI_CROSS_LEVELS };

/** What crossing from one part of a machine to another costs more. */
typedef struct hki_cross_params {
    double alpha_ns; /**< one message [ns] */
    double beta_ns;  /**< one byte into or out of a part, all its ranks together [ns/byte] */
} hki_cross_params_t;

/** What an algorithm costs more where its ranks lie in several parts. */
typedef struct hki_far {
    double ns;      /**< one operation [ns] */
    double byte_ns; /**< one byte of a block [ns/byte] */
} hki_far_t;

/** What each algorithm costs here, by its place in hki_algo_all(). */
enum { HKI_ALGOS_MAX = 64 };
typedef struct hki_costs {
    hki_cost_params_t common; /**< of those that were not measured, and of sends */
    hki_cost_params_t of[HKI_ALGOS_MAX];
    int near_ranks; /**< see hk_schedule_opts_t; above 1, grouped algorithms may be chosen */
    hki_cross_params_t cross[HKI_CROSS_LEVELS];
    hki_far_t far[HKI_ALGOS_MAX]; /**< 0 until hki_costs_cross() */
} hki_costs_t;

/** What one rank on the critical path does, per operation. Times follow from hki_cost_params_t. */
typedef struct hki_cost {
    double messages;      /**< messages sent one after the other */
    double sent_bytes;    /**< bytes moved one after the other */
    double reduced_bytes; /**< bytes reduced one after the other */
    double rounds;        /**< hops that wait for each other; 0: as many as messages */
} hki_cost_t;

/** Messages that cost alpha: one of every round in full, the others in part, for they are under way
 *  together. */
double hki_cost_hops(const hki_cost_t *cost);

/** Cost of an algorithm: nranks, bytes of one block, as in hki_algo_fn. */
typedef hki_cost_t (*hki_cost_fn)(int nranks, double block_bytes);

typedef struct hki_algo {
    hki_coll_t coll;
    const char *name; /**< "direct", unique within a collective */
    const char *text; /**< when to use it, one line */
    hki_algo_fn build;
    hki_cost_fn cost;
    bool is_tree_order; /**< keeps the canonical order; false: runs only with HK_ORDER_ANY */
    bool is_grouped;    /**< made for near_ranks above 1, and right for all */
    bool is_block_form; /**< works with blocks of unequal lengths (the v forms) by clipping */
} hki_algo_t;

/** "all_reduce" and the like. */
const char *hki_coll_name(hki_coll_t coll);

/** All algorithms, in the order of registry.def. @param[out] count_out how many */
const hki_algo_t *hki_algo_all(int *count_out);

/** The algorithm of that name, or NULL. */
const hki_algo_t *hki_algo_find(hki_coll_t coll, const char *name);

/** The same for all algorithms. */
void hki_costs_init(hki_costs_t *costs, const hki_cost_params_t *common);

/** What crosses between parts of a machine when all ranks run an algorithm. */
typedef struct hki_crossing {
    double messages; /**< of the rank that sends, or receives, most of them */
    double bytes;    /**< into, or out of, the part where it is most; for blocks of one byte */
} hki_crossing_t;

/**
 * Count, on the schedules of all ranks, what crosses. Builds them: some ten microseconds a rank,
 * for 64 ranks.
 *
 * @param near_ranks  see hk_schedule_opts_t
 * @param parts  by level: (nranks,) ranks with equal numbers are in the same part; NULL: all are
 * @param[out] crossings_out  (HKI_CROSS_LEVELS,) set on success only; 0 where parts are NULL
 * @return HK_OK, HK_ERR_NO_MEMORY
 */
HK_NODISCARD hk_status_t hki_algo_crossing(const hki_algo_t *algo, int nranks, int near_ranks,
                                           const int *const parts[HKI_CROSS_LEVELS],
                                           hki_crossing_t *crossings_out);

/** Messages that cross and cost alpha, as hki_cost_hops(). */
double hki_crossing_hops(const hki_algo_t *algo, int nranks, const hki_crossing_t *crossing);

/** Set what crossing adds to the costs of an algorithm. @param crossings  (HKI_CROSS_LEVELS,) */
void hki_costs_cross(hki_costs_t *costs, const hki_algo_t *algo, int nranks,
                     const hki_crossing_t *crossings);

/** May it be chosen here? The arguments are those of hki_algo_choose(). */
bool hki_algo_is_allowed(const hki_algo_t *algo, const hki_costs_t *costs, bool any_order,
                         bool needs_blocks);

/** Predicted time [ns]. `algo` is one of hki_algo_all(). */
double hki_algo_time(const hki_algo_t *algo, const hki_costs_t *costs, int nranks,
                     double block_bytes);

/**
 * The cheapest algorithm that is allowed. Never NULL: every collective has one in block form and
 * tree order for every nranks.
 *
 * @param any_order       algorithms that do not keep the canonical order are allowed
 * @param needs_blocks    only algorithms in block form (v forms)
 */
const hki_algo_t *hki_algo_choose(hki_coll_t coll, const hki_costs_t *costs, int nranks,
                                  double block_bytes, bool any_order, bool needs_blocks);

#endif /* HKI_ALGO_ALGO_H */
