/**
 * @file memfd.h
 * @brief Memory files: no name, no mount, gone with their last user.
 */
#ifndef HKI_TRANSPORT_SHM_MEMFD_H
#define HKI_TRANSPORT_SHM_MEMFD_H

#include <stdint.h>

#include <hocket/base.h>

/** A file of `bytes` bytes that takes no memory yet. @return HK_OK, HK_ERR_NO_MEMORY (the
 *  limit of file sizes), HK_ERR_SYSTEM */
hk_status_t hki_memfd_create(const char *label, uint64_t bytes, int *fd_out);

/** Make a part real, zeroed, so that touching it cannot fail later.
 *  @return HK_OK, HK_ERR_NO_MEMORY (needed and available bytes), HK_ERR_SYSTEM */
hk_status_t hki_memfd_commit(int fd, uint64_t offset, uint64_t bytes);

/** Give a part back; it reads as zero. */
void hki_memfd_decommit(int fd, uint64_t offset, uint64_t bytes);

#endif /* HKI_TRANSPORT_SHM_MEMFD_H */
