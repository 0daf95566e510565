/*
 * The collectives of a lecture on distributed training, with four ranks: rank r holds
 * [0, 1, 2, 3] + r.
 *
 *   all_reduce      adds the four vectors; every rank gets [6, 10, 14, 18]
 *   reduce_scatter  adds them too, and rank r gets element r alone: 6, 10, 14 or 18
 *   all_gather      gives these back to all: [6, 10, 14, 18]
 *
 * Run it with: hocket run -n 4 collectives
 */
#include <hocket/hocket.h>
#include <stdio.h>

enum { RANKS = 4 };

static void show(int rank, const char *what, const float *x, int count)
{
    printf("rank %d %s:", rank, what);
    for (int i = 0; i < count; i++) {
        printf(" %g", (double)x[i]);
    }
    printf("\n");
}

static int is_sum(const float *x, int first, int count)
{
    for (int i = 0; i < count; i++) {
        if (x[i] != (float)(6 + 4 * (first + i))) {
            return 0;
        }
    }
    return 1;
}

static hk_status_t run(hk_comm_t *comm, int *is_right_out)
{
    const int rank = hk_comm_rank(comm);
    float in[RANKS];
    float sum[RANKS];
    float part;
    float all[RANKS];
    hk_status_t status;

    for (int i = 0; i < RANKS; i++) {
        in[i] = (float)(i + rank);
    }
    show(rank, "has", in, RANKS);

    status = hk_all_reduce(comm, in, sum, RANKS, HK_F32, HK_SUM, NULL, NULL);
    if (status != HK_OK) {
        return status;
    }
    show(rank, "all_reduce", sum, RANKS);

    status = hk_reduce_scatter(comm, in, &part, 1, HK_F32, HK_SUM, NULL, NULL);
    if (status != HK_OK) {
        return status;
    }
    show(rank, "reduce_scatter", &part, 1);

    status = hk_all_gather(comm, &part, all, 1, HK_F32, NULL, NULL);
    if (status != HK_OK) {
        return status;
    }
    show(rank, "all_gather", all, RANKS);

    *is_right_out = is_sum(sum, 0, RANKS) && is_sum(&part, rank, 1) && is_sum(all, 0, RANKS);
    return HK_OK;
}

int main(void)
{
    hk_comm_t *comm = NULL;
    int is_right = 0;
    hk_status_t status = hk_comm_open(NULL, &comm);

    if (status == HK_OK && hk_comm_size(comm) != RANKS) {
        fprintf(stderr, "this example wants 4 ranks, not %d: hocket run -n 4 collectives\n",
                hk_comm_size(comm));
        hk_comm_close(&comm);
        return 2;
    }
    if (status == HK_OK) {
        status = run(comm, &is_right);
    }
    if (status != HK_OK) {
        fprintf(stderr, "%s\n", hk_last_error());
    }
    hk_comm_close(&comm);
    return status == HK_OK && is_right ? 0 : 1;
}
