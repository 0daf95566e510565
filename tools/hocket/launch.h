/**
 * @file launch.h
 * @brief Starts a program as several ranks on this host and sees it through to the end.
 */
#ifndef HKI_TOOLS_HOCKET_LAUNCH_H
#define HKI_TOOLS_HOCKET_LAUNCH_H

#include <stdbool.h>

/** Choices of --bind, in the order of hki_bind_t. */
#define HKI_BIND_CHOICES "none|core"

typedef enum hki_bind {
    HKI_BIND_NONE, /**< ranks run where the launcher may */
    HKI_BIND_CORE, /**< rank i runs on core i mod n of the n that the launcher may use, in the order
                      of hki_hardware_order(): neighbours share caches and memory */
} hki_bind_t;

typedef struct hki_launch_opts {
    const char *command; /**< "run": names the launcher in messages; borrowed */
    int nranks;          /**< 1 .. 1024 */
    hki_bind_t bind;
    double timeout_s;  /**< deadline of every wait in the ranks [s], HOCKET_TIMEOUT; 0: not set */
    double grace_s;    /**< after a rank has failed, the others have this long to end [s] */
    bool has_prefix;   /**< write "[3] " before each line of rank 3 */
    bool is_quiet;     /**< say nothing of one's own about ranks that fail */
    char *const *argv; /**< the program, looked up in PATH, and its arguments; NULL ends it */
} hki_launch_opts_t;

/**
 * Run argv as nranks ranks, each with HOCKET_RANK, HOCKET_NRANKS, HOCKET_JOB, HOCKET_SECRET. Their
 * output is written in whole lines; standard input goes to rank 0; signals are passed on; when a
 * rank fails the others learn it at once, and are ended after the grace. Prints what went wrong.
 *
 * @return the exit status to end with: 0, or of the first rank that failed (128 + N for signal N);
 *         HKI_EXIT_NOT_FOUND, HKI_EXIT_NOT_EXECUTABLE, HKI_EXIT_FAILED if nothing was started
 */
int hki_launch(const hki_launch_opts_t *opts);

/** The same for this very program: `hocket argv[0] argv[1] ...`; opts->argv is ignored. */
int hki_launch_self(const hki_launch_opts_t *opts, int argc, char **argv);

/** Is this process a rank that a launcher (ours or another) has started? */
bool hki_launch_is_rank(void);

#endif /* HKI_TOOLS_HOCKET_LAUNCH_H */
