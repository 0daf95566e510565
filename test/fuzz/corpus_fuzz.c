/*
 * Token files: the input is the content of a file (in memory). What is accepted can be read from
 * end to end, and its windows hold ids of the vocabulary only.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "train/corpus.h"

enum { TOKENS = 8 };

static void check_windows(hki_corpus_t *corpus, int vocab_count)
{
    int32_t ids[TOKENS];
    int32_t targets[TOKENS];

    for (uint64_t index = 0; index < 4; index++) {
        FUZZ_CHECK(hki_corpus_train_window(corpus, 1, index, TOKENS, ids, targets) == HK_OK);
        for (int t = 0; t < TOKENS; t++) {
            FUZZ_CHECK(ids[t] >= 0 && ids[t] < vocab_count);
            FUZZ_CHECK(targets[t] >= 0 && targets[t] < vocab_count);
            FUZZ_CHECK(t == 0 || ids[t] == targets[t - 1]);
        }
    }
}

static void check_file(const char *path, hki_vocab_t vocab)
{
    hki_corpus_t *corpus = NULL;

    if (hki_corpus_open(&path, 1, vocab, &corpus) != HK_OK) {
        return;
    }
    FUZZ_CHECK(hki_corpus_train_count(corpus) <= hki_corpus_count(corpus));
    if (hki_corpus_check(corpus) == HK_OK && hki_corpus_fits(corpus, TOKENS) == HK_OK) {
        check_windows(corpus, hki_vocab_count(vocab));
    }
    hki_corpus_close(&corpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t live = hki_alloc_live();
    const int fd = memfd_create("fuzz", 0);
    char path[64];

    FUZZ_CHECK(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size));
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check_file(path, HKI_VOCAB_BYTES);
    check_file(path, HKI_VOCAB_GPT2);
    FUZZ_CHECK(close(fd) == 0);
    FUZZ_CHECK(hki_alloc_live() == live);
    return 0;
}
