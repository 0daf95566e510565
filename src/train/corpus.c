/**
 * @file corpus.c
 * @brief Text and token files, read window by window with stdio.
 */
#include "train/corpus.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

enum {
    BYTE_IDS = 256,
    GPT2_IDS = 50257,
    LLMC_MAGIC = 20240520, // first 32-bit number of a token file of llm.c
    LLMC_HEADER_BYTES = 1024,
    BLOCK_TOKENS = 4096, // read at once
    HELD_OUT_PART = 10,  // one in so many tokens is held out
    PATH_BYTES = 256,    // of a path in a message
};

typedef struct source {
    FILE *file;
    char path[PATH_BYTES]; // shortened if need be; for messages
    size_t first;          // its first token in the corpus
    size_t count;          // tokens
    long header_bytes;
} source_t;

struct hki_corpus {
    hki_vocab_t vocab;
    size_t token_bytes;
    size_t count;
    int nsources;
    source_t *sources;
};

int hki_vocab_count(hki_vocab_t vocab)
{
    return vocab == HKI_VOCAB_GPT2 ? GPT2_IDS : BYTE_IDS;
}

static hk_status_t read_failed(const source_t *source)
{
    return HKI_FAIL(HK_ERR_IO, "%s cannot be read: %s; give a readable file", source->path,
                    strerror(errno));
}

/** Little-endian number at p. */
static uint32_t number_at(const unsigned char *p, size_t bytes)
{
    uint32_t value = 0;

    for (size_t i = 0; i < bytes; i++) {
        value |= (uint32_t)p[i] << (8 * i);
    }
    return value;
}

/** If the file starts with the header of llm.c: skip it, and hold the file to its token count. */
static hk_status_t header_read(source_t *source, long file_bytes)
{
    unsigned char header[12];

    if (file_bytes < LLMC_HEADER_BYTES) {
        return HK_OK;
    }
    if (fseek(source->file, 0, SEEK_SET) != 0 ||
        fread(header, 1, sizeof(header), source->file) != sizeof(header)) {
        return read_failed(source);
    }
    if (number_at(header, 4) != LLMC_MAGIC) {
        return HK_OK;
    }
    const unsigned long announced = number_at(header + 8, 4);
    const unsigned long held = (unsigned long)(file_bytes - LLMC_HEADER_BYTES) / 2;
    if (announced != held) {
        return HKI_FAIL(
            HK_ERR_FORMAT,
            "token file %s is truncated or damaged: its header announces %lu tokens, it "
            "holds %lu; make it again",
            source->path, announced, held);
    }
    source->header_bytes = LLMC_HEADER_BYTES;
    return HK_OK;
}

static hk_status_t source_open(hki_corpus_t *corpus, const char *path, source_t *source)
{
    long bytes = -1;

    (void)snprintf(source->path, sizeof(source->path), "%s", path);
    errno = 0;
    source->file = fopen(path, "rb");
    if (source->file == NULL) {
        return HKI_FAIL(HK_ERR_IO, "%s cannot be opened: %s; give a readable file", source->path,
                        strerror(errno));
    }
    if (fgetc(source->file) == EOF &&
        ferror(source->file)) { // a directory opens, but does not read
        return read_failed(source);
    }
    if (fseek(source->file, 0, SEEK_END) != 0 || (bytes = ftell(source->file)) < 0) {
        return read_failed(source);
    }
    if (bytes == 0) {
        return HKI_FAIL(HK_ERR_FORMAT, "%s is empty; give a file with text or tokens",
                        source->path);
    }
    if (corpus->vocab == HKI_VOCAB_GPT2) {
        if (bytes % 2 != 0) {
            return HKI_FAIL(HK_ERR_FORMAT,
                            "token file %s is truncated: %ld bytes are not a whole number of "
                            "16-bit ids; make it again, or use --vocab bytes for text",
                            source->path, bytes);
        }
        const hk_status_t status = header_read(source, bytes);
        if (status != HK_OK) {
            return status;
        }
    }
    source->first = corpus->count;
    source->count = (size_t)(bytes - source->header_bytes) / corpus->token_bytes;
    corpus->count += source->count;
    return HK_OK;
}

hk_status_t hki_corpus_open(const char *const *paths, int npaths, hki_vocab_t vocab,
                            hki_corpus_t **corpus_out)
{
    hki_corpus_t *corpus = NULL;
    hk_status_t status;

    if (npaths < 1) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, "no data file was given; name at least one");
    }
    corpus = hki_calloc(1, sizeof(*corpus));
    if (corpus != NULL) {
        corpus->sources = hki_calloc((size_t)npaths, sizeof(*corpus->sources));
    }
    if (corpus == NULL || corpus->sources == NULL) {
        hki_corpus_close(&corpus);
        return HKI_FAIL(HK_ERR_NO_MEMORY, "corpus of %d files", npaths);
    }
    corpus->vocab = vocab;
    corpus->token_bytes = vocab == HKI_VOCAB_GPT2 ? 2 : 1;
    corpus->nsources = npaths;
    for (int i = 0; i < npaths; i++) {
        HKI_TRY(status = source_open(corpus, paths[i], &corpus->sources[i]), fail);
    }
    *corpus_out = corpus;
    return HK_OK;
fail:
    hki_corpus_close(&corpus);
    return status;
}

void hki_corpus_close(hki_corpus_t **corpus)
{
    if (*corpus == NULL) {
        return;
    }
    for (int i = 0; (*corpus)->sources != NULL && i < (*corpus)->nsources; i++) {
        if ((*corpus)->sources[i].file != NULL) {
            (void)fclose((*corpus)->sources[i].file);
        }
    }
    hki_free((*corpus)->sources);
    hki_free(*corpus);
    *corpus = NULL;
}

size_t hki_corpus_count(const hki_corpus_t *corpus)
{
    return corpus->count;
}

size_t hki_corpus_train_count(const hki_corpus_t *corpus)
{
    return corpus->count - corpus->count / HELD_OUT_PART;
}

hk_status_t hki_corpus_fits(const hki_corpus_t *corpus, int num_tokens)
{
    const size_t train = hki_corpus_train_count(corpus);
    const size_t held = corpus->count - train;

    if (held < (size_t)num_tokens + 1) {
        return HKI_FAIL(
            HK_ERR_INVALID_ARG,
            "the data has %zu tokens, %zu of them held out, which is less than a window "
            "of %d + 1; give more data or a --context below %zu",
            corpus->count, held, num_tokens, held);
    }
    return HK_OK;
}

/** Up to BLOCK_TOKENS tokens of one file, `at` counted in the file. */
static hk_status_t block_read(const hki_corpus_t *corpus, const source_t *source, size_t at,
                              size_t count, int32_t *ids)
{
    unsigned char bytes[BLOCK_TOKENS * 2];
    const size_t width = corpus->token_bytes;

    errno = 0;
    if (fseek(source->file, source->header_bytes + (long)(at * width), SEEK_SET) != 0 ||
        fread(bytes, width, count, source->file) != count) {
        return errno != 0 ? read_failed(source)
                          : HKI_FAIL(HK_ERR_FORMAT, "%s has become shorter while it was read",
                                     source->path);
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = (int32_t)number_at(bytes + i * width, width);
    }
    return HK_OK;
}

hk_status_t hki_corpus_read(hki_corpus_t *corpus, size_t first, size_t count, int32_t *ids)
{
    HKI_ASSERT(count <= corpus->count && first <= corpus->count - count);
    for (int s = 0; s < corpus->nsources && count > 0; s++) {
        const source_t *source = &corpus->sources[s];
        while (count > 0 && first < source->first + source->count) {
            size_t part = source->first + source->count - first;
            part = part < count ? part : count;
            part = part < BLOCK_TOKENS ? part : BLOCK_TOKENS;
            const hk_status_t status = block_read(corpus, source, first - source->first, part, ids);
            if (status != HK_OK) {
                return status;
            }
            first += part;
            count -= part;
            ids += part;
        }
    }
    return HK_OK;
}

/** The file that holds a token, for messages. */
static const source_t *source_of(const hki_corpus_t *corpus, size_t token)
{
    int s = 0;

    while (token >= corpus->sources[s].first + corpus->sources[s].count) {
        s++;
    }
    return &corpus->sources[s];
}

hk_status_t hki_corpus_check(hki_corpus_t *corpus)
{
    int32_t ids[BLOCK_TOKENS];
    const int32_t limit = hki_vocab_count(corpus->vocab);

    if (corpus->vocab == HKI_VOCAB_BYTES) {
        return HK_OK; // every byte is an id
    }
    for (size_t first = 0; first < corpus->count; first += BLOCK_TOKENS) {
        const size_t left = corpus->count - first;
        const size_t count = left < BLOCK_TOKENS ? left : BLOCK_TOKENS;
        const hk_status_t status = hki_corpus_read(corpus, first, count, ids);
        if (status != HK_OK) {
            return status;
        }
        for (size_t i = 0; i < count; i++) {
            if (ids[i] >= limit) {
                const source_t *source = source_of(corpus, first + i);
                return HKI_FAIL(HK_ERR_FORMAT,
                                "token file %s: id %d at position %zu is beyond the vocabulary of "
                                "%d; is it a token file, and of GPT-2? use --vocab bytes for text",
                                source->path, ids[i], first + i - source->first, limit);
            }
        }
    }
    return HK_OK;
}

/** Tokens first .. first + num_tokens as inputs and, one further, targets. */
static hk_status_t window_read(hki_corpus_t *corpus, size_t first, int num_tokens, int32_t *ids,
                               int32_t *targets)
{
    const size_t n = (size_t)num_tokens;
    hk_status_t status = hki_corpus_read(corpus, first, n, ids);

    if (status == HK_OK) {
        status = hki_corpus_read(corpus, first + n, 1, &targets[n - 1]);
    }
    if (status == HK_OK) {
        memcpy(targets, ids + 1, (n - 1) * sizeof(*ids));
    }
    return status;
}

hk_status_t hki_corpus_train_window(hki_corpus_t *corpus, uint64_t seed, uint64_t index,
                                    int num_tokens, int32_t *ids, int32_t *targets)
{
    const hki_random_key_t key = hki_random_key(seed, "data");
    const size_t places = hki_corpus_train_count(corpus) - (size_t)num_tokens;

    return window_read(corpus, (size_t)hki_random_below(key, index, places), num_tokens, ids,
                       targets);
}

hk_status_t hki_corpus_held_window(hki_corpus_t *corpus, int index, int nwindows, int num_tokens,
                                   int32_t *ids, int32_t *targets)
{
    const size_t train = hki_corpus_train_count(corpus);
    const size_t last = corpus->count - train - (size_t)num_tokens - 1; // latest start
    const size_t first = nwindows > 1 ? (size_t)((double)last * index / (nwindows - 1)) : 0;

    return window_read(corpus, train + first, num_tokens, ids, targets);
}

/** Visit the pairs of tokens first .. last - 1. cost NULL: count them; else counts holds
 *  probabilities, and the pairs' costs [nats] are added up. */
static hk_status_t pairs_visit(hki_corpus_t *corpus, size_t first, size_t last, double *counts,
                               double *cost)
{
    int32_t ids[BLOCK_TOKENS] = {0};

    for (size_t at = first; at + 1 < last; at += BLOCK_TOKENS - 1) { // blocks share a token
        const size_t count = last - at < BLOCK_TOKENS ? last - at : BLOCK_TOKENS;
        const hk_status_t status = hki_corpus_read(corpus, at, count, ids);
        if (status != HK_OK) {
            return status;
        }
        for (size_t i = 1; i < count; i++) {
            const size_t pair = (size_t)ids[i - 1] * BYTE_IDS + (size_t)ids[i];
            if (cost == NULL) {
                counts[pair] += 1;
            } else {
                *cost -= log(counts[pair]);
            }
        }
    }
    return HK_OK;
}

hk_status_t hki_corpus_bigram_entropy(hki_corpus_t *corpus, double *nats_out)
{
    const size_t train = hki_corpus_train_count(corpus);
    const double extra = 0.01; // for pairs that the training part does not have
    double cost = 0;
    hk_status_t status;

    if (corpus->vocab != HKI_VOCAB_BYTES || corpus->count - train < 2) {
        return HKI_FAIL(HK_ERR_UNSUPPORTED, "byte pairs of %s",
                        corpus->vocab == HKI_VOCAB_BYTES ? "less than 20 bytes" : "token files");
    }
    double *counts = hki_calloc((size_t)BYTE_IDS * BYTE_IDS, sizeof(*counts));
    if (counts == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "counts of byte pairs");
    }
    HKI_TRY(status = pairs_visit(corpus, 0, train, counts, NULL), done);
    for (size_t a = 0; a < BYTE_IDS; a++) {
        double total = 0;
        for (size_t b = 0; b < BYTE_IDS; b++) {
            total += counts[a * BYTE_IDS + b] + extra;
        }
        for (size_t b = 0; b < BYTE_IDS; b++) {
            counts[a * BYTE_IDS + b] = (counts[a * BYTE_IDS + b] + extra) / total;
        }
    }
    HKI_TRY(status = pairs_visit(corpus, train, corpus->count, counts, &cost), done);
    *nats_out = cost / (double)(corpus->count - train - 1);
done:
    hki_free(counts);
    return status;
}
