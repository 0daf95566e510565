/*
 * Options: one table with every kind; each test parses one command line and looks at one value or
 * at the one line of the error. A grid of bad words checks that each is refused by its name.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"

typedef struct values {
    bool is_loud;
    int ranks;
    double rate;
    size_t bytes;
    hki_size_list_t sizes;
    const char *name;
    hki_string_list_t files;
    int color;
    hki_choice_list_t colors;
} values_t;

#define AT(field) .offset = offsetof(values_t, field)

static const hki_option_t table[] = {
    {.name = "loud", .letter = 'l', .kind = HKI_OPTION_FLAG, AT(is_loud), .help = "be loud"},
    {.name = "ranks",
     .letter = 'n',
     .kind = HKI_OPTION_INT,
     AT(ranks),
     .arg = "N",
     .preset = "2",
     .min = 1,
     .max = 1024,
     .help = "how many",
     .hint = "say how many, e.g. -n 4"},
    {.name = "rate", .kind = HKI_OPTION_DOUBLE, AT(rate), .arg = "X", .max = 1.5, .help = "rate"},
    {.name = "bytes", .kind = HKI_OPTION_SIZE, AT(bytes), .arg = "B", .preset = "4K", .help = "b"},
    {.name = "sizes",
     .kind = HKI_OPTION_SIZES,
     AT(sizes),
     .arg = "LIST",
     .preset = "8,64K",
     .max = 1 << 30,
     .help = "sizes"},
    {.name = "name", .kind = HKI_OPTION_STRING, AT(name), .arg = "TEXT", .help = "name"},
    {.name = "files",
     .kind = HKI_OPTION_STRINGS,
     AT(files),
     .arg = "FILE",
     .preset = "default.txt",
     .help = "files"},
    {.name = "color",
     .letter = 'c',
     .kind = HKI_OPTION_CHOICE,
     AT(color),
     .arg = "C",
     .choices = "red|green|blue",
     .preset = "green",
     .help = "one color"},
    {.name = "colors",
     .kind = HKI_OPTION_CHOICES,
     AT(colors),
     .arg = "C",
     .choices = "red|green|blue|",
     .help = "colors"},
    {.name = "secret", .kind = HKI_OPTION_FLAG, AT(is_loud), .help = "hidden", .is_hidden = true},
    {.name = NULL},
};

static const hki_command_t command = {
    .name = "demo",
    .summary = "show all kinds",
    .operands = "WORD...",
    .description = "First.\n\nSecond paragraph - with a dash.",
    .options = table,
    .values_bytes = sizeof(values_t),
};

static values_t values;
static hki_parsed_t parsed;

/** Parse "demo" and the words of `line`, split at spaces. */
static hk_status_t parse(const char *line)
{
    static char copy[512];
    static char *argv[64];
    int argc = 0;

    (void)snprintf(copy, sizeof(copy), "demo %s", line);
    for (char *word = strtok(copy, " "); word != NULL && argc < 63; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    return hki_options_parse(&command, argc, argv, &values, &parsed);
}

static void assert_refused(const char *line, const char *text)
{
    if (parse(line) != HK_ERR_INVALID_ARG) {
        fail_msg("'%s' was accepted", line);
    }
    if (strcmp(hk_last_error(), text) != 0) {
        fail_msg("'%s': got '%s', want '%s'", line, hk_last_error(), text);
    }
}

static void defaults_are_parsed_like_values(void **state)
{
    (void)state;
    assert_ok(parse(""));
    assert_false(values.is_loud);
    assert_int_equal(values.ranks, 2);
    assert_int_equal(values.bytes, 4096);
    assert_int_equal(values.sizes.count, 2);
    assert_int_equal(values.sizes.value[1], 65536);
    assert_null(values.name);
    assert_int_equal(values.files.count, 1);
    assert_string_equal(values.files.value[0], "default.txt");
    assert_int_equal(values.color, 1);
    assert_int_equal(values.colors.count, 0);
    assert_int_equal(parsed.operand_first, 1);
    assert_false(hki_option_is_given(&command, &parsed, "ranks"));
}

static void every_kind_is_set(void **state)
{
    (void)state;
    assert_ok(parse("-ln 4 --rate=1e-3 --bytes 3M --name a=b -c blue --colors blue,red word -n 5"));
    assert_true(values.is_loud);
    assert_int_equal(values.ranks, 4);
    assert_true(values.rate == 1e-3);
    assert_int_equal(values.bytes, 3 << 20);
    assert_string_equal(values.name, "a=b");
    assert_int_equal(values.color, 2);
    assert_int_equal(values.colors.count, 2);
    assert_int_equal(values.colors.value[0], 2);
    assert_int_equal(values.colors.value[1], 0);
    assert_true(hki_option_is_given(&command, &parsed, "ranks"));
    assert_false(hki_option_is_given(&command, &parsed, "sizes"));
}

static void options_after_the_first_operand_are_operands(void **state)
{
    (void)state;
    assert_ok(parse("-l word -n 5"));
    assert_int_equal(values.ranks, 2);
    assert_int_equal(parsed.operand_first, 2);
    assert_ok(parse("-l -- -n 5"));
    assert_int_equal(values.ranks, 2);
    assert_int_equal(parsed.operand_first, 3);
}

static void a_size_range_multiplies_or_adds(void **state)
{
    (void)state;
    assert_ok(parse("--sizes 8:128M:x4"));
    assert_int_equal(values.sizes.count, 13);
    assert_int_equal(values.sizes.value[12], 128 << 20);
    assert_ok(parse("--sizes 0:20:+8,1K"));
    assert_int_equal(values.sizes.count, 4);
    assert_int_equal(values.sizes.value[2], 16);
    assert_int_equal(values.sizes.value[3], 1024);
}

static void a_string_list_takes_words_up_to_the_next_option(void **state)
{
    (void)state;
    assert_ok(parse("--files a b --loud --files c"));
    assert_true(values.is_loud);
    assert_int_equal(values.files.count, 3);
    assert_string_equal(values.files.value[0], "a");
    assert_string_equal(values.files.value[2], "c");
}

static void all_means_every_choice(void **state)
{
    (void)state;
    assert_ok(parse("--colors all"));
    assert_int_equal(values.colors.count, 3);
    assert_int_equal(values.colors.value[2], 2);
}

static void help_stops_the_parse(void **state)
{
    (void)state;
    assert_ok(parse("-h --nonsense"));
    assert_true(parsed.wants_help);
    assert_ok(parse("--help"));
    assert_true(parsed.wants_help);
}

static void what_is_refused_is_named_with_its_limit_and_the_way_out(void **state)
{
    (void)state;
    assert_refused("-n 0", "hocket demo: --ranks 0 is not in 1..1024; say how many, e.g. -n 4");
    assert_refused("-n 1025",
                   "hocket demo: --ranks 1025 is not in 1..1024; say how many, e.g. -n 4");
    assert_refused("-n four",
                   "hocket demo: --ranks four is not a whole number; say how many, e.g. -n 4");
    assert_refused("-n 99999999999999999999", "hocket demo: --ranks 99999999999999999999 is not in "
                                              "1..1024; say how many, e.g. -n 4");
    assert_refused("-n", "hocket demo: --ranks needs a value N; say how many, e.g. -n 4");
    assert_refused("--sizes 2T",
                   "hocket demo: --sizes 2199023255552 is not in 0..1073741824; see hocket demo "
                   "--help");
    assert_refused("--bytes 9999999T", "hocket demo: --bytes 9999999T is not in "
                                       "0..9200000000000000000; see hocket demo --help");
    assert_refused("--rate nan", "hocket demo: --rate nan is not a number; see hocket demo --help");
    assert_refused("--rate 2", "hocket demo: --rate 2 is not in 0..1.5; see hocket demo --help");
    assert_refused(
        "-c pink",
        "hocket demo: --color pink is not one of red|green|blue; see hocket demo --help");
    assert_refused("--loud=1", "hocket demo: --loud takes no value; write only --loud");
    assert_refused("--help=1", "hocket demo: --help takes no value");
    assert_refused("--rank5", "hocket demo: unknown option --rank5; did you mean --ranks?");
    assert_refused("--quantum=7",
                   "hocket demo: unknown option --quantum=7; see hocket demo --help");
    assert_refused("-z", "hocket demo: unknown option -z; see hocket demo --help");
}

static void bad_words_of_every_kind_are_refused(void **state)
{
    static const char *const lines[] = {
        "-n 4x",
        "--bytes -1",
        "--bytes 1Q",
        "--bytes 1KB",
        "--bytes 99999999999999999999",
        "--bytes 16777216T",
        "--sizes 8,,9",
        "--sizes 8,",
        "--sizes ,8",
        "--sizes 8:4:x2",
        "--sizes 8:64:x1",
        "--sizes 0:64:x2",
        "--sizes 8:64:+0",
        "--sizes 8:64",
        "--sizes 8:64:2",
        "--sizes 1:200:+1",
        "--sizes 2G",
        "--sizes 8:64:x2:4",
        "--colors red,pink",
        "--colors red,",
        "--rate 1e999",
        "--rate 0x",
        "--bytes x",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (parse(lines[i]) != HK_ERR_INVALID_ARG) {
            fail_msg("'%s' was accepted", lines[i]);
        }
        if (strncmp(hk_last_error(), "hocket demo: --", 15) != 0 ||
            strchr(hk_last_error(), '\n') != NULL) {
            fail_msg("'%s': got '%s'", lines[i], hk_last_error());
        }
    }
}

static void a_list_holds_its_limit_and_no_more(void **state)
{
    (void)state;
    assert_ok(parse("--sizes 1:128:+1"));
    assert_int_equal(values.sizes.count, HKI_SIZES_MAX);
    assert_int_equal(parse("--sizes 1:128:+1,7"), HK_ERR_INVALID_ARG);
}

static void operands_are_refused_where_none_are_taken(void **state)
{
    hki_command_t none = command;
    char *argv[] = {(char[]){"demo"}, (char[]){"word"}, NULL};

    (void)state;
    none.operands = NULL;
    parsed.operand_first = 77;
    assert_int_equal(hki_options_parse(&none, 2, argv, &values, &parsed), HK_ERR_INVALID_ARG);
    assert_non_null(strstr(hk_last_error(), "word"));
    assert_int_equal(parsed.operand_first, 77);
}

static void a_command_refuses_in_the_same_words(void **state)
{
    (void)state;
    assert_int_equal(hki_option_refuse(&command, "ranks", "3", "does not divide %d", 8),
                     HK_ERR_INVALID_ARG);
    assert_string_equal(hk_last_error(),
                        "hocket demo: --ranks 3 does not divide 8; say how many, e.g. -n 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_parsed_like_values),
        cmocka_unit_test(every_kind_is_set),
        cmocka_unit_test(options_after_the_first_operand_are_operands),
        cmocka_unit_test(a_size_range_multiplies_or_adds),
        cmocka_unit_test(a_string_list_takes_words_up_to_the_next_option),
        cmocka_unit_test(all_means_every_choice),
        cmocka_unit_test(help_stops_the_parse),
        cmocka_unit_test(what_is_refused_is_named_with_its_limit_and_the_way_out),
        cmocka_unit_test(bad_words_of_every_kind_are_refused),
        cmocka_unit_test(a_list_holds_its_limit_and_no_more),
        cmocka_unit_test(operands_are_refused_where_none_are_taken),
        cmocka_unit_test(a_command_refuses_in_the_same_words),
    };

    return cmocka_run_group_tests_name("base/options", tests, NULL, NULL);
}
