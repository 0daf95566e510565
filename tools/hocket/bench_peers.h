/**
 * @file bench_peers.h
 * @brief The other libraries of `hocket bench --vs`: found, built, and started.
 */
#ifndef HKI_TOOLS_HOCKET_BENCH_PEERS_H
#define HKI_TOOLS_HOCKET_BENCH_PEERS_H

#include "bench.h"

enum { HKI_PEER_PATH_BYTES = 4096 };

/** How each system is started; empty paths: it is not there. */
typedef struct hki_peers {
    int cores;
    char hocket[HKI_PEER_PATH_BYTES];
    char python[HKI_PEER_PATH_BYTES];
    char gloo_script[HKI_PEER_PATH_BYTES];
    char mpi_program[HKI_VS_SYSTEMS][HKI_PEER_PATH_BYTES]; /**< of the MPIs */
    bool is_there[HKI_VS_SYSTEMS];
} hki_peers_t;

/** One run of one system. */
typedef struct hki_peer_run {
    int system;
    int nranks;
    const char *cases; /**< "all_reduce:f32:8,reduce:bf16:1024" */
    double budget_s;   /**< for each */
    double timeout_s;  /**< for all */
} hki_peer_run_t;

/** Find and build what is wanted, and say on stdout what is missing and how to get it. */
void hki_peers_init(hki_peers_t *peers, const hki_choice_list_t *wanted);

/** Has this system such elements? */
bool hki_peer_has_dtype(int system, const char *dtype);

/** Run and append the lines. @return as hki_child_run() */
HK_NODISCARD hk_status_t hki_peer_run(const hki_peers_t *peers, const hki_peer_run_t *run,
                                      hki_text_t *lines);

#endif /* HKI_TOOLS_HOCKET_BENCH_PEERS_H */
