/**
 * @file kernels.h
 * @brief What a SIMD level brings: a table of inner loops. reduce.c builds every reduction of them.
 *
 * All loops take any alignment and any count, and read the elements of all sources before they
 * write them to `dst`, which may therefore be one of the sources. NaN results are made the one NaN
 * of reference.c, so that it does not show which operand a processor takes a NaN from.
 */
#ifndef HKI_DTYPE_KERNELS_H
#define HKI_DTYPE_KERNELS_H

#include "dtype/reduce.h"

/** dst[i] = tree(sources[0][i] .. sources[n-1][i]). n is 2, and where is_wide also 3, 4, 8. */
typedef void (*hki_combine_fn)(void *dst, const void *const *sources, int n, size_t count);

/** dst[i] = f(source[i]). */
typedef void (*hki_convert_fn)(void *dst, const void *source, size_t count);

/** dst[i] = f(source[i], by). */
typedef void (*hki_scale_fn)(void *dst, const void *source, size_t count, double by);

/** What a combine loop reads and writes: elements (leaves) or partial sums. */
typedef enum hki_form {
    HKI_LEAF_TO_LEAF,
    HKI_LEAF_TO_PARTIAL,
    HKI_PARTIAL_TO_LEAF,
    HKI_PARTIAL_TO_PARTIAL,
    HKI_FORM_COUNT,
} hki_form_t;

typedef struct hki_kernels {
    /** HK_AVG and HK_PREMULSUM: the sums. NULL for what hki_reduction_check() refuses, for HK_USER,
     *  and for leaves of rare pairs (fp8, products of 16 bits): these are converted first. */
    hki_combine_fn combine[HK_DTYPE_COUNT][HK_OP_COUNT][HKI_FORM_COUNT];
    bool is_wide[HK_DTYPE_COUNT][HK_OP_COUNT];
    hki_convert_fn load[HK_DTYPE_COUNT];  /**< leaf to partial; NULL: a plain copy */
    hki_convert_fn store[HK_DTYPE_COUNT]; /**< partial to leaf; NULL: a plain copy */
    hki_scale_fn scale[HK_DTYPE_COUNT];   /**< leaf to partial, times `by`; NULL on bool */
    hki_scale_fn divide[HK_DTYPE_COUNT];  /**< partial to partial; NULL on integers and bool */
} hki_kernels_t;

/** The table of a level, NULL if this build or this processor lacks it. */
const hki_kernels_t *hki_kernels_of(hki_simd_t level);

/** Decide again: the best level, or what HOCKET_SIMD asks for. Not understood: one warning. */
void hki_simd_choose(void);

/** The table in use. */
const hki_kernels_t *hki_kernels(void);

extern const hki_kernels_t hki_kernels_plain;
extern const hki_kernels_t hki_kernels_avx2;   /**< only in x86-64 builds */
extern const hki_kernels_t hki_kernels_avx512; /**< only in x86-64 builds */
extern const hki_kernels_t hki_kernels_neon;   /**< only in AArch64 builds */

#endif /* HKI_DTYPE_KERNELS_H */
