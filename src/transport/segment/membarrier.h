/**
 * @file membarrier.h
 * @brief A fence that one side executes for both.
 *
 * Who stores a word and then looks at another one needs a full fence between, if somebody else does
 * the same the other way round. A sender does so for every message, a sleeper hardly ever. Linux
 * lets the sleeper pay for both: membarrier(2) makes every core that runs a registered process
 * execute a fence. Then the sender needs none, and its store leaves the core while it goes on.
 * Source: membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED, since Linux 4.16.
 */
#ifndef HKI_TRANSPORT_SEGMENT_MEMBARRIER_H
#define HKI_TRANSPORT_SEGMENT_MEMBARRIER_H

#include <stdbool.h>

/** Register this process. @return false: not possible here, both sides must fence */
bool hki_membarrier_register(void);

/** Full fence here and on all cores that run registered processes. About 1 us. */
void hki_membarrier(void);

#endif /* HKI_TRANSPORT_SEGMENT_MEMBARRIER_H */
