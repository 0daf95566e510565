/**
 * @file reference.c
 * @brief The definition of a reduction, element by element. Everything else is held to its bits.
 *
 * Method: load the element of each source into the accumulator type, combine neighbours at
 * distance 1, 2, 4, ... (which is the tree of hocket/types.h for every number of sources), finish,
 * store. Integers are computed modulo 2^64 and cut to their width at the end. A single source that
 * is neither scaled nor divided is only converted, so its NaN may keep its bits; every other NaN
 * result is the one that convert.h names, 0x7fc00000 for f32, 0x7ff8000000000000 for f64.
 */
#include "dtype/reduce.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "dtype/convert.h"

enum { SOURCES_MAX = 1024 };

/** An element in the accumulator type. For HK_USER the bytes of the element itself. */
typedef union value {
    uint64_t u; /**< integers, sign-extended; bool as 0 or 1 */
    float f;    /**< f32 and everything smaller */
    double d;   /**< f64 */
} value_t;

static bool is_f32_like(hk_dtype_t dtype)
{
    return dtype == HK_F32 || dtype == HK_F16 || dtype == HK_BF16 || dtype == HK_FP8E4M3 ||
           dtype == HK_FP8E5M2;
}

static bool is_signed(hk_dtype_t dtype)
{
    return dtype == HK_I8 || dtype == HK_I32 || dtype == HK_I64;
}

/** Cut to the width of `dtype` and extend to 64 bits again: this is how integers wrap. */
static uint64_t int_wrap(hk_dtype_t dtype, uint64_t u)
{
    const unsigned unused = 64 - 8 * (unsigned)hk_dtype_bytes(dtype);
    const uint64_t top = (u << unused) >> unused;
    const uint64_t sign = UINT64_C(1) << (63 - unused);

    return is_signed(dtype) ? (top ^ sign) - sign : top;
}

/** The factor of HK_PREMULSUM as an integer; hki_reduction_check() lets only exact ones through. */
static uint64_t int_scalar(double scalar)
{
    return scalar < 0 ? (uint64_t)(int64_t)scalar : (uint64_t)scalar;
}

static value_t value_load_f32_like(hk_dtype_t dtype, bool is_partial, const uint8_t *at)
{
    value_t v = {.u = 0};
    uint16_t code = 0;

    if (is_partial || dtype == HK_F32) {
        memcpy(&v.f, at, sizeof(v.f));
        return v;
    }
    memcpy(&code, at, dtype == HK_F16 || dtype == HK_BF16 ? 2 : 0);
    switch (dtype) {
    case HK_F16:
        v.f = hki_f16_to_f32(code);
        break;
    case HK_BF16:
        v.f = hki_bf16_to_f32(code);
        break;
    case HK_FP8E4M3:
        v.f = hki_fp8e4m3_to_f32(*at);
        break;
    default:
        v.f = hki_fp8e5m2_to_f32(*at);
        break;
    }
    return v;
}

static uint64_t int_load(hk_dtype_t dtype, const uint8_t *at)
{
    uint32_t u32;
    uint64_t u64;

    switch (hk_dtype_bytes(dtype)) {
    case 1:
        return dtype == HK_BOOL ? *at != 0 : int_wrap(dtype, *at);
    case 4:
        memcpy(&u32, at, sizeof(u32));
        return int_wrap(dtype, u32);
    default:
        memcpy(&u64, at, sizeof(u64));
        return u64;
    }
}

static value_t value_load(const hki_reduction_t *r, const hki_source_t *source, size_t i)
{
    const size_t bytes =
        source->is_partial ? hki_acc_bytes(r->dtype, r->op) : hk_dtype_bytes(r->dtype);
    const uint8_t *at = (const uint8_t *)source->data + i * bytes;
    const bool is_scaled = r->op == HK_PREMULSUM && !source->is_partial;
    value_t v = {.u = 0};

    if (r->op == HK_USER) {
        memcpy(&v, at, bytes);
    } else if (is_f32_like(r->dtype)) {
        v = value_load_f32_like(r->dtype, source->is_partial, at);
        v.f = is_scaled ? v.f * (float)r->scalar : v.f;
    } else if (r->dtype == HK_F64) {
        memcpy(&v.d, at, sizeof(v.d));
        v.d = is_scaled ? v.d * r->scalar : v.d;
    } else {
        v.u = int_load(r->dtype, at);
        v.u = is_scaled ? v.u * int_scalar(r->scalar) : v.u;
    }
    return v;
}

/** Minimum (or maximum) that propagates NaN and orders -0 below +0. */
static double float_extremum(double a, double b, bool is_min)
{
    if (isnan(a) || isnan(b)) {
        return a + b;
    }
    if (a == b) {
        return (signbit(a) != 0) == is_min ? a : b;
    }
    return (a < b) == is_min ? a : b;
}

static float f32_combine(hk_op_t op, float a, float b)
{
    switch (op) {
    case HK_PROD:
        return a * b;
    case HK_MIN:
    case HK_MAX:
        return (float)float_extremum(a, b, op == HK_MIN);
    default:
        return a + b;
    }
}

static double f64_combine(hk_op_t op, double a, double b)
{
    switch (op) {
    case HK_PROD:
        return a * b;
    case HK_MIN:
    case HK_MAX:
        return float_extremum(a, b, op == HK_MIN);
    default:
        return a + b;
    }
}

static uint64_t int_combine(hk_dtype_t dtype, hk_op_t op, uint64_t a, uint64_t b)
{
    const bool is_less = is_signed(dtype) ? (int64_t)a < (int64_t)b : a < b;

    switch (op) {
    case HK_PROD:
        return a * b; // on bool: and
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
        return dtype == HK_BOOL ? a | b : a + b;
    }
}

static value_t value_combine(const hki_reduction_t *r, value_t a, value_t b)
{
    value_t v = {.u = 0};

    if (r->op == HK_USER) {
        r->fn(&v, &a, &b, 1, r->dtype, r->cookie);
    } else if (is_f32_like(r->dtype)) {
        v.f = f32_combine(r->op, a.f, b.f);
    } else if (r->dtype == HK_F64) {
        v.d = f64_combine(r->op, a.d, b.d);
    } else {
        v.u = int_combine(r->dtype, r->op, a.u, b.u);
    }
    return v;
}

/** The division of HK_AVG. INT_MIN / 1 is the only quotient by nranks >= 1 that could overflow, and
 *  does not. */
static value_t value_divide(const hki_reduction_t *r, value_t v)
{
    if (is_f32_like(r->dtype)) {
        v.f = v.f / (float)r->nranks;
    } else if (r->dtype == HK_F64) {
        v.d = v.d / (double)r->nranks;
    } else if (is_signed(r->dtype)) {
        v.u = (uint64_t)((int64_t)int_wrap(r->dtype, v.u) / r->nranks);
    } else {
        v.u = int_wrap(r->dtype, v.u) / (uint64_t)r->nranks;
    }
    return v;
}

static void value_store(const hki_reduction_t *r, value_t v, bool is_partial, uint8_t *at)
{
    const size_t bytes = is_partial ? hki_acc_bytes(r->dtype, r->op) : hk_dtype_bytes(r->dtype);
    uint16_t code16;

    if (r->op == HK_USER || is_partial || r->dtype == HK_F32 || r->dtype == HK_F64) {
        memcpy(at, &v, bytes);
        return;
    }
    switch (r->dtype) {
    case HK_F16:
    case HK_BF16:
        code16 = r->dtype == HK_F16 ? hki_f32_to_f16(v.f) : hki_f32_to_bf16(v.f);
        memcpy(at, &code16, sizeof(code16));
        break;
    case HK_FP8E4M3:
        *at = hki_f32_to_fp8e4m3(v.f);
        break;
    case HK_FP8E5M2:
        *at = hki_f32_to_fp8e5m2(v.f);
        break;
    default: // integers: the low bytes
        for (size_t k = 0; k < bytes; k++) {
            at[k] = (uint8_t)(v.u >> (8 * k));
        }
        break;
    }
}

/** Make every NaN the same one, whatever operand the processor took it from. */
static value_t value_quiet(hk_dtype_t dtype, value_t v)
{
    if (is_f32_like(dtype) && isnan(v.f)) {
        v.f = hki_f32_from_bits(0x7fc00000);
    } else if (dtype == HK_F64 && isnan(v.d)) {
        v.u = UINT64_C(0x7ff8000000000000);
    }
    return v;
}

void hki_reduce_reference(const hki_reduction_t *r, void *dst, bool is_partial,
                          const hki_source_t *sources, int nsources, size_t count)
{
    const size_t dst_bytes = is_partial ? hki_acc_bytes(r->dtype, r->op) : hk_dtype_bytes(r->dtype);
    const bool is_divided = r->op == HK_AVG && !is_partial;
    const bool is_copy = nsources == 1 && !is_divided && sources[0].is_partial == is_partial &&
                         (r->op != HK_PREMULSUM || is_partial) && r->dtype != HK_BOOL;
    const bool is_moved =
        nsources == 1 && !is_divided && (r->op != HK_PREMULSUM || sources[0].is_partial);
    value_t v[SOURCES_MAX];

    HKI_ASSERT(nsources >= 1 && nsources <= SOURCES_MAX);
    if (is_copy) {
        memmove(dst, sources[0].data, count * dst_bytes);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        for (int s = 0; s < nsources; s++) {
            v[s] = value_load(r, &sources[s], i);
        }
        for (int width = 1; width < nsources; width *= 2) {
            for (int s = 0; s + width < nsources; s += 2 * width) {
                v[s] = value_combine(r, v[s], v[s + width]);
            }
        }
        v[0] = is_divided ? value_divide(r, v[0]) : v[0];
        v[0] = is_moved || r->op == HK_USER ? v[0] : value_quiet(r->dtype, v[0]);
        value_store(r, v[0], is_partial, (uint8_t *)dst + i * dst_bytes);
    }
}
