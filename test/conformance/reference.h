/**
 * @file reference.h
 * @brief What the collectives must give, written down as plainly as possible, and apart from the
 *        library: inputs are a pure function of (rank, element), results one of all inputs.
 */
#ifndef HK_CONFORMANCE_REFERENCE_H
#define HK_CONFORMANCE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <hocket/types.h>

/** Which inputs, and how they are reduced. */
typedef struct ref {
    hk_dtype_t dtype;
    hk_op_t op;
    int nranks;
    double scalar; /**< HK_PREMULSUM */
    bool is_exact; /**< small whole numbers: any order of a sum gives the same */
    uint64_t seed;
} ref_t;

/** Does hocket/types.h allow this pair? */
bool ref_is_allowed(hk_dtype_t dtype, hk_op_t op);

/** Write element `index` of rank `rank`'s input to dst. */
void ref_input(const ref_t *ref, int rank, uint64_t index, void *dst);

/** Write the reduction over all ranks of element `index` to dst. */
void ref_reduced(const ref_t *ref, uint64_t index, void *dst);

/** HK_USER on u32: composition of x -> a x + b, two 16-bit numbers. Associative, not
 *  commutative. */
void ref_user(void *out, const void *left, const void *right, size_t count, hk_dtype_t dtype,
              void *cookie);

/** 64 well mixed bits. */
uint64_t ref_mix(uint64_t x);

#endif /* HK_CONFORMANCE_REFERENCE_H */
