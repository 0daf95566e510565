/*
 * Kernels for x86-64 processors with AVX-512 F, BW, DQ and VL.
 */
#include <immintrin.h>

#include "dtype/kernels.h"

#define HKI_VECTOR_BYTES 64
#define HKI_TABLE        hki_kernels_avx512

#define HKI_F16_LOAD(h) _mm512_cvtph_ps((__m256i)(h))
#define HKI_F16_STORE(v) \
    ((half_u16)_mm512_cvtps_ph((__m512)(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
#define HKI_WIDEN_16(h)   ((v_u32)_mm512_cvtepu16_epi32((__m256i)(h)))
#define HKI_NARROW_16(v)  ((half_u16)_mm512_cvtepi32_epi16((__m512i)(v)))
#define HKI_MIN_F32(a, b) _mm512_min_ps(a, b)
#define HKI_MAX_F32(a, b) _mm512_max_ps(a, b)
#define HKI_MIN_F64(a, b) _mm512_min_pd(a, b)
#define HKI_MAX_F64(a, b) _mm512_max_pd(a, b)

#include "dtype/kernels_template.h"
