/**
 * @file broadcast_scatter_gather.c
 * @brief The root scatters chunks, a ring gathers them everywhere.
 *
 * Ranks are numbered from the root: v = r - root (mod P); chunk c of P belongs to v = c.
 *
 *   1. root: send IN[chunk v] to v, for v = 1 .. P-1; copy IN to OUT.  Others: receive OUT[chunk v]
 *   2. for s = 0 .. P-2: send chunk v-s to v+1, receive chunk v-s-1 from v-1 (chunks mod P);
 *      nobody sends to the root, which sends from IN
 *
 * For P = 3, root 0:
 *
 *          0                  1                      2
 *   1    1 to 1, 2 to 2     chunk 1                chunk 2
 *   2.0  chunk 0 to 1       chunk 1 to 2, take 0   take 1
 *   2.1  chunk 2 to 1       chunk 0 to 2, take 2   take 0
 *
 * Cost: 2(P-1) messages and 2N(P-1)/P elements sent by the root. Best for large N on networks.
 * Reproducible: nothing is summed.
 * Source: van de Geijn, JPDC 22(2), 1994, doi:10.1006/jpdc.1994.1093.
 */
#include "algo/build.h"

/** Chunk c modulo P. */
static hk_span_t chunk_of(const hk_schedule_opts_t *opts, hk_region_t region, int c)
{
    return hki_part(region, 0, hki_chunk(opts->count, opts->nranks, hki_mod(c, opts->nranks)));
}

hk_status_t hki_broadcast_scatter_gather(const hk_schedule_opts_t *opts,
                                         hk_schedule_t **schedule_out)
{
    const hki_shape_t shape = {.name = "broadcast_scatter_gather"};
    const int nranks = opts->nranks;
    const int v = hki_mod(opts->rank - opts->root, nranks);
    const int next = (opts->rank + 1) % nranks;
    const int prev = hki_mod(opts->rank - 1, nranks);
    const hk_region_t source = v == 0 ? HK_REGION_IN : HK_REGION_OUT;
    hk_builder_t *builder = NULL;
    const hk_status_t status = hki_algo_open(opts, &shape, &builder);

    if (status != HK_OK) {
        return status;
    }
    for (int c = 1; v == 0 && c < nranks; c++) {
        hk_builder_send(builder, (opts->root + c) % nranks, chunk_of(opts, HK_REGION_IN, c));
    }
    if (v == 0) {
        hk_builder_copy(builder, hki_block(opts, HK_REGION_OUT, 0),
                        hki_block(opts, HK_REGION_IN, 0));
    } else {
        hk_builder_recv(builder, opts->root, chunk_of(opts, HK_REGION_OUT, v));
    }
    for (int s = 0; s < nranks - 1; s++) {
        if (v + 1 < nranks) {
            hk_builder_send(builder, next, chunk_of(opts, source, v - s));
        }
        if (v != 0) {
            hk_builder_recv(builder, prev, chunk_of(opts, HK_REGION_OUT, v - s - 1));
        }
    }
    return hk_builder_finish(&builder, schedule_out);
}

hki_cost_t hki_broadcast_scatter_gather_cost(int nranks, double block_bytes)
{
    const double messages = 2 * (nranks - 1);

    return (hki_cost_t){messages, messages * block_bytes / nranks, 0, 0};
}
