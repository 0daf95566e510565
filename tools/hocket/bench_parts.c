/*
 * What `hocket bench` knows of the parts of the machine that its ranks lie in: the costs that the
 * communicator chooses by, and lists of ranks. By the functions of the library itself.
 */
#include <stdio.h>

#include "bench.h"
#include "comm/comm.h"
#include "tool.h"

hk_status_t hki_bench_costs(hki_bench_t *bench)
{
    const hki_costs_t *costs = NULL;
    hk_status_t status = HK_OK;

    for (int coll = 0; coll < HKI_COLL_COUNT && status == HK_OK; coll++) {
        status = hki_comm_costs(bench->comm, (hki_coll_t)coll, &costs);
    }
    if (status == HK_OK) {
        bench->costs = *costs;
    }
    return status;
}

bool hki_bench_is_divided(const hki_bench_t *bench, int level)
{
    return hki_parts_are(&bench->comm->parts, level);
}

hk_status_t hki_bench_crossing(const hki_bench_t *bench, const hki_algo_t *algo,
                               hki_crossing_t *crossings_out)
{
    return hki_parts_count(&bench->comm->parts, algo, crossings_out);
}

void hki_bench_print_parts(const hki_bench_t *bench)
{
    for (int level = 0; level < HKI_CROSS_LEVELS; level++) {
        const int *parts = bench->comm->parts.of[level];

        if (parts != NULL) {
            (void)printf("# ranks by %s:", level == HKI_CROSS_CACHE ? "cache" : "memory domain");
            hki_tool_print_parts(parts, bench->nranks);
            (void)printf("; crossing costs %.4g ns a message, %.4g ns a byte at the border\n",
                         bench->costs.cross[level].alpha_ns, bench->costs.cross[level].beta_ns);
        }
    }
}
