/**
 * @file kernels_plain.c
 * @brief The layer kernels for any processor.
 */
#define KERNELS_NAME  "none"
#define KERNELS_TABLE hki_tensor_kernels_plain
#include "tensor/kernels_body.h"
