/**
 * @file random.h
 * @brief Counter-based random numbers: a pure function of (seed, name, index), so that no layout of
 *        ranks changes a weight, a dropout mask or the order of data.
 */
#ifndef HKI_BASE_RANDOM_H
#define HKI_BASE_RANDOM_H

#include <stdint.h>

typedef struct hki_random_key {
    uint32_t word[2];
} hki_random_key_t;

/** Key of a stream: `name` says what the numbers are for ("h.0.attn.qkv.weight"). */
hki_random_key_t hki_random_key(uint64_t seed, const char *name);

/** The cipher below all of this: 128 bits from a 128-bit counter, lowest word first. */
void hki_random_philox(const uint32_t counter[4], hki_random_key_t key, uint32_t bits_out[4]);

/** 64 random bits, number `index` of the stream. Philox 4x32-10 (Salmon et al. 2011). */
uint64_t hki_random_u64(hki_random_key_t key, uint64_t index);

/** Uniform in [0, 1), 53 bits. */
double hki_random_uniform(hki_random_key_t key, uint64_t index);

/** Standard normal, by Box-Muller in f64 from the 128 bits of one counter. */
double hki_random_normal(hki_random_key_t key, uint64_t index);

/** Uniform in 0 .. bound-1, without bias worth naming (64-bit multiply-shift). bound >= 1. */
uint64_t hki_random_below(hki_random_key_t key, uint64_t index, uint64_t bound);

#endif /* HKI_BASE_RANDOM_H */
