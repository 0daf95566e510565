/*
 * Bad input to every command: exit status 2 and one line on stderr that names the value and the way
 * out, before anything is started or written.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <string.h>

#include "job.h"

enum { WORDS_MAX = 12 };

typedef struct refusal {
    const char *args[WORDS_MAX];
    const char
        *line; /**< all of the output, without the line end; or its start, if it ends in '*' */
} refusal_t;

static job_t job;

static void assert_refused(const refusal_t *refusal)
{
    char shown[512] = "";
    const size_t length = strlen(refusal->line);
    const bool is_start = length > 0 && refusal->line[length - 1] == '*';
    const int status = job_run(&job, refusal->args);
    const char *end = strchr(job.text, '\n');

    for (int i = 0; refusal->args[i] != NULL; i++) {
        (void)strncat(shown, " ", sizeof(shown) - strlen(shown) - 1);
        (void)strncat(shown, refusal->args[i], sizeof(shown) - strlen(shown) - 1);
    }
    if (status != 2) {
        fail_msg("hocket%s: status %d:\n%s", shown, status, job.text);
    }
    if (end == NULL || end[1] != '\0') {
        fail_msg("hocket%s: not one line:\n%s", shown, job.text);
    }
    if (strncmp(job.text, refusal->line, is_start ? length - 1 : length) != 0 ||
        (!is_start && job.text + length != end)) {
        fail_msg("hocket%s:\ngot  '%s'\nwant '%s'", shown, job.text, refusal->line);
    }
}

static void assert_all_refused(const refusal_t *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_refused(&refusals[i]);
    }
}

static void the_command_itself(void **state)
{
    static const refusal_t refusals[] = {
        {{NULL}, "hocket: no command was given; see hocket --help"},
        {{"dance"}, "hocket: unknown command dance; *"},
        {{"--fast"}, "hocket: unknown command --fast; *"},
        {{""}, "hocket: unknown command ; *"},
    };

    (void)state;
    assert_all_refused(refusals, ARRAY_LEN(refusals));
}

static void run(void **state)
{
    static const refusal_t refusals[] = {
        {{"run"}, "hocket run: no program was given; *"},
        {{"run", "-n", "0", "true"},
         "hocket run: --ranks 0 is not in 1..1024; say how many ranks to start, e.g. -n 4"},
        {{"run", "-n", "1025", "true"}, "hocket run: --ranks 1025 is not in 1..1024; *"},
        {{"run", "-n", "-3", "true"}, "hocket run: --ranks -3 is not in 1..1024; *"},
        {{"run", "-n", "two", "true"}, "hocket run: --ranks two is not a whole number; *"},
        {{"run", "-n", "", "true"}, "hocket run: --ranks  is not a whole number; *"},
        {{"run", "-n"}, "hocket run: --ranks needs a value N; *"},
        {{"run", "--bind", "socket", "true"},
         "hocket run: --bind socket is not one of none|core; *"},
        {{"run", "--timeout", "0", "true"}, "hocket run: --timeout 0 is not in 0.001..1000000; *"},
        {{"run", "--timeout", "soon", "true"}, "hocket run: --timeout soon is not a number; *"},
        {{"run", "--grace", "-1", "true"}, "hocket run: --grace -1 is not in 0..1000000; *"},
        {{"run", "--prefx", "true"}, "hocket run: unknown option --prefx; did you mean --prefix?"},
        {{"run", "-x", "true"}, "hocket run: unknown option -x; see hocket run --help"},
        {{"run", "--quiet=yes", "true"}, "hocket run: --quiet takes no value; *"},
    };

    (void)state;
    assert_all_refused(refusals, ARRAY_LEN(refusals));
}

static void bench(void **state)
{
    static const refusal_t refusals[] = {
        {{"bench", "-n", "0"}, "hocket bench: --ranks 0 is not in 1..1024; *"},
        {{"bench", "extra"}, "hocket bench: extra is not an option *"},
        {{"bench", "--sizes", "8,x"}, "hocket bench: --sizes x is not a size, *"},
        {{"bench", "--sizes", "8:4:x2"}, "hocket bench: --sizes *"},
        {{"bench", "--sizes", ""}, "hocket bench: --sizes *"},
        {{"bench", "--sizes", "9999999999999999999999"}, "hocket bench: --sizes *"},
        {{"bench", "--colls", "all_reduce,dance"}, "hocket bench: --colls dance is not one of *"},
        {{"bench", "--dtypes", "f31"}, "hocket bench: --dtypes f31 is not one of i8|u8|*"},
        {{"bench", "--ops", "mean"}, "hocket bench: --ops mean is not one of sum|*"},
        {{"bench", "-n", "2", "--root", "2"}, "hocket bench: --root 2 is not in 0..1; *"},
        {{"bench", "-n", "2", "--algo", "all_reduce=quantum"}, "hocket bench: --algo*"},
        {{"bench", "-n", "2", "--memory", "gpu"}, "hocket bench: --memory gpu is not one of *"},
        {{"bench", "-n", "2", "--budget", "0"}, "hocket bench: --budget 0 is not in *"},
        {{"bench", "-n", "2", "--json", "/no/such/folder/x"},
         "hocket bench: --json /no/such/folder/x cannot be written: *"},
        {{"bench", "-n", "2", "--json", "/tmp"},
         "hocket bench: --json /tmp cannot be written: it is a directory; *"},
        {{"bench", "--lecture", "--elements", "0"}, "hocket bench: --elements 0 is not in *"},
        {{"bench", "--sizs", "8"}, "hocket bench: unknown option --sizs; did you mean --sizes?"},
    };

    (void)state;
    assert_all_refused(refusals, ARRAY_LEN(refusals));
}

static void topo(void **state)
{
    static const refusal_t refusals[] = {
        {{"topo", "extra"}, "hocket topo: extra is not an option *"},
        {{"topo", "-n", "1025"}, "hocket topo: --ranks 1025 is not in 0..1024; *"},
        {{"topo", "--bind", "socket"}, "hocket topo: --bind socket is not one of none|core; *"},
        {{"topo", "--verbse"}, "hocket topo: unknown option --verbse; did you mean --verbose?"},
    };

    (void)state;
    assert_all_refused(refusals, ARRAY_LEN(refusals));
}

static void help_and_version_are_not_refused(void **state)
{
    static const char *const lines[][3] = {{"--help"},          {"--version"},
                                           {"run", "--help"},   {"bench", "-h"},
                                           {"train", "--help"}, {"topo", "--help"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_int_equal(job_run(&job, lines[i]), 0);
        assert_int_equal(job_count(&job, "hocket"), strcmp(lines[i][0], "--help") == 0 ? 2 : 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_itself),
        cmocka_unit_test(run),
        cmocka_unit_test(bench),
        cmocka_unit_test(topo),
        cmocka_unit_test(help_and_version_are_not_refused),
    };

    return cmocka_run_group_tests_name("multiproc/usage", tests, NULL, NULL);
}
