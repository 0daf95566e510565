/*
 * Kernels for AArch64: NEON is part of it, so only what the compiler does not find by itself is
 * written here.
 */
#include <arm_neon.h>

#include "dtype/kernels.h"

#define HKI_VECTOR_BYTES 16
#define HKI_TABLE        hki_kernels_neon

#define HKI_F16_LOAD(h)  ((v_f32)vcvt_f32_f16((float16x4_t)(h)))
#define HKI_F16_STORE(v) ((half_u16)vcvt_f16_f32((float32x4_t)(v)))
#define HKI_WIDEN_16(h)  ((v_u32)vmovl_u16((uint16x4_t)(h)))
#define HKI_NARROW_16(v) ((half_u16)vmovn_u32((uint32x4_t)(v)))

#include "dtype/kernels_template.h"
