/*
 * The training of the three examples on one rank, which they must agree with.
 */
#ifndef MLP_ALONE_H
#define MLP_ALONE_H

#include <stdio.h>

#include "mlp.h"

/* The same training on one rank, to compare with. */
static inline void train_alone(float *losses)
{
    static layer_t layers[LAYERS];
    static float x[ROWS * DIM], dx[ROWS * DIM];

    for (int l = 0; l < LAYERS; l++) {
        layer_init(&layers[l], l, 0, DIM);
    }
    for (int step = 0; step < STEPS; step++) {
        batch_make(step, 0, ROWS, x);
        for (int l = 0; l < LAYERS; l++) {
            layer_forward(&layers[l], 0, ROWS, x, x);
        }
        losses[step] = loss_of(x, ROWS, dx);
        for (int l = LAYERS - 1; l >= 0; l--) {
            memcpy(x, dx, sizeof(x));
            layer_backward(&layers[l], 0, ROWS, x, dx);
            layer_step(&layers[l]);
        }
    }
}

/* Print both; 0 if they agree within rounding, else 1. */
static inline int compare(const float *losses)
{
    float alone[STEPS];
    int is_wrong = 0;

    train_alone(alone);
    for (int step = 0; step < STEPS; step++) {
        printf("step %d  loss %.7f  on one rank %.7f\n", step + 1, (double)losses[step],
               (double)alone[step]);
        is_wrong |= !(fabsf(losses[step] - alone[step]) <= 1e-5f * alone[step]);
    }
    return is_wrong;
}

#endif /* MLP_ALONE_H */
