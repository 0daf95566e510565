/*
 * The bandwidth measurement of the same lecture: one warm-up, then one operation with a barrier on
 * both sides. With P ranks that take t seconds,
 *
 *   all_reduce      N floats in and out;    bytes = 4 N 2 (P-1)
 *   reduce_scatter  P N floats in, N out;   bytes = 4 P N (P-1)      bandwidth = bytes / (P t)
 *
 * Run it with: hocket run -n 4 bandwidth [N]      (N is 100 million, as in the lecture, by default)
 */
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct vectors {
    float *in;  /* (P N,) */
    float *out; /* (N,) */
    size_t count;
} vectors_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static hk_status_t operate(hk_comm_t *comm, const vectors_t *v, int is_all_reduce)
{
    if (is_all_reduce) {
        return hk_all_reduce(comm, v->in, v->out, v->count, HK_F32, HK_SUM, NULL, NULL);
    }
    return hk_reduce_scatter(comm, v->in, v->out, v->count, HK_F32, HK_SUM, NULL, NULL);
}

static hk_status_t measure(hk_comm_t *comm, const vectors_t *v, int is_all_reduce)
{
    const double ranks = hk_comm_size(comm);
    const double factor = is_all_reduce ? 2.0 : ranks;
    hk_status_t status = operate(comm, v, is_all_reduce);

    if (status == HK_OK) {
        status = hk_barrier(comm, NULL, NULL);
    }
    const double start = now();
    if (status == HK_OK) {
        status = operate(comm, v, is_all_reduce);
    }
    if (status == HK_OK) {
        status = hk_barrier(comm, NULL, NULL);
    }
    const double seconds = now() - start;
    if (status == HK_OK && hk_comm_rank(comm) == 0) {
        printf("%s: %.4f s, %.3f GB/s\n", is_all_reduce ? "all_reduce" : "reduce_scatter", seconds,
               4e-9 * (double)v->count * factor * (ranks - 1) / (ranks * seconds));
    }
    return status;
}

int main(int argc, char **argv)
{
    vectors_t v = {NULL, NULL, argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 100 * 1024 * 1024};
    hk_comm_t *comm = NULL;
    hk_status_t status = hk_comm_open(NULL, &comm);

    if (status == HK_OK) {
        v.in = calloc(v.count * (size_t)hk_comm_size(comm) + 1, sizeof(*v.in));
        v.out = calloc(v.count + 1, sizeof(*v.out));
        status = v.in == NULL || v.out == NULL ? HK_ERR_NO_MEMORY : measure(comm, &v, 1);
    }
    if (status == HK_OK) {
        status = measure(comm, &v, 0);
    }
    if (status != HK_OK) {
        fprintf(stderr, "%s: %s\n", hk_status_text(status), hk_last_error());
    }
    hk_comm_close(&comm);
    free(v.in);
    free(v.out);
    return status == HK_OK ? 0 : 1;
}
