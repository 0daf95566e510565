/**
 * @file env.h
 * @brief Environment variables: one table of ours, and who starts this process (launchers').
 */
#ifndef HKI_COMM_ENV_H
#define HKI_COMM_ENV_H

#include <hocket/comm.h>

/** Every variable that hocket reads on its own account: name, default, help. */
#define HKI_ENV_MAP(X)                                                                        \
    X(RANK, "HOCKET_RANK", "", "this process's rank; set by hocket run")                      \
    X(NRANKS, "HOCKET_NRANKS", "", "ranks in the job; set by hocket run")                     \
    X(JOB, "HOCKET_JOB", "", "name of the job, unique on this host; set by hocket run")       \
    X(TIMEOUT, "HOCKET_TIMEOUT", "1800", "deadline of every wait [s]; -1: none")              \
    X(OPEN_TIMEOUT, "HOCKET_OPEN_TIMEOUT", "60", "deadline of opening a communicator [s]")    \
    X(ORDER, "HOCKET_ORDER", "tree",                                                          \
      "order of reductions: tree (always the same bits) or any (allows ring algorithms)")     \
    X(ALGO, "HOCKET_ALGO", "",                                                                \
      "forced algorithms, e.g. all_reduce:0-8K=direct,8K-=halving;broadcast=chain")           \
    X(FIT, "HOCKET_FIT", "auto",                                                              \
      "measured costs: auto reads what hocket bench --fit has stored, off, or a file's path") \
    X(SEGMENT, "HOCKET_SEGMENT", "2M",                                                        \
      "staging memory of a rank [bytes, with K, M or G]; 1M for more than 64 ranks")          \
    X(SPIN, "HOCKET_SPIN", "-1",                                                              \
      "waiting: -1 spins while ranks here are not more than cores, 0 never spins, 1 always, " \
      "2 only yields, 3 only sleeps")                                                         \
    X(PROGRESS, "HOCKET_PROGRESS", "none",                                                    \
      "who moves requests while their caller computes: none, thread, or auto, a thread if "   \
      "ranks here leave cores free")                                                          \
    X(SINGLE_COPY, "HOCKET_SINGLE_COPY", "auto",                                              \
      "ranks read each other's memory: auto where it works and pays, on for all sizes, off")  \
    X(SHARED_HEAP_MIN, "HOCKET_SHARED_HEAP_MIN", "64K",                                       \
      "smallest block of the shared heap [bytes]; set by hocket run --shared-heap")           \
    X(DOMAIN, "HOCKET_DOMAIN", "",                                                            \
      "cache and memory domain of this rank, e.g. 3:1; set by hocket run, else found out")    \
    X(SIMD, "HOCKET_SIMD", "", "none, neon, avx2 or avx512 instead of the best there is")     \
    X(LOG, "HK_LOG", "warn", "log level, also by component: info, or exec:trace,comm:debug")  \
    X(GEMM, "HOCKET_GEMM", "", "library of matrix products: onednn, cblas or plain")          \
    X(TORCH_PYTHON, "HOCKET_TORCH_PYTHON", "",                                                \
      "a Python that has PyTorch, for hocket bench --vs gloo")                                \
    X(SECRET, "HOCKET_SECRET", "", "only processes that have the same may join the job")      \
    X(BOARD, "HOCKET_BOARD", "",                                                              \
      "memory where the launcher notes how ranks ended; set by hocket run")

typedef enum hki_env {
#define HKI_ENV_ENUM(id, name, preset, help) HKI_ENV_##id,
    HKI_ENV_MAP(HKI_ENV_ENUM)
#undef HKI_ENV_ENUM
        HKI_ENV_COUNT
} hki_env_t;

typedef struct hki_env_row {
    const char *name;
    const char *preset;
    const char *help;
} hki_env_row_t;

/** The table, HKI_ENV_COUNT rows. */
const hki_env_row_t *hki_env_table(void);

/** Value of one of the table's variables; NULL if it is not set or empty. */
const char *hki_env_value(hki_env_t variable);

/** Put the values of the environment into all options that still have their default. */
hk_status_t hki_env_options(hk_comm_opts_t *opts);

/** HOCKET_SINGLE_COPY: -1 auto, 0 off, 1 on. */
hk_status_t hki_env_single_copy(int *single_copy_out);

enum { HKI_JOB_BYTES = 256 };

/** Who this process is. */
typedef struct hki_identity {
    int rank;
    int nranks;
    char job[HKI_JOB_BYTES];
    const char *source; /**< "HOCKET_RANK", "torchrun", ...: where it comes from */
} hki_identity_t;

/**
 * Rank, nranks and job from `opts` or the first launcher whose variables are set: HOCKET_*,
 * torchrun, Slurm, Open MPI, MPICH; else one rank.
 *
 * @return HK_OK, HK_ERR_INVALID_ARG (names variable and value), HK_ERR_UNSUPPORTED (several hosts)
 */
hk_status_t hki_env_identity(const hk_comm_opts_t *opts, hki_identity_t *identity_out);

#endif /* HKI_COMM_ENV_H */
