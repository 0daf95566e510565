/**
 * @file usage.h
 * @brief What this process holds of the system, to see that it does not grow.
 */
#ifndef HK_CONFORMANCE_USAGE_H
#define HK_CONFORMANCE_USAGE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct usage {
    size_t resident_bytes; /**< not shared with others */
    size_t
        shared_bytes; /**< real pages of the files it holds that have no name: the job's memory */
    size_t descriptors;
    size_t mappings;
    size_t blocks; /**< of the library's heap */
} usage_t;

/** Give free heap back to the system, then look. */
usage_t usage_now(void);

/**
 * Has it grown by no more than what is still touched for the first time?
 *
 * @param nranks  of the job
 * @param here    of them, in this process
 */
bool usage_is_flat(const usage_t *before, const usage_t *after, int nranks, int here);

/** Both, on stderr. */
void usage_say(const usage_t *before, const usage_t *after, int rank);

#endif /* HK_CONFORMANCE_USAGE_H */
