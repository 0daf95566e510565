/*
 * Command lines: the input is one argument a line, parsed against a table that has every kind of
 * option. Values that are accepted must lie within their limits.
 */
#include "fuzz.h"

#include "base/alloc.h"
#include "base/options.h"

typedef struct values {
    bool flag;
    int number;
    double real;
    size_t size;
    hki_size_list_t sizes;
    const char *text;
    hki_string_list_t files;
    int choice;
    hki_choice_list_t choices;
} values_t;

static const hki_option_t table[] = {
    {.name = "flag",
     .letter = 'f',
     .kind = HKI_OPTION_FLAG,
     .offset = offsetof(values_t, flag),
     .help = "h"},
    {.name = "number",
     .letter = 'n',
     .kind = HKI_OPTION_INT,
     .offset = offsetof(values_t, number),
     .arg = "N",
     .preset = "1",
     .min = 1,
     .max = 1024,
     .help = "h"},
    {.name = "real",
     .kind = HKI_OPTION_DOUBLE,
     .offset = offsetof(values_t, real),
     .arg = "X",
     .preset = "0.5",
     .min = 0,
     .max = 1,
     .help = "h"},
    {.name = "size",
     .kind = HKI_OPTION_SIZE,
     .offset = offsetof(values_t, size),
     .arg = "S",
     .help = "h"},
    {.name = "sizes",
     .kind = HKI_OPTION_SIZES,
     .offset = offsetof(values_t, sizes),
     .arg = "LIST",
     .preset = "8:1M:x4",
     .help = "h"},
    {.name = "text",
     .kind = HKI_OPTION_STRING,
     .offset = offsetof(values_t, text),
     .arg = "T",
     .help = "h"},
    {.name = "files",
     .kind = HKI_OPTION_STRINGS,
     .offset = offsetof(values_t, files),
     .arg = "FILE...",
     .help = "h"},
    {.name = "choice",
     .kind = HKI_OPTION_CHOICE,
     .offset = offsetof(values_t, choice),
     .arg = "C",
     .preset = "core",
     .choices = "core|none",
     .help = "h"},
    {.name = "choices",
     .kind = HKI_OPTION_CHOICES,
     .offset = offsetof(values_t, choices),
     .arg = "C,...",
     .preset = "all",
     .choices = "f32|bf16|f16",
     .help = "h"},
    {.name = NULL},
};

static const hki_command_t command = {
    .name = "fuzz",
    .summary = "nothing",
    .operands = "FILE",
    .options = table,
    .values_bytes = sizeof(values_t),
};

enum { ARGUMENTS_MAX = 64 };

static void check_values(const values_t *values)
{
    FUZZ_CHECK(values->number >= 1 && values->number <= 1024);
    FUZZ_CHECK(values->real >= 0.0 && values->real <= 1.0); // false for NaN
    FUZZ_CHECK(values->sizes.count <= HKI_SIZES_MAX);
    FUZZ_CHECK(values->files.count <= HKI_STRINGS_MAX);
    FUZZ_CHECK(values->choice == 0 || values->choice == 1);
    FUZZ_CHECK(values->choices.count <= HKI_CHOICES_MAX);
    for (size_t i = 0; i < values->choices.count; i++) {
        FUZZ_CHECK(values->choices.value[i] >= 0 && values->choices.value[i] < 3);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static values_t values;
    const size_t live = hki_alloc_live();
    char name[] = "fuzz";
    char *argv[ARGUMENTS_MAX + 1] = {name};
    int argc = 1;
    char *text = fuzz_string(data, size);
    char *rest = NULL;
    hki_parsed_t parsed;

    for (char *word = strtok_r(text, "\n", &rest); word != NULL && argc < ARGUMENTS_MAX;
         word = strtok_r(NULL, "\n", &rest)) {
        argv[argc++] = word;
    }
    if (hki_options_parse(&command, argc, argv, &values, &parsed) == HK_OK && !parsed.wants_help) {
        FUZZ_CHECK(parsed.operand_first >= 1 && parsed.operand_first <= argc);
        check_values(&values);
    }
    free(text);
    FUZZ_CHECK(hki_alloc_live() == live);
    return 0;
}
