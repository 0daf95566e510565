/**
 * @file gemm.c
 * @brief The choice of the matrix library, and the cutting of products into blocks of outputs.
 */
#include "tensor/gemm.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tensor/threads.h"

// Outputs of one library call. Small enough to share (256, 384) among four threads, large enough
// that packing the operands costs little.
#define BLOCK_ROWS    128
#define BLOCK_COLUMNS 256

typedef struct gemm_library {
    const char *name;
    hki_gemm_fn (*get)(void);
} gemm_library_t;

// in order of preference; the last one is always there
static const gemm_library_t libraries[] = {
    {"onednn", hki_gemm_onednn},
    {"cblas", hki_gemm_cblas},
    {"plain", hki_gemm_plain},
};

#define LIBRARY_COUNT (sizeof(libraries) / sizeof(libraries[0]))

static atomic_int chosen = -1; // index into libraries; -1: not chosen yet
static _Atomic(hki_gemm_fn) chosen_product;

static int library_default(void)
{
    int i = 0;

    while (libraries[i].get() == NULL) {
        i++;
    }
    return i;
}

static void library_choose(int index)
{
    atomic_store(&chosen_product, libraries[index].get());
    atomic_store(&chosen, index); // after the function: who sees the index sees it too
}

static int library_index(void)
{
    if (atomic_load(&chosen) < 0) {
        library_choose(library_default());
    }
    return atomic_load(&chosen);
}

/** What computes g. oneDNN leaves the output as it is if k is 0. */
static hki_gemm_fn product_for(const hki_gemm_t *g)
{
    if (g->k == 0) {
        return hki_gemm_plain();
    }
    (void)library_index();
    return atomic_load(&chosen_product);
}

/** The block of g whose first output is (row, column). */
static hki_gemm_t block_of(const hki_gemm_t *g, size_t row, size_t column)
{
    hki_gemm_t block = *g;

    block.m = g->m - row < BLOCK_ROWS ? g->m - row : BLOCK_ROWS;
    block.n = g->n - column < BLOCK_COLUMNS ? g->n - column : BLOCK_COLUMNS;
    block.a += g->is_a_transposed ? row : row * g->a_stride;
    block.b += g->is_b_transposed ? column * g->b_stride : column;
    block.c += row * g->c_stride + column;
    return block;
}

hk_status_t hki_gemm_select(const char *name)
{
    const char *wanted = name != NULL ? name : getenv("HOCKET_GEMM");

    if (wanted == NULL || wanted[0] == '\0') {
        library_choose(library_default());
        return HK_OK;
    }
    for (size_t i = 0; i < LIBRARY_COUNT; i++) {
        if (strcmp(wanted, libraries[i].name) != 0) {
            continue;
        }
        if (libraries[i].get() == NULL) {
            return HKI_FAIL(HK_ERR_UNSUPPORTED,
                            "HOCKET_GEMM=%s: there is no %s here; leave it unset to use %s", wanted,
                            wanted, libraries[library_default()].name);
        }
        library_choose((int)i);
        return HK_OK;
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "HOCKET_GEMM=%s: must be onednn, cblas or plain", wanted);
}

const char *hki_gemm_name(void)
{
    return libraries[library_index()].name;
}

void hki_gemm(const hki_gemm_t *g)
{
    const hki_gemm_fn product = product_for(g);
    const size_t across = (g->n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    const size_t blocks = across * ((g->m + BLOCK_ROWS - 1) / BLOCK_ROWS);

#pragma omp parallel for schedule(dynamic) num_threads(hki_tensor_threads())
    for (size_t i = 0; i < blocks; i++) {
        const hki_gemm_t block = block_of(g, i / across * BLOCK_ROWS, i % across * BLOCK_COLUMNS);

        product(&block);
    }
}

void hki_gemm_one(const hki_gemm_t *g)
{
    product_for(g)(g);
}
