/*
 * Ranks as threads or as processes.
 */
#include "ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 300000 };

typedef struct rank_thread {
    pthread_t thread;
    hk_comm_t *comm;
    ranks_fn fn;
    const void *cookie;
    bool is_well;
} rank_thread_t;

static int g_nparts = 1;

void ranks_divide(int nparts)
{
    g_nparts = nparts;
}

int ranks_in_part(int nranks)
{
    return (nranks + g_nparts - 1) / g_nparts;
}

/** Tell this process, which is to be a rank, in which part it lies. */
static void find_home(int rank, int nranks)
{
    const int part = rank / ranks_in_part(nranks);
    char home[32];

    (void)snprintf(home, sizeof(home), "%d:%d", part, part);
    if (g_nparts > 1 && setenv("HOCKET_DOMAIN", home, 1) != 0) {
        perror("setenv");
        abort();
    }
}

static hk_comm_opts_t options(void)
{
    hk_comm_opts_t opts = hk_comm_opts_default();

    opts.timeout_ms = TIMEOUT_MS;
    return opts;
}

static void *thread_main(void *arg)
{
    rank_thread_t *self = arg;

    self->is_well = self->fn(self->comm, self->cookie);
    if (!self->is_well) {
        hk_comm_abort(self->comm, "the test failed");
    }
    hk_comm_close(&self->comm);
    return NULL;
}

static bool run_threads(int nranks, ranks_fn fn, const void *cookie)
{
    const hk_comm_opts_t opts = options();
    rank_thread_t ranks[RANKS_RUN_MAX] = {0};
    hk_comm_t *comms[RANKS_RUN_MAX];
    bool is_well = true;

    if (hk_comm_open_threads(&opts, nranks, comms) != HK_OK) {
        fprintf(stderr, "%d ranks as threads: %s\n", nranks, hk_last_error());
        return false;
    }
    for (int r = 0; r < nranks; r++) {
        ranks[r] = (rank_thread_t){.comm = comms[r], .fn = fn, .cookie = cookie};
        if (pthread_create(&ranks[r].thread, NULL, thread_main, &ranks[r]) != 0) {
            fprintf(stderr, "no thread for rank %d\n", r);
            abort();
        }
    }
    for (int r = 0; r < nranks; r++) {
        (void)pthread_join(ranks[r].thread, NULL);
        is_well = is_well && ranks[r].is_well;
    }
    return is_well;
}

static void child_main(const char *job, int rank, int nranks, ranks_fn fn, const void *cookie)
{
    hk_comm_opts_t opts = options();
    hk_comm_t *comm = NULL;

    find_home(rank, nranks);
    opts.rank = rank;
    opts.nranks = nranks;
    opts.job = job;
    if (hk_comm_open(&opts, &comm) != HK_OK) {
        fprintf(stderr, "rank %d of %d: %s\n", rank, nranks, hk_last_error());
        _exit(1);
    }
    const bool is_well = fn(comm, cookie);
    if (!is_well) {
        hk_comm_abort(comm, "the test failed");
    }
    hk_comm_close(&comm);
    exit(is_well ? 0 : 1); // so that sanitizers look for leaks
}

static bool run_processes(int nranks, ranks_fn fn, const void *cookie)
{
    static int runs;
    pid_t pids[RANKS_RUN_MAX];
    char job[64];
    bool is_well = true;

    (void)snprintf(job, sizeof(job), "conformance-%ld-%d", (long)getpid(), runs);
    runs++;
    (void)fflush(NULL);
    for (int r = 0; r < nranks; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            child_main(job, r, nranks, fn, cookie);
        }
        if (pids[r] < 0) {
            perror("fork");
            abort();
        }
    }
    for (int r = 0; r < nranks; r++) {
        int end = 0;

        (void)waitpid(pids[r], &end, 0);
        if (end != 0) {
            fprintf(stderr, "rank %d of %d ended with %s %d\n", r, nranks,
                    WIFSIGNALED(end) ? "signal" : "status",
                    WIFSIGNALED(end) ? WTERMSIG(end) : WEXITSTATUS(end));
            is_well = false;
        }
    }
    return is_well;
}

bool ranks_run(const char *transport, int nranks, ranks_fn fn, const void *cookie)
{
    if (nranks < 1 || nranks > RANKS_RUN_MAX) {
        fprintf(stderr, "%d ranks; there may be 1 to %d\n", nranks, RANKS_RUN_MAX);
        return false;
    }
    return strcmp(transport, "local") == 0 ? run_threads(nranks, fn, cookie)
                                           : run_processes(nranks, fn, cookie);
}
