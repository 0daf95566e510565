/**
 * @file reduce.h
 * @brief The reduction of hocket/types.h on arrays: many sources at once, in tree order, with one
 *        rounding. A plain C reference, and SIMD versions held to its bits and chosen at run time.
 */
#ifndef HKI_DTYPE_REDUCE_H
#define HKI_DTYPE_REDUCE_H

#include <stdbool.h>

#include <hocket/types.h>

/** What is to be computed; the same for all calls of one operation. */
typedef struct hki_reduction {
    hk_dtype_t dtype;
    hk_op_t op;
    int nranks;      /**< HK_AVG: the divisor */
    double scalar;   /**< HK_PREMULSUM: the factor */
    hk_reduce_fn fn; /**< HK_USER */
    void *cookie;    /**< HK_USER */
} hki_reduction_t;

/** One input: `count` elements, or partial sums in the accumulator type. Any alignment. */
typedef struct hki_source {
    const void *data;
    bool is_partial;
} hki_source_t;

/** Bytes of the accumulator type: 4 for f16, bf16, fp8 (2 or 1 for HK_USER: then it is the type
 *  itself); else those of the type. */
size_t hki_acc_bytes(hk_dtype_t dtype, hk_op_t op);

/** HK_OK, or HK_ERR_INVALID_ARG for pairs that hocket/types.h refuses and values outside the
 *  enums. */
hk_status_t hki_reduction_check(const hki_reduction_t *reduction);

/**
 * dst[i] = tree(sources[0][i] .. sources[n-1][i]).
 *
 * @param dst             `count` elements (is_partial false: rounded; HK_AVG divided), or partial
 *                        sums; may be exactly one of the sources if of the same kind; must not
 *                        overlap a source otherwise. Any alignment
 * @param nsources        1 <= nsources <= 1024
 * Threads: reentrant. Cost: each source is read once, dst written once.
 */
void hki_reduce(const hki_reduction_t *reduction, void *dst, bool is_partial,
                const hki_source_t *sources, int nsources, size_t count);

/** The same by the plain C reference, whatever the processor has. */
void hki_reduce_reference(const hki_reduction_t *reduction, void *dst, bool is_partial,
                          const hki_source_t *sources, int nsources, size_t count);

/** SIMD levels, for tests and HOCKET_SIMD. */
typedef enum hki_simd { HKI_SIMD_NONE, HKI_SIMD_NEON, HKI_SIMD_AVX2, HKI_SIMD_AVX512 } hki_simd_t;

/** Best level this processor and build have, or what HOCKET_SIMD=none|neon|avx2|avx512 asks for. */
hki_simd_t hki_simd_level(void);
/** "avx2" and the like. */
const char *hki_simd_name(hki_simd_t level);
/** Test hook: use this level from now on. @return false if this processor or build lacks it. */
bool hki_simd_force(hki_simd_t level);

#endif /* HKI_DTYPE_REDUCE_H */
