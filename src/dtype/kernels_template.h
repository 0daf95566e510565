/**
 * @file kernels_template.h
 * @brief All inner loops, once. Each kernels_<level>.c defines the width of its vectors and, where
 *        the processor has a better way, some primitives of kernels_vectors.h, includes this, and
 *        so makes its table.
 *
 * Defined before: HKI_VECTOR_BYTES (16, 32, 64), HKI_TABLE (name of the table).
 *
 * Method: a loop is a format to read, an operation, what finishes the result, and a format to
 * write (kernels_formats.h); for each number of sources up to 8 the whole tree is computed in
 * registers. Loops are macros that paste names (load_f16, sum_f32, ...): generic inline functions
 * with constant arguments read better but take the compiler a minute.
 */
#include "dtype/kernels.h"

#include "dtype/kernels_formats.h"

/* ---- operations ---------------------------------------------------------------------------- */

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
BINARY(prod_w32, v_u32, *)
BINARY(prod_w64, v_u64, *)
BINARY(prod_f32, v_f32, *)
BINARY(prod_f64, v_f64, *)
BINARY(band, v_u64, &)
BINARY(bor, v_u64, |)
BINARY(bxor, v_u64, ^)

/** Bytes two by two: the low byte of a 16-bit product needs only the low bytes. */
INLINE vec_t prod_w8(vec_t a, vec_t b)
{
    const v_u16 even = (v_u16)a * (v_u16)b;
    const v_u16 odd = ((v_u16)a >> 8) * ((v_u16)b & 0xff00); // the product is in the upper byte

    return (vec_t)((even & 0xff) | odd);
}

#define EXTREMA(type)                         \
    INLINE vec_t min_##type(vec_t a, vec_t b) \
    {                                         \
        return (vec_t)HKI_MIN_##type(a, b);   \
    }                                         \
    INLINE vec_t max_##type(vec_t a, vec_t b) \
    {                                         \
        return (vec_t)HKI_MAX_##type(a, b);   \
    }

EXTREMA(i8)
EXTREMA(u8)
EXTREMA(i16)
EXTREMA(i32)
EXTREMA(u32)
EXTREMA(i64)
EXTREMA(u64)

/*
 * Both orders of the operands give the same value unless they are zeros of different sign, where
 * "or" finds the -0, or one is NaN: "or" keeps it. The greatest is the least of the numbers with
 * the other sign, see load_minus32().
 */
#ifndef HKI_LEAST_F32
#    define HKI_LEAST_F32(a, b) ((vec_t)HKI_MIN_F32(a, b) | (vec_t)HKI_MIN_F32(b, a))
#    define HKI_LEAST_F64(a, b) ((vec_t)HKI_MIN_F64(a, b) | (vec_t)HKI_MIN_F64(b, a))
#endif

INLINE vec_t min_f32(vec_t a, vec_t b)
{
    return (vec_t)HKI_LEAST_F32((v_f32)a, (v_f32)b);
}

INLINE vec_t min_f64(vec_t a, vec_t b)
{
    return (vec_t)HKI_LEAST_F64((v_f64)a, (v_f64)b);
}

#define BINARY_X2(op)                                             \
    INLINE two_t op##_x2(two_t left, two_t right)                 \
    {                                                             \
        return (two_t){op(left.a, right.a), op(left.b, right.b)}; \
    }

BINARY_X2(sum_f32)
BINARY_X2(prod_f32)

/* ---- what finishes a result ---------------------------------------------------------------- */

#define minus_f32(v) quiet_f32((v) ^ (vec_t)splat_u32(0x80000000))
#define minus_f64(v) quiet_f64((v) ^ (vec_t)splat_u64(UINT64_C(1) << 63))

/** Upper halves of 32-bit products. */
INLINE v_u32 mulhi_u32(v_u32 x, uint64_t by)
{
    const v_u64 factor = splat_u64(by);
    const v_u64 even = (v_u64)HKI_MUL_EVEN(x, factor) >> 32;
    const v_u64 odd = (v_u64)HKI_MUL_EVEN((v_u64)x >> 32, factor);

    return (v_u32)(even | (odd & UINT64_C(0xffffffff00000000)));
}

/** Upper halves of 64-bit products. */
INLINE v_u64 mulhi_u64(v_u64 x, uint64_t by)
{
    const v_u64 low = splat_u64(by & 0xffffffff);
    const v_u64 high = splat_u64(by >> 32);
    const v_u64 upper = x >> 32;
    const v_u64 first = (v_u64)HKI_MUL_EVEN(upper, low) + ((v_u64)HKI_MUL_EVEN(x, low) >> 32);
    const v_u64 second = (v_u64)HKI_MUL_EVEN(x, high) + (first & 0xffffffff);

    return (v_u64)HKI_MUL_EVEN(upper, high) + (first >> 32) + (second >> 32);
}

/*
 * Division by an integer d >= 2. Bytes: the product by 2^16 / d, rounded up, has the quotient in
 * its upper half, since the error is below 2^8 / 2^16, less than the 1/d by which a quotient with a
 * fraction misses the next integer (for d > 2^8 every quotient is 0, and comes out so). N = 32 or
 * 64 bits: Granlund and Montgomery 1994, doi 10.1145/178243.178249, figure 4.1: with l = ceil(log2
 * d), m = floor(2^N (2^l - d) / d) + 1, t the upper half of m x, it is (t + (x - t) / 2) / 2^(l-1).
 */
INLINE v_u8 divide_u8(v_u8 x, hki_factor_t f)
{
    const vec_t magic = (vec_t)splat_u16((uint16_t)f.magic);
    const vec_t even = (vec_t)((v_u16)x & 0xff);
    const vec_t odd = (vec_t)((v_u16)x >> 8);

    return (v_u8)((v_u16)HKI_MULHI_U16(even, magic) | (v_u16)HKI_MULHI_U16(odd, magic) << 8);
}

INLINE v_u32 divide_u32(v_u32 x, hki_factor_t f)
{
    const v_u32 t = mulhi_u32(x, f.magic);

    return (t + ((x - t) >> 1)) >> f.shift;
}

INLINE v_u64 divide_u64(v_u64 x, hki_factor_t f)
{
    const v_u64 t = mulhi_u64(x, f.magic);

    return (t + ((x - t) >> 1)) >> f.shift;
}

/** The quotient of the magnitudes with the sign of x: toward zero. */
#define DIVIDE_SIGNED(bits)                                               \
    INLINE v_i##bits divide_i##bits(v_i##bits x, hki_factor_t f)          \
    {                                                                     \
        const v_u##bits sign = (v_u##bits)(x < 0);                        \
        const v_u##bits magnitude = ((v_u##bits)x ^ sign) - sign;         \
                                                                          \
        return (v_i##bits)((divide_u##bits(magnitude, f) ^ sign) - sign); \
    }

DIVIDE_SIGNED(8)
DIVIDE_SIGNED(32)
DIVIDE_SIGNED(64)

INLINE two_t divide_x2(two_t acc, float by)
{
    return (two_t){(vec_t)((v_f32)acc.a / by), (vec_t)((v_f32)acc.b / by)};
}

INLINE two_t quiet_x2(two_t acc)
{
    return (two_t){quiet_f32(acc.a), quiet_f32(acc.b)};
}

/** These use `f`, the factor of the loop. */
#define divided_i8(v)      ((vec_t)divide_i8((v_i8)(v), f))
#define divided_u8(v)      ((vec_t)divide_u8((v_u8)(v), f))
#define divided_i32(v)     ((vec_t)divide_i32((v_i32)(v), f))
#define divided_u32(v)     ((vec_t)divide_u32((v_u32)(v), f))
#define divided_i64(v)     ((vec_t)divide_i64((v_i64)(v), f))
#define divided_u64(v)     ((vec_t)divide_u64((v_u64)(v), f))
#define divided_f32(v)     quiet_f32((vec_t)((v_f32)(v) / (float)f.value))
#define divided_f64(v)     quiet_f64((vec_t)((v_f64)(v) / f.value))
#define divided_x2(acc)    divide_x2(acc, (float)f.value)
#define times_w8(v)        prod_w8(v, (vec_t)splat_u8((uint8_t)f.integer))
#define times_w32(v)       ((vec_t)((v_u32)(v) * (uint32_t)f.integer))
#define times_w64(v)       ((vec_t)((v_u64)(v)*f.integer))
#define times_f32(v)       quiet_f32((vec_t)((v_f32)(v) * (float)f.value))
#define times_2(acc)       times_x2(acc, (float)f.value)
#define times_2_quiet(acc) quiet_x2(times_2(acc))
#define times_f64(v)       quiet_f64((vec_t)((v_f64)(v)*f.value))

/** Formats to read: scaled. */
#define FORMAT_TIMES(name, in) enum { BYTES_##name = BYTES_##in, LANES_##name = LANES_##in };

#define load_w8_times(from)           times_w8(load_w8(from))
#define load_w32_times(from)          times_w32(load_w32(from))
#define load_w64_times(from)          times_w64(load_w64(from))
#define load_f32_times(from)          ((vec_t)((v_f32)load_w32(from) * (float)f.value))
#define load_f64_times(from)          ((vec_t)((v_f64)load_w64(from) * f.value))
#define load_f16_times(from)          ((vec_t)((v_f32)load_f16(from) * (float)f.value))
#define load_bf16x2_times(from)       times_2(load_bf16x2(from))
#define load_even_fp8e4m3_times(from) times_2(load_even_fp8e4m3(from))
#define load_odd_fp8e4m3_times(from)  times_2(load_odd_fp8e4m3(from))
#define load_even_fp8e5m2_times(from) times_2(load_even_fp8e5m2(from))
#define load_odd_fp8e5m2_times(from)  times_2(load_odd_fp8e5m2(from))
FORMAT_TIMES(w8_times, w8)
FORMAT_TIMES(w32_times, w32)
FORMAT_TIMES(w64_times, w64)
FORMAT_TIMES(f32_times, w32)
FORMAT_TIMES(f64_times, w64)
FORMAT_TIMES(f16_times, f16)
FORMAT_TIMES(bf16x2_times, bf16x2)
FORMAT_TIMES(fp8e4m3_times, fp8e4m3)
FORMAT_TIMES(fp8e5m2_times, fp8e5m2)

/* ---- loops --------------------------------------------------------------------------------- */

#define AT(s)             ((const char *)sources[s] + at)
#define TREE_2(l, op, s)  op(l(AT(s)), l(AT((s) + 1)))
#define TREE_3(l, op, s)  op(TREE_2(l, op, s), l(AT((s) + 2)))
#define TREE_4(l, op, s)  op(TREE_2(l, op, s), TREE_2(l, op, (s) + 2))
#define TREE_5(l, op, s)  op(TREE_4(l, op, s), l(AT((s) + 4)))
#define TREE_6(l, op, s)  op(TREE_4(l, op, s), TREE_2(l, op, (s) + 4))
#define TREE_7(l, op, s)  op(TREE_4(l, op, s), TREE_3(l, op, (s) + 4))
#define TREE_8(l, op, s)  op(TREE_4(l, op, s), TREE_4(l, op, (s) + 4))
#define TREE_OF_1(l, op)  l(AT(0))
#define TREE_OF_2(l, op)  TREE_2(l, op, 0)
#define TREE_OF_3(l, op)  TREE_3(l, op, 0)
#define TREE_OF_4(l, op)  TREE_4(l, op, 0)
#define TREE_OF_5(l, op)  TREE_5(l, op, 0)
#define TREE_OF_6(l, op)  TREE_6(l, op, 0)
#define TREE_OF_7(l, op)  TREE_7(l, op, 0)
#define TREE_OF_8(l, op)  TREE_8(l, op, 0)
#define TREE_OF_9(l, op)  op(TREE_8(l, op, 0), l(AT(8)))
#define TREE_OF_10(l, op) op(TREE_8(l, op, 0), TREE_2(l, op, 8))
#define TREE_OF_11(l, op) op(TREE_8(l, op, 0), TREE_3(l, op, 8))
#define TREE_OF_12(l, op) op(TREE_8(l, op, 0), TREE_4(l, op, 8))
#define TREE_OF_13(l, op) op(TREE_8(l, op, 0), TREE_5(l, op, 8))
#define TREE_OF_14(l, op) op(TREE_8(l, op, 0), TREE_6(l, op, 8))
#define TREE_OF_15(l, op) op(TREE_8(l, op, 0), TREE_7(l, op, 8))
#define TREE_OF_16(l, op) op(TREE_8(l, op, 0), TREE_8(l, op, 8))

/** A hki_steps_fn for N sources; what is left of the arguments is done in step i. */
#define STEPS_OF(name, N, ...)                                                          \
    static void name##_of_##N(char *dst, const void *const *source_list, size_t nsteps, \
                              const hki_factor_t *factor)                               \
    {                                                                                   \
        const hki_factor_t f = *factor;                                                 \
        const char *sources[N];                                                         \
                                                                                        \
        (void)f;                                                                        \
        for (int s = 0; s < N; s++) {                                                   \
            sources[s] = source_list[s];                                                \
        }                                                                               \
        for (size_t i = 0; i < nsteps; i++) {                                           \
            __VA_ARGS__                                                                 \
        }                                                                               \
    }
#define STEPS(name, N, in, out, op, finish)                                    \
    STEPS_OF(name, N, const size_t at = i * (size_t)(LANES_##in * BYTES_##in); \
             store_##out(dst + i * (size_t)(LANES_##in * BYTES_##out),         \
                         finish(TREE_OF_##N(load_##in, op)));)
/** The same for formats that are read and written in two turns. */
#define STEPS_SPLIT(name, N, in, out, op, finish)                        \
    STEPS_OF(name, N, const size_t at = i * HKI_VECTOR_BYTES;            \
             const two_t even = finish(TREE_OF_##N(load_even_##in, op)); \
             const two_t odd = finish(TREE_OF_##N(load_odd_##in, op));   \
             store_split_##out(dst + at, even, odd);)

#define SIZES_OF(in, out) .step = LANES_##in, .in_bytes = BYTES_##in, .out_bytes = BYTES_##out

/** n = 1: load, store, scale, divide. */
#define SINGLE(name, in, out, finish)     \
    STEPS(name, 1, in, out, none, finish) \
    static const hki_loop_t name = {.of = {[1] = name##_of_1}, SIZES_OF(in, out)};

/** n = 2 only. */
#define PAIR(name, in, out, op, finish) \
    STEPS(name, 2, in, out, op, finish) \
    static const hki_loop_t name = {.of = {[2] = name##_of_2}, SIZES_OF(in, out)};

/** n = 2 to 8: the functions, and a loop of them. */
#define STEPS_2_TO_8(steps, name, in, out, op, finish)                              \
    steps(name, 2, in, out, op, finish) steps(name, 3, in, out, op, finish)         \
        steps(name, 4, in, out, op, finish) steps(name, 5, in, out, op, finish)     \
            steps(name, 6, in, out, op, finish) steps(name, 7, in, out, op, finish) \
                steps(name, 8, in, out, op, finish)
#define LOOP_OF(name, steps, in, out)                                                            \
    static const hki_loop_t name = {.of = {NULL, NULL, steps##_of_2, steps##_of_3, steps##_of_4, \
                                           steps##_of_5, steps##_of_6, steps##_of_7,             \
                                           steps##_of_8},                                        \
                                    SIZES_OF(in, out)};
#define LOOP(name, in, out, op, finish)            \
    STEPS_2_TO_8(STEPS, name, in, out, op, finish) \
    LOOP_OF(name, name, in, out)
#define LOOP_SPLIT(name, in, out, op, finish)            \
    STEPS_2_TO_8(STEPS_SPLIT, name, in, out, op, finish) \
    LOOP_OF(name, name, in, out)

/** n = 2 to 16: what is reduced most often. */
#define LOOP_TO_16(name, in, out, op, finish)                                                   \
    STEPS_2_TO_8(STEPS, name, in, out, op, finish)                                              \
    STEPS(name, 9, in, out, op, finish)                                                         \
    STEPS(name, 10, in, out, op, finish)                                                        \
    STEPS(name, 11, in, out, op, finish)                                                        \
    STEPS(name, 12, in, out, op, finish)                                                        \
    STEPS(name, 13, in, out, op, finish)                                                        \
    STEPS(name, 14, in, out, op, finish)                                                        \
    STEPS(name, 15, in, out, op, finish)                                                        \
    STEPS(name, 16, in, out, op, finish)                                                        \
    static const hki_loop_t name = {                                                            \
        .of = {NULL, NULL, name##_of_2, name##_of_3, name##_of_4, name##_of_5, name##_of_6,     \
               name##_of_7, name##_of_8, name##_of_9, name##_of_10, name##_of_11, name##_of_12, \
               name##_of_13, name##_of_14, name##_of_15, name##_of_16},                         \
        SIZES_OF(in, out)};

#define INTEGER(type, width)                                    \
    LOOP(type##_min, width, width, min_##type, as_it_is)        \
    LOOP(type##_max, width, width, max_##type, as_it_is)        \
    LOOP(type##_avg, width, width, sum_##width, divided_##type) \
    SINGLE(type##_divide, width, width, divided_##type)
#define WRAPPING(width)                                      \
    LOOP(width##_sum, width, width, sum_##width, as_it_is)   \
    LOOP(width##_prod, width, width, prod_##width, as_it_is) \
    SINGLE(width##_scale, width, width, times_##width)       \
    LOOP(width##_premulsum, width##_times, width, sum_##width, as_it_is)
/** Bits do not know how wide their elements are. */
#define BITWISE(op)                                      \
    STEPS_2_TO_8(STEPS, bits_##op, w8, w8, op, as_it_is) \
    LOOP_OF(w8_##op, bits_##op, w8, w8)                  \
    LOOP_OF(w32_##op, bits_##op, w32, w32)               \
    LOOP_OF(w64_##op, bits_##op, w64, w64)
#define FLOATING(type, width, minus)                                      \
    LOOP_TO_16(type##_sum, width, width, sum_##type, quiet_##type)        \
    LOOP(type##_prod, width, width, prod_##type, quiet_##type)            \
    LOOP(type##_min, width, width, min_##type, quiet_##type)              \
    LOOP(type##_max, minus, width, min_##type, minus_##type)              \
    LOOP(type##_avg, width, width, sum_##type, divided_##type)            \
    SINGLE(type##_scale, width, width, times_##type)                      \
    LOOP(type##_premulsum, type##_times, width, sum_##type, quiet_##type) \
    SINGLE(type##_divide, width, width, divided_##type)
#define EXTREMA_EXACT(type, lanes)                                         \
    LOOP(type##_min_ll, type##_least, type##_least, min_##lanes, as_it_is) \
    LOOP(type##_max_ll, type##_greatest, type##_greatest, max_##lanes, as_it_is)
/** `one` is a format of one vector of f32 with elements in order. */
#define SMALL_16(type, one)                             \
    LOOP(type##_sum_lp, one, w32, sum_f32, quiet_f32)   \
    LOOP(type##_prod_lp, one, w32, prod_f32, quiet_f32) \
    PAIR(type##_sum_pl, w32, one, sum_f32, quiet_f32)   \
    PAIR(type##_prod_pl, w32, one, prod_f32, quiet_f32) \
    SINGLE(type##_load, one, w32, as_it_is)             \
    SINGLE(type##_store, w32, one, quiet_f32)           \
    SINGLE(type##_scale, one, w32, times_f32)           \
    EXTREMA_EXACT(type, i16)
#define SMALL_8(type, two)                                  \
    LOOP(type##_sum_lp, two, f32x2, sum_f32_x2, quiet_x2)   \
    LOOP(type##_prod_lp, two, f32x2, prod_f32_x2, quiet_x2) \
    PAIR(type##_sum_pl, f32x2, two, sum_f32_x2, as_it_is)   \
    PAIR(type##_prod_pl, f32x2, two, prod_f32_x2, as_it_is) \
    SINGLE(type##_load, two, f32x2, as_it_is)               \
    SINGLE(type##_store, f32x2, two, as_it_is)              \
    SINGLE(type##_scale, two, f32x2, times_2_quiet)         \
    EXTREMA_EXACT(type, i8)

WRAPPING(w8)
WRAPPING(w32)
WRAPPING(w64)
INTEGER(i8, w8)
INTEGER(u8, w8)
INTEGER(i32, w32)
INTEGER(u32, w32)
INTEGER(i64, w64)
INTEGER(u64, w64)
BITWISE(band)
BITWISE(bor)
BITWISE(bxor)
LOOP(bool_and, w8, w8, min_u8, truth_of)
LOOP(bool_or, w8, w8, bor, truth_of)
LOOP(bool_xor, truth, w8, bxor, as_it_is)
SINGLE(bool_load, truth, w8, as_it_is)
FLOATING(f32, w32, minus32)
FLOATING(f64, w64, minus64)
SMALL_16(f16, f16)
SMALL_16(bf16, bf16)
SMALL_8(fp8e4m3, fp8e4m3x2)
SMALL_8(fp8e5m2, fp8e5m2x2)
LOOP_TO_16(f16_sum_ll, f16, f16, sum_f32, quiet_f32)
LOOP(f16_prod_ll, f16, f16, prod_f32, quiet_f32)
LOOP_TO_16(f16_avg, f16, f16, sum_f32, divided_f32)
LOOP(f16_premulsum, f16_times, f16, sum_f32, quiet_f32)
LOOP_TO_16(bf16_sum_ll, bf16x2, bf16x2, sum_f32_x2, as_it_is)
LOOP(bf16_prod_ll, bf16x2, bf16x2, prod_f32_x2, as_it_is)
LOOP_TO_16(bf16_avg, bf16x2, bf16x2, sum_f32_x2, divided_x2)
LOOP(bf16_premulsum, bf16x2_times, bf16x2, sum_f32_x2, as_it_is)
LOOP_SPLIT(fp8e4m3_sum_ll, fp8e4m3_scaled, fp8e4m3_scaled, sum_f32_x2, as_it_is)
LOOP_SPLIT(fp8e4m3_prod_ll, fp8e4m3, fp8e4m3, prod_f32_x2, as_it_is)
LOOP_SPLIT(fp8e4m3_avg, fp8e4m3_scaled, fp8e4m3_scaled, sum_f32_x2, divided_x2)
LOOP_SPLIT(fp8e4m3_premulsum, fp8e4m3_times, fp8e4m3, sum_f32_x2, as_it_is)
LOOP_SPLIT(fp8e5m2_sum_ll, fp8e5m2, fp8e5m2, sum_f32_x2, as_it_is)
LOOP_SPLIT(fp8e5m2_prod_ll, fp8e5m2, fp8e5m2, prod_f32_x2, as_it_is)
LOOP_SPLIT(fp8e5m2_avg, fp8e5m2, fp8e5m2, sum_f32_x2, divided_x2)
LOOP_SPLIT(fp8e5m2_premulsum, fp8e5m2_times, fp8e5m2, sum_f32_x2, as_it_is)

/* ---- the table ----------------------------------------------------------------------------- */

#define ALL_FORMS(loop)            \
    {                              \
        &loop, &loop, &loop, &loop \
    }
#define SMALL_FORMS(name, op)                                              \
    {                                                                      \
        &name##_##op##_ll, &name##_##op##_lp, &name##_##op##_pl, &f32_##op \
    }
#define EXACT_FORMS(name, op)                    \
    {                                            \
        &name##_##op##_ll, NULL, NULL, &f32_##op \
    }

#define FLOAT_ROW(name)                                                           \
    {                                                                             \
        [HK_SUM] = ALL_FORMS(name##_sum), [HK_PROD] = ALL_FORMS(name##_prod),     \
        [HK_MIN] = ALL_FORMS(name##_min), [HK_MAX] = ALL_FORMS(name##_max),       \
        [HK_AVG] = ALL_FORMS(name##_sum), [HK_PREMULSUM] = ALL_FORMS(name##_sum), \
    }
#define SMALL_ROW(name)                                                             \
    {                                                                               \
        [HK_SUM] = SMALL_FORMS(name, sum), [HK_PROD] = SMALL_FORMS(name, prod),     \
        [HK_MIN] = EXACT_FORMS(name, min), [HK_MAX] = EXACT_FORMS(name, max),       \
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
#define BOOL_ROW                                                        \
    {                                                                   \
        [HK_SUM] = ALL_FORMS(bool_or), [HK_PROD] = ALL_FORMS(bool_and), \
        [HK_MIN] = ALL_FORMS(bool_and), [HK_MAX] = ALL_FORMS(bool_or),  \
        [HK_BAND] = ALL_FORMS(bool_and), [HK_BOR] = ALL_FORMS(bool_or), \
        [HK_BXOR] = ALL_FORMS(bool_xor),                                \
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
            [HK_FP8E4M3] = SMALL_ROW(fp8e4m3),
            [HK_FP8E5M2] = SMALL_ROW(fp8e5m2),
            [HK_BOOL] = BOOL_ROW,
        },
    .average = {&i8_avg, &u8_avg, &i32_avg, &u32_avg, &i64_avg, &u64_avg, &f16_avg, &bf16_avg,
                &f32_avg, &f64_avg, &fp8e4m3_avg, &fp8e5m2_avg, NULL},
    .premulsum = {&w8_premulsum, &w8_premulsum, &w32_premulsum, &w32_premulsum, &w64_premulsum,
                  &w64_premulsum, &f16_premulsum, &bf16_premulsum, &f32_premulsum, &f64_premulsum,
                  &fp8e4m3_premulsum, &fp8e5m2_premulsum, NULL},
    .load =
        {
            [HK_F16] = &f16_load,
            [HK_BF16] = &bf16_load,
            [HK_FP8E4M3] = &fp8e4m3_load,
            [HK_FP8E5M2] = &fp8e5m2_load,
            [HK_BOOL] = &bool_load,
        },
    .store =
        {
            [HK_F16] = &f16_store,
            [HK_BF16] = &bf16_store,
            [HK_FP8E4M3] = &fp8e4m3_store,
            [HK_FP8E5M2] = &fp8e5m2_store,
            [HK_BOOL] = &bool_load,
        },
    .scale = {&w8_scale, &w8_scale, &w32_scale, &w32_scale, &w64_scale, &w64_scale, &f16_scale,
              &bf16_scale, &f32_scale, &f64_scale, &fp8e4m3_scale, &fp8e5m2_scale, NULL},
    .divide = {&i8_divide, &u8_divide, &i32_divide, &u32_divide, &i64_divide, &u64_divide,
               &f32_divide, &f32_divide, &f32_divide, &f64_divide, &f32_divide, &f32_divide, NULL},
};
