/*
 * One rank of a job in which rank ODD calls something else than the others: `differ WHAT ODD`. All
 * end with "rank R failed F: TEXT".
 *
 *   count, dtype, op, root, collective   the second operation differs in it
 *   more      the odd rank makes one operation more than the others, which then close
 *   length    a message of 3 elements meets a receive of 4
 */
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hk_status_t exchange(hk_comm_t *comm, int is_odd, int odd, double *data)
{
    const int partner = odd == 0 ? 1 : 0;

    if (is_odd) {
        return hk_send(comm, data, 3, HK_F32, partner, NULL, NULL);
    }
    if (hk_comm_rank(comm) == partner) {
        return hk_recv(comm, data, 4, HK_F32, odd, NULL, NULL);
    }
    return hk_barrier(comm, NULL, NULL);
}

static hk_status_t differ(hk_comm_t *comm, const char *what, int odd, double *data)
{
    const int is_odd = hk_comm_rank(comm) == odd;
    const size_t count = strcmp(what, "count") == 0 && is_odd ? 6 : 5;
    const hk_dtype_t dtype = strcmp(what, "dtype") == 0 && is_odd ? HK_I32 : HK_F32;
    const hk_op_t op = strcmp(what, "op") == 0 && is_odd ? HK_MAX : HK_SUM;
    double *out = data + 16;

    if (strcmp(what, "root") == 0) {
        return hk_broadcast(comm, data, out, 5, HK_F32, is_odd ? 1 : 0, NULL, NULL);
    }
    if (strcmp(what, "collective") == 0 && is_odd) {
        return hk_broadcast(comm, data, out, 5, HK_F32, 0, NULL, NULL);
    }
    if (strcmp(what, "length") == 0) {
        return exchange(comm, is_odd, odd, data);
    }
    hk_status_t status = hk_all_reduce(comm, data, out, count, dtype, op, NULL, NULL);
    if (status == HK_OK && strcmp(what, "more") == 0 && is_odd) {
        status = hk_all_reduce(comm, data, out, 7, dtype, op, NULL, NULL);
    }
    return status;
}

int main(int argc, char **argv)
{
    double data[32] = {0};
    hk_comm_t *comm = NULL;
    hk_status_t status = hk_comm_open(NULL, &comm);

    if (status == HK_OK) {
        status = hk_all_reduce(comm, data, data + 16, 1, HK_F32, HK_SUM, NULL, NULL);
    }
    if (status == HK_OK && argc > 2) {
        status = differ(comm, argv[1], atoi(argv[2]), data);
    }
    if (status == HK_OK && strcmp(argc > 1 ? argv[1] : "", "more") != 0) { // some end early
        status = hk_barrier(comm, NULL, NULL);
    }
    if (status != HK_OK) {
        printf("rank %d failed %d: %s: %s\n", hk_comm_rank(comm), hk_comm_failed_rank(comm),
               hk_status_text(status), hk_last_error());
    }
    fflush(stdout);
    hk_comm_close(&comm);
    return status == HK_OK ? 0 : 1;
}
