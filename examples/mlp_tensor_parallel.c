/*
 * Tensor parallel training of an MLP: every rank has all rows and a quarter of each matrix's
 * columns.
 *
 *   forward    y_r = gelu(x W_r), a quarter of the columns; all_gather gives all of them to all
 *   backward   dW_r needs this rank's columns only; dx = sum over r of dz_r W_r^T: all_reduce
 *
 * Run it with: hocket run -n 4 mlp_tensor_parallel
 */
#include <hocket/hocket.h>

#include "mlp.h"
#include "mlp_alone.h"

enum { MY_COLUMNS = DIM / RANKS, PART = ROWS * MY_COLUMNS, ALL = ROWS * DIM };

/* Blocks (RANKS, ROWS, MY_COLUMNS) of a gather <-> columns of (ROWS, DIM). */
static void columns_join(const float *blocks, float *x)
{
    for (int i = 0; i < ROWS * DIM; i++) {
        const int row = i / DIM;
        const int column = i % DIM;
        x[i] = blocks[column / MY_COLUMNS * PART + row * MY_COLUMNS + column % MY_COLUMNS];
    }
}

static void columns_take(const float *x, int rank, float *part)
{
    for (int i = 0; i < PART; i++) {
        part[i] = x[i / MY_COLUMNS * DIM + rank * MY_COLUMNS + i % MY_COLUMNS];
    }
}

static hk_status_t train(hk_comm_t *comm, float *losses)
{
    static layer_t layers[LAYERS];
    static float x[ROWS * DIM], dx[ROWS * DIM], blocks[ROWS * DIM];
    const int rank = hk_comm_rank(comm);
    float part[PART];
    hk_status_t status = HK_OK;

    for (int l = 0; l < LAYERS; l++) {
        layer_init(&layers[l], l, rank * MY_COLUMNS, MY_COLUMNS);
    }
    for (int step = 0; status == HK_OK && step < STEPS; step++) {
        batch_make(step, 0, ROWS, x);
        for (int l = 0; status == HK_OK && l < LAYERS; l++) {
            layer_forward(&layers[l], 0, ROWS, x, part);
            status = hk_all_gather(comm, part, blocks, PART, HK_F32, NULL, NULL);
            columns_join(blocks, x);
        }
        losses[step] = loss_of(x, ROWS, dx); // all ranks have all of it
        for (int l = LAYERS - 1; status == HK_OK && l >= 0; l--) {
            columns_take(dx, rank, part);
            layer_backward(&layers[l], 0, ROWS, part, dx);
            status = hk_all_reduce(comm, dx, dx, ALL, HK_F32, HK_SUM, NULL, NULL);
            layer_step(&layers[l]);
        }
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
        fprintf(stderr, "this example wants 4 ranks: hocket run -n 4 mlp_tensor_parallel\n");
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
