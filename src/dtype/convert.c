/**
 * @file convert.c
 * @brief Small floating types, written for the reader: the SIMD kernels are held to these bits.
 *
 * Method: a type is a row of numbers (`small_t`). A code is sign, exponent, fraction. Rounding
 * works on the integer code: codes of growing values are growing integers, also across the border
 * to the next exponent and from subnormal to normal, so "add and cut" carries correctly.
 */
#include "dtype/convert.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct small {
    int fraction_bits;
    int bias;
    uint32_t sign;     /**< the sign bit */
    uint32_t special;  /**< first code, without sign, that is not finite */
    uint32_t nan;      /**< the NaN written; NaN are the codes above `infinity` */
    uint32_t infinity; /**< = special, or the code before it where there is no infinity */
} small_t;

static const small_t f16 = {10, 15, 0x8000, 0x7c00, 0x7e00, 0x7c00};
static const small_t fp8e4m3 = {3, 7, 0x80, 0x7f, 0x7f, 0x7e};
static const small_t fp8e5m2 = {2, 15, 0x80, 0x7c, 0x7e, 0x7c};

enum { F32_FRACTION = 23, F32_BIAS = 127 };
static const uint32_t f32_sign = 0x80000000;
static const uint32_t f32_infinity = 0x7f800000;
static const uint32_t f32_quiet = 0x00400000;

uint32_t hki_f32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float hki_f32_from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/** 2^exponent for a normal f32. */
static float power_of_two(int exponent)
{
    return hki_f32_from_bits((uint32_t)(exponent + F32_BIAS) << F32_FRACTION);
}

static float small_decode(const small_t *type, uint32_t code)
{
    const int shift = F32_FRACTION - type->fraction_bits;
    const uint32_t sign = (code & type->sign) != 0 ? f32_sign : 0;
    const uint32_t magnitude = code & ~type->sign;
    uint32_t bits;

    if (magnitude > type->infinity) {
        bits = f32_infinity | f32_quiet | (magnitude << shift);
    } else if (magnitude == type->special) {
        bits = f32_infinity;
    } else if (magnitude >> type->fraction_bits == 0) { // subnormal: a multiple of the smallest
        const float smallest = power_of_two(1 - type->bias - type->fraction_bits);

        bits = hki_f32_bits((float)magnitude * smallest);
    } else {
        bits = (magnitude << shift) + ((uint32_t)(F32_BIAS - type->bias) << F32_FRACTION);
    }
    return hki_f32_from_bits(sign | (bits & ~f32_sign));
}

static uint32_t small_encode(const small_t *type, float value)
{
    const int shift = F32_FRACTION - type->fraction_bits;
    const uint32_t sign = (hki_f32_bits(value) & f32_sign) != 0 ? type->sign : 0;
    const uint32_t bits = hki_f32_bits(value) & ~f32_sign;
    const uint32_t bits_normal = (uint32_t)(1 - type->bias + F32_BIAS) << F32_FRACTION;
    uint32_t code;

    if (bits > f32_infinity) {
        return type->nan;
    }
    if (bits < bits_normal) { // subnormal: count the smallest ones; rint() rounds ties to even
        const float per_smallest = power_of_two(type->bias - 1 + type->fraction_bits);

        code = (uint32_t)rintf(hki_f32_from_bits(bits) * per_smallest);
    } else {
        const uint32_t rebased = bits - ((uint32_t)(F32_BIAS - type->bias) << F32_FRACTION);
        const uint32_t half_less_one = (UINT32_C(1) << (shift - 1)) - 1;
        const uint32_t is_odd = (rebased >> shift) & 1;

        code = (rebased + half_less_one + is_odd) >> shift;
    }
    if (code >= type->special) {
        return type->infinity == type->special ? (sign | type->infinity) : type->nan;
    }
    return sign | code;
}

float hki_f16_to_f32(uint16_t code)
{
    return small_decode(&f16, code);
}

float hki_bf16_to_f32(uint16_t code)
{
    return hki_f32_from_bits((uint32_t)code << 16);
}

float hki_fp8e4m3_to_f32(uint8_t code)
{
    return small_decode(&fp8e4m3, code);
}

float hki_fp8e5m2_to_f32(uint8_t code)
{
    return small_decode(&fp8e5m2, code);
}

uint16_t hki_f32_to_f16(float value)
{
    return (uint16_t)small_encode(&f16, value);
}

uint16_t hki_f32_to_bf16(float value)
{
    const uint32_t bits = hki_f32_bits(value);

    if ((bits & ~f32_sign) > f32_infinity) {
        return 0x7fc0;
    }
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint8_t hki_f32_to_fp8e4m3(float value)
{
    return (uint8_t)small_encode(&fp8e4m3, value);
}

uint8_t hki_f32_to_fp8e5m2(float value)
{
    return (uint8_t)small_encode(&fp8e5m2, value);
}
