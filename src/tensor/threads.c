/**
 * @file threads.c
 * @brief The number of threads, process-wide.
 */
#include "tensor/threads.h"

#include <stdatomic.h>

static atomic_int thread_count = 1;

void hki_tensor_set_threads(int nthreads)
{
    atomic_store_explicit(&thread_count, nthreads < 1 ? 1 : nthreads, memory_order_relaxed);
}

int hki_tensor_threads(void)
{
    return atomic_load_explicit(&thread_count, memory_order_relaxed);
}
