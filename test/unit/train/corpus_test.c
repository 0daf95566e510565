/**
 * @file corpus_test.c
 * @brief Tests of src/train/corpus.c.
 *
 * Method: small files written here, whose token i is known; windows over file borders; files broken
 * in every way that must be refused.
 */
#include "support/hk_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "train/corpus.h"

enum { FILES = 3 };

static char folder[64];
static char paths[FILES][96];

static int folder_open(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/hocket_corpus_XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%d.bin", folder, i);
    }
    return 0;
}

static int folder_close(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) {
        (void)remove(paths[i]);
    }
    return rmdir(folder);
}

static void file_write(int index, const void *bytes, size_t count)
{
    FILE *file = fopen(paths[index], "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/** Byte files of these sizes; byte i of the whole is i % 251. */
static hki_corpus_t *bytes_open(const size_t *sizes, int count)
{
    const char *names[FILES];
    unsigned char bytes[20000];
    hki_corpus_t *corpus = NULL;
    size_t at = 0;

    for (int f = 0; f < count; f++) {
        for (size_t i = 0; i < sizes[f]; i++) {
            bytes[i] = (unsigned char)((at + i) % 251);
        }
        file_write(f, bytes, sizes[f]);
        at += sizes[f];
        names[f] = paths[f];
    }
    assert_ok(hki_corpus_open(names, count, HKI_VOCAB_BYTES, &corpus));
    return corpus;
}

static void reads_windows_over_the_borders_of_files(void **state)
{
    static const size_t sizes[FILES] = {7, 1, 10000};
    static int32_t ids[10008];
    hki_corpus_t *corpus = bytes_open(sizes, FILES);
    (void)state;

    assert_int_equal(hki_corpus_count(corpus), 10008);
    assert_int_equal(hki_corpus_train_count(corpus), 10008 - 1000);
    for (size_t first = 0; first < 10; first++) {
        const size_t count = 10008 - first;
        assert_ok(hki_corpus_read(corpus, first, count, ids));
        for (size_t i = 0; i < count; i++) {
            if (ids[i] != (int32_t)((first + i) % 251)) {
                fail_msg("read from %zu: token %zu is %d", first, i, ids[i]);
            }
        }
    }
    hki_corpus_close(&corpus);
    assert_null(corpus);
}

static void draws_windows_as_a_function_of_seed_and_index(void **state)
{
    static const size_t sizes[1] = {5000};
    int32_t ids[3][16];
    int32_t targets[16];
    hki_corpus_t *corpus = bytes_open(sizes, 1);
    (void)state;

    assert_ok(hki_corpus_train_window(corpus, 1, 7, 16, ids[0], targets));
    for (int i = 0; i < 16; i++) {
        assert_int_equal(targets[i], (ids[0][i] + 1) % 251); // the next token
    }
    assert_ok(hki_corpus_train_window(corpus, 1, 8, 16, ids[1], targets));
    assert_ok(hki_corpus_train_window(corpus, 1, 7, 16, ids[2], targets));
    assert_memory_equal(ids[0], ids[2], sizeof(ids[0]));
    assert_memory_not_equal(ids[0], ids[1], sizeof(ids[0]));
    assert_ok(hki_corpus_train_window(corpus, 2, 7, 16, ids[2], targets));
    assert_memory_not_equal(ids[0], ids[2], sizeof(ids[0]));
    hki_corpus_close(&corpus);
}

static void spreads_held_out_windows_over_the_held_out_part(void **state)
{
    static const size_t sizes[1] = {250}; // 225 for training
    int32_t ids[8];
    int32_t targets[8];
    hki_corpus_t *corpus = bytes_open(sizes, 1);
    (void)state;

    assert_ok(hki_corpus_held_window(corpus, 0, 3, 8, ids, targets));
    assert_int_equal(ids[0], 225);
    assert_ok(hki_corpus_held_window(corpus, 2, 3, 8, ids, targets));
    assert_int_equal(targets[7], 249); // the very last token
    assert_ok(hki_corpus_held_window(corpus, 0, 1, 8, ids, targets));
    assert_int_equal(ids[0], 225);
    hki_corpus_close(&corpus);
}

static void never_trains_on_the_held_out_part(void **state)
{
    static const size_t sizes[1] = {250};
    int32_t ids[8];
    int32_t targets[8];
    int32_t last = 0;
    hki_corpus_t *corpus = bytes_open(sizes, 1);
    (void)state;

    for (uint64_t i = 0; i < 2000; i++) {
        assert_ok(hki_corpus_train_window(corpus, 1, i, 8, ids, targets));
        last = targets[7] > last ? targets[7] : last;
    }
    assert_int_equal(last, 224); // and the last token for training is reached
    hki_corpus_close(&corpus);
}

static void asks_for_a_window_in_both_parts(void **state)
{
    static const size_t sizes[1] = {100}; // 10 held out
    hki_corpus_t *corpus = bytes_open(sizes, 1);
    (void)state;

    assert_ok(hki_corpus_fits(corpus, 9));
    assert_int_equal(hki_corpus_fits(corpus, 10), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "--context below 10"));
    hki_corpus_close(&corpus);
}

static hk_status_t tokens_open(const void *bytes, size_t count, hki_corpus_t **corpus_out)
{
    const char *const name = paths[0];

    file_write(0, bytes, count);
    return hki_corpus_open(&name, 1, HKI_VOCAB_GPT2, corpus_out);
}

static void reads_token_files_with_and_without_header(void **state)
{
    unsigned char bytes[1024 + 6] = {0};
    const unsigned char ids[6] = {1, 0, 0x50, 0xc4, 0, 1}; // 1, 50256, 256
    hki_corpus_t *corpus = NULL;
    int32_t got[3];
    (void)state;

    assert_ok(tokens_open(ids, sizeof(ids), &corpus));
    assert_ok(hki_corpus_check(corpus));
    assert_ok(hki_corpus_read(corpus, 0, 3, got));
    assert_int_equal(got[1], 50256);
    hki_corpus_close(&corpus);

    const uint32_t header[3] = {20240520, 1, 3};
    for (size_t i = 0; i < sizeof(header); i++) {
        bytes[i] = (unsigned char)(header[i / 4] >> (8 * (i % 4)));
    }
    memcpy(bytes + 1024, ids, sizeof(ids));
    assert_ok(tokens_open(bytes, sizeof(bytes), &corpus));
    assert_int_equal(hki_corpus_count(corpus), 3);
    assert_ok(hki_corpus_read(corpus, 2, 1, got));
    assert_int_equal(got[0], 256);
    hki_corpus_close(&corpus);

    assert_int_equal(tokens_open(bytes, sizeof(bytes) - 2, &corpus), HK_ERR_FORMAT);
    assert_non_null(strstr(hk_last_error(), "announces 3 tokens, it holds 2"));
    assert_null(corpus);
}

static void refuses_files_that_cannot_be_right(void **state)
{
    const unsigned char beyond[4] = {0, 0, 0x51, 0xc4}; // 0, 50257
    const char *names[2] = {paths[0], paths[1]};
    hki_corpus_t *corpus = NULL;
    (void)state;

    assert_int_equal(tokens_open(beyond, 3, &corpus), HK_ERR_FORMAT);
    assert_non_null(strstr(hk_last_error(), "truncated: 3 bytes"));
    assert_int_equal(tokens_open(beyond, 0, &corpus), HK_ERR_FORMAT);
    assert_non_null(strstr(hk_last_error(), "is empty"));
    assert_ok(tokens_open(beyond, 4, &corpus));
    assert_int_equal(hki_corpus_check(corpus), HK_ERR_FORMAT);
    assert_non_null(strstr(hk_last_error(), "id 50257 at position 1"));
    hki_corpus_close(&corpus);

    (void)remove(paths[1]);
    assert_int_equal(hki_corpus_open(names, 2, HKI_VOCAB_BYTES, &corpus), HK_ERR_IO);
    assert_non_null(strstr(hk_last_error(), paths[1]));
    names[0] = folder;
    assert_int_equal(hki_corpus_open(names, 1, HKI_VOCAB_BYTES, &corpus), HK_ERR_IO);
    assert_int_equal(hki_corpus_open(names, 0, HKI_VOCAB_BYTES, &corpus), HK_ERR_INVALID_ARG);
    assert_null(corpus);
}

static void prices_the_held_out_part_by_byte_pairs(void **state)
{
    unsigned char bytes[20000];
    const char *const name = paths[0];
    hki_corpus_t *corpus = NULL;
    double nats = 0;
    (void)state;

    // after an 'a' comes 'b' or 'c', equally often and in a pattern; after these always an 'a'
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = i % 2 == 0 ? 'a' : (i / 2 % 2 == 0 ? 'b' : 'c');
    }
    file_write(0, bytes, sizeof(bytes));
    assert_ok(hki_corpus_open(&name, 1, HKI_VOCAB_BYTES, &corpus));
    assert_ok(hki_corpus_bigram_entropy(corpus, &nats));
    assert_true(fabs(nats - 0.5 * log(2)) < 1e-3);
    hki_corpus_close(&corpus);
}

static hk_status_t everything(void)
{
    const char *const name = paths[0];
    hki_corpus_t *corpus = NULL;
    double nats = 0;
    hk_status_t status = hki_corpus_open(&name, 1, HKI_VOCAB_BYTES, &corpus);

    if (status == HK_OK) {
        status = hki_corpus_bigram_entropy(corpus, &nats);
    }
    hki_corpus_close(&corpus);
    return status;
}

static void survives_the_failure_of_any_allocation(void **state)
{
    hk_status_t status = HK_ERR_NO_MEMORY;
    size_t n = 0;
    (void)state;

    file_write(0, "a text that is long enough to be cut", 36);
    while (status != HK_OK) {
        hki_alloc_fail_at(++n);
        status = everything();
        assert_true(status == HK_OK || status == HK_ERR_NO_MEMORY);
        assert_int_equal(hki_alloc_live(), 0);
    }
    hki_alloc_fail_at(0);
    assert_true(n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_windows_over_the_borders_of_files),
        cmocka_unit_test(draws_windows_as_a_function_of_seed_and_index),
        cmocka_unit_test(spreads_held_out_windows_over_the_held_out_part),
        cmocka_unit_test(never_trains_on_the_held_out_part),
        cmocka_unit_test(asks_for_a_window_in_both_parts),
        cmocka_unit_test(reads_token_files_with_and_without_header),
        cmocka_unit_test(refuses_files_that_cannot_be_right),
        cmocka_unit_test(prices_the_held_out_part_by_byte_pairs),
        cmocka_unit_test(survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("train/corpus", tests, folder_open, folder_close);
}
