/**
 * @file kernels_vectors.h
 * @brief Vectors of the width that kernels_<level>.c has chosen, what is done to their bits, and
 *        the conversions of small floating types. Part of kernels_template.h.
 *
 * Method: vectors of the compiler (vector_size), so that there is one text for all processors, and
 * a few primitives that a level may define in a better way before it includes this:
 *   HKI_SELECT(mask, a, b)              whole lanes of a where the mask is set, else of b
 *   HKI_ODD_16(even, odd)               16-bit lanes: 1, 3, ... of `odd`, 0, 2, ... of `even`
 *   HKI_MUL_EVEN(a, b)                  products of the low 32 bits of 64-bit lanes
 *   HKI_MULHI_U16(a, b)                 upper halves of the products of 16-bit lanes
 *   HKI_F16_LOAD(h), HKI_F16_STORE(v)   f16 to f32 and back (v holds only the canonical NaN)
 *   HKI_WIDEN_I8(h)                     signed bytes to 16-bit lanes
 *   HKI_WIDEN_16(h), HKI_NARROW_16(v)   32-bit lanes to their low halves, and back
 *   HKI_NARROW_8X2(a, b)                two vectors of 32-bit lanes (up to 255) to half a vector
 *   HKI_NARROW_16X2(a, b)               two vectors of 32-bit lanes (up to 65535) to one
 *   HKI_MIN_F32(a, b), HKI_MAX_F32(a, b), HKI_MIN_F64(a, b)
 *                                       a if it is less (greater) than b, else b
 *   HKI_MIN_i8(a, b) ... of i8, u8, i16, i32, u32; of i64, u64: the lesser; HKI_MAX_i8(a, b) ...
 */
#ifndef HKI_DTYPE_KERNELS_VECTORS_H
#define HKI_DTYPE_KERNELS_VECTORS_H

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
/** What takes many instructions where the processor has none for it: once, not in every loop. */
#define OUTLINE static __attribute__((noinline))
#define VECTOR  __attribute__((vector_size(HKI_VECTOR_BYTES)))

typedef uint64_t vec_t VECTOR; // any lanes: cast to the type of the moment
typedef uint8_t v_u8 VECTOR;
typedef int8_t v_i8 VECTOR;
typedef uint16_t v_u16 VECTOR;
typedef int16_t v_i16 VECTOR;
typedef uint32_t v_u32 VECTOR;
typedef int32_t v_i32 VECTOR;
typedef uint64_t v_u64 VECTOR;
typedef int64_t v_i64 VECTOR;
typedef float v_f32 VECTOR;
typedef double v_f64 VECTOR;
typedef uint16_t half_u16 __attribute__((vector_size(HKI_VECTOR_BYTES / 2)));
typedef uint8_t half_u8 __attribute__((vector_size(HKI_VECTOR_BYTES / 2)));
typedef int8_t half_i8 __attribute__((vector_size(HKI_VECTOR_BYTES / 2)));
typedef uint8_t quarter_u8 __attribute__((vector_size(HKI_VECTOR_BYTES / 4)));

/** Accumulators of the elements of one step, where they need two vectors: either half, or the
 *  elements 0, 2, 4, ... and 1, 3, 5, ... (No array: it would live in memory.) */
typedef struct two {
    vec_t a, b;
} two_t;

/* ---- bits ---------------------------------------------------------------------------------- */

INLINE vec_t select_bits(vec_t mask, vec_t if_set, vec_t if_clear)
{
    return (mask & if_set) | (~mask & if_clear);
}

INLINE v_u8 splat_u8(uint8_t x)
{
    return x - (v_u8){0};
}

INLINE v_u16 splat_u16(uint16_t x)
{
    return x - (v_u16){0};
}

INLINE v_u32 splat_u32(uint32_t x)
{
    return x - (v_u32){0};
}

INLINE v_u64 splat_u64(uint64_t x)
{
    return x - (v_u64){0};
}

#ifndef HKI_SELECT
#    define HKI_SELECT(mask, a, b) select_bits(mask, a, b)
#endif
#ifndef HKI_ODD_16
#    define HKI_ODD_16(even, odd) select_bits((vec_t)splat_u32(0xffff0000), odd, even)
#endif

#ifndef HKI_MUL_EVEN
#    define HKI_MUL_EVEN(a, b) (((v_u64)(a)&0xffffffff) * ((v_u64)(b)&0xffffffff))
#endif
#ifndef HKI_MULHI_U16
INLINE vec_t mulhi_u16(vec_t a, vec_t b)
{
    const v_u32 even = ((v_u32)a & 0xffff) * ((v_u32)b & 0xffff);
    const v_u32 odd = ((v_u32)a >> 16) * ((v_u32)b >> 16);

    return HKI_ODD_16((vec_t)(even >> 16), (vec_t)odd);
}
#    define HKI_MULHI_U16(a, b) mulhi_u16(a, b)
#endif

#ifndef HKI_MIN_F32
#    define HKI_MIN_F32(a, b) ((v_f32)HKI_SELECT((vec_t)((a) < (b)), (vec_t)(a), (vec_t)(b)))
#    define HKI_MAX_F32(a, b) ((v_f32)HKI_SELECT((vec_t)((a) > (b)), (vec_t)(a), (vec_t)(b)))
#    define HKI_MIN_F64(a, b) ((v_f64)HKI_SELECT((vec_t)((a) < (b)), (vec_t)(a), (vec_t)(b)))
#endif

#define LESSER(type, a, b)  HKI_SELECT((vec_t)((type)(a) < (type)(b)), a, b)
#define GREATER(type, a, b) HKI_SELECT((vec_t)((type)(a) > (type)(b)), a, b)
#ifndef HKI_MIN_i8
#    define HKI_MIN_i8(a, b)  LESSER(v_i8, a, b)
#    define HKI_MAX_i8(a, b)  GREATER(v_i8, a, b)
#    define HKI_MIN_u8(a, b)  LESSER(v_u8, a, b)
#    define HKI_MAX_u8(a, b)  GREATER(v_u8, a, b)
#    define HKI_MIN_i16(a, b) LESSER(v_i16, a, b)
#    define HKI_MAX_i16(a, b) GREATER(v_i16, a, b)
#    define HKI_MIN_i32(a, b) LESSER(v_i32, a, b)
#    define HKI_MAX_i32(a, b) GREATER(v_i32, a, b)
#    define HKI_MIN_u32(a, b) LESSER(v_u32, a, b)
#    define HKI_MAX_u32(a, b) GREATER(v_u32, a, b)
#endif
#ifndef HKI_MIN_i64
#    define HKI_MIN_i64(a, b) LESSER(v_i64, a, b)
#    define HKI_MAX_i64(a, b) GREATER(v_i64, a, b)
#    define HKI_MIN_u64(a, b) LESSER(v_u64, a, b)
#    define HKI_MAX_u64(a, b) GREATER(v_u64, a, b)
#endif

#ifndef HKI_NARROW_16
#    define HKI_NARROW_16(v) __builtin_convertvector((v_u32)(v), half_u16)
#    define HKI_WIDEN_16(h)  __builtin_convertvector(h, v_u32)
#endif
#ifndef HKI_WIDEN_I8
#    define HKI_WIDEN_I8(h) __builtin_convertvector(h, v_i16)
#endif
#ifndef HKI_NARROW_8X2
OUTLINE half_u8 narrow_8x2(v_u32 a, v_u32 b)
{
    const quarter_u8 parts[2] = {__builtin_convertvector(a, quarter_u8),
                                 __builtin_convertvector(b, quarter_u8)};
    half_u8 half;

    memcpy(&half, parts, sizeof(half));
    return half;
}
#    define HKI_NARROW_8X2(a, b) narrow_8x2(a, b)
#endif

#ifndef HKI_NARROW_16X2
INLINE vec_t narrow_16x2(v_u32 a, v_u32 b)
{
    const half_u16 parts[2] = {HKI_NARROW_16(a), HKI_NARROW_16(b)};
    vec_t v;

    memcpy(&v, parts, sizeof(v));
    return v;
}
#    define HKI_NARROW_16X2(a, b) narrow_16x2(a, b)
#endif

/** The one NaN for every NaN. */
INLINE vec_t quiet_f32(vec_t v)
{
    return HKI_SELECT((vec_t)((v_f32)v == (v_f32)v), v, (vec_t)splat_u32(0x7fc00000));
}

INLINE vec_t quiet_f64(vec_t v)
{
    return HKI_SELECT((vec_t)((v_f64)v == (v_f64)v), v,
                      (vec_t)splat_u64(UINT64_C(0x7ff8000000000000)));
}

/* ---- small floating types: see convert.c --------------------------------------------------- */

/** f16, fp8e4m3, fp8e5m2 as in convert.c. */
typedef struct small {
    int fraction_bits;
    int bias;
    int sign_bit;
    uint32_t special;
    uint32_t infinity;
    uint32_t nan;
} small_t;

#define SMALL_F16            ((small_t){10, 15, 15, 0x7c00, 0x7c00, 0x7e00})
#define SMALL_FP8E4M3        ((small_t){3, 7, 7, 0x7f, 0x7e, 0x7f})
#define SMALL_FP8E4M3_SCALED ((small_t){3, 15, 7, 0x7f, 0x7e, 0x7f}) // values times 2^-8
#define SMALL_FP8E5M2        ((small_t){2, 15, 7, 0x7c, 0x7c, 0x7e})

/** Codes to f32, where the processor has no instruction for it. */
INLINE vec_t small_decode(small_t type, v_u32 code)
{
    const int shift = 23 - type.fraction_bits;
    const uint32_t rebase = (uint32_t)(127 - type.bias) << 23;
    const v_u32 sign = (code >> type.sign_bit) << 31;
    const v_u32 magnitude = code & ((UINT32_C(1) << type.sign_bit) - 1);
    const v_u32 shifted = magnitude << shift;
    const vec_t is_special = (vec_t)((v_i32)magnitude >= (int32_t)type.special);
    const vec_t is_nan = (vec_t)((v_i32)magnitude > (int32_t)type.infinity);
    const vec_t is_subnormal =
        (vec_t)((v_i32)magnitude < (int32_t)(UINT32_C(1) << type.fraction_bits));
    const v_u32 one = splat_u32(rebase + (UINT32_C(1) << 23)); // the smallest normal value
    const vec_t subnormal = (vec_t)((v_f32)(shifted + one) - (v_f32)one); // exact
    const vec_t special = (vec_t)(shifted | 0x7f800000) | (is_nan & (vec_t)splat_u32(0x00400000));
    vec_t v = HKI_SELECT(is_subnormal, subnormal, (vec_t)(shifted + rebase));

    v = HKI_SELECT(is_special, special, v);
    return v | (vec_t)sign;
}

/**
 * f32 to codes without sign, and 0x7f.. (all that is beyond the codes) where they end.
 *
 * Method: 2^k is added, k such that the last bit of the sum is worth the last bit of the code (the
 * smallest subnormal or more): so the addition rounds, to even, and the lowest bits of the sum
 * count the code within its exponent. What is beyond the type, and NaN, is first replaced by the
 * value that the code `special` (or `nan`) would have if it were an ordinary one.
 */
INLINE v_u32 small_magnitude(small_t type, v_u32 bits)
{
    const int shift = 23 - type.fraction_bits;
    const uint32_t rebase = (uint32_t)(127 - type.bias) << 23;
    const v_u32 normal = splat_u32(rebase + (UINT32_C(1) << 23)); // the smallest
    const v_f32 end = (v_f32)splat_u32((type.special << shift) + rebase);
    const v_f32 nan = (v_f32)splat_u32((type.nan << shift) + rebase);
    const v_f32 magnitude = (v_f32)(bits & 0x7fffffff);
    const v_f32 capped = HKI_MIN_F32(end, magnitude); // of a number and NaN: the latter operand
    const v_f32 known =
        type.nan == type.special ? HKI_MIN_F32(magnitude, end) : HKI_MIN_F32(capped, nan);
    const v_f32 power = (v_f32)((v_u32)known & 0x7f800000);
    const v_u32 exponent = (v_u32)HKI_MAX_F32(power, (v_f32)normal);
    const v_u32 magic = exponent + ((uint32_t)shift << 23);
    const v_u32 within = (v_u32)(known + (v_f32)magic) - magic;

    return within + ((exponent - normal) >> shift);
}

/** The same with its sign, also that of NaN, which has to lose it. */
INLINE v_u32 small_with_sign(small_t type, vec_t v)
{
    const v_u32 bits = (v_u32)v;

    return small_magnitude(type, bits) | (bits >> 31 << type.sign_bit);
}

/** f32 to codes of 32 bits. */
INLINE v_u32 small_encode(small_t type, vec_t v)
{
    const v_u32 code = small_with_sign(type, v);
    const uint32_t sign = UINT32_C(1) << type.sign_bit;

    return code ^ ((v_u32)(code == (type.nan | sign)) & sign);
}

#ifndef HKI_F16_LOAD
OUTLINE v_f32 f16_decode(half_u16 h)
{
    return (v_f32)small_decode(SMALL_F16, HKI_WIDEN_16(h));
}

OUTLINE half_u16 f16_encode(v_f32 v)
{
    return HKI_NARROW_16(small_encode(SMALL_F16, (vec_t)v));
}
#    define HKI_F16_LOAD(h)  f16_decode(h)
#    define HKI_F16_STORE(v) f16_encode(v)
#endif

#endif /* HKI_DTYPE_KERNELS_VECTORS_H */
