/*
 * Method: every code of each type is decoded and compared with its value worked out by ldexp();
 * every value halfway between neighbours, and a step to both sides of it, must round to the right
 * one.
 */
#include "support/hk_test.h"

#include <math.h>
#include <stdbool.h>

#include "dtype/convert.h"

typedef struct type {
    const char *name;
    float (*decode)(uint32_t code);
    uint32_t (*encode)(float value);
    int exponent_bits, fraction_bits;
    bool has_infinity;
    uint32_t nan;
} type_t;

static float f16_decode(uint32_t code)
{
    return hki_f16_to_f32((uint16_t)code);
}

static float bf16_decode(uint32_t code)
{
    return hki_bf16_to_f32((uint16_t)code);
}

static float e4m3_decode(uint32_t code)
{
    return hki_fp8e4m3_to_f32((uint8_t)code);
}

static float e5m2_decode(uint32_t code)
{
    return hki_fp8e5m2_to_f32((uint8_t)code);
}

static uint32_t f16_encode(float value)
{
    return hki_f32_to_f16(value);
}

static uint32_t bf16_encode(float value)
{
    return hki_f32_to_bf16(value);
}

static uint32_t e4m3_encode(float value)
{
    return hki_f32_to_fp8e4m3(value);
}

static uint32_t e5m2_encode(float value)
{
    return hki_f32_to_fp8e5m2(value);
}

static const type_t types[] = {
    {"f16", f16_decode, f16_encode, 5, 10, true, 0x7e00},
    {"bf16", bf16_decode, bf16_encode, 8, 7, true, 0x7fc0},
    {"fp8e4m3", e4m3_decode, e4m3_encode, 4, 3, false, 0x7f},
    {"fp8e5m2", e5m2_decode, e5m2_encode, 5, 2, true, 0x7e},
};

static uint32_t sign_of(const type_t *t)
{
    return UINT32_C(1) << (t->exponent_bits + t->fraction_bits);
}

/** First code that is not finite. */
static uint32_t end_of(const type_t *t)
{
    return t->has_infinity ? sign_of(t) - (UINT32_C(1) << t->fraction_bits) : sign_of(t) - 1;
}

/** The value of a code without sign, also of the first that is not finite, as if it were. */
static double value_of(const type_t *t, uint32_t code)
{
    const int bias = (1 << (t->exponent_bits - 1)) - 1;
    const int exponent = (int)(code >> t->fraction_bits);
    const uint32_t hidden = exponent == 0 ? 0 : UINT32_C(1) << t->fraction_bits;
    const uint32_t fraction = code & ((UINT32_C(1) << t->fraction_bits) - 1);

    return ldexp((double)(fraction + hidden),
                 (exponent == 0 ? 1 : exponent) - bias - t->fraction_bits);
}

static void every_code_decodes_to_its_value(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(types); k++) {
        const type_t *t = &types[k];
        for (uint32_t code = 0; code < end_of(t); code++) {
            const double plus = (double)t->decode(code);
            const double minus = (double)t->decode(code | sign_of(t));
            if (plus != value_of(t, code) || minus != -plus || signbit(minus) == 0) {
                fail_msg("%s code 0x%x: got %a and %a, want %a", t->name, code, plus, minus,
                         value_of(t, code));
            }
        }
        if (t->has_infinity) {
            assert_true(isinf(t->decode(end_of(t))));
            assert_true(t->decode(end_of(t) | sign_of(t)) < 0);
        }
        for (uint32_t code = end_of(t) + (t->has_infinity ? 1 : 0); code < sign_of(t); code++) {
            assert_true(isnan(t->decode(code)) && isnan(t->decode(code | sign_of(t))));
        }
    }
}

static void encode_or_fail(const type_t *t, float value, uint32_t want)
{
    const uint32_t got = t->encode(value);

    if (got != want) {
        fail_msg("%s of %a: got 0x%x, want 0x%x", t->name, (double)value, got, want);
    }
}

static void every_halfway_value_rounds_to_even(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(types); k++) {
        const type_t *t = &types[k];
        const uint32_t beyond = t->has_infinity ? end_of(t) : t->nan;
        for (uint32_t code = 0; code < end_of(t); code++) {
            const double half = (value_of(t, code) + value_of(t, code + 1)) / 2;
            const uint32_t above = code + 1 == end_of(t) ? beyond : code + 1;
            const uint32_t above_minus = above == t->nan ? t->nan : (above | sign_of(t));
            const float middle = (float)half;

            encode_or_fail(t, (float)value_of(t, code), code);
            if (!isfinite(middle) || (double)middle != half) {
                continue; // bf16 beyond the largest f32
            }
            encode_or_fail(t, middle, code % 2 == 0 ? code : above);
            encode_or_fail(t, nextafterf(middle, 0.0F), code);
            encode_or_fail(t, nextafterf(middle, INFINITY), above);
            encode_or_fail(t, -nextafterf(middle, 0.0F), code | sign_of(t));
            encode_or_fail(t, -nextafterf(middle, INFINITY), above_minus);
        }
    }
}

static void nan_and_infinity_become_the_ones_of_the_type(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(types); k++) {
        const type_t *t = &types[k];
        encode_or_fail(t, hki_f32_from_bits(0xffc12345), t->nan);
        encode_or_fail(t, hki_f32_from_bits(0x7f800001), t->nan);
        encode_or_fail(t, INFINITY, t->has_infinity ? end_of(t) : t->nan);
        encode_or_fail(t, -INFINITY, t->has_infinity ? (end_of(t) | sign_of(t)) : t->nan);
        encode_or_fail(t, -0.0F, sign_of(t));
        encode_or_fail(t, 0x1p-149F, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_decodes_to_its_value),
        cmocka_unit_test(every_halfway_value_rounds_to_even),
        cmocka_unit_test(nan_and_infinity_become_the_ones_of_the_type),
    };

    return cmocka_run_group_tests_name("dtype/convert", tests, NULL, NULL);
}
