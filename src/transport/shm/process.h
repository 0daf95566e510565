/**
 * @file process.h
 * @brief Watching other processes of this host.
 */
#ifndef HKI_TRANSPORT_SHM_PROCESS_H
#define HKI_TRANSPORT_SHM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/base.h>

/** A process, told apart from a later one that gets the same number. */
typedef struct hki_process {
    int pid;
    int pidfd;        /**< readable once it has ended; -1 on kernels before 5.3 */
    uint64_t started; /**< start time, where there is no pidfd [clock ticks since boot] */
} hki_process_t;

/** Begin to watch a process that is known to live now. @return HK_OK, HK_ERR_PEER_FAILED (it has
 *  ended), HK_ERR_LIMIT (no file descriptor is left), HK_ERR_SYSTEM */
hk_status_t hki_process_watch(int pid, hki_process_t *process_out);
/** End that. Accepts a process with pidfd -1. */
void hki_process_unwatch(hki_process_t *process);

/** Has it ended, as /proc says? For kernels without pidfd. */
bool hki_process_has_ended(const hki_process_t *process);
/** Is it stopped, by a signal or a debugger? */
bool hki_process_is_stopped(int pid);

#endif /* HKI_TRANSPORT_SHM_PROCESS_H */
