/**
 * @file ranks.h
 * @brief Run a function on several ranks: threads of this process, or processes of this host.
 */
#ifndef HK_CONFORMANCE_RANKS_H
#define HK_CONFORMANCE_RANKS_H

#include <stdbool.h>

#include <hocket/comm.h>

enum { RANKS_RUN_MAX = 64 };

/** What every rank does. @return true if all is well; else it has said what is not */
typedef bool (*ranks_fn)(hk_comm_t *comm, const void *cookie);

/** From now on, ranks that are processes believe that they lie in so many parts of a machine, one
 *  after the other. 1: as they really do. */
void ranks_divide(int nparts);

/** Ranks in each of these parts, in the last perhaps fewer. */
int ranks_in_part(int nranks);

/** @param transport "local" or "shm". @return true if it went well on all ranks */
bool ranks_run(const char *transport, int nranks, ranks_fn fn, const void *cookie);

#endif /* HK_CONFORMANCE_RANKS_H */
