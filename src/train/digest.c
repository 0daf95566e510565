/**
 * @file digest.c
 * @brief SHA-256 of f32 numbers, through libsodium.
 */
#include "train/digest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1024 }; // numbers converted at once

void hki_digest_begin(hki_digest_t *digest)
{
    (void)crypto_hash_sha256_init(&digest->state); // cannot fail
}

void hki_digest_add(hki_digest_t *digest, const float *x, size_t count)
{
    unsigned char bytes[BLOCK * 4];

    while (count > 0) {
        const size_t part = count < BLOCK ? count : BLOCK;
        for (size_t i = 0; i < part; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof(bits));
            for (size_t b = 0; b < 4; b++) {
                bytes[4 * i + b] = (unsigned char)(bits >> (8 * b));
            }
        }
        (void)crypto_hash_sha256_update(&digest->state, bytes, 4 * part);
        x += part;
        count -= part;
    }
}

void hki_digest_end(hki_digest_t *digest, char text[HKI_DIGEST_TEXT_BYTES])
{
    unsigned char hash[crypto_hash_sha256_BYTES];

    (void)crypto_hash_sha256_final(&digest->state, hash);
    for (size_t i = 0; i < sizeof(hash); i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", (unsigned)hash[i]);
    }
}
