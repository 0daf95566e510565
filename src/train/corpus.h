/**
 * @file corpus.h
 * @brief Text and token files as one long line of token ids.
 *
 * Text files give a token a byte (256 ids). Token files hold GPT-2 ids (50257) as little-endian
 * 16-bit numbers: raw, or after the 1024-byte header of llm.c. Files follow one another in the
 * order given. The first 90 % of the tokens are for training, the rest is held out.
 *
 * Nothing but the windows asked for is read, so that a rank never holds the data.
 *
 * Threads: one at a time per corpus.
 */
#ifndef HKI_TRAIN_CORPUS_H
#define HKI_TRAIN_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include <hocket/base.h>

typedef enum hki_vocab {
    HKI_VOCAB_BYTES = 0, /**< 256 ids, a byte each */
    HKI_VOCAB_GPT2 = 1,  /**< 50257 ids, 16 bits each */
} hki_vocab_t;

typedef struct hki_corpus hki_corpus_t;

/** Ids of a vocabulary. */
int hki_vocab_count(hki_vocab_t vocab);

/**
 * Open files and measure them.
 *
 * @param[in]  paths       (npaths,) borrowed during the call; npaths >= 1
 * @param[out] corpus_out  set on success only; end it with hki_corpus_close()
 * @return HK_OK, HK_ERR_IO (names the file and why), HK_ERR_FORMAT (empty; truncated token file),
 *         HK_ERR_NO_MEMORY
 */
hk_status_t hki_corpus_open(const char *const *paths, int npaths, hki_vocab_t vocab,
                            hki_corpus_t **corpus_out);
void hki_corpus_close(hki_corpus_t **corpus);

/** All tokens; tokens of the training part, which comes first. */
size_t hki_corpus_count(const hki_corpus_t *corpus);
size_t hki_corpus_train_count(const hki_corpus_t *corpus);

/** Refuse a corpus whose training or held-out part has no window of `num_tokens` + 1 tokens.
 *  @return HK_OK, HK_ERR_INVALID_ARG */
hk_status_t hki_corpus_fits(const hki_corpus_t *corpus, int num_tokens);

/** Read token files once and refuse ids that the vocabulary does not have.
 *  @return HK_OK, HK_ERR_IO, HK_ERR_FORMAT (names the file, the position and the id) */
hk_status_t hki_corpus_check(hki_corpus_t *corpus);

/** Read tokens first .. first + count - 1 into ids (count,); first + count <= all tokens.
 *  @return HK_OK, HK_ERR_IO, HK_ERR_FORMAT (the file has become shorter) */
hk_status_t hki_corpus_read(hki_corpus_t *corpus, size_t first, size_t count, int32_t *ids);

/**
 * Training sequence number `index` of the run with this seed: a window at a random place, a
 * function of (seed, index) alone. ids and targets are (num_tokens,); targets[t] follows ids[t].
 */
hk_status_t hki_corpus_train_window(hki_corpus_t *corpus, uint64_t seed, uint64_t index,
                                    int num_tokens, int32_t *ids, int32_t *targets);

/** Held-out sequence `index` of `nwindows`, spread evenly over the held-out part. */
hk_status_t hki_corpus_held_window(hki_corpus_t *corpus, int index, int nwindows, int num_tokens,
                                   int32_t *ids, int32_t *targets);

/**
 * What a byte costs on the held-out part when only the byte before it is known [nats]: the cross
 * entropy of pair counts (each plus 0.01) of the training part. The mark a model must beat.
 *
 * @return HK_OK, HK_ERR_UNSUPPORTED (vocabulary other than bytes), HK_ERR_IO, HK_ERR_NO_MEMORY
 */
hk_status_t hki_corpus_bigram_entropy(hki_corpus_t *corpus, double *nats_out);

#endif /* HKI_TRAIN_CORPUS_H */
