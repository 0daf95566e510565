/**
 * @file threads.h
 * @brief How many threads the layers of tensor/ and model/ may use. No result depends on it.
 */
#ifndef HKI_TENSOR_THREADS_H
#define HKI_TENSOR_THREADS_H

/**
 * Use `nthreads` threads (the cores that one rank owns) in every call from now on, in the whole
 * process. Below 1 means 1. The default is 1. Without OpenMP the number is kept and not used.
 */
void hki_tensor_set_threads(int nthreads);

/** The number set last. */
int hki_tensor_threads(void);

#endif /* HKI_TENSOR_THREADS_H */
