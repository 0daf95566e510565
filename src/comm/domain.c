/*
 * Domains: a mutex, a list, and a progress thread. A forked child begins with an empty one: threads
 * and communicators stay with the parent, and a mutex may have been copied while it was locked.
 */
#include "comm/domain.h"

#include "base/alloc.h"
#include "base/error.h"

#define EMPTY                                                                \
    {                                                                        \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .is_static = true, .progress = { \
            .mutex = PTHREAD_MUTEX_INITIALIZER                               \
        }                                                                    \
    }

static hki_domain_t g_domain = EMPTY;

static void empty_in_child(void)
{
    g_domain = (hki_domain_t)EMPTY;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, empty_in_child);
}

hki_domain_t *hki_domain_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, watch_forks);
    return &g_domain;
}

hk_status_t hki_domain_create(hki_domain_t **domain_out)
{
    hki_domain_t *domain = hki_calloc(1, sizeof(*domain));

    if (domain == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "domain, %zu bytes", sizeof(*domain));
    }
    (void)pthread_mutex_init(&domain->mutex, NULL);
    (void)pthread_mutex_init(&domain->progress.mutex, NULL);
    *domain_out = domain;
    return HK_OK;
}

void hki_domain_destroy(hki_domain_t **domain)
{
    if (*domain != NULL) {
        (void)pthread_mutex_destroy(&(*domain)->mutex);
        (void)pthread_mutex_destroy(&(*domain)->progress.mutex);
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
    if (left == 0) {
        hki_progress_end(domain);
    }
    if (left == 0 && !domain->is_static) {
        hki_domain_destroy(&domain);
    }
}
