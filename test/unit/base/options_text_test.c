/*
 * Help, manual, completion: every visible option of the table stands in each of them, hidden
 * ones in none; and each is right or marked as failed when any single allocation fails.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"

typedef struct values {
    int ranks;
    int color;
    size_t bytes;
    double rate;
    bool is_odd;
} values_t;

static const hki_option_t table[] = {
    {.name = "ranks",
     .letter = 'n',
     .kind = HKI_OPTION_INT,
     .offset = offsetof(values_t, ranks),
     .arg = "N",
     .preset = "2",
     .min = 1,
     .max = 1024,
     .help = "how many"},
    {.name = "a-rather-long-option",
     .kind = HKI_OPTION_CHOICE,
     .offset = offsetof(values_t, color),
     .arg = "C",
     .choices = "red|green|",
     .help =
         "a text that is so long that it cannot stand on one line of ninety characters and must "
         "be broken"},
    {.name = "bytes",
     .kind = HKI_OPTION_SIZE,
     .offset = offsetof(values_t, bytes),
     .arg = "B",
     .max = 1ULL << 40,
     .help = "bytes"},
    {.name = "rate",
     .kind = HKI_OPTION_DOUBLE,
     .offset = offsetof(values_t, rate),
     .arg = "X",
     .max = 1.5,
     .help = "rate"},
    {.name = "odd",
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(values_t, is_odd),
     .help = "hidden",
     .is_hidden = true},
    {.name = NULL},
};

static const hki_command_t command = {
    .name = "demo",
    .summary = "show",
    .description = "First.\n\n.Second - with a \\ slash.",
    .options = table,
    .values_bytes = sizeof(values_t),
};
static const hki_command_t hidden = {.name = "unseen",
                                     .summary = "not shown",
                                     .options = table,
                                     .values_bytes = sizeof(values_t),
                                     .is_hidden = true};
static const hki_command_t *const commands[] = {&command, &hidden};

static void write_help(hki_text_t *text)
{
    hki_options_help(&command, text);
}

static void write_manual(hki_text_t *text)
{
    hki_options_manual(commands, ARRAY_LEN(commands), text);
}

static void write_completion(hki_text_t *text)
{
    hki_options_completion(commands, ARRAY_LEN(commands), text);
}

static void (*const writers[])(hki_text_t *) = {write_help, write_manual, write_completion};

static void assert_has(const hki_text_t *text, const char *part, bool is_there)
{
    if ((strstr(text->data, part) != NULL) != is_there) {
        fail_msg("'%s' is %s in:\n%s", part, is_there ? "not" : "", text->data);
    }
}

static void help_shows_default_limits_and_choices(void **state)
{
    hki_text_t text = {0};

    (void)state;
    write_help(&text);
    assert_has(&text, "\n  -n, --ranks N             how many; 1 to 1024; default 2\n", true);
    assert_has(&text, "\n      --a-rather-long-option C\n                            a text", true);
    assert_has(&text, "red, green\n", true);
    assert_has(&text, "bytes; 0 to 1099511627776\n", true);
    assert_has(&text, "rate; 0 to 1.5\n", true);
    assert_has(&text, "-h, --help", true);
    assert_has(&text, "--odd", false);
    hki_text_fini(&text);
}

static void no_line_of_help_is_longer_than_the_width(void **state)
{
    hki_text_t text = {0};

    (void)state;
    write_help(&text);
    for (const char *line = text.data; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        assert_true(length <= 90);
        line += length + (line[length] == '\n');
    }
    hki_text_fini(&text);
}

static void manual_escapes_what_troff_would_read(void **state)
{
    hki_text_t text = {0};

    (void)state;
    write_manual(&text);
    assert_has(&text, "\\&.Second \\- with a \\e slash.", true);
    assert_has(&text, ".B \\-n, \\-\\-ranks N\nhow many; 1 to 1024; default 2.\n", true);
    assert_has(&text, "odd", false);
    assert_has(&text, "unseen", false);
    hki_text_fini(&text);
}

static void completion_names_options_and_choices(void **state)
{
    hki_text_t text = {0};

    (void)state;
    write_completion(&text);
    assert_has(&text, "--ranks --a-rather-long-option --bytes --rate --help", true);
    assert_has(&text, "--a-rather-long-option) words=\"red green \"", true);
    assert_has(&text, "odd", false);
    assert_has(&text, "unseen", false);
    hki_text_fini(&text);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(writers); w++) {
        hki_text_t text = {.is_failed = true};
        size_t n = 0;
        while (text.is_failed) {
            hki_text_fini(&text);
            hki_alloc_fail_at(++n);
            writers[w](&text);
        }
        hki_alloc_fail_at(0);
        assert_true(n > 1);
        hki_text_fini(&text);
        assert_int_equal(hki_alloc_live(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_shows_default_limits_and_choices),
        cmocka_unit_test(no_line_of_help_is_longer_than_the_width),
        cmocka_unit_test(manual_escapes_what_troff_would_read),
        cmocka_unit_test(completion_names_options_and_choices),
        cmocka_unit_test(any_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("base/options_text", tests, NULL, NULL);
}
