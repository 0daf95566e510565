/*
 * The environment. Method: every test starts without any launcher's variables, sets some, and looks
 * at what they are taken for.
 */
#include "support/hk_test.h"

#include <stdlib.h>
#include <string.h>

#include "comm/env.h"

static int clear(void **state)
{
    static const char *const names[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "TORCHELASTIC_RUN_ID",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_NNODES",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE",
                                        "PMIX_NAMESPACE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_JOBID"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)unsetenv(names[i]);
    }
    for (int i = 0; i < HKI_ENV_COUNT; i++) {
        (void)unsetenv(hki_env_table()[i].name);
    }
    return 0;
}

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static hki_identity_t identity(void)
{
    const hk_comm_opts_t opts = hk_comm_opts_default();
    hki_identity_t id = {.rank = -1};

    assert_ok(hki_env_identity(&opts, &id));
    return id;
}

static void assert_identity(int rank, int nranks, const char *job)
{
    const hki_identity_t id = identity();

    assert_int_equal(id.rank, rank);
    assert_int_equal(id.nranks, nranks);
    assert_string_equal(id.job, job);
}

/** The identity must be refused with a text that contains all of `parts`. */
static void assert_refused(hk_status_t status, const char *part, const char *other)
{
    const hk_comm_opts_t opts = hk_comm_opts_default();
    hki_identity_t id = {.rank = -7};

    assert_int_equal(hki_env_identity(&opts, &id), status);
    assert_int_equal(id.rank, -7);
    if (strstr(hk_last_error(), part) == NULL || strstr(hk_last_error(), other) == NULL) {
        fail_msg("\"%s\" without \"%s\" or \"%s\"", hk_last_error(), part, other);
    }
}

static void single_copy_is_auto_on_or_off(void **state)
{
    static const char *const texts[] = {"", "auto", "off", "on"};
    static const int values[] = {-1, -1, 0, 1};
    int value = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        set("HOCKET_SINGLE_COPY", texts[i]);
        assert_ok(hki_env_single_copy(&value));
        assert_int_equal(value, values[i]);
    }
    value = 7;
    set("HOCKET_SINGLE_COPY", "yes");
    assert_int_equal(hki_env_single_copy(&value), HK_ERR_INVALID_ARG);
    assert_int_equal(value, 7);
    assert_non_null(strstr(hk_last_error(), "HOCKET_SINGLE_COPY=\"yes\""));
}

static void nothing_set_means_one_rank(void **state)
{
    (void)state;
    assert_identity(0, 1, "");
}

static void each_launcher_is_understood(void **state)
{
    (void)state;
    set("PMI_RANK", "1");
    set("PMI_SIZE", "3");
    set("PMI_JOBID", "77");
    assert_identity(1, 3, "pmi-77");
    set("OMPI_COMM_WORLD_RANK", "2");
    set("OMPI_COMM_WORLD_SIZE", "4");
    set("OMPI_COMM_WORLD_LOCAL_SIZE", "4");
    set("PMIX_NAMESPACE", "prte-9");
    assert_identity(2, 4, "ompi-prte-9");
    set("SLURM_PROCID", "3");
    set("SLURM_NTASKS", "5");
    set("SLURM_NNODES", "1");
    set("SLURM_JOB_ID", "12");
    set("SLURM_STEP_ID", "0");
    assert_identity(3, 5, "slurm-12-0");
    set("RANK", "4");
    set("WORLD_SIZE", "6");
    set("LOCAL_WORLD_SIZE", "6");
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", "29500");
    assert_identity(4, 6, "torchrun-127.0.0.1-29500");
    set("HOCKET_RANK", "5");
    set("HOCKET_NRANKS", "7");
    set("HOCKET_JOB", "mine");
    assert_identity(5, 7, "mine");
}

static void malformed_values_are_named(void **state)
{
    (void)state;
    set("HOCKET_RANK", "two");
    set("HOCKET_NRANKS", "4");
    set("HOCKET_JOB", "j");
    assert_refused(HK_ERR_INVALID_ARG, "HOCKET_RANK", "\"two\"");
    set("HOCKET_RANK", "4");
    assert_refused(HK_ERR_INVALID_ARG, "HOCKET_RANK is 4", "HOCKET_NRANKS is 4");
    set("HOCKET_NRANKS", "0");
    assert_refused(HK_ERR_INVALID_ARG, "HOCKET_NRANKS", "\"0\"");
    (void)unsetenv("HOCKET_NRANKS");
    assert_refused(HK_ERR_INVALID_ARG, "HOCKET_RANK", "HOCKET_NRANKS is not");
    set("HOCKET_NRANKS", "9");
    (void)unsetenv("HOCKET_JOB");
    assert_refused(HK_ERR_INVALID_ARG, "HOCKET_JOB", "opts.job");
}

static void several_hosts_are_refused(void **state)
{
    (void)state;
    set("RANK", "0");
    set("WORLD_SIZE", "8");
    set("LOCAL_WORLD_SIZE", "4");
    set("MASTER_PORT", "1");
    assert_refused(HK_ERR_UNSUPPORTED, "torchrun", "several hosts");
}

static void options_come_before_the_environment(void **state)
{
    hk_comm_opts_t opts = hk_comm_opts_default();
    hki_identity_t id;

    (void)state;
    set("HOCKET_RANK", "5");
    set("HOCKET_NRANKS", "7");
    opts.rank = 1;
    opts.nranks = 2;
    opts.job = "given";
    assert_ok(hki_env_identity(&opts, &id));
    assert_int_equal(id.rank, 1);
    assert_string_equal(id.job, "given");
    opts.nranks = -1;
    assert_int_equal(hki_env_identity(&opts, &id), HK_ERR_INVALID_ARG);
}

static void variables_override_defaults_only(void **state)
{
    hk_comm_opts_t opts = hk_comm_opts_default();

    (void)state;
    set("HOCKET_TIMEOUT", "7");
    set("HOCKET_OPEN_TIMEOUT", "-1");
    set("HOCKET_ORDER", "any");
    set("HOCKET_SEGMENT", "4M");
    set("HOCKET_SPIN", "0");
    set("HOCKET_PROGRESS", "thread");
    assert_ok(hki_env_options(&opts));
    assert_int_equal(opts.timeout_ms, 7000);
    assert_int_equal(opts.open_timeout_ms, -1);
    assert_int_equal(opts.order, HK_ORDER_ANY);
    assert_int_equal(opts.segment_bytes, 4 << 20);
    assert_int_equal(opts.spin, 0);
    assert_int_equal(opts.progress, HK_PROGRESS_THREAD);
    opts = hk_comm_opts_default();
    set("HOCKET_PROGRESS", "auto");
    set("HOCKET_TIMEOUT", "0.25");
    set("HOCKET_OPEN_TIMEOUT", "1000000.000");
    assert_ok(hki_env_options(&opts));
    assert_int_equal(opts.timeout_ms, 250);
    assert_int_equal(opts.progress, HK_PROGRESS_AUTO);
    assert_int_equal(opts.open_timeout_ms, 1000000000);
    opts = hk_comm_opts_default();
    opts.timeout_ms = 50;
    opts.segment_bytes = 100;
    opts.progress = HK_PROGRESS_THREAD;
    assert_ok(hki_env_options(&opts));
    assert_int_equal(opts.progress, HK_PROGRESS_THREAD);
    assert_int_equal(opts.timeout_ms, 50);
    assert_int_equal(opts.segment_bytes, 100);
}

static void malformed_options_are_named(void **state)
{
    static const char *const wrong[][2] = {
        {"HOCKET_TIMEOUT", "soon"}, {"HOCKET_TIMEOUT", "-2"},
        {"HOCKET_ORDER", "none"},   {"HOCKET_SEGMENT", "4X"},
        {"HOCKET_SEGMENT", "0"},    {"HOCKET_SEGMENT", "-1"},
        {"HOCKET_SPIN", "4"},       {"HOCKET_TIMEOUT", "99999999999"},
        {"HOCKET_TIMEOUT", "."},    {"HOCKET_TIMEOUT", "1.5s"},
        {"HOCKET_TIMEOUT", "1e3"},  {"HOCKET_PROGRESS", "always"}};

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        hk_comm_opts_t opts = hk_comm_opts_default();

        (void)clear(state);
        set(wrong[i][0], wrong[i][1]);
        if (hki_env_options(&opts) != HK_ERR_INVALID_ARG ||
            strstr(hk_last_error(), wrong[i][0]) == NULL ||
            strstr(hk_last_error(), wrong[i][1]) == NULL) {
            fail_msg("%s=%s: \"%s\"", wrong[i][0], wrong[i][1], hk_last_error());
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_set_means_one_rank, clear),
        cmocka_unit_test_setup(single_copy_is_auto_on_or_off, clear),
        cmocka_unit_test_setup(each_launcher_is_understood, clear),
        cmocka_unit_test_setup(malformed_values_are_named, clear),
        cmocka_unit_test_setup(several_hosts_are_refused, clear),
        cmocka_unit_test_setup(options_come_before_the_environment, clear),
        cmocka_unit_test_setup(variables_override_defaults_only, clear),
        cmocka_unit_test_setup(malformed_options_are_named, clear),
    };

    return cmocka_run_group_tests_name("comm/env", tests, NULL, NULL);
}
