/*
 * Data parallel training of an MLP: every rank has the whole model and a quarter of each batch.
 *
 *   forward, backward   on the rank's own rows
 *   all_reduce          the gradients: each rank gets the sum over all rows
 *   step                the same on all ranks, so the weights stay the same
 *
 * Run it with: hocket run -n 4 mlp_data_parallel
 */
#include <hocket/hocket.h>

#include "mlp.h"
#include "mlp_alone.h"

enum { MY_ROWS = ROWS / RANKS, WEIGHTS = DIM * DIM };

static hk_status_t train(hk_comm_t *comm, float *losses)
{
    static layer_t layers[LAYERS];
    const int first = MY_ROWS * hk_comm_rank(comm);
    float x[MY_ROWS * DIM];
    float dx[MY_ROWS * DIM];
    hk_status_t status = HK_OK;

    for (int l = 0; l < LAYERS; l++) {
        layer_init(&layers[l], l, 0, DIM);
    }
    for (int step = 0; status == HK_OK && step < STEPS; step++) {
        hk_request_t *requests[LAYERS] = {NULL};

        batch_make(step, first, MY_ROWS, x);
        for (int l = 0; l < LAYERS; l++) {
            layer_forward(&layers[l], 0, MY_ROWS, x, x);
        }
        losses[step] = loss_of(x, MY_ROWS, dx);
        for (int l = LAYERS - 1; status == HK_OK && l >= 0; l--) {
            memcpy(x, dx, sizeof(x));
            layer_backward(&layers[l], 0, MY_ROWS, x, dx);
            // a layer's gradients travel while those of the layers below are computed
            status = hk_all_reduce(comm, layers[l].dw, layers[l].dw, WEIGHTS, HK_F32, HK_SUM, NULL,
                                   &requests[l]);
        }
        const hk_status_t ended = hk_request_wait_all(requests, LAYERS);
        status = status == HK_OK ? ended : status;
        for (int l = 0; l < LAYERS; l++) {
            layer_step(&layers[l]);
        }
    }
    if (status == HK_OK) { // each rank knows the loss of its rows only
        status = hk_all_reduce(comm, losses, losses, STEPS, HK_F32, HK_SUM, NULL, NULL);
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
        fprintf(stderr, "this example wants 4 ranks: hocket run -n 4 mlp_data_parallel\n");
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
