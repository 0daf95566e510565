/**
 * @file remote.h
 * @brief Reading the memory of another process (single copy), and finding out whether it works.
 */
#ifndef HKI_TRANSPORT_SHM_REMOTE_H
#define HKI_TRANSPORT_SHM_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HKI_REMOTE_BLOCK_BYTES = 256 << 10 };

/** A block in the memory of a process, with a number at its start by which others know that it is
 *  the process they mean, and by reading which they measure. */
typedef struct hki_token {
    uint64_t address; /**< 0: there is none */
    uint64_t value;
} hki_token_t;

/**
 * Copy from the memory of another process.
 *
 * @param address  in that process
 * @return 0, or an errno: ESRCH (it has ended), EFAULT (nothing there, or it is ending), EPERM,
 *         ENOSYS
 */
int hki_remote_read(int pid, uint64_t address, void *into, size_t bytes);

/** A block of this process for others to read, touched. NULL: no memory. Free with hki_free(). */
uint64_t *hki_remote_block(uint64_t value);

/** Can this process read the one with that token? @return 0, or an errno: also ESRCH if the number
 *  means another process here (a container of its own) */
int hki_remote_probe(int pid, const hki_token_t *token);

/**
 * Does single copy pay here? Measured: reading the block of another process must take less than
 * copying it twice in this one, which is what staging costs besides.
 *
 * @param own    block of this process
 * @param token  of a process that hki_remote_probe() could read
 */
bool hki_remote_pays(int pid, const hki_token_t *token, const uint64_t *own);

/** Let processes of this user read this one, where the kernel asks for that (yama). */
void hki_remote_allow(void);

#endif /* HKI_TRANSPORT_SHM_REMOTE_H */
