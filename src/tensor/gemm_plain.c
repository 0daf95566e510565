/**
 * @file gemm_plain.c
 * @brief Matrix products in plain C: the reference, and the way out where there is no library.
 *        Each output is the sum of its products in the order of k.
 */
#include "tensor/gemm.h"

#include <string.h>

#define TILE_DEPTH 64
#define TILE_WIDTH 64

typedef struct tile {
    float b[TILE_DEPTH][TILE_WIDTH]; // of op(b): rows along k, columns along n
    size_t depth;
    size_t width;
} tile_t;

static void tile_load(const hki_gemm_t *g, size_t k0, size_t n0, tile_t *tile)
{
    tile->depth = g->k - k0 < TILE_DEPTH ? g->k - k0 : TILE_DEPTH;
    tile->width = g->n - n0 < TILE_WIDTH ? g->n - n0 : TILE_WIDTH;
    for (size_t k = 0; k < tile->depth; k++) {
        for (size_t n = 0; n < tile->width; n++) {
            tile->b[k][n] = g->is_b_transposed ? g->b[(n0 + n) * g->b_stride + k0 + k]
                                               : g->b[(k0 + k) * g->b_stride + n0 + n];
        }
    }
}

static void tile_apply(const hki_gemm_t *g, size_t k0, size_t n0, const tile_t *tile)
{
    for (size_t m = 0; m < g->m; m++) {
        float *c = g->c + m * g->c_stride + n0;

        for (size_t k = 0; k < tile->depth; k++) {
            const float a = g->is_a_transposed ? g->a[(k0 + k) * g->a_stride + m]
                                               : g->a[m * g->a_stride + k0 + k];

            for (size_t n = 0; n < tile->width; n++) {
                c[n] += a * tile->b[k][n];
            }
        }
    }
}

static void product(const hki_gemm_t *g)
{
    tile_t tile;

    if (!g->is_added) {
        for (size_t m = 0; m < g->m; m++) {
            memset(g->c + m * g->c_stride, 0, g->n * sizeof(*g->c));
        }
    }
    for (size_t n0 = 0; n0 < g->n; n0 += TILE_WIDTH) {
        for (size_t k0 = 0; k0 < g->k; k0 += TILE_DEPTH) {
            tile_load(g, k0, n0, &tile);
            tile_apply(g, k0, n0, &tile);
        }
    }
}

hki_gemm_fn hki_gemm_plain(void)
{
    return product;
}
