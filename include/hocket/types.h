/**
 * @file hocket/types.h
 * @brief Element types and reduction operations.
 *
 * A reduction of x[0] .. x[P-1] is computed as a fixed tree,
 *     tree(a) = a,  tree(a_0..a_n-1) = tree(a_0..a_k-1) o tree(a_k..a_n-1),
 * k the largest power of two below n, in the accumulator type of the element type (f32 for f16,
 * bf16, fp8; the type itself otherwise), and rounded once, to nearest even, at the end. Integers
 * wrap. HK_AVG divides the tree sum once by P (integers toward zero). HK_MIN and HK_MAX propagate
 * NaN and order -0 below +0. HK_PREMULSUM multiplies each input by a scalar first, in the
 * accumulator type. On HK_BOOL (one byte, any non-zero value is true, results are 0 or 1):
 * sum, max, bor = or; prod, min, band = and; bxor = exclusive or; avg and premulsum are refused.
 * band, bor, bxor are refused on floating types.
 * A NaN result has the bits 7fc00000 (f32), 7ff8000000000000 (f64), 7e00 (f16), 7fc0 (bf16), 7f
 * (fp8e4m3), 7e (fp8e5m2), whatever NaN went in; what overflows fp8e4m3, which has no infinity, is
 * NaN too. A single input that is not scaled or divided is copied. HK_PREMULSUM on an integer type
 * refuses a factor that the type cannot hold.
 */
#ifndef HK_TYPES_H
#define HK_TYPES_H

#include <hocket/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Every element type: name, value, bytes, lower-case name. Values are part of the ABI. */
#define HK_DTYPE_MAP(X)          \
    X(I8, 0, 1, "i8")            \
    X(U8, 1, 1, "u8")            \
    X(I32, 2, 4, "i32")          \
    X(U32, 3, 4, "u32")          \
    X(I64, 4, 8, "i64")          \
    X(U64, 5, 8, "u64")          \
    X(F16, 6, 2, "f16")          \
    X(BF16, 7, 2, "bf16")        \
    X(F32, 8, 4, "f32")          \
    X(F64, 9, 8, "f64")          \
    X(FP8E4M3, 10, 1, "fp8e4m3") \
    X(FP8E5M2, 11, 1, "fp8e5m2") \
    X(BOOL, 12, 1, "bool")

typedef enum hk_dtype {
#define HK_DTYPE_ENUM(name, value, bytes, text) HK_##name = (value),
    HK_DTYPE_MAP(HK_DTYPE_ENUM)
#undef HK_DTYPE_ENUM
} hk_dtype_t;

enum { HK_DTYPE_COUNT = 13 };

/** Every operation: name, value, lower-case name. Values are part of the ABI. */
#define HK_OP_MAP(X)             \
    X(SUM, 0, "sum")             \
    X(PROD, 1, "prod")           \
    X(MIN, 2, "min")             \
    X(MAX, 3, "max")             \
    X(AVG, 4, "avg")             \
    X(BAND, 5, "band")           \
    X(BOR, 6, "bor")             \
    X(BXOR, 7, "bxor")           \
    X(PREMULSUM, 8, "premulsum") \
    X(USER, 9, "user")

typedef enum hk_op {
#define HK_OP_ENUM(name, value, text) HK_##name = (value),
    HK_OP_MAP(HK_OP_ENUM)
#undef HK_OP_ENUM
} hk_op_t;

enum { HK_OP_COUNT = 10 };

/**
 * A user's reduction: out[i] = left[i] o right[i] for `count` elements of `dtype`. Need not
 * commute: `left` always comes from lower ranks than `right`. `out` may equal `left` or `right`.
 * Must be associative enough for the caller's taste, pure, and quick; it must not call hocket.
 */
typedef void (*hk_reduce_fn)(void *out, const void *left, const void *right, size_t count,
                             hk_dtype_t dtype, void *cookie);

/** Bytes of one element; 0 if `dtype` is not one of the enum. */
HK_API size_t hk_dtype_bytes(hk_dtype_t dtype);
/** "f32" and the like; "?" if `dtype` is not one of the enum. */
HK_API const char *hk_dtype_name(hk_dtype_t dtype);
/** "sum" and the like; "?" if `op` is not one of the enum. */
HK_API const char *hk_op_name(hk_op_t op);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HK_TYPES_H */
