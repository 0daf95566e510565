/**
 * @file preload.h
 * @brief Lets ranks start with the drop-in malloc (tools/malloc).
 */
#ifndef HKI_TOOLS_HOCKET_PRELOAD_H
#define HKI_TOOLS_HOCKET_PRELOAD_H

#include <hocket/base.h>

/**
 * Put the drop-in malloc in front of LD_PRELOAD, and HOCKET_SHARED_HEAP_MIN, into the environment
 * of this process, for those that it starts. Prints nothing.
 *
 * @param bytes_min  from this size on, blocks come from the shared heap
 * @return HK_OK, HK_ERR_UNSUPPORTED (hk_last_error(): it is not where it was built or installed)
 */
HK_NODISCARD hk_status_t hki_preload_malloc(size_t bytes_min);

#endif /* HKI_TOOLS_HOCKET_PRELOAD_H */
