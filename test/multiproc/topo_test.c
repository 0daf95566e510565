/*
 * `hocket topo` and where ranks go. Method: machines are fabricated by HWLOC_SYNTHETIC; where hwloc
 * is missing, those tests are skipped.
 */
#include "support/hk_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/memory.h"
#include "job.h"

static job_t job;

/** Run `script` in sh under the launcher; $0 is `hocket`, $1 the program of the scenes. */
static int run_script(const char *script)
{
    const char *const args[] = {
        "run", "-q", "-n", "1", "sh", "-c", script, job_tool(), job_rank_program("cases"), NULL};

    return job_run(&job, args);
}

/** `hocket topo` of a fabricated machine. */
static void show(const char *synthetic, const char *options)
{
    char script[256];

    (void)snprintf(script, sizeof(script), "HWLOC_SYNTHETIC='%s' exec \"$0\" topo %s", synthetic,
                   options);
    assert_int_equal(run_script(script), 0);
    if (!job_has(&job, "a fabricated machine")) {
        skip();
    }
}

static void assert_line(const char *line)
{
    if (!job_has(&job, line)) {
        fail_msg("no '%s' in\n%s", line, job.text);
    }
}

static void one_domain_is_shown(void **state)
{
    (void)state;
    show("numa:1(memory=1073741824) l3:1(size=8388608) core:2 pu:1", "-n 4");
    assert_line("sockets 1, memory domains 1, caches 1 (L3, 8.0 MiB), cores 2, logical cores 2\n");
    assert_line("     0      0     1.0G      0      0      0      0  0, 2\n");
    assert_line("     0      0     1.0G      0      1      0      1  1, 3\n");
    assert_line("   0     $  t  $\n");
}

static void two_domains_are_filled_one_after_the_other(void **state)
{
    (void)state;
    show("pack:2 numa:1 l3:1 core:4 pu:1", "-n 8");
    assert_line("sockets 2, memory domains 2, caches 2");
    assert_line("   0     $  $  $  .  .  .  .\n");
    assert_line("   3  $  $  $     .  .  .  .\n");
    assert_line("   4  .  .  .  .     $  $  $\n");
    assert_line("ranks by cache: 0-3, 4-7\nranks by memory domain: 0-3, 4-7\n");
}

static void second_threads_of_cores_come_last(void **state)
{
    (void)state;
    show("numa:4 l3:1 core:2 pu:2", "-n 16");
    assert_line("memory domains 4, caches 4");
    assert_line("     0      0     1.0G      0      0      0      0  0\n");
    assert_line("     0      0     1.0G      0      0      1      1  8\n");
    assert_line("     0      0     1.0G      0      1      0      2  1\n");
    assert_line("   0     $  s  s  s  s  s  s  c  $");
    assert_line("ranks by memory domain: 0-1 8-9, 2-3 10-11, 4-5 12-13, 6-7 14-15\n");
}

static void unbound_ranks_have_no_place(void **state)
{
    (void)state;
    show("numa:1 core:2 pu:1", "-n 4 --bind none");
    assert_false(job_has(&job, "what ranks share"));
}

static void verbose_tells_what_is_allocated(void **state)
{
    const hki_comm_memory_t memory = hki_comm_memory(8, 0);
    char line[80];

    (void)state;
    assert_int_equal(run_script("HOCKET_FIT=off exec \"$0\" topo -n 8 --verbose"), 0);
    (void)snprintf(line, sizeof(line), "  together             %12llu ",
                   (unsigned long long)memory.total);
    assert_line(line);
    assert_line("  alpha                  350 ns a message\n");
    assert_line("  source                 constants; hocket bench --fit -n 8 measures them\n");
    assert_line("  to another memory      90 ns a message more, 0.029 ns a byte at its border\n");
    assert_line("8 ranks on ");
    assert_false(job_has(&job, "too little"));
}

static void a_measured_file_and_limits_are_named(void **state)
{
    (void)state;
    assert_int_equal(
        run_script("printf 'hocket fit 1\\ncommon 7 8 9\\n' >fit; HOCKET_FIT=fit HOCKET_SEGMENT=1M "
                   "\"$0\" topo -n 2 -v && rm fit"),
        0);
    assert_line("  alpha                  7 ns a message\n");
    assert_line("  source                 fit, by hocket bench --fit\n");
    assert_int_equal(run_script("ulimit -f 1024; exec \"$0\" topo -n 2 -v"), 0);
    assert_line("  file size [bytes]      524288 (ulimit -f)\n");
    assert_line("  too little: rank 0 needs ");
}

static void ranks_that_are_bound_take_cores_in_this_order(void **state)
{
    // whatever the machine: each rank has one core, and as many are used as there are
    static const char script[] =
        "exec \"$0\" run -n 2 --bind core sh -c 'grep Cpus_allowed_list /proc/self/status'";

    (void)state;
    assert_int_equal(run_script(script), 0);
    assert_int_equal(job_count(&job, "Cpus_allowed_list:"), 2);
    assert_false(job_has(&job, ","));
    assert_false(job_has(&job, "-"));
}

/** Run the command on a fabricated machine. */
static void run_on(const char *synthetic, const char *const *args)
{
    show(synthetic, "-n 1"); // skips where there is no hwloc
    assert_int_equal(setenv("HWLOC_SYNTHETIC", synthetic, 1), 0);
    const int end = job_run(&job, args);
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    assert_int_equal(end, 0);
}

static void ranks_are_told_their_part_of_the_machine(void **state)
{
    static const char *const bound[] = {
        "run", "-n", "5", "--bind", "core", "sh", "-c", "echo $HOCKET_RANK is in $HOCKET_DOMAIN.",
        NULL};
    static const char *const unbound[] = {"run", "-n", "2", "sh", "-c", "echo [$HOCKET_DOMAIN]",
                                          NULL};

    (void)state;
    run_on("pack:2 numa:1 l3:2 core:1 pu:1", bound);
    assert_line("0 is in 0:0.\n");
    assert_line("1 is in 1:0.\n");
    assert_line("2 is in 2:1.\n");
    assert_line("3 is in 3:1.\n");
    assert_line("4 is in 0:0.\n");
    run_on("pack:2 numa:1 l3:2 core:1 pu:1", unbound);
    assert_int_equal(job_count(&job, "[]\n"), 2);
}

/** The line of `algorithm` must say that it was chosen. */
static void assert_chosen(const char *algorithm)
{
    const char *end = NULL;

    for (const char *line = job.text; line != NULL && *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        const char *word = strstr(line, algorithm);
        const char *chosen = strstr(line, " chosen");
        if (end == NULL) {
            break;
        }
        if (word != NULL && word < end && chosen != NULL && chosen < end) {
            return;
        }
    }
    fail_msg("%s was not chosen:\n%s", algorithm, job.text);
}

static void the_choice_follows_the_parts(void **state)
{
    static const char *const args[] = {"bench",    "-n",      "8",          "--explain", "--iters",
                                       "1",        "--colls", "all_gather", "--sizes",   "64K",
                                       "--budget", "0.001",   NULL};
    char path[] = "/tmp/hocket-topo-fit-XXXXXX";
    static const char costs[] = "hocket fit 1\ncommon 350 0.12 0.05\n"; // whatever cores are here
    const int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, costs, sizeof(costs) - 1), sizeof(costs) - 1);
    (void)close(fd);
    assert_int_equal(setenv("HOCKET_FIT", path, 1), 0);
    run_on("pack:1 numa:1 l3:1 core:8 pu:1", args);
    assert_chosen("direct");
    assert_false(job_has(&job, "# ranks by"));
    assert_false(job_has(&job, "grouped"));
    run_on("pack:2 numa:1 l3:1 core:4 pu:1", args);
    assert_line("# ranks by cache: 0-3, 4-7; crossing costs 84 ns a message, ");
    assert_line("# ranks by memory domain: 0-3, 4-7; crossing costs 90 ns a message, ");
    assert_chosen("grouped");
    assert_int_equal(unsetenv("HOCKET_FIT"), 0);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_domain_is_shown),
        cmocka_unit_test(two_domains_are_filled_one_after_the_other),
        cmocka_unit_test(second_threads_of_cores_come_last),
        cmocka_unit_test(unbound_ranks_have_no_place),
        cmocka_unit_test(verbose_tells_what_is_allocated),
        cmocka_unit_test(a_measured_file_and_limits_are_named),
        cmocka_unit_test(ranks_that_are_bound_take_cores_in_this_order),
        cmocka_unit_test(ranks_are_told_their_part_of_the_machine),
        cmocka_unit_test(the_choice_follows_the_parts),
    };

    return cmocka_run_group_tests_name("multiproc/topo", tests, NULL, NULL);
}
