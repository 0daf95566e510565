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

/** Is there so much memory in all? Several processes that commit a part each must ask first: each
 *  part may fit where not all do. @return HK_OK, HK_ERR_NO_MEMORY (needed and available bytes) */
hk_status_t hki_memfd_room(uint64_t bytes);

/** Equal parts of a file at equal distances. */
typedef struct hki_memfd_parts {
    uint64_t offset; /**< of the first */
    uint64_t bytes;  /**< of each */
    uint64_t stride; /**< from the start of one to that of the next */
    int count;
} hki_memfd_parts_t;

/** The same for several parts at once. */
hk_status_t hki_memfd_commit_parts(int fd, const hki_memfd_parts_t *parts);

/** Give a part back; it reads as zero. */
void hki_memfd_decommit(int fd, uint64_t offset, uint64_t bytes);

#endif /* HKI_TRANSPORT_SHM_MEMFD_H */
