/*
 * Domains: a mutex and a list.
 */
#include "comm/domain.h"

#include "base/alloc.h"
#include "base/error.h"

hki_domain_t *hki_domain_process(void)
{
    static hki_domain_t domain = {.mutex = PTHREAD_MUTEX_INITIALIZER, .is_static = true};

    return &domain;
}

hk_status_t hki_domain_create(hki_domain_t **domain_out)
{
    hki_domain_t *domain = hki_calloc(1, sizeof(*domain));

    if (domain == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "domain, %zu bytes", sizeof(*domain));
    }
    (void)pthread_mutex_init(&domain->mutex, NULL);
    *domain_out = domain;
    return HK_OK;
}

void hki_domain_destroy(hki_domain_t **domain)
{
    if (*domain != NULL) {
        (void)pthread_mutex_destroy(&(*domain)->mutex);
        hki_free(*domain);
        *domain = NULL;
    }
}

void hki_domain_join(hki_domain_t *domain, hk_comm_t *comm)
{
    (void)pthread_mutex_lock(&domain->mutex);
    comm->domain = domain;
    comm->domain_next = domain->first;
    domain->first = comm;
    atomic_fetch_add(&domain->count, 1);
    (void)pthread_mutex_unlock(&domain->mutex);
}

void hki_domain_leave(hk_comm_t *comm)
{
    hki_domain_t *domain = comm->domain;
    hk_comm_t **link = &domain->first;

    (void)pthread_mutex_lock(&domain->mutex);
    while (*link != comm) {
        link = &(*link)->domain_next;
    }
    *link = comm->domain_next;
    comm->domain = NULL;
    const int left = atomic_fetch_sub(&domain->count, 1) - 1;
    (void)pthread_mutex_unlock(&domain->mutex);
    if (left == 0 && !domain->is_static) {
        hki_domain_destroy(&domain);
    }
}
