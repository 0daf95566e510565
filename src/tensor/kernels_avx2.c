/**
 * @file kernels_avx2.c
 * @brief The layer kernels compiled for AVX2.
 */
#define KERNELS_NAME  "avx2"
#define KERNELS_TABLE hki_tensor_kernels_avx2
#include "tensor/kernels_body.h"
