/*
 * The file of measured costs: what is written is read back, and a file that cannot be right is
 * refused whole, with its line, one warning, and the constants in its place.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "comm/fit.h"

static const hki_cost_params_t measured = {.alpha_ns = 100.5, .beta_ns = 0.25, .gamma_ns = 0.125};

static int index_of(hki_coll_t coll, const char *name)
{
    int count;

    return (int)(hki_algo_find(coll, name) - hki_algo_all(&count));
}

/** A file with this text; its path in HOCKET_FIT. */
static void use_file(char *path, const char *text)
{
    (void)strcpy(path, "/tmp/hocket-fit-XXXXXX");
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    assert_int_equal(setenv("HOCKET_FIT", path, 1), 0);
}

static void what_is_written_is_read_back(void **state)
{
    const int direct = index_of(HKI_COLL_ALL_REDUCE, "direct");
    const int chain = index_of(HKI_COLL_BROADCAST, "chain");
    bool is_measured[HKI_ALGOS_MAX] = {false};
    const bool is_crossed[HKI_CROSS_LEVELS] = {[HKI_CROSS_MEMORY] = true};
    hki_costs_t costs;
    hki_costs_t preset;
    hki_costs_t got;
    hki_text_t text = {0};

    (void)state;
    hki_fit_preset("shm", 2, &preset);
    hki_costs_init(&costs, &measured);
    costs.of[direct] = (hki_cost_params_t){1.5, 2.5, 3.5, 0};
    costs.of[chain] = (hki_cost_params_t){4.5, 5.5, 6.5, 0};
    is_measured[direct] = true; // the chain gets no line, so the common costs
    costs.cross[HKI_CROSS_MEMORY] = (hki_cross_params_t){7.5, 8.5};
    hki_fit_format(&costs, is_measured, is_crossed, &text);
    assert_int_equal(hki_fit_parse(text.data, &got), 0);
    assert_memory_equal(&got.cross[HKI_CROSS_MEMORY], &costs.cross[HKI_CROSS_MEMORY],
                        sizeof(got.cross[0]));
    assert_memory_equal(&got.cross[HKI_CROSS_CACHE], &preset.cross[HKI_CROSS_CACHE],
                        sizeof(got.cross[0]));
    assert_memory_equal(&got.common, &measured, sizeof(measured));
    assert_memory_equal(&got.of[direct], &costs.of[direct], sizeof(measured));
    assert_memory_equal(&got.of[chain], &measured, sizeof(measured));
    hki_text_fini(&text);
}

static void measured_costs_decide_the_choice(void **state)
{
    hki_costs_t costs;

    (void)state;
    assert_int_equal(
        hki_fit_parse("hocket fit 1\ncommon 1000 1 1\nall_reduce tree 1 0 0\n", &costs), 0);
    assert_string_equal(hki_algo_choose(HKI_COLL_ALL_REDUCE, &costs, 4, 8, false, false)->name,
                        "tree");
}

static void algorithms_of_other_versions_are_skipped(void **state)
{
    hki_costs_t costs;

    (void)state;
    assert_int_equal(hki_fit_parse("hocket fit 1\n\ncommon 1 2 3 \nall_reduce quantum 1 2 3\n"
                                   "dance direct 1 2 3\n",
                                   &costs),
                     0);
    assert_true(costs.common.gamma_ns == 3.0);
}

static void a_file_that_cannot_be_right_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text;
        int line;
    } wrong[] = {
        {"", 1},
        {"hocket fit 2\ncommon 1 2 3\n", 1},
        {"\x7f"
         "ELF",
         1},
        {"hocket fit 1\n", 2},
        {"hocket fit 1\ncommon 1 2\n", 2},
        {"hocket fit 1\ncommon 1 2 3 4\n", 2},
        {"hocket fit 1\ncommon 1 2 x\n", 2},
        {"hocket fit 1\ncommon 1 -2 3\n", 2},
        {"hocket fit 1\ncommon 1 nan 3\n", 2},
        {"hocket fit 1\ncommon 1 inf 3\n", 2},
        {"hocket fit 1\ncommon 1 1e300 3\n", 2},
        {"hocket fit 1\nall_reduce direct 1 2 3\ncommon 1 2 3\n", 2},
        {"hocket fit 1\ncommon 1 2 3\ncommon 1 2 3\n", 3},
        {"hocket fit 1\ncommon 1 2 3\nall_reduce\n", 3},
        {"hocket fit 1\ncommon 1 2 3\nall_reduce direct 1\n", 3},
        {"hocket fit 1\ncommon 1 2 3\na_name_that_is_longer_than_any_other direct 1 2 3\n", 3},
        {"hocket fit 1\ncommon 1 2 3                                                             "
         "                                                                                  \n",
         2},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        hki_costs_t costs;
        hki_costs_t untouched;
        memset(&costs, 7, sizeof(costs));
        memset(&untouched, 7, sizeof(untouched));
        const int line = hki_fit_parse(wrong[i].text, &costs);
        if (line != wrong[i].line) {
            fail_msg("\"%s\": line %d, want %d", wrong[i].text, line, wrong[i].line);
        }
        assert_memory_equal(&costs, &untouched, sizeof(costs));
    }
}

static void a_named_file_is_loaded(void **state)
{
    char path[64];
    hki_costs_t costs;

    (void)state;
    use_file(path, "hocket fit 1\ncommon 7 8 9\n");
    hki_fit_load("shm", 2, &costs);
    (void)unlink(path);
    assert_true(costs.common.alpha_ns == 7.0);
    assert_int_equal(hki_log_take_count(), 0);
}

static void a_bad_or_missing_file_gives_one_warning_and_the_constants(void **state)
{
    char path[64];
    hki_costs_t costs;
    hki_costs_t preset;

    (void)state;
    hki_fit_preset("shm", 2, &preset);
    use_file(path, "hocket fit 1\ncommon seven\n");
    hki_fit_load("shm", 2, &costs);
    assert_int_equal(hki_log_take_count(), 1);
    assert_memory_equal(&costs, &preset, sizeof(costs));
    (void)unlink(path);
    hki_fit_load("shm", 2, &costs);
    assert_int_equal(hki_log_take_count(), 1);
    assert_memory_equal(&costs, &preset, sizeof(costs));
}

static void without_a_file_or_when_off_the_constants_count_quietly(void **state)
{
    hki_costs_t costs;
    hki_costs_t preset;

    (void)state;
    hki_fit_preset("local", 2, &preset);
    assert_int_equal(setenv("HOCKET_FIT", "off", 1), 0);
    hki_fit_load("local", 2, &costs);
    assert_memory_equal(&costs, &preset, sizeof(costs));
    assert_int_equal(setenv("HOCKET_FIT", "auto", 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/nonexistent", 1), 0);
    hki_fit_load("local", 2, &costs);
    assert_memory_equal(&costs, &preset, sizeof(costs));
    assert_int_equal(hki_log_take_count(), 0);
}

static void the_path_tells_transport_and_ranks_apart(void **state)
{
    char path[256];
    char small[16];

    (void)state;
    assert_int_equal(setenv("XDG_CACHE_HOME", "/cache", 1), 0);
    assert_ok(hki_fit_path("shm", 6, path, sizeof(path)));
    assert_true(strncmp(path, "/cache/hocket/fit-", 18) == 0);
    assert_string_equal(path + strlen(path) - 6, "-shm-6");
    assert_int_equal(hki_fit_path("shm", 6, small, sizeof(small)), HK_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(measured_costs_decide_the_choice),
        cmocka_unit_test(algorithms_of_other_versions_are_skipped),
        cmocka_unit_test(a_file_that_cannot_be_right_is_refused_with_its_line),
        cmocka_unit_test(a_named_file_is_loaded),
        cmocka_unit_test(a_bad_or_missing_file_gives_one_warning_and_the_constants),
        cmocka_unit_test(without_a_file_or_when_off_the_constants_count_quietly),
        cmocka_unit_test(the_path_tells_transport_and_ranks_apart),
    };

    return cmocka_run_group_tests_name("comm/fit", tests, NULL, NULL);
}
