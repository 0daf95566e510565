/*
 * Kernels for x86-64 processors with AVX2 and F16C. No FMA: a product is rounded before it is
 * added.
 */
#include <immintrin.h>

#include "dtype/kernels.h"

#define HKI_VECTOR_BYTES 32
#define HKI_TABLE        hki_kernels_avx2

#define HKI_SELECT(mask, a, b) \
    ((vec_t)_mm256_blendv_epi8((__m256i)(b), (__m256i)(a), (__m256i)(mask)))
#define HKI_ODD_16(even, odd) ((vec_t)_mm256_blend_epi16((__m256i)(even), (__m256i)(odd), 0xaa))
#define HKI_MUL_EVEN(a, b)    ((vec_t)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define HKI_MULHI_U16(a, b)   ((vec_t)_mm256_mulhi_epu16((__m256i)(a), (__m256i)(b)))

#define HKI_F16_LOAD(h) ((v_f32)_mm256_cvtph_ps((__m128i)(h)))
#define HKI_F16_STORE(v) \
    ((half_u16)_mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#define HKI_WIDEN_16(h) ((v_u32)_mm256_cvtepu16_epi32((__m128i)(h)))
#define HKI_NARROW_16(v)               \
    ((half_u16)_mm256_castsi256_si128( \
        _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)(v), (__m256i)(v)), 0x08)))
#define HKI_NARROW_16X2(a, b) \
    ((vec_t)_mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)(a), (__m256i)(b)), 0xd8))
#define HKI_NARROW_8X2(a, b) avx2_narrow_8x2((__m256i)(a), (__m256i)(b))
#define HKI_WIDEN_I8(h)      ((v_i16)_mm256_cvtepi8_epi16((__m128i)(h)))

#define HKI_MIN_F32(a, b) ((v_f32)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define HKI_MAX_F32(a, b) ((v_f32)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define HKI_MIN_F64(a, b) ((v_f64)_mm256_min_pd((__m256d)(a), (__m256d)(b)))
#define HKI_MIN_i8(a, b)  _mm256_min_epi8((__m256i)(a), (__m256i)(b))
#define HKI_MAX_i8(a, b)  _mm256_max_epi8((__m256i)(a), (__m256i)(b))
#define HKI_MIN_u8(a, b)  _mm256_min_epu8((__m256i)(a), (__m256i)(b))
#define HKI_MAX_u8(a, b)  _mm256_max_epu8((__m256i)(a), (__m256i)(b))
#define HKI_MIN_i16(a, b) _mm256_min_epi16((__m256i)(a), (__m256i)(b))
#define HKI_MAX_i16(a, b) _mm256_max_epi16((__m256i)(a), (__m256i)(b))
#define HKI_MIN_i32(a, b) _mm256_min_epi32((__m256i)(a), (__m256i)(b))
#define HKI_MAX_i32(a, b) _mm256_max_epi32((__m256i)(a), (__m256i)(b))
#define HKI_MIN_u32(a, b) _mm256_min_epu32((__m256i)(a), (__m256i)(b))
#define HKI_MAX_u32(a, b) _mm256_max_epu32((__m256i)(a), (__m256i)(b))

static inline __attribute__((always_inline)) __m128i avx2_narrow_8x2(__m256i a, __m256i b)
{
    const __m256i words = _mm256_packus_epi32(a, b); // a0-3 b0-3 a4-7 b4-7
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));

    return _mm_shuffle_epi32(bytes, _MM_SHUFFLE(3, 1, 2, 0));
}

#include "dtype/kernels_template.h"
