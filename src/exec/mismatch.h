/**
 * @file mismatch.h
 * @brief Ranks that call different things: finding out what each called, and saying so to all.
 */
#ifndef HKI_EXEC_MISMATCH_H
#define HKI_EXEC_MISMATCH_H

#include "exec/exec.h"

/**
 * Break the group because `peer` does something else than `op` here. The text names both ranks'
 * calls; the blame goes to the one that fewer ranks agree with.
 *
 * @return HK_ERR_MISMATCH
 */
hk_status_t hki_mismatch_fail(hki_endpoint_t *ep, const hki_op_t *op, int peer);

#endif /* HKI_EXEC_MISMATCH_H */
