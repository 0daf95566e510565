/*
 * `hocket bench --startup`: the time from starting `hocket run` until the last rank has the result
 * of its first all-reduce. Each turn runs `hocket run -n N hocket bench --startup`; the ranks note
 * the time on the clock that all processes of a machine share, and print it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "bench.h"
#include "child.h"
#include "launch.h"

enum { TURNS = 20, STAGES = 3 };

#define TURN_S 120.0 /* for one turn, before it is given up */

/** Ends of what all ranks have done: entered main(), opened, reduced [ns]. */
typedef struct moments {
    uint64_t ns[STAGES];
} moments_t;

hk_status_t hki_bench_startup_rank(void)
{
    moments_t moments = {.ns = {hki_clock_ns()}};
    const double one = 1.0;
    double ranks = 0.0;
    hk_comm_t *comm = NULL;
    hk_status_t status = hk_comm_open(NULL, &comm);

    moments.ns[1] = hki_clock_ns();
    if (status == HK_OK) {
        status = hk_all_reduce(comm, &one, &ranks, 1, HK_F64, HK_SUM, NULL, NULL);
    }
    moments.ns[2] = hki_clock_ns();
    if (status == HK_OK && ranks != (double)hk_comm_size(comm)) {
        status = HKI_FAIL(HK_ERR_INTERNAL, "the sum of 1 over %d ranks is %g", hk_comm_size(comm),
                          ranks);
    }
    if (status == HK_OK) {
        (void)printf("%llu %llu %llu\n", (unsigned long long)moments.ns[0],
                     (unsigned long long)moments.ns[1], (unsigned long long)moments.ns[2]);
    }
    hk_comm_close(&comm);
    return status;
}

/** The latest of all ranks' moments; every rank has printed a line. */
static hk_status_t read_moments(const char *text, int nranks, moments_t *last)
{
    int lines = 0;

    *last = (moments_t){.ns = {0}};
    for (; *text != '\0'; lines++) {
        for (int i = 0; i < STAGES; i++) {
            char *end = NULL;
            const uint64_t ns = strtoull(text, &end, 10);
            last->ns[i] = ns > last->ns[i] ? ns : last->ns[i];
            text = end;
        }
        if (*text != '\n') {
            break;
        }
        text++;
    }
    return lines == nranks && *text == '\0'
               ? HK_OK
               : HKI_FAIL(HK_ERR_FORMAT, "%d of %d ranks told their times", lines, nranks);
}

/** One start. @param[out] ms_out  (STAGES,) from the start of `hocket run` */
static hk_status_t take_turn(const hki_bench_values_t *values, const char *self, double *ms_out)
{
    static const char *const binds[] = {"none", "core"};
    char ranks[16];
    const char *const argv[] = {
        self, "run",   "-n",        ranks, "--bind", binds[values->bind == HKI_BIND_CORE],
        self, "bench", "--startup", NULL};
    const hki_child_t child = {.argv = argv, .timeout_s = TURN_S};
    hki_text_t text = {0};
    moments_t last;

    (void)snprintf(ranks, sizeof(ranks), "%d", values->nranks);
    const uint64_t start_ns = hki_clock_ns();
    hk_status_t status = hki_child_run(&child, &text);
    if (status == HK_OK) {
        status = read_moments(text.data == NULL ? "" : text.data, values->nranks, &last);
    }
    for (int i = 0; status == HK_OK && i < STAGES; i++) {
        ms_out[i] = (double)(last.ns[i] - start_ns) / 1e6;
    }
    hki_text_fini(&text);
    return status;
}

static void print(const hki_bench_values_t *values, double *ms, size_t turns)
{
    static const char *const names[STAGES] = {"all ranks run", "all have opened",
                                              "all have the sum"};

    (void)printf("# %d ranks, %zu starts; from the start of hocket run [ms]\n%-20s%10s%10s%10s\n",
                 values->nranks, turns, "until", "min", "median", "max");
    for (size_t i = 0; i < STAGES; i++) {
        double *sorted = ms + i * turns;
        hki_bench_sort(sorted, turns);
        (void)printf("%-20s%10.2f%10.2f%10.2f\n", names[i], sorted[0],
                     hki_bench_quantile(sorted, turns, 0.5), sorted[turns - 1]);
    }
}

hk_status_t hki_bench_startup(const hki_bench_values_t *values)
{
    const size_t turns = values->iterations > 0 ? (size_t)values->iterations : TURNS;
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    double *ms = hki_calloc(turns * STAGES, sizeof(*ms)); // (STAGES, turns)
    hk_status_t status = HK_OK;

    if (ms == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "%zu times", turns * STAGES);
    }
    if (length <= 0) {
        HKI_TRY(status = HKI_FAIL(HK_ERR_SYSTEM, "/proc/self/exe: %s", strerror(errno)), done);
    }
    self[length] = '\0';
    for (size_t turn = 0; turn < turns; turn++) {
        double stages[STAGES];
        HKI_TRY(status = take_turn(values, self, stages), done);
        for (size_t i = 0; i < STAGES; i++) {
            ms[i * turns + turn] = stages[i];
        }
    }
    print(values, ms, turns);
done:
    hki_free(ms);
    return status;
}
