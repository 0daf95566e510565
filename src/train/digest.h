/**
 * @file digest.h
 * @brief SHA-256 of f32 numbers, written little-endian on every machine.
 */
#ifndef HKI_TRAIN_DIGEST_H
#define HKI_TRAIN_DIGEST_H

#include <stddef.h>

#include <sodium/crypto_hash_sha256.h>

enum { HKI_DIGEST_TEXT_BYTES = 2 * crypto_hash_sha256_BYTES + 1 };

typedef struct hki_digest {
    crypto_hash_sha256_state state;
} hki_digest_t;

void hki_digest_begin(hki_digest_t *digest);
void hki_digest_add(hki_digest_t *digest, const float *x, size_t count);
/** 64 lower-case hexadecimal digits and a zero byte. */
void hki_digest_end(hki_digest_t *digest, char text[HKI_DIGEST_TEXT_BYTES]);

#endif /* HKI_TRAIN_DIGEST_H */
