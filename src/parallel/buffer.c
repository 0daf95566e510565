/**
 * @file buffer.c
 * @brief Shared memory where there are others, heap where there are none.
 */
#include "parallel/buffer.h"

#include <stdint.h>

#include <hocket/memory.h>

#include "base/alloc.h"
#include "base/error.h"

enum { ALIGNMENT = 64 };

float *hki_buffer_create(hk_comm_t *comm, size_t count)
{
    void *memory = NULL;

    if (comm == NULL) {
        return hki_calloc_aligned(count, sizeof(float), ALIGNMENT);
    }
    if (count > SIZE_MAX / sizeof(float)) {
        (void)HKI_FAIL(HK_ERR_NO_MEMORY, "no memory holds %zu elements", count);
        return NULL;
    }
    const size_t bytes = count == 0 ? 1 : count * sizeof(float);
    return hk_mem_alloc(comm, bytes, &memory) == HK_OK ? memory : NULL;
}

void hki_buffer_destroy(hk_comm_t *comm, float *buffer)
{
    if (comm == NULL) {
        hki_free(buffer);
    } else {
        hk_mem_free(comm, buffer);
    }
}
