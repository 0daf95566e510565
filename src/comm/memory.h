/**
 * @file memory.h
 * @brief How much memory a communicator shares: by one set of functions, which those who allocate
 *        it and those who report it both call.
 */
#ifndef HKI_COMM_MEMORY_H
#define HKI_COMM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/** Memory shared for each rank of a communicator [bytes]. All of it is bounded by this. */
typedef struct hki_comm_memory {
    uint64_t streams;   /**< rings, counters, logs of operations; from the opening on */
    uint64_t staging;   /**< from the opening on */
    uint64_t scratch;   /**< of reductions; taken when an algorithm first needs it */
    uint64_t transfers; /**< of send and receive; taken with the first send that needs it */
    uint64_t total;
} hki_comm_memory_t;

/** Staging memory of one lane. @param segment_bytes  of a rank; 0: the default */
size_t hki_comm_lane_bytes(size_t segment_bytes, int nranks);

/** TMP and ACC of one run: so much each. @param lane_bytes  as above */
size_t hki_comm_scratch_bytes(size_t lane_bytes);

/** @param segment_bytes  hk_comm_opts_t.segment_bytes; 0: the default, which stays below 4 MiB */
hki_comm_memory_t hki_comm_memory(int nranks, size_t segment_bytes);

#endif /* HKI_COMM_MEMORY_H */
