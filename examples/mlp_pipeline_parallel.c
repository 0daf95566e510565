/*
 * Pipeline parallel training of an MLP: rank r has layer r; the batch goes through in four pieces,
 * so that all ranks work at the same time (GPipe: all forwards, then all backwards).
 *
 *   forward    receive a piece from the rank before, run the layer, send it to the rank after
 *   backward   the same with gradients, the other way
 *
 * Run it with: hocket run -n 4 mlp_pipeline_parallel
 */
#include <hocket/hocket.h>

#include "mlp.h"
#include "mlp_alone.h"

enum { PIECES = 4, PIECE_ROWS = ROWS / PIECES, PIECE = PIECE_ROWS * DIM };

/* Run all pieces one way: `from` and `to` are the neighbours, -1 at the ends. */
static hk_status_t pass(hk_comm_t *comm, layer_t *layer, int from, int to, int is_forward,
                        float x[PIECES][PIECE])
{
    static float y[PIECES][PIECE];
    hk_request_t *arriving[PIECES] = {NULL};
    hk_request_t *leaving[PIECES] = {NULL};
    hk_status_t status = HK_OK;

    for (int p = 0; status == HK_OK && from >= 0 && p < PIECES; p++) {
        status = hk_recv(comm, x[p], PIECE, HK_F32, from, NULL, &arriving[p]);
    }
    for (int p = 0; status == HK_OK && p < PIECES; p++) {
        status = hk_request_wait(&arriving[p]); // NULL at the ends: nothing to wait for
        if (status == HK_OK && is_forward) {
            layer_forward(layer, p * PIECE_ROWS, PIECE_ROWS, x[p], y[p]);
        } else if (status == HK_OK) {
            layer_backward(layer, p * PIECE_ROWS, PIECE_ROWS, x[p], y[p]);
        }
        if (status == HK_OK && to >= 0) { // travels while the next piece is computed
            status = hk_send(comm, y[p], PIECE, HK_F32, to, NULL, &leaving[p]);
        }
    }
    const hk_status_t arrived = hk_request_wait_all(arriving, PIECES);
    const hk_status_t left = hk_request_wait_all(leaving, PIECES);
    memcpy(x, y, sizeof(y));
    return status != HK_OK ? status : arrived != HK_OK ? arrived : left;
}

static hk_status_t train(hk_comm_t *comm, float *losses)
{
    static layer_t layer;
    static float x[PIECES][PIECE];
    const int rank = hk_comm_rank(comm);
    const int after = rank < RANKS - 1 ? rank + 1 : -1;
    hk_status_t status = HK_OK;

    layer_init(&layer, rank, 0, DIM);
    for (int step = 0; status == HK_OK && step < STEPS; step++) {
        batch_make(step, 0, ROWS, x[0]); // read by the first rank only
        status = pass(comm, &layer, rank - 1, after, 1, x);
        losses[step] = loss_of(x[0], ROWS, x[0]); // counts on the last rank only
        if (status == HK_OK) {
            status = pass(comm, &layer, after, rank - 1, 0, x);
        }
        layer_step(&layer);
    }
    if (status == HK_OK) {
        status = hk_broadcast(comm, losses, losses, STEPS, HK_F32, RANKS - 1, NULL, NULL);
    }
    return status;
}

int main(void)
{
    float losses[STEPS] = {0};
    hk_comm_t *comm = NULL;
    int is_wrong = 0;
    hk_status_t status = hk_comm_open(NULL, &comm);

    if (status == HK_OK && hk_comm_size(comm) != RANKS) {
        fprintf(stderr, "this example wants 4 ranks: hocket run -n 4 mlp_pipeline_parallel\n");
        hk_comm_close(&comm);
        return 2;
    }
    if (status == HK_OK) {
        status = train(comm, losses);
    }
    if (status != HK_OK) {
        fprintf(stderr, "%s\n", hk_last_error());
    } else if (hk_comm_rank(comm) == 0) {
        is_wrong = compare(losses);
    }
    hk_comm_close(&comm);
    return status == HK_OK ? is_wrong : 1;
}
