/**
 * @file digest_test.c
 * @brief Tests of src/train/digest.c. Method: known SHA-256 values of known bytes; any cut.
 */
#include "support/hk_test.h"

#include "train/digest.h"

static void hashes_little_endian_numbers(void **state)
{
    const float x[] = {1.0f, -2.5f}; // bytes 00 00 80 3f 00 00 20 c0
    char text[HKI_DIGEST_TEXT_BYTES];
    hki_digest_t digest;
    (void)state;

    hki_digest_begin(&digest);
    hki_digest_add(&digest, x, 2);
    hki_digest_end(&digest, text);
    assert_string_equal(text, "48943f7a0ea247f8e3c9386d0c5822fe181d323a9289980426638cc4e72a43e1");
}

static void hashes_nothing(void **state)
{
    char text[HKI_DIGEST_TEXT_BYTES];
    hki_digest_t digest;
    (void)state;

    hki_digest_begin(&digest);
    hki_digest_end(&digest, text);
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void does_not_depend_on_the_pieces(void **state)
{
    enum { COUNT = 3000 }; // more than one block
    float x[COUNT];
    char whole[HKI_DIGEST_TEXT_BYTES];
    (void)state;

    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i / 3.0f;
    }
    for (size_t cut = 0; cut <= COUNT; cut += 500) {
        char text[HKI_DIGEST_TEXT_BYTES];
        hki_digest_t digest;
        hki_digest_begin(&digest);
        hki_digest_add(&digest, x, cut);
        hki_digest_add(&digest, x + cut, COUNT - cut);
        hki_digest_end(&digest, cut == 0 ? whole : text);
        if (cut > 0) {
            assert_string_equal(text, whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_little_endian_numbers),
        cmocka_unit_test(hashes_nothing),
        cmocka_unit_test(does_not_depend_on_the_pieces),
    };
    return cmocka_run_group_tests_name("train/digest", tests, NULL, NULL);
}
