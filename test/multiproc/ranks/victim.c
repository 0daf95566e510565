/*
 * One rank of a job in which something happens to the victim: `victim MOMENT VICTIM`. At its moment
 * the victim prints "victim PID" and stops moving, so that the test can kill or stop it there; the
 * others print "rank R waits in PID" before the call they will hang in, and then "rank R failed F:
 * TEXT".
 *
 *   open     before it joins the job
 *   first    before the first operation
 *   between  after some operations
 *   large    when its part of a large operation has begun
 *   loop     while all run operation after operation
 *   recv     others wait for a message of the victim
 *   exit3    the victim exits with status 3 after some operations
 *   leave    the victim closes and exits with status 0 before the others are done
 */
#include <hocket/hocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 1 << 24 };

typedef struct rank {
    hk_comm_t *comm;
    const char *moment;
    int victim;
    int rank;
    float *data; /* (LARGE,) */
} rank_t;

static int is_moment(const rank_t *r, const char *moment)
{
    return strcmp(r->moment, moment) == 0;
}

static void stand_still(void)
{
    printf("victim %d\n", (int)getpid());
    fflush(stdout);
    for (;;) {
        pause();
    }
}

static hk_status_t add(rank_t *r, size_t count)
{
    return hk_all_reduce(r->comm, r->data, r->data, count, HK_F32, HK_MAX, NULL, NULL);
}

static hk_status_t some_operations(rank_t *r)
{
    hk_status_t status = HK_OK;

    for (int i = 0; i < 10 && status == HK_OK; i++) {
        status = add(r, 1000);
    }
    return status;
}

static hk_status_t be_victim(rank_t *r)
{
    hk_request_t *request = NULL;
    hk_status_t status = HK_OK;

    if (!is_moment(r, "first") && !is_moment(r, "large") && !is_moment(r, "recv")) {
        status = some_operations(r);
    }
    if (status == HK_OK && is_moment(r, "large")) {
        status = hk_all_reduce(r->comm, r->data, r->data, LARGE, HK_F32, HK_MAX, NULL, &request);
    }
    if (status != HK_OK) {
        return status;
    }
    if (is_moment(r, "exit3")) {
        exit(3);
    }
    if (is_moment(r, "leave")) {
        return HK_OK;
    }
    if (!is_moment(r, "loop")) {
        stand_still();
    }
    printf("victim %d\n", (int)getpid());
    fflush(stdout);
    while (status == HK_OK) {
        status = add(r, 100000);
    }
    return status;
}

static hk_status_t be_other(rank_t *r)
{
    hk_status_t status = HK_OK;

    if (!is_moment(r, "first") && !is_moment(r, "large") && !is_moment(r, "recv")) {
        status = some_operations(r);
    }
    if (status != HK_OK) {
        return status;
    }
    printf("rank %d waits in %d\n", r->rank, (int)getpid());
    fflush(stdout);
    if (is_moment(r, "recv")) {
        return hk_recv(r->comm, r->data, 5, HK_F32, r->victim, NULL, NULL);
    }
    if (is_moment(r, "large")) {
        return add(r, LARGE);
    }
    while (status == HK_OK) {
        status = add(r, 100000);
    }
    return status;
}

int main(int argc, char **argv)
{
    rank_t r = {.moment = argc > 2 ? argv[1] : "", .victim = argc > 2 ? atoi(argv[2]) : 0};
    const char *own = getenv("HOCKET_RANK");

    if (is_moment(&r, "open") && own != NULL && atoi(own) == r.victim) {
        stand_still();
    }
    r.rank = own != NULL ? atoi(own) : 0;
    r.data = calloc(LARGE, sizeof(*r.data));
    if (is_moment(&r, "open")) {
        printf("rank %d waits in %d\n", r.rank, (int)getpid());
        fflush(stdout);
    }
    hk_status_t status = r.data != NULL ? hk_comm_open(NULL, &r.comm) : HK_ERR_NO_MEMORY;
    if (status == HK_OK) {
        status = r.rank == r.victim ? be_victim(&r) : be_other(&r);
    }
    if (status != HK_OK) {
        printf("rank %d failed %d: %s: %s\n", r.rank,
               r.comm != NULL ? hk_comm_failed_rank(r.comm) : -2, hk_status_text(status),
               hk_last_error());
        fflush(stdout);
    }
    hk_comm_close(&r.comm);
    free(r.data);
    return status == HK_OK ? 0 : 1;
}
