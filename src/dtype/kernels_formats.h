/**
 * @file kernels_formats.h
 * @brief How elements in memory become accumulators, and back: one format for each way. Part of
 *        kernels_template.h.
 *
 * A format F has BYTES_F, bytes of an element in memory, LANES_F, the elements of a step, and
 * load_F and store_F, between memory and the accumulators of a step. More than one format of a
 * type:
 *   bf16, f16             one vector of f32, elements in order: also for partial sums
 *   bf16x2                two vectors of f32, even and odd elements: fewer instructions
 *   fp8e4m3x2, fp8e5m2x2  two vectors of f32, elements in order: for partial sums
 *   f32x2                 partial sums that become fp8, or come of it
 *   fp8e4m3, fp8e5m2      a whole vector of codes, in two turns, since four vectors of f32 for each
 *                         branch of the tree would not stay in the registers: load_even_F and
 *                         load_odd_F, then store_split_F for both
 *   fp8e4m3_scaled        values times 2^-8, which saves a product: for sums
 *   bf16_least, ...       integers of the same width, ordered as the values are
 */
#ifndef HKI_DTYPE_KERNELS_FORMATS_H
#define HKI_DTYPE_KERNELS_FORMATS_H

#include "dtype/kernels_vectors.h"

enum {
    BYTES_w8 = 1,
    BYTES_w32 = 4,
    BYTES_w64 = 8,
    BYTES_truth = 1,
    BYTES_minus32 = 4,
    BYTES_minus64 = 8,
    BYTES_f16 = 2,
    BYTES_bf16 = 2,
    BYTES_bf16x2 = 2,
    BYTES_f32x2 = 4,
    BYTES_fp8e4m3 = 1,
    BYTES_fp8e4m3_scaled = 1,
    BYTES_fp8e5m2 = 1,
    BYTES_fp8e4m3x2 = 1,
    BYTES_fp8e5m2x2 = 1,
    LANES_w8 = HKI_VECTOR_BYTES,
    LANES_w32 = HKI_VECTOR_BYTES / 4,
    LANES_w64 = HKI_VECTOR_BYTES / 8,
    LANES_truth = LANES_w8,
    LANES_minus32 = LANES_w32,
    LANES_minus64 = LANES_w64,
    LANES_f16 = LANES_w32,
    LANES_bf16 = LANES_w32,
    LANES_bf16x2 = 2 * LANES_w32,
    LANES_f32x2 = 2 * LANES_w32,
    LANES_fp8e4m3 = LANES_w8,
    LANES_fp8e4m3_scaled = LANES_w8,
    LANES_fp8e5m2 = LANES_w8,
    LANES_fp8e4m3x2 = 2 * LANES_w32,
    LANES_fp8e5m2x2 = 2 * LANES_w32,
};

/* ---- as they are --------------------------------------------------------------------------- */

INLINE vec_t load_w8(const char *from)
{
    vec_t v;

    memcpy(&v, from, sizeof(v));
    return v;
}

INLINE void store_w8(char *to, vec_t v)
{
    memcpy(to, &v, sizeof(v));
}

#define load_w32(from)     load_w8(from)
#define load_w64(from)     load_w8(from)
#define store_w32(to, v)   store_w8(to, v)
#define store_w64(to, v)   store_w8(to, v)
#define store_truth(to, v) store_w8(to, v)

/** Any byte but 0 is true, and becomes 1. */
INLINE vec_t truth_of(vec_t v)
{
    return (vec_t)HKI_MIN_u8(v, (vec_t)splat_u8(1));
}

#define load_truth(from) truth_of(load_w8(from))

/** With the other sign: the greatest is the least of these. */
#define load_minus32(from) (load_w8(from) ^ (vec_t)splat_u32(0x80000000))
#define load_minus64(from) (load_w8(from) ^ (vec_t)splat_u64(UINT64_C(1) << 63))

/* ---- one vector of f32 --------------------------------------------------------------------- */

/** Through `packed`, a narrower vector, and decode() and encode(). */
#define FORMAT_PACKED(name, packed, decode, encode) \
    INLINE vec_t load_##name(const char *from)      \
    {                                               \
        packed p;                                   \
                                                    \
        memcpy(&p, from, sizeof(p));                \
        return decode(p);                           \
    }                                               \
    INLINE void store_##name(char *to, vec_t v)     \
    {                                               \
        const packed p = encode(v);                 \
                                                    \
        memcpy(to, &p, sizeof(p));                  \
    }

/** The upper halves, rounded. The NaN of quiet_f32() comes out right without a test. (AVX512-BF16
 *  has an instruction, which takes subnormal numbers for zeros and keeps the bits of a NaN: of no
 *  use.) */
INLINE v_u32 bf16_round(v_u32 bits)
{
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

#define DECODE_F16(p)  ((vec_t)HKI_F16_LOAD(p))
#define ENCODE_F16(v)  HKI_F16_STORE((v_f32)(v))
#define DECODE_BF16(p) ((vec_t)(HKI_WIDEN_16(p) << 16))
#define ENCODE_BF16(v) HKI_NARROW_16(bf16_round((v_u32)(v)))

FORMAT_PACKED(f16, half_u16, DECODE_F16, ENCODE_F16)
FORMAT_PACKED(bf16, half_u16, DECODE_BF16, ENCODE_BF16)

/* ---- several vectors of f32 ---------------------------------------------------------------- */

INLINE two_t load_bf16x2(const char *from)
{
    const v_u32 v = (v_u32)load_w8(from);

    return (two_t){(vec_t)(v << 16), (vec_t)(v & 0xffff0000)};
}

/**
 * Rounded, any NaN made the one of the type, all in 16-bit lanes: the upper half is incremented if
 * the lower is above 0x8000, or equal and the upper is odd. `acc` holds results of additions,
 * products or divisions: their NaN show in the upper half.
 */
INLINE void store_bf16x2(char *to, two_t acc)
{
    const v_u16 upper = (v_u16)HKI_ODD_16((vec_t)((v_u32)acc.a >> 16), acc.b);
    const v_u16 lower = (v_u16)HKI_ODD_16(acc.a, (vec_t)((v_u32)acc.b << 16));
    const v_u16 beyond = -(lower | (upper & 1)); // 0x7fff .. 1 for 0x8001 .. 0xffff
    const v_u16 rounded = upper - (v_u16)((v_i16)beyond > 0);
    const vec_t is_nan = (vec_t)((v_i16)(upper & 0x7fff) > 0x7f80);

    store_w8(to, HKI_SELECT(is_nan, (vec_t)splat_u16(0x7fc0), (vec_t)rounded));
}

INLINE two_t load_f32x2(const char *from)
{
    return (two_t){load_w8(from), load_w8(from + HKI_VECTOR_BYTES)};
}

INLINE void store_f32x2(char *to, two_t acc)
{
    store_w8(to, acc.a);
    store_w8(to + HKI_VECTOR_BYTES, acc.b);
}

/** The codes, with the sign in all upper bits. */
INLINE v_u16 load_bytes(const char *from)
{
    half_i8 bytes;

    memcpy(&bytes, from, sizeof(bytes));
    return (v_u16)HKI_WIDEN_I8(bytes);
}

/** 16-bit lanes with the bits of f16 to f32. */
INLINE two_t f16_to_two(v_u16 codes)
{
    half_u16 lower;
    half_u16 upper;

    memcpy(&lower, &codes, sizeof(lower));
    memcpy(&upper, (const char *)&codes + sizeof(lower), sizeof(upper));
    return (two_t){(vec_t)HKI_F16_LOAD(lower), (vec_t)HKI_F16_LOAD(upper)};
}

INLINE two_t times_x2(two_t acc, float by)
{
    return (two_t){(vec_t)((v_f32)acc.a * by), (vec_t)((v_f32)acc.b * by)};
}

/** In 16-bit lanes: NaN where `f16`, a code of fp8e4m3 in the place of an f16, is one. */
INLINE v_u16 fp8e4m3_with_nan(v_u16 f16)
{
    return f16 | (v_u16)((f16 & 0x3f80) == 0x3f80);
}

/** Codes in order: those of fp8e5m2 are the upper halves of f16, those of fp8e4m3, moved to their
 *  place, have the bits of f16 that are 2^8 times smaller, but for NaN. */
INLINE two_t load_fp8e5m2x2(const char *from)
{
    return f16_to_two(load_bytes(from) << 8);
}

INLINE two_t load_fp8e4m3x2(const char *from)
{
    const v_u16 f16 = (load_bytes(from) << 7) & 0xbf80;
    const v_u16 is_nan = (v_u16)((f16 & 0x3f80) == 0x3f80);

    return times_x2(f16_to_two(f16 | (is_nan & 0x7e00)), 256.0F);
}

INLINE void fp8_store(small_t type, char *to, two_t acc)
{
    const half_u8 code =
        (half_u8)HKI_NARROW_8X2(small_with_sign(type, acc.a), small_with_sign(type, acc.b));
    const half_u8 is_minus_nan = (half_u8)(code == (uint8_t)(type.nan | 0x80));
    const half_u8 unsigned_nan = code ^ (is_minus_nan & 0x80);

    memcpy(to, &unsigned_nan, sizeof(unsigned_nan));
}

#define store_fp8e4m3x2(to, acc) fp8_store(SMALL_FP8E4M3, to, acc)
#define store_fp8e5m2x2(to, acc) fp8_store(SMALL_FP8E5M2, to, acc)

/* ---- even bytes, then odd bytes: 16-bit lanes need no shuffles ------------------------------ */

INLINE two_t load_even_fp8e5m2(const char *from)
{
    return f16_to_two((v_u16)load_w8(from) << 8);
}

INLINE two_t load_odd_fp8e5m2(const char *from)
{
    return f16_to_two((v_u16)load_w8(from) & 0xff00);
}

INLINE two_t load_even_fp8e4m3_scaled(const char *from)
{
    const v_i16 upper = (v_i16)((v_u16)load_w8(from) << 8);

    return f16_to_two(fp8e4m3_with_nan((v_u16)(upper >> 1) & 0xbf80));
}

INLINE two_t load_odd_fp8e4m3_scaled(const char *from)
{
    return f16_to_two(fp8e4m3_with_nan((v_u16)((v_i16)load_w8(from) >> 1) & 0xbf80));
}

#define load_even_fp8e4m3(from) times_x2(load_even_fp8e4m3_scaled(from), 256.0F)
#define load_odd_fp8e4m3(from)  times_x2(load_odd_fp8e4m3_scaled(from), 256.0F)

/** 32-bit lanes with two codes each. */
INLINE v_u32 fp8_encode_pair(small_t type, vec_t even, vec_t odd)
{
    return small_with_sign(type, even) | small_with_sign(type, odd) << 8;
}

INLINE void fp8_store_split(small_t type, char *to, two_t even, two_t odd)
{
    const v_u8 code = (v_u8)HKI_NARROW_16X2(fp8_encode_pair(type, even.a, odd.a),
                                            fp8_encode_pair(type, even.b, odd.b));
    const v_u8 is_minus_nan = (v_u8)(code == (uint8_t)(type.nan | 0x80));

    store_w8(to, (vec_t)(code ^ (is_minus_nan & 0x80)));
}

#define store_split_fp8e4m3(to, even, odd) fp8_store_split(SMALL_FP8E4M3, to, even, odd)
#define store_split_fp8e4m3_scaled(to, even, odd) \
    fp8_store_split(SMALL_FP8E4M3_SCALED, to, even, odd)
#define store_split_fp8e5m2(to, even, odd) fp8_store_split(SMALL_FP8E5M2, to, even, odd)

/* ---- ordered integers ---------------------------------------------------------------------- */

/**
 * Codes become signed integers in the order of their values, -0 below +0: the magnitude of
 * negative ones is complemented. NaN, the N codes above infinity of either sign, are then at both
 * ends: adding N turns the positive ones over to the lower end, where the least finds all of them;
 * subtracting N turns the negative ones over to the upper end, for the greatest.
 */
#define FORMAT_ORDERED(name, bits, turn, infinity, nan, is_nan_of)                    \
    enum { BYTES_##name = bits / 8, LANES_##name = HKI_VECTOR_BYTES / BYTES_##name }; \
    INLINE v_i##bits order_##name(v_i##bits v)                                        \
    {                                                                                 \
        return v ^ ((v < 0) & (v_i##bits)splat_u##bits((1U << (bits - 1)) - 1));      \
    }                                                                                 \
    INLINE vec_t load_##name(const char *from)                                        \
    {                                                                                 \
        const v_u##bits ordered = (v_u##bits)order_##name((v_i##bits)load_w8(from));  \
                                                                                      \
        return (vec_t)(ordered + (uint##bits##_t)(turn));                             \
    }                                                                                 \
    INLINE void store_##name(char *to, vec_t v)                                       \
    {                                                                                 \
        const v_i##bits ordered = (v_i##bits)((v_u##bits)v - (uint##bits##_t)(turn)); \
        const vec_t is_nan = (vec_t)is_nan_of((v_i##bits)v, bits, infinity);          \
        const vec_t one_nan = (vec_t)splat_u##bits(nan);                              \
                                                                                      \
        store_w8(to, HKI_SELECT(is_nan, one_nan, (vec_t)order_##name(ordered)));      \
    }

/** NaN of one sign. */
#define NANS(bits, infinity)            ((1 << (bits - 1)) - 1 - (infinity))
#define IS_NAN_BELOW(v, bits, infinity) ((v) < 2 * NANS(bits, infinity) - (1 << (bits - 1)))
#define IS_NAN_ABOVE(v, bits, infinity) ((v) > (infinity)-NANS(bits, infinity))
#define FORMAT_LEAST(name, bits, infinity, nan) \
    FORMAT_ORDERED(name##_least, bits, NANS(bits, infinity), infinity, nan, IS_NAN_BELOW)
#define FORMAT_GREATEST(name, bits, infinity, nan) \
    FORMAT_ORDERED(name##_greatest, bits, -NANS(bits, infinity), infinity, nan, IS_NAN_ABOVE)

FORMAT_LEAST(f16, 16, 0x7c00, 0x7e00)
FORMAT_LEAST(bf16, 16, 0x7f80, 0x7fc0)
FORMAT_LEAST(fp8e4m3, 8, 0x7e, 0x7f)
FORMAT_LEAST(fp8e5m2, 8, 0x7c, 0x7e)
FORMAT_GREATEST(f16, 16, 0x7c00, 0x7e00)
FORMAT_GREATEST(bf16, 16, 0x7f80, 0x7fc0)
FORMAT_GREATEST(fp8e4m3, 8, 0x7e, 0x7f)
FORMAT_GREATEST(fp8e5m2, 8, 0x7c, 0x7e)

#endif /* HKI_DTYPE_KERNELS_FORMATS_H */
