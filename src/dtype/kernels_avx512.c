/*
 * Kernels for x86-64 processors with AVX-512 F, BW, DQ and VL.
 */
#include <immintrin.h>

#include "dtype/kernels.h"

#define HKI_VECTOR_BYTES 64
#define HKI_TABLE        hki_kernels_avx512

#define HKI_MUL_EVEN(a, b)  ((vec_t)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#define HKI_MULHI_U16(a, b) ((vec_t)_mm512_mulhi_epu16((__m512i)(a), (__m512i)(b)))

#define HKI_F16_LOAD(h) ((v_f32)_mm512_cvtph_ps((__m256i)(h)))
#define HKI_F16_STORE(v) \
    ((half_u16)_mm512_cvtps_ph((__m512)(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#define HKI_WIDEN_16(h)  ((v_u32)_mm512_cvtepu16_epi32((__m256i)(h)))
#define HKI_NARROW_16(v) ((half_u16)_mm512_cvtepi32_epi16((__m512i)(v)))
#define HKI_NARROW_8X2(a, b)                                                            \
    _mm256_inserti128_si256(_mm256_castsi128_si256(_mm512_cvtepi32_epi8((__m512i)(a))), \
                            _mm512_cvtepi32_epi8((__m512i)(b)), 1)
#define HKI_WIDEN_I8(h) ((v_i16)_mm512_cvtepi8_epi16((__m256i)(h)))

#define HKI_MIN_F32(a, b) ((v_f32)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define HKI_MAX_F32(a, b) ((v_f32)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define HKI_MIN_F64(a, b) ((v_f64)_mm512_min_pd((__m512d)(a), (__m512d)(b)))
#define HKI_MIN_i8(a, b)  _mm512_min_epi8((__m512i)(a), (__m512i)(b))
#define HKI_MAX_i8(a, b)  _mm512_max_epi8((__m512i)(a), (__m512i)(b))
#define HKI_MIN_u8(a, b)  _mm512_min_epu8((__m512i)(a), (__m512i)(b))
#define HKI_MAX_u8(a, b)  _mm512_max_epu8((__m512i)(a), (__m512i)(b))
#define HKI_MIN_i16(a, b) _mm512_min_epi16((__m512i)(a), (__m512i)(b))
#define HKI_MAX_i16(a, b) _mm512_max_epi16((__m512i)(a), (__m512i)(b))
#define HKI_MIN_i32(a, b) _mm512_min_epi32((__m512i)(a), (__m512i)(b))
#define HKI_MAX_i32(a, b) _mm512_max_epi32((__m512i)(a), (__m512i)(b))
#define HKI_MIN_u32(a, b) _mm512_min_epu32((__m512i)(a), (__m512i)(b))
#define HKI_MAX_u32(a, b) _mm512_max_epu32((__m512i)(a), (__m512i)(b))
#define HKI_MIN_i64(a, b) _mm512_min_epi64((__m512i)(a), (__m512i)(b))
#define HKI_MAX_i64(a, b) _mm512_max_epi64((__m512i)(a), (__m512i)(b))
#define HKI_MIN_u64(a, b) _mm512_min_epu64((__m512i)(a), (__m512i)(b))
#define HKI_MAX_u64(a, b) _mm512_max_epu64((__m512i)(a), (__m512i)(b))

#include "dtype/kernels_template.h"
