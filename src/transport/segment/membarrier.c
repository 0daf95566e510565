/**
 * @file membarrier.c
 * @brief membarrier(2), which the C library has no function for.
 */
#include "transport/segment/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

bool hki_membarrier_register(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void hki_membarrier(void)
{
    const long result = syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);

    HKI_DASSERT(result == 0); // of a registered process it cannot fail
    (void)result;
}
