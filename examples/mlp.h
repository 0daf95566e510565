/*
 * The MLP that the three training examples share: LAYERS times x = gelu(x W), loss = mean of x * x.
 * Plain loops: the point of the examples is what travels between the ranks.
 */
#ifndef MLP_H
#define MLP_H

#include <math.h>
#include <string.h>

enum { ROWS = 16, DIM = 32, LAYERS = 4, STEPS = 8, RANKS = 4 };

/* W is (DIM, out); a rank may hold only some of its columns. x and z keep all rows for backward. */
typedef struct layer {
    int out;
    float w[DIM * DIM], dw[DIM * DIM], x[ROWS * DIM], z[ROWS * DIM];
} layer_t;

/* A number in -1 .. 1 that depends on its place only, so that every rank makes the same ones. */
static inline float value(unsigned stream, unsigned index)
{
    const unsigned h = (stream * 2654435761U + index * 40503U) * 2246822519U;

    return (float)((h ^ (h >> 15)) * 3266489917U >> 8) / (float)(1 << 23) - 1.0f;
}

/* Columns first .. first + out - 1 of layer `number`. */
static inline void layer_init(layer_t *layer, int number, int first, int out)
{
    memset(layer, 0, sizeof(*layer));
    layer->out = out;
    for (int i = 0; i < DIM * out; i++) {
        layer->w[i] = 0.4f * value((unsigned)number, (unsigned)(i / out * DIM + first + i % out));
    }
}

/* y (rows, out) = gelu(x W) for rows first .. first + rows - 1 of the batch; x is (rows, DIM). */
static inline void layer_forward(layer_t *layer, int first, int rows, const float *x, float *y)
{
    memcpy(layer->x + first * DIM, x, sizeof(*x) * (size_t)(rows * DIM));
    for (int n = 0; n < rows * layer->out; n++) {
        float z = 0;
        for (int i = 0; i < DIM; i++) {
            z += layer->x[(first + n / layer->out) * DIM + i] *
                 layer->w[i * layer->out + n % layer->out];
        }
        layer->z[first * layer->out + n] = z;
        y[n] = 0.5f * z * (1.0f + erff(z * 0.70710678f));
    }
}

/* dw += x^T dz and dx (rows, DIM) = dz W^T, where dz = dy * gelu'(z); dy is (rows, out). */
static inline void layer_backward(layer_t *layer, int first, int rows, const float *dy, float *dx)
{
    memset(dx, 0, sizeof(*dx) * (size_t)(rows * DIM));
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < layer->out; o++) {
            const float z = layer->z[(first + r) * layer->out + o];
            const float slope =
                0.5f * (1.0f + erff(z * 0.70710678f)) + z * 0.39894228f * expf(-0.5f * z * z);
            const float dz = dy[r * layer->out + o] * slope;
            for (int i = 0; i < DIM; i++) {
                layer->dw[i * layer->out + o] += layer->x[(first + r) * DIM + i] * dz;
                dx[r * DIM + i] += dz * layer->w[i * layer->out + o];
            }
        }
    }
}

/* W -= 4 dw, and dw = 0 for the next step. */
static inline void layer_step(layer_t *layer)
{
    for (int i = 0; i < DIM * layer->out; i++) {
        layer->w[i] -= 4.0f * layer->dw[i];
        layer->dw[i] = 0;
    }
}

/* Row `first` + r of step `step`'s batch, for r < rows. */
static inline void batch_make(int step, int first, int rows, float *x)
{
    for (int i = 0; i < rows * DIM; i++) {
        x[i] = value(1000U + (unsigned)step, (unsigned)(first * DIM + i));
    }
}

/* These rows' share of the mean over the batch's (ROWS, DIM) squares, and its gradient. */
static inline float loss_of(const float *y, int rows, float *dy)
{
    float sum = 0;

    for (int i = 0; i < rows * DIM; i++) {
        sum += y[i] * y[i];
        dy[i] = 2.0f * y[i] / (ROWS * DIM);
    }
    return sum / (ROWS * DIM);
}

#endif /* MLP_H */
