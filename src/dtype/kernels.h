/**
 * @file kernels.h
 * @brief What a SIMD level brings: a table of inner loops. reduce.c builds every reduction of them.
 *
 * A loop takes whole steps of some elements (one or two vectors), and any alignment. It reads the
 * elements of all sources before it writes those of `dst`, which may therefore be one of the
 * sources. NaN results are made the one NaN of reference.c, so that it does not show which operand
 * a processor takes a NaN from.
 */
#ifndef HKI_DTYPE_KERNELS_H
#define HKI_DTYPE_KERNELS_H

#include <stdint.h>

#include "dtype/reduce.h"

enum {
    HKI_GROUP_SOURCES = 8,     /**< what every combining loop but HKI_PARTIAL_TO_LEAF takes */
    HKI_LOOP_SOURCES_MAX = 16, /**< what some take */
    HKI_STEP_BYTES_MAX = 128,  /**< of a step, read or written */
};

/** Numbers that some loops need: what HK_PREMULSUM multiplies by, or what HK_AVG divides by. */
typedef struct hki_factor {
    double value;     /**< scalar or divisor, on floating types */
    uint64_t integer; /**< scalar on integers, modulo 2^64 */
    uint64_t magic;   /**< divisor d >= 2 on integers: see divide_u64() in kernels_template.h */
    int shift;
} hki_factor_t;

/** Steps of dst[i] = f(tree(sources[0][i] .. sources[n-1][i])), n and f those of the loop. */
typedef void (*hki_steps_fn)(char *dst, const void *const *sources, size_t nsteps,
                             const hki_factor_t *factor);

/** One reduction of one form, for several n. */
typedef struct hki_loop {
    hki_steps_fn of[HKI_LOOP_SOURCES_MAX + 1]; /**< by n; NULL: not for so many */
    uint8_t step;                              /**< elements */
    uint8_t in_bytes, out_bytes;               /**< of an element or partial sum */
} hki_loop_t;

/** What a combining loop reads and writes: elements (leaves) or partial sums. */
typedef enum hki_form {
    HKI_LEAF_TO_LEAF,
    HKI_LEAF_TO_PARTIAL,
    HKI_PARTIAL_TO_LEAF,
    HKI_PARTIAL_TO_PARTIAL,
    HKI_FORM_COUNT,
} hki_form_t;

typedef struct hki_kernels {
    /** n is 2 to 8, the most frequent sums to 16, of HKI_PARTIAL_TO_LEAF 2. HK_AVG and
     *  HK_PREMULSUM: the sums. NULL for what hki_reduction_check() refuses, for HK_USER, and
     *  between elements and partial sums for the least and greatest of small types, which need no
     *  partial sums. */
    const hki_loop_t *combine[HK_DTYPE_COUNT][HK_OP_COUNT][HKI_FORM_COUNT];
    const hki_loop_t *average[HK_DTYPE_COUNT]; /**< leaf to leaf, n 2 to 8, divided; NULL on bool */
    const hki_loop_t *premulsum[HK_DTYPE_COUNT]; /**< the same, each source multiplied */
    /* n is 1: */
    const hki_loop_t *load[HK_DTYPE_COUNT];   /**< leaf to partial; NULL: a plain copy */
    const hki_loop_t *store[HK_DTYPE_COUNT];  /**< partial to leaf; NULL: a plain copy */
    const hki_loop_t *scale[HK_DTYPE_COUNT];  /**< leaf to partial, multiplied; NULL on bool */
    const hki_loop_t *divide[HK_DTYPE_COUNT]; /**< partial to partial; NULL on bool */
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
