/**
 * @file plan.h
 * @brief Plans: a call's algorithm, tiles, schedules and signature, made once and cached.
 */
#ifndef HKI_COMM_PLAN_H
#define HKI_COMM_PLAN_H

#include "algo/algo.h"
#include "exec/exec.h"

enum {
    HKI_PLANS_SETS = 32, /**< the cache: sets ... */
    HKI_PLANS_WAYS = 4,  /**< ... of so many plans, the least recently used one gives way */
};

/** All that decides a plan. Equal keys have equal plans. */
typedef struct hki_plan_key {
    uint64_t count;         /**< elements of a block; v forms: of the largest */
    uint64_t scalar;        /**< bits of the factor of HK_PREMULSUM, else 0 */
    const hki_algo_t *algo; /**< asked for by the call, or NULL */
    int32_t root;
    uint8_t coll;
    uint8_t dtype;
    uint8_t op;
    uint8_t alias;
    uint8_t order;
    uint8_t is_vector;
} hki_plan_key_t;

typedef struct hki_plan {
    hki_plan_key_t key;
    hk_schedule_t *schedule;
    hki_brief_t *brief;  /**< of schedule, if it moves few bytes, else NULL; owned */
    hk_schedule_t *last; /**< of the last tile; may be the same object */
    size_t elem_bytes;
    size_t acc_bytes;
    size_t tile_count;
    size_t ntiles;
    uint32_t check;
    bool hears_all;   /**< every rank hears from all others */
    bool is_agreed;   /**< all ranks have made this call before */
    bool is_cached;   /**< false: freed with its last user */
    int users;        /**< requests under way */
    uint64_t used_at; /**< number of the last use */
    char signature[HKI_SIGNATURE_BYTES];
} hki_plan_t;

typedef struct hki_plans {
    hki_plan_t *last; /**< last used */
    uint64_t uses;
    hki_plan_t *cached[HKI_PLANS_SETS][HKI_PLANS_WAYS];
} hki_plans_t;

struct hk_comm;

/**
 * The plan of a key, for one more user; give it back with hki_plan_put(). Allocates the first time.
 *
 * @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_INVALID_ARG (an algorithm that is not allowed here),
 *         HK_ERR_LIMIT (staging memory too small for so many ranks)
 */
hk_status_t hki_plan_get(struct hk_comm *comm, const hki_plan_key_t *key, hki_plan_t **plan_out);
void hki_plan_put(hki_plan_t *plan);
/** Free all. None has users. */
void hki_plans_fini(hki_plans_t *plans);

/** 32-bit hash, for signatures. */
uint32_t hki_hash(uint32_t seed, const void *data, size_t bytes);

/* footprint.c */

/** What one run copies to staging memory, per element of a block. */
typedef struct hki_staged {
    double elements;
    double partials;
    int messages;
} hki_staged_t;

/** Memory one run of an algorithm needs on the rank that needs most, per element of a block. */
typedef struct hki_footprint {
    hki_staged_t staged; /**< all that is sent from memory of the user, or copied */
    hki_staged_t copied; /**< of that, what the algorithm itself wants copied */
    bool is_cast;        /**< see hki_schedule_is_cast(); of more than two ranks */
    double tmp_elements;
    double acc_partials;
} hki_footprint_t;

/** Memory of (algorithm, nranks, near_ranks); measured on the schedules of all ranks, then
 *  remembered. */
hk_status_t hki_footprint(const hki_algo_t *algo, int nranks, int near_ranks,
                          hki_footprint_t *footprint_out);

#endif /* HKI_COMM_PLAN_H */
