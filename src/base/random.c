/**
 * @file random.c
 * @brief Philox 4x32-10 and what is drawn from it.
 *
 * Method: a block cipher without secrets. Ten rounds of two 32 x 32 -> 64 bit products turn a
 * 128-bit counter and a 64-bit key into 128 random bits, so number i needs no number before it.
 * The counter is (index low, index high, 0, 0); the key is a hash of seed and name.
 *
 * Source: J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3. SC 2011,
 *         doi:10.1145/2063384.2063405.
 */
#include "base/random.h"

#include <math.h>

#include "base/error.h"

enum { ROUNDS = 10 };

static const uint32_t multiplier[2] = {0xD2511F53, 0xCD9E8D57};
static const uint32_t weyl[2] = {0x9E3779B9, 0xBB67AE85}; // added to the key after each round

void hki_random_philox(const uint32_t counter[4], hki_random_key_t key, uint32_t bits_out[4])
{
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key.word[0], key.word[1]};

    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t even = (uint64_t)multiplier[0] * c[0];
        const uint64_t odd = (uint64_t)multiplier[1] * c[2];

        c[0] = (uint32_t)(odd >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)odd;
        c[2] = (uint32_t)(even >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)even;
        k[0] += weyl[0];
        k[1] += weyl[1];
    }
    for (int i = 0; i < 4; i++) {
        bits_out[i] = c[i];
    }
}

/** A bijection of 64-bit words in which every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

hki_random_key_t hki_random_key(uint64_t seed, const char *name)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325); // FNV-1a

    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    }
    const uint64_t both = mix(mix(hash) ^ mix(seed + UINT64_C(0x9E3779B97F4A7C15)));
    const hki_random_key_t key = {{(uint32_t)both, (uint32_t)(both >> 32)}};

    return key;
}

/** The 128 bits of number `index` as two words. */
static void random_pair(hki_random_key_t key, uint64_t index, uint64_t pair_out[2])
{
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), 0, 0};
    uint32_t bits[4];

    hki_random_philox(counter, key, bits);
    pair_out[0] = bits[0] | (uint64_t)bits[1] << 32;
    pair_out[1] = bits[2] | (uint64_t)bits[3] << 32;
}

/** The upper 53 bits as a number in [0, 1). */
static double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t hki_random_u64(hki_random_key_t key, uint64_t index)
{
    uint64_t pair[2];

    random_pair(key, index, pair);
    return pair[0];
}

double hki_random_uniform(hki_random_key_t key, uint64_t index)
{
    return unit(hki_random_u64(key, index));
}

double hki_random_normal(hki_random_key_t key, uint64_t index)
{
    const double two_pi = 6.283185307179586;
    uint64_t pair[2];

    random_pair(key, index, pair);
    const double radius =
        sqrt(-2.0 * log(unit(pair[0]) + 0x1p-53)); // (0, 1]: the logarithm is finite
    return radius * cos(two_pi * unit(pair[1]));
}

uint64_t hki_random_below(hki_random_key_t key, uint64_t index, uint64_t bound)
{
    const uint64_t bits = hki_random_u64(key, index);
    const uint64_t low = (bits & UINT32_MAX) * (bound & UINT32_MAX);
    const uint64_t cross_a = (bits >> 32) * (bound & UINT32_MAX);
    const uint64_t cross_b = (bits & UINT32_MAX) * (bound >> 32);
    const uint64_t carry = ((low >> 32) + (cross_a & UINT32_MAX) + (cross_b & UINT32_MAX)) >> 32;

    HKI_ASSERT(bound >= 1);
    return (bits >> 32) * (bound >> 32) + (cross_a >> 32) + (cross_b >> 32) + carry;
}
