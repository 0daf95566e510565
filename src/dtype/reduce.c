#include "dtype/reduce.h"

#include <math.h>

#include "base/error.h"

size_t hki_acc_bytes(hk_dtype_t dtype, hk_op_t op)
{
    const size_t bytes = hk_dtype_bytes(dtype);
    const bool is_small =
        dtype == HK_F16 || dtype == HK_BF16 || dtype == HK_FP8E4M3 || dtype == HK_FP8E5M2;

    return is_small && op != HK_USER ? sizeof(float) : bytes;
}

static bool is_float(hk_dtype_t dtype)
{
    return dtype == HK_F64 || dtype == HK_F32 ||
           hki_acc_bytes(dtype, HK_SUM) != hk_dtype_bytes(dtype);
}

/** True if the factor is an integer that `dtype` can hold. */
static bool scalar_fits(hk_dtype_t dtype, double scalar)
{
    const int bits = 8 * (int)hk_dtype_bytes(dtype);
    const bool is_signed = dtype == HK_I8 || dtype == HK_I32 || dtype == HK_I64;
    const double end = ldexp(1.0, is_signed ? bits - 1 : bits); // first value that is too large
    const double begin = is_signed ? -end : 0.0;

    return scalar == trunc(scalar) && scalar >= begin && scalar < end;
}

static hk_status_t premulsum_check(const hki_reduction_t *r)
{
    if (r->dtype == HK_BOOL) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "op premulsum is not defined on bool: use bor or band");
    }
    if (!is_float(r->dtype) && !scalar_fits(r->dtype, r->scalar)) {
        return HKI_FAIL(HK_ERR_INVALID_ARG,
                        "premulsum on %s by %.17g, which is not a value of that type: use an "
                        "integer in its range, or a floating dtype",
                        hk_dtype_name(r->dtype), r->scalar);
    }
    return HK_OK;
}

hk_status_t hki_reduction_check(const hki_reduction_t *r)
{
    if (hk_dtype_bytes(r->dtype) == 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "dtype %d is not one of 0 to %d", (int)r->dtype,
                        HK_DTYPE_COUNT - 1);
    }
    switch (r->op) {
    case HK_SUM:
    case HK_PROD:
    case HK_MIN:
    case HK_MAX:
        return HK_OK;
    case HK_AVG:
        if (r->dtype == HK_BOOL) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "op avg is not defined on bool: use bor or band");
        }
        if (r->nranks < 1) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "op avg over %d ranks: must be at least 1",
                            r->nranks);
        }
        return HK_OK;
    case HK_BAND:
    case HK_BOR:
    case HK_BXOR:
        if (is_float(r->dtype)) {
            return HKI_FAIL(HK_ERR_INVALID_ARG,
                            "op %s is not defined on %s: only on integers and bool",
                            hk_op_name(r->op), hk_dtype_name(r->dtype));
        }
        return HK_OK;
    case HK_PREMULSUM:
        return premulsum_check(r);
    case HK_USER:
        if (r->fn == NULL) {
            return HKI_FAIL(HK_ERR_INVALID_ARG, "op user without a function: set opts.reduce_fn");
        }
        return HK_OK;
    }
    return HKI_FAIL(HK_ERR_INVALID_ARG, "op %d is not one of 0 to %d", (int)r->op, HK_OP_COUNT - 1);
}

void hki_reduce(const hki_reduction_t *r, void *dst, bool is_partial, const hki_source_t *sources,
                int nsources, size_t count)
{
    hki_reduce_reference(r, dst, is_partial, sources, nsources, count);
}

hki_simd_t hki_simd_level(void)
{
    return HKI_SIMD_NONE;
}

const char *hki_simd_name(hki_simd_t level)
{
    static const char *const names[] = {"none", "neon", "avx2", "avx512"};

    return names[level];
}

bool hki_simd_force(hki_simd_t level)
{
    return level == HKI_SIMD_NONE;
}
