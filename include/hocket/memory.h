/**
 * @file hocket/memory.h
 * @brief Memory that the ranks of one host share, so that collectives on it copy nothing.
 */
#ifndef HK_MEMORY_H
#define HK_MEMORY_H

#include <hocket/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Zeroed memory, aligned to a page, that every rank of `comm` on this host can read directly.
 * Local: other ranks need not call. Any buffer inside it may be passed to any call, at any offset.
 * From 2 MiB on it is aligned to that, and lies in large pages where the kernel can do it.
 *
 * @param[out] ptr_out  set on success only; free it with hk_mem_free(), or it goes with the process
 * @return HK_OK, HK_ERR_NO_MEMORY (names needed and available bytes)
 * Cost: every page is written once, twice for large pages: about 1 ms a MiB.
 */
HK_API HK_NODISCARD hk_status_t hk_mem_alloc(hk_comm_t *comm, size_t bytes, void **ptr_out);

/** Give memory of hk_mem_alloc() back. Accepts NULL. No operation may be using it. */
HK_API void hk_mem_free(hk_comm_t *comm, void *ptr);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HK_MEMORY_H */
