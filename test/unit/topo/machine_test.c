/*
 * Names of the machine and the user's cache folder, from given texts and variables.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "topo/machine.h"

static void the_model_is_read_from_the_kernels_text(void **state)
{
    char model[HKI_MACHINE_BYTES];

    (void)state;
    hki_machine_cpu_in("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Other\n",
                       model);
    assert_string_equal(model, "Some CPU @ 2 GHz");
    hki_machine_cpu_in("processor : 0\nBogoMIPS : 50\n", model); // as on arm64
    assert_string_equal(model, "unknown processor");
    hki_machine_cpu_in("model name", model);
    assert_string_equal(model, "unknown processor");
    hki_machine_cpu(model);
    assert_true(model[0] != '\0');
}

static void keys_are_fit_for_file_names(void **state)
{
    char key[HKI_MACHINE_BYTES];
    char model[HKI_MACHINE_BYTES];

    (void)state;
    hki_machine_key("Intel(R) Xeon(R) 8480/x", 64, key);
    assert_string_equal(key, "intel-r-xeon-r-8480-x-64");
    hki_machine_key("..", 1, key);
    assert_string_equal(key, "-1");
    memset(model, 'A', sizeof(model));
    model[sizeof(model) - 1] = '\0';
    hki_machine_key(model, 1024, key);
    assert_string_equal(key + strlen(key) - 5, "-1024"); // cut, but the cores stay
}

static void the_cache_folder_follows_the_variables(void **state)
{
    char path[64];

    (void)state;
    assert_int_equal(setenv("HOME", "/home-of-user", 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/cache", 1), 0);
    assert_ok(hki_cache_folder(path, sizeof(path)));
    assert_string_equal(path, "/cache/hocket");
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_ok(hki_cache_folder(path, sizeof(path)));
    assert_string_equal(path, "/home-of-user/.cache/hocket");
    assert_int_equal(hki_cache_folder(path, 8), HK_ERR_UNSUPPORTED);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(hki_cache_folder(path, sizeof(path)), HK_ERR_UNSUPPORTED);
}

static void folders_are_made_with_those_above_them(void **state)
{
    char root[] = "/tmp/hocket-machine-XXXXXX";
    char path[64];
    char file[80];
    struct stat info;

    (void)state;
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof(path), "%s/a/b", root);
    assert_ok(hki_folder_create(path));
    assert_ok(hki_folder_create(path)); // it may be there
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    (void)snprintf(file, sizeof(file), "/proc/hocket/a");
    assert_int_equal(hki_folder_create(file), HK_ERR_IO);
    assert_int_equal(rmdir(path), 0);
    (void)snprintf(path, sizeof(path), "%s/a", root);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_is_read_from_the_kernels_text),
        cmocka_unit_test(keys_are_fit_for_file_names),
        cmocka_unit_test(the_cache_folder_follows_the_variables),
        cmocka_unit_test(folders_are_made_with_those_above_them),
    };

    return cmocka_run_group_tests_name("topo/machine", tests, NULL, NULL);
}
