/*
 * The reference: section "A reduction of x[0] .. x[P-1]" of hocket/types.h, one element at a time.
 */
#include "reference.h"

#include <math.h>
#include <string.h>

/** A number in the accumulator type. */
typedef union number {
    double f64;
    float f32;
    uint64_t bits; /**< integers, in their low bits */
} number_t;

/** Formats of the small floating types. */
typedef struct format {
    int exponent_bits;
    int mantissa_bits;
} format_t;

uint64_t ref_mix(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static format_t format_of(hk_dtype_t dtype)
{
    switch (dtype) {
    case HK_F16:
        return (format_t){5, 10};
    case HK_BF16:
        return (format_t){8, 7};
    case HK_FP8E4M3:
        return (format_t){4, 3};
    case HK_FP8E5M2:
    default:
        return (format_t){5, 2};
    }
}

static bool is_small_float(hk_dtype_t dtype)
{
    return dtype == HK_F16 || dtype == HK_BF16 || dtype == HK_FP8E4M3 || dtype == HK_FP8E5M2;
}

static bool is_float(hk_dtype_t dtype)
{
    return is_small_float(dtype) || dtype == HK_F32 || dtype == HK_F64;
}

static bool is_signed(hk_dtype_t dtype)
{
    return dtype == HK_I8 || dtype == HK_I32 || dtype == HK_I64;
}

/** Finite numbers only: the grid makes no others. */
static float decode(hk_dtype_t dtype, uint32_t bits)
{
    const format_t f = format_of(dtype);
    const int bias = (1 << (f.exponent_bits - 1)) - 1;
    const uint32_t mantissa = bits & ((1u << f.mantissa_bits) - 1);
    const int exponent = (int)(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
    const bool is_negative = ((bits >> (f.mantissa_bits + f.exponent_bits)) & 1) != 0;
    const float value = exponent == 0 ? ldexpf((float)mantissa, 1 - bias - f.mantissa_bits)
                                      : ldexpf((float)(mantissa | (1u << f.mantissa_bits)),
                                               exponent - bias - f.mantissa_bits);

    return is_negative ? -value : value;
}

/** Round to nearest even. */
static uint32_t encode(hk_dtype_t dtype, float value)
{
    const format_t f = format_of(dtype);
    const int bias = (1 << (f.exponent_bits - 1)) - 1;
    const uint32_t sign = signbit(value) ? 1u << (f.mantissa_bits + f.exponent_bits) : 0;
    int exponent = 0;

    if (value == 0.0f) {
        return sign;
    }
    (void)frexpf(value, &exponent);
    exponent--; // value is in [1, 2) * 2^exponent
    if (exponent < 1 - bias) {
        exponent = 1 - bias;
    }
    const double units = nearbyint(ldexp(fabs((double)value), f.mantissa_bits - exponent));
    return sign | ((uint32_t)units + ((uint32_t)(exponent + bias - 1) << f.mantissa_bits));
}

/** Cut an integer to the width of the type, with its sign. */
static uint64_t wrap(hk_dtype_t dtype, uint64_t bits)
{
    switch (dtype) {
    case HK_I8:
        return (uint64_t)(int64_t)(int8_t)bits;
    case HK_U8:
        return (uint8_t)bits;
    case HK_I32:
        return (uint64_t)(int64_t)(int32_t)bits;
    case HK_U32:
        return (uint32_t)bits;
    case HK_BOOL:
        return bits != 0;
    default:
        return bits;
    }
}

static number_t load(hk_dtype_t dtype, const void *src)
{
    number_t n = {.bits = 0};
    uint32_t small = 0;

    if (is_small_float(dtype)) {
        memcpy(&small, src, hk_dtype_bytes(dtype));
        n.f32 = decode(dtype, small);
    } else if (is_float(dtype)) {
        memcpy(&n, src, hk_dtype_bytes(dtype));
    } else {
        memcpy(&n.bits, src, hk_dtype_bytes(dtype));
        n.bits = wrap(dtype, n.bits);
    }
    return n;
}

static void store(hk_dtype_t dtype, number_t n, void *dst)
{
    if (is_small_float(dtype)) {
        const uint32_t small = encode(dtype, n.f32);

        memcpy(dst, &small, hk_dtype_bytes(dtype));
    } else {
        memcpy(dst, &n, hk_dtype_bytes(dtype));
    }
}

static number_t float_op(hk_op_t op, bool is_f64, number_t a, number_t b)
{
    number_t r = {.bits = 0};
    const bool is_equal = is_f64 ? a.f64 == b.f64 : a.f32 == b.f32;
    const bool is_below = is_f64 ? signbit(a.f64) != 0 : signbit(a.f32) != 0; // -0 < +0
    const bool is_less = is_equal ? is_below : is_f64 ? a.f64 < b.f64 : a.f32 < b.f32;

    switch (op) {
    case HK_PROD:
        if (is_f64) {
            r.f64 = a.f64 * b.f64;
        } else {
            r.f32 = a.f32 * b.f32;
        }
        return r;
    case HK_MIN:
        return is_less ? a : b;
    case HK_MAX:
        return is_less ? b : a;
    default:
        if (is_f64) {
            r.f64 = a.f64 + b.f64;
        } else {
            r.f32 = a.f32 + b.f32;
        }
        return r;
    }
}

static uint64_t integer_op(hk_op_t op, hk_dtype_t dtype, uint64_t a, uint64_t b)
{
    const bool is_less = is_signed(dtype) ? (int64_t)a < (int64_t)b : a < b;

    switch (op) {
    case HK_PROD:
        return a * b;
    case HK_MIN:
        return is_less ? a : b;
    case HK_MAX:
        return is_less ? b : a;
    case HK_BAND:
        return a & b;
    case HK_BOR:
        return a | b;
    case HK_BXOR:
        return a ^ b;
    default:
        return a + b;
    }
}

static number_t apply(const ref_t *ref, number_t a, number_t b)
{
    number_t r = {.bits = 0};

    if (ref->op == HK_USER) {
        const uint32_t left = (uint32_t)a.bits;
        const uint32_t right = (uint32_t)b.bits;
        uint32_t out = 0;

        ref_user(&out, &left, &right, 1, HK_U32, NULL);
        r.bits = out;
    } else if (is_float(ref->dtype)) {
        r = float_op(ref->op, ref->dtype == HK_F64, a, b);
    } else {
        r.bits = wrap(ref->dtype, integer_op(ref->op, ref->dtype, a.bits, b.bits));
    }
    return r;
}

static number_t contribution(const ref_t *ref, int rank, uint64_t index)
{
    unsigned char raw[8] = {0};

    ref_input(ref, rank, index, raw);
    number_t n = load(ref->dtype, raw);
    if (ref->op == HK_PREMULSUM) {
        if (ref->dtype == HK_F64) {
            n.f64 *= ref->scalar;
        } else if (is_float(ref->dtype)) {
            n.f32 *= (float)ref->scalar;
        } else {
            n.bits = wrap(ref->dtype, n.bits * (uint64_t)(int64_t)ref->scalar);
        }
    }
    return n;
}

static number_t tree(const ref_t *ref, uint64_t index, int first, int n)
{
    int k = 1;

    if (n == 1) {
        return contribution(ref, first, index);
    }
    while (2 * k < n) {
        k *= 2;
    }
    return apply(ref, tree(ref, index, first, k), tree(ref, index, first + k, n - k));
}

void ref_reduced(const ref_t *ref, uint64_t index, void *dst)
{
    number_t n = tree(ref, index, 0, ref->nranks);

    if (ref->op == HK_AVG) {
        if (ref->dtype == HK_F64) {
            n.f64 /= (double)ref->nranks;
        } else if (is_float(ref->dtype)) {
            n.f32 /= (float)ref->nranks;
        } else if (is_signed(ref->dtype)) {
            n.bits = (uint64_t)((int64_t)n.bits / ref->nranks);
        } else {
            n.bits /= (uint64_t)ref->nranks;
        }
    }
    store(ref->dtype, n, dst);
}

void ref_input(const ref_t *ref, int rank, uint64_t index, void *dst)
{
    const uint64_t bits =
        ref_mix(ref->seed ^ ref_mix(index * 1024 + (uint64_t)rank + ref->seed * 7));
    number_t n = {.bits = bits};
    double value = (double)(bits % 4097) / 1024.0 - 2.0;

    if (ref->op == HK_PROD) { // stay far from overflow on 33 ranks
        value = rank % 8 == 0 ? 1.0 + (double)(bits % 3) / 2.0 : (bits % 2 == 0 ? 1.0 : -1.0);
    } else if (ref->is_exact) {
        value = (double)(bits % 7) - 3.0;
    }
    if (ref->dtype == HK_F64) {
        n.f64 = value + (ref->is_exact || ref->op == HK_PROD ? 0.0 : (double)(bits >> 40) * 1e-12);
    } else if (is_float(ref->dtype)) {
        n.f32 = (float)value;
    } else {
        n.bits = wrap(ref->dtype, ref->dtype == HK_BOOL ? bits % 5 == 0 : bits);
    }
    store(ref->dtype, n, dst);
}

bool ref_is_allowed(hk_dtype_t dtype, hk_op_t op)
{
    const bool is_bits = op == HK_BAND || op == HK_BOR || op == HK_BXOR;

    if (op == HK_USER) {
        return dtype == HK_U32; // the only type ref_user() knows
    }
    if (is_float(dtype)) {
        return !is_bits;
    }
    return dtype != HK_BOOL || (op != HK_AVG && op != HK_PREMULSUM);
}

void ref_user(void *out, const void *left, const void *right, size_t count, hk_dtype_t dtype,
              void *cookie)
{
    (void)dtype;
    (void)cookie;
    for (size_t i = 0; i < count; i++) {
        uint32_t l;
        uint32_t r;

        memcpy(&l, (const char *)left + 4 * i, 4);
        memcpy(&r, (const char *)right + 4 * i, 4);
        const uint32_t a = ((l >> 16) * (r >> 16)) & 0xffffu;
        const uint32_t b = ((l & 0xffffu) * (r >> 16) + r) & 0xffffu;
        const uint32_t result = a << 16 | b;
        memcpy((char *)out + 4 * i, &result, 4);
    }
}
