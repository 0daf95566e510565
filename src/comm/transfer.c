/*
 * Sends and receives as calls: checked, done at once if they are short and blocking and nothing is
 * in their way; else given a request, and handed to p2p.
 */
#include "base/error.h"
#include "comm/comm.h"

static void fill_op(const hki_transfer_t *transfer, hki_p2p_op_t *op)
{
    op->is_send = transfer->is_send;
    op->peer = transfer->peer;
    op->tag = transfer->tag;
    op->dtype = transfer->dtype;
    op->count = transfer->count;
    op->bytes = transfer->count * hk_dtype_bytes(transfer->dtype);
    op->data = transfer->data;
}

hk_status_t hki_transfer_start(hk_comm_t *comm, const hki_transfer_t *transfer,
                               hk_request_t **request_out)
{
    hk_request_t *request = hki_request_get(comm, HKI_REQUEST_P2P);

    if (request == NULL) {
        return HK_ERR_NO_MEMORY;
    }
    hki_p2p_op_t *op = &request->p2p;
    fill_op(transfer, op);
    const hk_status_t status = hki_p2p_reserve(comm->p2p, op);
    if (status != HK_OK) {
        hki_request_put(request);
        return status;
    }
    hki_p2p_post(comm->p2p, op);
    if (!op->is_done) {
        hki_p2p_limit(comm->p2p, op, hki_call_deadline(comm, transfer->opts));
    }
    *request_out = request;
    return HK_OK;
}

hk_status_t hki_transfer_do(hk_comm_t *comm, const hki_transfer_t *transfer)
{
    hk_request_t *request = NULL;
    const hk_status_t status = hki_transfer_start(comm, transfer, &request);

    return status == HK_OK ? hki_request_finish(request, NULL) : status;
}

static hk_status_t check(const hk_comm_t *comm, const hki_transfer_t *transfer)
{
    const char *what = transfer->is_send ? "send" : "recv";
    const size_t elem_bytes = hk_dtype_bytes(transfer->dtype);

    if (elem_bytes == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: dtype %d is none of hk_dtype_t", what,
                        (int)transfer->dtype);
    }
    if (transfer->peer < 0 || transfer->peer >= comm->nranks) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: peer %d must be 0 to %d", what, transfer->peer,
                        comm->nranks - 1);
    }
    size_t bytes = 0; // a division would cost more than all the rest
    if (__builtin_mul_overflow(transfer->count, elem_bytes, &bytes) || bytes > SIZE_MAX >> 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: count %zu of %zu bytes overflows", what,
                        transfer->count, elem_bytes);
    }
    if (transfer->data == NULL && transfer->count != 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: the buffer is NULL, and count is %zu", what,
                        transfer->count);
    }
    if (transfer->opts != NULL && transfer->opts->tag < 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "%s: opts.tag is %d; it must be 0 or more", what,
                        transfer->opts->tag);
    }
    return HK_OK;
}

/** The short way. HK_IN_PROGRESS: it has to go the long one */
static hk_status_t transfer_now(hk_comm_t *comm, const hki_transfer_t *args)
{
    hki_p2p_op_t op;

    if (!args->is_send && hki_engine_oldest(comm->engine) != NULL) {
        return HK_IN_PROGRESS; // to wait for one frame only would hold that up
    }
    fill_op(args, &op);
    op.moved = 0;
    const hk_status_t status = hki_p2p_now(comm->p2p, &op);
    return status == HK_OK || status == HK_IN_PROGRESS ? status : hki_comm_break(comm);
}

static hk_status_t transfer(hk_comm_t *comm, hki_transfer_t *args, const hk_coll_opts_t *opts,
                            hk_request_t **request_out)
{
    hk_coll_opts_t store;
    hk_request_t *request = NULL;
    hk_status_t status = hki_comm_enter(comm);

    if (status != HK_OK) {
        return status;
    }
    HKI_TRY(status = hki_call_check_opts(opts, &store, &args->opts), leave);
    HKI_TRY(status = check(comm, args), leave);
    args->tag = args->opts != NULL ? (uint32_t)args->opts->tag : 0;
    status = request_out == NULL ? transfer_now(comm, args) : HK_IN_PROGRESS;
    if (status == HK_IN_PROGRESS) {
        HKI_TRY(status = hki_transfer_start(comm, args, &request), leave);
        status = hki_request_finish(request, request_out);
    }
leave:
    hki_comm_leave_with(comm, status);
    return status;
}

hk_status_t hk_send(hk_comm_t *comm, const void *in, size_t count, hk_dtype_t dtype, int peer,
                    const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_transfer_t args = {.is_send = true,
                           .data = (void *)(uintptr_t)in, // only read
                           .count = count,
                           .dtype = dtype,
                           .peer = peer};

    return transfer(comm, &args, opts, request_out);
}

hk_status_t hk_recv(hk_comm_t *comm, void *out, size_t count, hk_dtype_t dtype, int peer,
                    const hk_coll_opts_t *opts, hk_request_t **request_out)
{
    hki_transfer_t args = {
        .is_send = false, .data = out, .count = count, .dtype = dtype, .peer = peer};

    return transfer(comm, &args, opts, request_out);
}
