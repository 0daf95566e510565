/*
 * Requests: a pool in each communicator, so that nothing is allocated per operation after the first
 * of its kind. A live request belongs to the communicator until it ends, or until the communicator
 * is closed: then it is an orphan that its owner frees by waiting for it.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "comm/comm.h"

static const char g_closed_text[] = "the communicator was closed while the operation was under way";

/** Take a free request that has room for counts if that is needed, and has none if not: so the room
 *  is not left with those that need none. NULL: there is none */
static hk_request_t *take_free(hk_comm_t *comm, bool needs_vectors)
{
    hk_request_t **link = &comm->free_requests;

    while (*link != NULL && ((*link)->vectors != NULL) != needs_vectors) {
        link = &(*link)->next;
    }
    hk_request_t *request = *link;
    if (request != NULL) {
        *link = request->next;
    }
    return request;
}

hk_request_t *hki_request_get(hk_comm_t *comm, hki_request_kind_t kind)
{
    const bool needs_vectors = kind == HKI_REQUEST_VECTOR;
    hk_request_t *request = take_free(comm, needs_vectors);

    if (request == NULL) {
        request = hki_calloc(1, sizeof(*request));
        if (request == NULL) {
            (void)HKI_FAIL(HK_ERR_NO_MEMORY, "request, %zu bytes", sizeof(*request));
            return NULL;
        }
    }
    request->comm = comm;
    request->kind = needs_vectors ? HKI_REQUEST_COLLECTIVE : kind;
    request->op.is_done = true; // until it is posted
    request->op.status = HK_OK;
    request->p2p.is_done = true;
    request->p2p.status = HK_OK;
    request->plan = NULL;
    request->children = NULL;
    request->bounce = NULL;
    request->prev = NULL;
    request->next = comm->live_requests;
    if (request->next != NULL) {
        request->next->prev = request;
    }
    comm->live_requests = request;
    return request;
}

void hki_request_put(hk_request_t *request)
{
    hk_comm_t *comm = request->comm;

    while (request->children != NULL) {
        hk_request_t *child = request->children;

        request->children = child->sibling;
        hki_request_put(child);
    }
    if (request->plan != NULL) {
        hki_plan_put(request->plan);
    }
    if (request->bounce != NULL) {
        hki_free(request->bounce);
    }
    if (request->prev == NULL) {
        comm->live_requests = request->next;
    } else {
        request->prev->next = request->next;
    }
    if (request->next != NULL) {
        request->next->prev = request->prev;
    }
    request->next = comm->free_requests;
    comm->free_requests = request;
}

bool hki_request_is_done(const hk_request_t *request)
{
    if (request->kind == HKI_REQUEST_P2P) {
        return request->p2p.is_done;
    }
    for (const hk_request_t *child = request->children; child != NULL; child = child->sibling) {
        if (!child->p2p.is_done) {
            return false;
        }
    }
    return request->op.is_done;
}

hk_status_t hki_request_status(const hk_request_t *request)
{
    hk_status_t status =
        request->kind == HKI_REQUEST_P2P ? request->p2p.status : request->op.status;

    for (const hk_request_t *child = request->children; child != NULL && status == HK_OK;
         child = child->sibling) {
        status = child->p2p.status;
    }
    return status;
}

/** Status of a done request. If it is an error the communicator is broken. */
static hk_status_t judge(hk_request_t *request)
{
    const hk_status_t status = hki_request_status(request);

    if (status != HK_OK) {
        return hki_comm_break(request->comm);
    }
    if (request->plan != NULL) {
        request->plan->is_agreed = true;
    }
    return HK_OK;
}

/** End of a done request. */
static hk_status_t request_end(hk_request_t *request)
{
    const hk_status_t status = judge(request);

    hki_request_put(request);
    return status;
}

hk_status_t hki_request_complete(hk_request_t *request)
{
    if (!hki_request_is_done(request)) {
        const hk_status_t status = hki_comm_wait(request->comm, request);

        if (status != HK_OK) { // the communicator is broken, and so all requests are done
            return status;
        }
    }
    return judge(request);
}

hk_status_t hki_request_finish(hk_request_t *request, hk_request_t **request_out)
{
    if (request_out != NULL) {
        hki_progress_note(request->comm);
        *request_out = request;
        return HK_OK;
    }
    const hk_status_t status = hki_request_complete(request);

    hki_request_put(request);
    return status;
}

void hki_requests_orphan(hk_comm_t *comm)
{
    while (comm->live_requests != NULL) {
        hk_request_t *request = comm->live_requests;

        comm->live_requests = request->next;
        request->comm = NULL;
        request->kind = HKI_REQUEST_ORPHAN;
        if (request->plan != NULL) {
            hki_plan_put(request->plan);
            request->plan = NULL;
        }
    }
}

/** Free an orphan and its children. */
static hk_status_t orphan_end(hk_request_t *request)
{
    while (request->children != NULL) {
        hk_request_t *child = request->children;

        request->children = child->sibling;
        hki_free(child->vectors);
        hki_free(child);
    }
    hki_free(request->bounce);
    hki_free(request->vectors);
    hki_free(request);
    return hki_fail_again(HK_ERR_ABORTED, g_closed_text);
}

hk_status_t hk_request_wait(hk_request_t **request)
{
    hk_request_t *r = request == NULL ? NULL : *request;
    hk_status_t status;

    if (r == NULL) {
        return HK_OK;
    }
    if (r->kind == HKI_REQUEST_ORPHAN) {
        *request = NULL;
        return orphan_end(r);
    }
    hk_comm_t *comm = r->comm;
    status = hki_comm_check(comm);
    if (status != HK_OK) {
        return status;
    }
    *request = NULL;
    hki_lock_take(&comm->lock);
    status = hki_request_finish(r, NULL);
    hki_comm_leave(comm);
    return status;
}

hk_status_t hk_request_test(hk_request_t **request)
{
    hk_request_t *r = request == NULL ? NULL : *request;
    hk_status_t status = HK_IN_PROGRESS;

    if (r == NULL) {
        return HK_OK;
    }
    if (r->kind == HKI_REQUEST_ORPHAN) {
        return hk_request_wait(request);
    }
    hk_comm_t *comm = r->comm;
    status = hki_comm_check(comm);
    if (status != HK_OK) {
        return status;
    }
    hki_lock_take(&comm->lock);
    hki_comm_test(comm, r);
    if (hki_request_is_done(r)) {
        *request = NULL;
        status = request_end(r);
    } else {
        status = HK_IN_PROGRESS;
    }
    hki_comm_leave(comm);
    return status;
}

hk_status_t hk_request_wait_all(hk_request_t **requests, size_t count)
{
    hk_status_t first = HK_OK;

    if (requests == NULL && count != 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%zu requests at NULL", count);
    }
    for (size_t i = 0; i < count; i++) {
        const hk_status_t status = hk_request_wait(&requests[i]);

        if (first == HK_OK) {
            first = status;
        }
    }
    return first;
}
