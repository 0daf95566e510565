/**
 * @file domain.h
 * @brief Domains: communicators that make progress for one another.
 */
#ifndef HKI_COMM_DOMAIN_H
#define HKI_COMM_DOMAIN_H

#include "comm/comm.h"

/** The domain of all communicators opened by hk_comm_open(). */
hki_domain_t *hki_domain_process(void);

/** A domain of its own, for one rank-thread; it goes with the last communicator that leaves. */
hk_status_t hki_domain_create(hki_domain_t **domain_out);
/** Free a domain that nobody has joined. Accepts NULL. */
void hki_domain_destroy(hki_domain_t **domain);

void hki_domain_join(hki_domain_t *domain, hk_comm_t *comm);
void hki_domain_leave(hk_comm_t *comm);

#endif /* HKI_COMM_DOMAIN_H */
