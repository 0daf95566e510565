/**
 * @file buffer.h
 * @brief Large buffers that ranks send from and receive into.
 *
 * Where there is a communicator they lie in memory that its ranks share (hk_mem_alloc()), so that
 * collectives and messages on them, also on communicators split from it, copy nothing.
 */
#ifndef HKI_PARALLEL_BUFFER_H
#define HKI_PARALLEL_BUFFER_H

#include <hocket/comm.h>

/**
 * Zeros, aligned to 64 bytes at least.
 *
 * @param[in] comm  borrowed, must outlive the buffer; NULL: one rank alone, heap memory
 * @return (count,), or NULL: no memory; hk_last_error() then tells of shared memory what is missing
 */
float *hki_buffer_create(hk_comm_t *comm, size_t count);

/** Free what hki_buffer_create() gave for the same communicator. Accepts NULL. */
void hki_buffer_destroy(hk_comm_t *comm, float *buffer);

#endif /* HKI_PARALLEL_BUFFER_H */
