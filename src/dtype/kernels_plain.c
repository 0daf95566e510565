/*
 * Kernels for any processor: 16-byte vectors, made of whatever instructions the compiler may use
 * everywhere (SSE2 on x86-64).
 */
#include "dtype/kernels.h"

#define HKI_VECTOR_BYTES 16
#define HKI_TABLE        hki_kernels_plain
#include "dtype/kernels_template.h"
