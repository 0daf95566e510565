/**
 * @file convert.h
 * @brief f16, bf16 and the two fp8 types to and from f32, one value at a time.
 *
 * To f32 is exact. From f32 rounds to nearest, ties to even, once. NaN stays NaN: to f32 it keeps
 * sign and payload (f16 and fp8 become quiet); from f32 it becomes the one NaN of the type below.
 * Infinity and what rounds beyond the largest finite value become infinity, in fp8e4m3, which has
 * none, NaN.
 *
 * | type    | exponent, fraction bits | bias | largest | smallest | NaN written |
 * | f16     | 5, 10                   | 15   | 65504   | 2^-24    | 0x7e00      |
 * | bf16    | 8, 7                    | 127  | 3.4e38  | 2^-133   | 0x7fc0      |
 * | fp8e4m3 | 4, 3                    | 7    | 448     | 2^-9     | 0x7f        |
 * | fp8e5m2 | 5, 2                    | 15   | 57344   | 2^-16    | 0x7e        |
 */
#ifndef HKI_DTYPE_CONVERT_H
#define HKI_DTYPE_CONVERT_H

#include <stdint.h>

float hki_f16_to_f32(uint16_t code);
float hki_bf16_to_f32(uint16_t code);
float hki_fp8e4m3_to_f32(uint8_t code);
float hki_fp8e5m2_to_f32(uint8_t code);

uint16_t hki_f32_to_f16(float value);
uint16_t hki_f32_to_bf16(float value);
uint8_t hki_f32_to_fp8e4m3(float value);
uint8_t hki_f32_to_fp8e5m2(float value);

/** The bits of a value, and back. */
uint32_t hki_f32_bits(float value);
float hki_f32_from_bits(uint32_t bits);

#endif /* HKI_DTYPE_CONVERT_H */
