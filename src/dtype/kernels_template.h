/**
 * @file kernels_template.h
 * @brief All inner loops, once. Each kernels_<level>.c defines the width of its vectors and, where
 *        the processor has a better way, some primitives, includes this, and so makes its table.
 *
 * Defined before: HKI_VECTOR_BYTES (16, 32, 64), HKI_TABLE (name of the table). May be defined:
 *   HKI_F16_LOAD(h), HKI_F16_STORE(v)   f16 to f32 and back (v holds only the canonical NaN)
 *   HKI_NARROW_16(v), HKI_WIDEN_16(h)   32-bit lanes to their low halves, and back
 *   HKI_MIN_F32(a, b), HKI_MAX_F32(a, b), HKI_MIN_F64(a, b), HKI_MAX_F64(a, b)
 *                                       a if it is less (greater) than b, else b
 *
 * Method: vectors of the compiler (vector_size), so that there is one text for all processors.
 * Loops are macros that paste names (load_f16, sum_f32, ...): generic inline functions with
 * constant arguments read better but take the compiler a minute. One vector holds LANES
 * accumulators; a loop computes whole vectors, the last of which may overlap the one before and is
 * computed first, since dst may be a source. Fewer elements than a vector go singly, in the lowest
 * lane.
 */
#include <stdint.h>
#include <string.h>

#include "dtype/kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define VECTOR __attribute__((vector_size(HKI_VECTOR_BYTES)))

typedef uint64_t vec_t VECTOR; // any lanes: cast to the type of the moment
typedef uint8_t v_u8 VECTOR;
typedef int8_t v_i8 VECTOR;
typedef uint32_t v_u32 VECTOR;
typedef int32_t v_i32 VECTOR;
typedef uint64_t v_u64 VECTOR;
typedef int64_t v_i64 VECTOR;
typedef float v_f32 VECTOR;
typedef double v_f64 VECTOR;
typedef uint16_t half_u16 __attribute__((vector_size(HKI_VECTOR_BYTES / 2)));
typedef uint8_t quarter_u8 __attribute__((vector_size(HKI_VECTOR_BYTES / 4)));

/* ---- bits ---------------------------------------------------------------------------------- */

INLINE vec_t select_bits(vec_t mask, vec_t if_set, vec_t if_clear)
{
    return (mask & if_set) | (~mask & if_clear);
}

INLINE v_u32 splat_u32(uint32_t x)
{
    return x - (v_u32){0};
}

INLINE v_u64 splat_u64(uint64_t x)
{
    return x - (v_u64){0};
}

/* ---- small floating types: see convert.c
 *  ------------------------------------------------------ */

/** f16, fp8e4m3, fp8e5m2 as in convert.c. */
typedef struct small {
    int fraction_bits;
    int bias;
    int sign_bit;
    int32_t special;
    int32_t infinity;
    uint32_t nan;
} small_t;

#define SMALL_F16     ((small_t){10, 15, 15, 0x7c00, 0x7c00, 0x7e00})
#define SMALL_FP8E4M3 ((small_t){3, 7, 7, 0x7f, 0x7e, 0x7f})
#define SMALL_FP8E5M2 ((small_t){2, 15, 7, 0x7c, 0x7c, 0x7e})

INLINE vec_t small_decode(small_t type, v_u32 code)
{
    const int shift = 23 - type.fraction_bits;
    const uint32_t rebase = (uint32_t)(127 - type.bias) << 23;
    const v_u32 sign = (code >> type.sign_bit) << 31;
    const v_u32 magnitude = code & ((UINT32_C(1) << type.sign_bit) - 1);
    const v_u32 shifted = magnitude << shift;
    const vec_t is_special = (vec_t)((v_i32)magnitude >= type.special);
    const vec_t is_nan = (vec_t)((v_i32)magnitude > type.infinity);
    const vec_t is_subnormal =
        (vec_t)((v_i32)magnitude < (int32_t)(UINT32_C(1) << type.fraction_bits));
    const v_u32 one = splat_u32(rebase + (UINT32_C(1) << 23)); // the smallest normal value
    const vec_t subnormal = (vec_t)((v_f32)(shifted + one) - (v_f32)one); // exact
    const vec_t special = (vec_t)(shifted | 0x7f800000) | (is_nan & (vec_t)splat_u32(0x00400000));
    vec_t v = select_bits(is_subnormal, subnormal, (vec_t)(shifted + rebase));

    v = select_bits(is_special, special, v);
    return v | (vec_t)sign;
}

INLINE v_u32 small_encode(small_t type, v_u32 bits)
{
    const int shift = 23 - type.fraction_bits;
    const uint32_t rebase = (uint32_t)(127 - type.bias) << 23;
    const uint32_t magic = (uint32_t)(127 + 1 - type.bias - type.fraction_bits + 23) << 23;
    const v_u32 sign = (bits >> 31) << type.sign_bit;
    const v_u32 magnitude = bits & 0x7fffffff;
    const v_u32 rebased = magnitude - rebase;
    const v_u32 normal =
        (rebased + ((UINT32_C(1) << (shift - 1)) - 1) + ((rebased >> shift) & 1)) >> shift;
    // the last bit of `magic` is worth the smallest subnormal: the sum is rounded there
    const v_u32 subnormal = (v_u32)((v_f32)magnitude + (v_f32)splat_u32(magic)) - magic;
    const vec_t is_subnormal = (vec_t)((v_i32)magnitude < (int32_t)(rebase + (1 << 23)));
    const vec_t is_nan = (vec_t)((v_i32)magnitude > 0x7f800000);
    const vec_t code = select_bits(is_subnormal, (vec_t)subnormal, (vec_t)normal);
    const vec_t is_special = (vec_t)((v_i32)code >= type.special);
    const bool has_infinity = type.infinity == type.special;
    const vec_t nan = (vec_t)splat_u32(type.nan);
    const vec_t beyond =
        has_infinity ? ((vec_t)sign | (vec_t)splat_u32((uint32_t)type.infinity)) : nan;
    const vec_t v = select_bits(is_special, beyond, code | (vec_t)sign);

    return (v_u32)select_bits(is_nan, nan, v);
}

#ifndef HKI_F16_LOAD
#    define HKI_F16_LOAD(h)  ((v_f32)small_decode(SMALL_F16, __builtin_convertvector(h, v_u32)))
#    define HKI_F16_STORE(v) HKI_NARROW_16(small_encode(SMALL_F16, (v_u32)(v)))
#endif
#ifndef HKI_NARROW_16
#    define HKI_NARROW_16(v) __builtin_convertvector((v_u32)(v), half_u16)
#    define HKI_WIDEN_16(h)  __builtin_convertvector(h, v_u32)
#endif

/* ---- loads and stores: between memory and accumulators, a vector or one element
 *  ---------------- */

/** Bytes of an element in memory, and of its accumulator. */
enum {
    BYTES_w8 = 1,
    ACC_w8 = 1,
    BYTES_w32 = 4,
    ACC_w32 = 4,
    BYTES_w64 = 8,
    ACC_w64 = 8,
    BYTES_truth = 1,
    ACC_truth = 1,
    BYTES_f16 = 2,
    ACC_f16 = 4,
    BYTES_bf16 = 2,
    ACC_bf16 = 4,
    BYTES_fp8e4m3 = 1,
    ACC_fp8e4m3 = 4,
    BYTES_fp8e5m2 = 1,
    ACC_fp8e5m2 = 4,
};

#define MEMORY_IS(name, vector, element)            \
    INLINE vec_t load_##name(const char *from)      \
    {                                               \
        vec_t v;                                    \
                                                    \
        memcpy(&v, from, sizeof(v));                \
        return v;                                   \
    }                                               \
    INLINE vec_t load_##name##_1(const char *from)  \
    {                                               \
        element x;                                  \
                                                    \
        memcpy(&x, from, sizeof(x));                \
        return (vec_t)(vector){x};                  \
    }                                               \
    INLINE void store_##name(char *to, vec_t v)     \
    {                                               \
        memcpy(to, &v, sizeof(v));                  \
    }                                               \
    INLINE void store_##name##_1(char *to, vec_t v) \
    {                                               \
        const element x = ((vector)v)[0];           \
                                                    \
        memcpy(to, &x, sizeof(x));                  \
    }

/** The same through `packed`, a narrower vector, and decode() and encode(). */
#define MEMORY_PACKED(name, packed, element, decode, encode) \
    INLINE vec_t load_##name(const char *from)               \
    {                                                        \
        packed p;                                            \
                                                             \
        memcpy(&p, from, sizeof(p));                         \
        return decode(p);                                    \
    }                                                        \
    INLINE vec_t load_##name##_1(const char *from)           \
    {                                                        \
        element x;                                           \
                                                             \
        memcpy(&x, from, sizeof(x));                         \
        return decode((packed){x});                          \
    }                                                        \
    INLINE void store_##name(char *to, vec_t v)              \
    {                                                        \
        const packed p = encode(v);                          \
                                                             \
        memcpy(to, &p, sizeof(p));                           \
    }                                                        \
    INLINE void store_##name##_1(char *to, vec_t v)          \
    {                                                        \
        const element x = encode(v)[0];                      \
                                                             \
        memcpy(to, &x, sizeof(x));                           \
    }

#define WIDEN(p)          __builtin_convertvector(p, v_u32)
#define NARROW_8(v)       __builtin_convertvector((v_u32)(v), quarter_u8)
#define DECODE_F16(p)     ((vec_t)HKI_F16_LOAD(p))
#define ENCODE_F16(v)     HKI_F16_STORE((v_f32)(v))
#define DECODE_BF16(p)    ((vec_t)(HKI_WIDEN_16(p) << 16))
#define ENCODE_BF16(v)    HKI_NARROW_16(bf16_round((v_u32)(v)))
#define DECODE_FP8E4M3(p) small_decode(SMALL_FP8E4M3, WIDEN(p))
#define ENCODE_FP8E4M3(v) NARROW_8(small_encode(SMALL_FP8E4M3, (v_u32)(v)))
#define DECODE_FP8E5M2(p) small_decode(SMALL_FP8E5M2, WIDEN(p))
#define ENCODE_FP8E5M2(v) NARROW_8(small_encode(SMALL_FP8E5M2, (v_u32)(v)))

/** The upper halves, rounded. The NaN of quiet_f32() comes out right without a test. */
INLINE v_u32 bf16_round(v_u32 bits)
{
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

MEMORY_IS(w8, v_u8, uint8_t)
MEMORY_IS(w32, v_u32, uint32_t)
MEMORY_IS(w64, v_u64, uint64_t)
MEMORY_PACKED(f16, half_u16, uint16_t, DECODE_F16, ENCODE_F16)
MEMORY_PACKED(bf16, half_u16, uint16_t, DECODE_BF16, ENCODE_BF16)
MEMORY_PACKED(fp8e4m3, quarter_u8, uint8_t, DECODE_FP8E4M3, ENCODE_FP8E4M3)
MEMORY_PACKED(fp8e5m2, quarter_u8, uint8_t, DECODE_FP8E5M2, ENCODE_FP8E5M2)

INLINE vec_t truth_of(vec_t v)
{
    return (vec_t)(((v_u8)v != 0) & 1);
}

#define load_truth(from)     truth_of(load_w8(from))
#define load_truth_1(from)   truth_of(load_w8_1(from))
#define store_truth(to, v)   store_w8(to, v)
#define store_truth_1(to, v) store_w8_1(to, v)

/* ---- operations
 *  ------------------------------------------------------------------------------- */

/** The one NaN for every NaN. */
INLINE vec_t quiet_f32(vec_t v)
{
    return select_bits((vec_t)((v_f32)v == (v_f32)v), v, (vec_t)splat_u32(0x7fc00000));
}

INLINE vec_t quiet_f64(vec_t v)
{
    return select_bits((vec_t)((v_f64)v == (v_f64)v), v,
                       (vec_t)splat_u64(UINT64_C(0x7ff8000000000000)));
}

#define as_it_is(v) (v)

#define BINARY(name, vector, operator_)                \
    INLINE vec_t name(vec_t a, vec_t b)                \
    {                                                  \
        return (vec_t)((vector)a operator_(vector) b); \
    }

/** Sums and products of integers wrap: lanes are unsigned. */
BINARY(sum_w8, v_u8, +)
BINARY(sum_w32, v_u32, +)
BINARY(sum_w64, v_u64, +)
BINARY(sum_f32, v_f32, +)
BINARY(sum_f64, v_f64, +)
BINARY(prod_w8, v_u8, *)
BINARY(prod_w32, v_u32, *)
BINARY(prod_w64, v_u64, *)
BINARY(prod_f32, v_f32, *)
BINARY(prod_f64, v_f64, *)
BINARY(band, v_u64, &)
BINARY(bor, v_u64, |)
BINARY(bxor, v_u64, ^)

#define INT_EXTREMA(type)                                             \
    INLINE vec_t min_##type(vec_t a, vec_t b)                         \
    {                                                                 \
        return select_bits((vec_t)((v_##type)a < (v_##type)b), a, b); \
    }                                                                 \
    INLINE vec_t max_##type(vec_t a, vec_t b)                         \
    {                                                                 \
        return select_bits((vec_t)((v_##type)a > (v_##type)b), a, b); \
    }

INT_EXTREMA(i8)
INT_EXTREMA(u8)
INT_EXTREMA(i32)
INT_EXTREMA(u32)
INT_EXTREMA(i64)
INT_EXTREMA(u64)

#ifndef HKI_MIN_F32
#    define HKI_MIN_F32(a, b) select_bits((vec_t)((a) < (b)), (vec_t)(a), (vec_t)(b))
#    define HKI_MAX_F32(a, b) select_bits((vec_t)((a) > (b)), (vec_t)(a), (vec_t)(b))
#    define HKI_MIN_F64(a, b) HKI_MIN_F32(a, b)
#    define HKI_MAX_F64(a, b) HKI_MAX_F32(a, b)
#endif

/*
 * Both orders of the operands give the same value unless they are zeros of different sign, where
 * "or" finds the -0 and "and" the +0, or one is NaN: "or" keeps it, "and" needs the mask.
 */
#define FLOAT_EXTREMA(type, min, max)                                                     \
    INLINE vec_t min_##type(vec_t left, vec_t right)                                      \
    {                                                                                     \
        const v_##type a = (v_##type)left;                                                \
        const v_##type b = (v_##type)right;                                               \
                                                                                          \
        return (vec_t)min(a, b) | (vec_t)min(b, a);                                       \
    }                                                                                     \
    INLINE vec_t max_##type(vec_t left, vec_t right)                                      \
    {                                                                                     \
        const v_##type a = (v_##type)left;                                                \
        const v_##type b = (v_##type)right;                                               \
                                                                                          \
        return ((vec_t)max(a, b) & (vec_t)max(b, a)) | (vec_t)(a != a) | (vec_t)(b != b); \
    }

FLOAT_EXTREMA(f32, HKI_MIN_F32, HKI_MAX_F32)
FLOAT_EXTREMA(f64, HKI_MIN_F64, HKI_MAX_F64)

/* ---- loops over n sources
 *  ----------------------------------------------------------------------- */

#define AT(s)            (from[s] + i * in_bytes)
#define TREE_2(l, op, s) op(l(AT(s)), l(AT((s) + 1)))
#define TREE_4(l, op, s) op(TREE_2(l, op, s), TREE_2(l, op, (s) + 2))
#define TREE_OF_2(l, op) TREE_2(l, op, 0)
#define TREE_OF_3(l, op) op(TREE_2(l, op, 0), l(AT(2)))
#define TREE_OF_4(l, op) TREE_4(l, op, 0)
#define TREE_OF_8(l, op) op(TREE_4(l, op, 0), TREE_4(l, op, 4))

/** dst[i] = quiet(tree of N sources), `in` and `out` naming loads and stores. */
#define LOOP(name, N, in, out, op, quiet)                                                    \
    static void name##_of_##N(char *dst, const void *const *sources, size_t count)           \
    {                                                                                        \
        const size_t lanes = HKI_VECTOR_BYTES / ACC_##in;                                    \
        const size_t in_bytes = BYTES_##in;                                                  \
        const size_t out_bytes = BYTES_##out;                                                \
        const char *from[N];                                                                 \
        size_t i = 0;                                                                        \
                                                                                             \
        for (int s = 0; s < N; s++) {                                                        \
            from[s] = sources[s];                                                            \
        }                                                                                    \
        if (count < lanes) {                                                                 \
            for (; i < count; i++) {                                                         \
                store_##out##_1(dst + i * out_bytes, quiet(TREE_OF_##N(load_##in##_1, op))); \
            }                                                                                \
            return;                                                                          \
        }                                                                                    \
        i = count - lanes;                                                                   \
        const vec_t last = quiet(TREE_OF_##N(load_##in, op));                                \
        for (i = 0; i + lanes < count; i += lanes) {                                         \
            store_##out(dst + i * out_bytes, quiet(TREE_OF_##N(load_##in, op)));             \
        }                                                                                    \
        store_##out(dst + (count - lanes) * out_bytes, last);                                \
    }

/** n = 2 only. */
#define PAIR(name, in, op, quiet)                                                \
    LOOP(name, 2, in, in, op, quiet)                                             \
    static void name(void *dst, const void *const *sources, int n, size_t count) \
    {                                                                            \
        (void)n;                                                                 \
        name##_of_2(dst, sources, count);                                        \
    }

/** n = 2, 3, 4, 8. */
#define WIDE(name, in, out, op, quiet)                                           \
    LOOP(name, 2, in, out, op, quiet)                                            \
    LOOP(name, 3, in, out, op, quiet)                                            \
    LOOP(name, 4, in, out, op, quiet)                                            \
    LOOP(name, 8, in, out, op, quiet)                                            \
    static void name(void *dst, const void *const *sources, int n, size_t count) \
    {                                                                            \
        if (n == 2) {                                                            \
            name##_of_2(dst, sources, count);                                    \
        } else if (n == 3) {                                                     \
            name##_of_3(dst, sources, count);                                    \
        } else if (n == 4) {                                                     \
            name##_of_4(dst, sources, count);                                    \
        } else {                                                                 \
            name##_of_8(dst, sources, count);                                    \
        }                                                                        \
    }

/** The three forms of a small floating type with leaves; partial to partial is that of f32. */
#define SMALL(type, op)                                     \
    WIDE(type##_##op##_ll, type, type, op##_f32, quiet_f32) \
    WIDE(type##_##op##_lp, type, w32, op##_f32, quiet_f32)  \
    WIDE(type##_##op##_pl, w32, type, op##_f32, quiet_f32)

WIDE(f32_sum, w32, w32, sum_f32, quiet_f32)
WIDE(f32_min, w32, w32, min_f32, quiet_f32)
WIDE(f32_max, w32, w32, max_f32, quiet_f32)
WIDE(f64_sum, w64, w64, sum_f64, quiet_f64)
WIDE(f64_min, w64, w64, min_f64, quiet_f64)
WIDE(f64_max, w64, w64, max_f64, quiet_f64)
SMALL(f16, sum)
SMALL(f16, min)
SMALL(f16, max)
SMALL(bf16, sum)
SMALL(bf16, min)
SMALL(bf16, max)
PAIR(f32_prod, w32, prod_f32, quiet_f32)
PAIR(f64_prod, w64, prod_f64, quiet_f64)
PAIR(w8_sum, w8, sum_w8, as_it_is)
PAIR(w32_sum, w32, sum_w32, as_it_is)
PAIR(w64_sum, w64, sum_w64, as_it_is)
PAIR(w8_prod, w8, prod_w8, as_it_is)
PAIR(w32_prod, w32, prod_w32, as_it_is)
PAIR(w64_prod, w64, prod_w64, as_it_is)
PAIR(w8_band, w8, band, as_it_is)
PAIR(w32_band, w32, band, as_it_is)
PAIR(w64_band, w64, band, as_it_is)
PAIR(w8_bor, w8, bor, as_it_is)
PAIR(w32_bor, w32, bor, as_it_is)
PAIR(w64_bor, w64, bor, as_it_is)
PAIR(w8_bxor, w8, bxor, as_it_is)
PAIR(w32_bxor, w32, bxor, as_it_is)
PAIR(w64_bxor, w64, bxor, as_it_is)
PAIR(i8_min, w8, min_i8, as_it_is)
PAIR(i8_max, w8, max_i8, as_it_is)
PAIR(u8_min, w8, min_u8, as_it_is)
PAIR(u8_max, w8, max_u8, as_it_is)
PAIR(i32_min, w32, min_i32, as_it_is)
PAIR(i32_max, w32, max_i32, as_it_is)
PAIR(u32_min, w32, min_u32, as_it_is)
PAIR(u32_max, w32, max_u32, as_it_is)
PAIR(i64_min, w64, min_i64, as_it_is)
PAIR(i64_max, w64, max_i64, as_it_is)
PAIR(u64_min, w64, min_u64, as_it_is)
PAIR(u64_max, w64, max_u64, as_it_is)
PAIR(bool_and, truth, band, as_it_is)
PAIR(bool_or, truth, bor, as_it_is)
PAIR(bool_xor, truth, bxor, as_it_is)

/* ---- loops over one source
 *  ---------------------------------------------------------------------- */

/** dst[i] = map(source[i]); `map` may use the locals of `name`'s other arguments. */
#define MAP_BODY(in, out, map)                                                                \
    const size_t lanes = HKI_VECTOR_BYTES / ACC_##in;                                         \
    char *const to = dst;                                                                     \
    const char *const from = source;                                                          \
                                                                                              \
    if (count < lanes) {                                                                      \
        for (size_t i = 0; i < count; i++) {                                                  \
            store_##out##_1(to + i * BYTES_##out, map(load_##in##_1(from + i * BYTES_##in))); \
        }                                                                                     \
        return;                                                                               \
    }                                                                                         \
    const vec_t last = map(load_##in(from + (count - lanes) * BYTES_##in));                   \
    for (size_t i = 0; i + lanes < count; i += lanes) {                                       \
        store_##out(to + i * BYTES_##out, map(load_##in(from + i * BYTES_##in)));             \
    }                                                                                         \
    store_##out(to + (count - lanes) * BYTES_##out, last);

#define CONVERT(name, in, out, map)                               \
    static void name(void *dst, const void *source, size_t count) \
    {                                                             \
        MAP_BODY(in, out, map)                                    \
    }

#define SCALE(name, in, out, factor_t, convert, map)                         \
    static void name(void *dst, const void *source, size_t count, double by) \
    {                                                                        \
        const factor_t factor = convert(by);                                 \
                                                                             \
        MAP_BODY(in, out, map)                                               \
    }

/** The factor as an integer; hki_reduction_check() lets only exact ones through. */
INLINE uint64_t int_factor(double by)
{
    return by < 0 ? (uint64_t)(int64_t)by : (uint64_t)by;
}

#define FACTOR_8(by)   ((uint8_t)int_factor(by))
#define FACTOR_32(by)  ((uint32_t)int_factor(by))
#define FACTOR_F32(by) ((float)(by))
#define TIMES_8(v)     ((vec_t)((v_u8)(v)*factor))
#define TIMES_32(v)    ((vec_t)((v_u32)(v)*factor))
#define TIMES_64(v)    ((vec_t)((v_u64)(v)*factor))
#define TIMES_F32(v)   quiet_f32((vec_t)((v_f32)(v)*factor))
#define TIMES_F64(v)   quiet_f64((vec_t)((v_f64)(v)*factor))
#define DIVIDED_F32(v) quiet_f32((vec_t)((v_f32)(v) / factor))
#define DIVIDED_F64(v) quiet_f64((vec_t)((v_f64)(v) / factor))

#define SMALL_CONVERT(type)                     \
    CONVERT(type##_load, type, w32, as_it_is)   \
    CONVERT(type##_store, w32, type, quiet_f32) \
    SCALE(type##_scale, type, w32, float, FACTOR_F32, TIMES_F32)

SMALL_CONVERT(f16)
SMALL_CONVERT(bf16)
SMALL_CONVERT(fp8e4m3)
SMALL_CONVERT(fp8e5m2)
CONVERT(bool_load, truth, truth, as_it_is)
SCALE(w8_scale, w8, w8, uint8_t, FACTOR_8, TIMES_8)
SCALE(w32_scale, w32, w32, uint32_t, FACTOR_32, TIMES_32)
SCALE(w64_scale, w64, w64, uint64_t, int_factor, TIMES_64)
SCALE(f32_scale, w32, w32, float, FACTOR_F32, TIMES_F32)
SCALE(f64_scale, w64, w64, double, as_it_is, TIMES_F64)
SCALE(f32_divide, w32, w32, float, FACTOR_F32, DIVIDED_F32)
SCALE(f64_divide, w64, w64, double, as_it_is, DIVIDED_F64)

/* ---- the table
 *  ---------------------------------------------------------------------------------- */

#define ALL_FORMS(fn)  \
    {                  \
        fn, fn, fn, fn \
    }
#define PARTIAL_FORM(fn)     \
    {                        \
        NULL, NULL, NULL, fn \
    }
#define SMALL_FORMS(fn, op)                                      \
    {                                                            \
        fn##_##op##_ll, fn##_##op##_lp, fn##_##op##_pl, f32_##op \
    }

#define FLOAT_ROW(name)                                                           \
    {                                                                             \
        [HK_SUM] = ALL_FORMS(name##_sum), [HK_PROD] = ALL_FORMS(name##_prod),     \
        [HK_MIN] = ALL_FORMS(name##_min), [HK_MAX] = ALL_FORMS(name##_max),       \
        [HK_AVG] = ALL_FORMS(name##_sum), [HK_PREMULSUM] = ALL_FORMS(name##_sum), \
    }
#define SMALL_ROW(name)                                                             \
    {                                                                               \
        [HK_SUM] = SMALL_FORMS(name, sum), [HK_PROD] = PARTIAL_FORM(f32_prod),      \
        [HK_MIN] = SMALL_FORMS(name, min), [HK_MAX] = SMALL_FORMS(name, max),       \
        [HK_AVG] = SMALL_FORMS(name, sum), [HK_PREMULSUM] = SMALL_FORMS(name, sum), \
    }
#define INT_ROW(name, width)                                                    \
    {                                                                           \
        [HK_SUM] = ALL_FORMS(width##_sum), [HK_PROD] = ALL_FORMS(width##_prod), \
        [HK_MIN] = ALL_FORMS(name##_min), [HK_MAX] = ALL_FORMS(name##_max),     \
        [HK_AVG] = ALL_FORMS(width##_sum), [HK_BAND] = ALL_FORMS(width##_band), \
        [HK_BOR] = ALL_FORMS(width##_bor), [HK_BXOR] = ALL_FORMS(width##_bxor), \
        [HK_PREMULSUM] = ALL_FORMS(width##_sum),                                \
    }
#define FP8_ROW                                                                   \
    {                                                                             \
        [HK_SUM] = PARTIAL_FORM(f32_sum), [HK_PROD] = PARTIAL_FORM(f32_prod),     \
        [HK_MIN] = PARTIAL_FORM(f32_min), [HK_MAX] = PARTIAL_FORM(f32_max),       \
        [HK_AVG] = PARTIAL_FORM(f32_sum), [HK_PREMULSUM] = PARTIAL_FORM(f32_sum), \
    }
#define BOOL_ROW                                                        \
    {                                                                   \
        [HK_SUM] = ALL_FORMS(bool_or), [HK_PROD] = ALL_FORMS(bool_and), \
        [HK_MIN] = ALL_FORMS(bool_and), [HK_MAX] = ALL_FORMS(bool_or),  \
        [HK_BAND] = ALL_FORMS(bool_and), [HK_BOR] = ALL_FORMS(bool_or), \
        [HK_BXOR] = ALL_FORMS(bool_xor),                                \
    }
#define WIDE_OPS                                                                                   \
    {                                                                                              \
        [HK_SUM] = true, [HK_MIN] = true, [HK_MAX] = true, [HK_AVG] = true, [HK_PREMULSUM] = true, \
    }

const hki_kernels_t HKI_TABLE = {
    .combine =
        {
            [HK_I8] = INT_ROW(i8, w8),
            [HK_U8] = INT_ROW(u8, w8),
            [HK_I32] = INT_ROW(i32, w32),
            [HK_U32] = INT_ROW(u32, w32),
            [HK_I64] = INT_ROW(i64, w64),
            [HK_U64] = INT_ROW(u64, w64),
            [HK_F16] = SMALL_ROW(f16),
            [HK_BF16] = SMALL_ROW(bf16),
            [HK_F32] = FLOAT_ROW(f32),
            [HK_F64] = FLOAT_ROW(f64),
            [HK_FP8E4M3] = FP8_ROW,
            [HK_FP8E5M2] = FP8_ROW,
            [HK_BOOL] = BOOL_ROW,
        },
    .is_wide =
        {
            [HK_F16] = WIDE_OPS,
            [HK_BF16] = WIDE_OPS,
            [HK_F32] = WIDE_OPS,
            [HK_F64] = WIDE_OPS,
            [HK_FP8E4M3] = WIDE_OPS,
            [HK_FP8E5M2] = WIDE_OPS,
        },
    .load =
        {
            [HK_F16] = f16_load,
            [HK_BF16] = bf16_load,
            [HK_FP8E4M3] = fp8e4m3_load,
            [HK_FP8E5M2] = fp8e5m2_load,
            [HK_BOOL] = bool_load,
        },
    .store =
        {
            [HK_F16] = f16_store,
            [HK_BF16] = bf16_store,
            [HK_FP8E4M3] = fp8e4m3_store,
            [HK_FP8E5M2] = fp8e5m2_store,
            [HK_BOOL] = bool_load,
        },
    .scale =
        {
            [HK_I8] = w8_scale,
            [HK_U8] = w8_scale,
            [HK_I32] = w32_scale,
            [HK_U32] = w32_scale,
            [HK_I64] = w64_scale,
            [HK_U64] = w64_scale,
            [HK_F16] = f16_scale,
            [HK_BF16] = bf16_scale,
            [HK_F32] = f32_scale,
            [HK_F64] = f64_scale,
            [HK_FP8E4M3] = fp8e4m3_scale,
            [HK_FP8E5M2] = fp8e5m2_scale,
        },
    .divide =
        {
            [HK_F16] = f32_divide,
            [HK_BF16] = f32_divide,
            [HK_F32] = f32_divide,
            [HK_F64] = f64_divide,
            [HK_FP8E4M3] = f32_divide,
            [HK_FP8E5M2] = f32_divide,
        },
};
