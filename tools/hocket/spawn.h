/**
 * @file spawn.h
 * @brief Starts the process of one rank.
 */
#ifndef HKI_TOOLS_HOCKET_SPAWN_H
#define HKI_TOOLS_HOCKET_SPAWN_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <hocket/base.h>

#include "launch.h"
#include "topo/home.h"
#include "transport/shm/board.h"

enum {
    HKI_SECRET_BYTES = 65,
    HKI_RANKS_PLACED = 1024, /**< most ranks of a job */
};

/** What all ranks of a job share. */
typedef struct hki_job {
    const hki_launch_opts_t *opts;      /**< borrowed */
    char path[4096];                    /**< program to execute */
    char name[48];                      /**< HOCKET_JOB, unique on this host */
    char secret[HKI_SECRET_BYTES];      /**< HOCKET_SECRET, 32 random bytes in hexadecimal */
    char board[HKI_BOARD_VALUE_BYTES];  /**< HOCKET_BOARD */
    pid_t launcher;                     /**< this process */
    sigset_t old_mask;                  /**< the ranks' signal mask */
    struct rlimit old_files;            /**< the ranks' limit of open files */
    int core_count;                     /**< with --bind core; else 0 */
    int cores[HKI_RANKS_PLACED];        /**< (core_count,) logical cores in the order of ranks */
    int home_count;                     /**< 0: ranks look themselves */
    hki_home_t homes[HKI_RANKS_PLACED]; /**< (home_count,) HOCKET_DOMAIN in the order of ranks */
} hki_job_t;

/** Find the program, name the job, draw the secret, place the ranks. @return 0, or the exit status
 *  (printed) */
int hki_job_init(hki_job_t *job, const hki_launch_opts_t *opts);

/**
 * Fork and execute one rank, in a process group of its own.
 *
 * @param[out] pid_out
 * @param[out] pipes_out  (2,) reading ends of its stdout and stderr, non-blocking, close-on-exec
 * @return HK_OK, HK_ERR_SYSTEM (nothing was started)
 */
HK_NODISCARD hk_status_t hki_spawn(const hki_job_t *job, int rank, pid_t *pid_out, int *pipes_out);

#endif /* HKI_TOOLS_HOCKET_SPAWN_H */
