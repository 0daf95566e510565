/*
 * Kernels for x86-64 processors with AVX2 and F16C. No FMA: a product is rounded before it is
 * added.
 */
#include <immintrin.h>

#include "dtype/kernels.h"

#define HKI_VECTOR_BYTES 32
#define HKI_TABLE        hki_kernels_avx2

#define HKI_F16_LOAD(h) _mm256_cvtph_ps((__m128i)(h))
#define HKI_F16_STORE(v) \
    ((half_u16)_mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#define HKI_WIDEN_16(h) ((v_u32)_mm256_cvtepu16_epi32((__m128i)(h)))
#define HKI_NARROW_16(v)               \
    ((half_u16)_mm256_castsi256_si128( \
        _mm256_permute4x64_epi64(_mm256_packus_epi32((__m256i)(v), (__m256i)(v)), 0x08)))
#define HKI_MIN_F32(a, b) _mm256_min_ps(a, b)
#define HKI_MAX_F32(a, b) _mm256_max_ps(a, b)
#define HKI_MIN_F64(a, b) _mm256_min_pd(a, b)
#define HKI_MAX_F64(a, b) _mm256_max_pd(a, b)

#include "dtype/kernels_template.h"
