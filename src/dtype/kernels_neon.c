/*
 * Kernels for AArch64: NEON is part of it, so only what the compiler does not find by itself is
 * written here. Its minimum of floating numbers is the one of hocket/types.h.
 */
#include <arm_neon.h>

#include "dtype/kernels.h"

#define HKI_VECTOR_BYTES 16
#define HKI_TABLE        hki_kernels_neon

#define HKI_SELECT(mask, a, b) \
    ((vec_t)vbslq_u64((uint64x2_t)(mask), (uint64x2_t)(a), (uint64x2_t)(b)))
#define HKI_MUL_EVEN(a, b) \
    ((vec_t)vmull_u32(vmovn_u64((uint64x2_t)(a)), vmovn_u64((uint64x2_t)(b))))
#define HKI_MULHI_U16(a, b) neon_mulhi_u16((uint16x8_t)(a), (uint16x8_t)(b))

#define HKI_F16_LOAD(h)       ((v_f32)vcvt_f32_f16((float16x4_t)(h)))
#define HKI_F16_STORE(v)      ((half_u16)vcvt_f16_f32((float32x4_t)(v)))
#define HKI_WIDEN_16(h)       ((v_u32)vmovl_u16((uint16x4_t)(h)))
#define HKI_NARROW_16(v)      ((half_u16)vmovn_u32((uint32x4_t)(v)))
#define HKI_NARROW_16X2(a, b) ((vec_t)vuzp1q_u16((uint16x8_t)(a), (uint16x8_t)(b)))
#define HKI_NARROW_8X2(a, b)  vmovn_u16(vuzp1q_u16((uint16x8_t)(a), (uint16x8_t)(b)))

#define HKI_LEAST_F32(a, b) vminq_f32((float32x4_t)(a), (float32x4_t)(b))
#define HKI_LEAST_F64(a, b) vminq_f64((float64x2_t)(a), (float64x2_t)(b))
#define HKI_MIN_i8(a, b)    vminq_s8((int8x16_t)(a), (int8x16_t)(b))
#define HKI_MAX_i8(a, b)    vmaxq_s8((int8x16_t)(a), (int8x16_t)(b))
#define HKI_MIN_u8(a, b)    vminq_u8((uint8x16_t)(a), (uint8x16_t)(b))
#define HKI_MAX_u8(a, b)    vmaxq_u8((uint8x16_t)(a), (uint8x16_t)(b))
#define HKI_MIN_i16(a, b)   vminq_s16((int16x8_t)(a), (int16x8_t)(b))
#define HKI_MAX_i16(a, b)   vmaxq_s16((int16x8_t)(a), (int16x8_t)(b))
#define HKI_MIN_i32(a, b)   vminq_s32((int32x4_t)(a), (int32x4_t)(b))
#define HKI_MAX_i32(a, b)   vmaxq_s32((int32x4_t)(a), (int32x4_t)(b))
#define HKI_MIN_u32(a, b)   vminq_u32((uint32x4_t)(a), (uint32x4_t)(b))
#define HKI_MAX_u32(a, b)   vmaxq_u32((uint32x4_t)(a), (uint32x4_t)(b))

static inline __attribute__((always_inline)) uint16x8_t neon_mulhi_u16(uint16x8_t a, uint16x8_t b)
{
    const uint32x4_t low = vmull_u16(vget_low_u16(a), vget_low_u16(b));

    return vuzp2q_u16((uint16x8_t)low, (uint16x8_t)vmull_high_u16(a, b));
}

#include "dtype/kernels_template.h"
