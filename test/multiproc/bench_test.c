/*
 * `hocket bench` in its special modes, with the smallest budgets: that they run, write what they
 * promise, and read it again. Times are not looked at.
 */
#include "support/hk_test.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"

enum { PATH_BYTES = 512 };

static job_t job;
static char folder[64]; // of the test: what jobs write, and their cache

/** folder/name, valid until the next call but one. */
static const char *in_folder(const char *name)
{
    static char paths[2][PATH_BYTES];
    static int next;
    char *path = paths[next++ % 2];

    (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return path;
}

/** The start of a file; removes it. "" if there is none. */
static const char *take_file(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");

    text[0] = '\0';
    if (file != NULL) {
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        (void)fclose(file);
        (void)unlink(path);
    }
    return text;
}

/** The only file of the cache. */
static void find_fit(char *path)
{
    const char *cache = in_folder("hocket");
    DIR *dir = opendir(cache);

    assert_non_null(dir);
    path[0] = '\0';
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strncmp(entry->d_name, "fit-", 4) == 0) {
            assert_string_equal(path, "");
            (void)snprintf(path, PATH_BYTES, "%s/%s", cache, entry->d_name);
        }
    }
    (void)closedir(dir);
    assert_string_not_equal(path, "");
}

static void a_fit_is_stored_and_used_by_later_jobs(void **state)
{
    const char *const fit[] = {"bench", "-n",       "2",     "--fit", "--iters",
                               "1",     "--budget", "0.001", NULL};
    const char *const use[] = {"bench",   "-n", "2",        "--iters", "1",
                               "--sizes", "8",  "--budget", "0.001",   NULL};
    char path[PATH_BYTES];

    (void)state;
    assert_int_equal(job_run(&job, fit), 0);
    assert_int_equal(job_count(&job, "  all_reduce "), 6); // every algorithm
    find_fit(path);
    assert_true(job_has(&job, path));

    FILE *file = fopen(path, "w"); // costs that make the worst algorithm the best
    assert_non_null(file);
    (void)fputs("hocket fit 1\ncommon 1000 1 1\nall_reduce tree 1 0 0\n", file);
    (void)fclose(file);
    assert_int_equal(job_run(&job, use), 0);
    assert_non_null(strstr(job_line(&job, "  all_reduce"), " tree "));

    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("rubbish\n", file);
    (void)fclose(file);
    assert_int_equal(job_run(&job, use), 0);
    assert_true(job_has(&job, "line 1 is not what hocket bench --fit writes"));
    (void)unlink(path);
    (void)rmdir(in_folder("hocket"));
}

static void all_ranks_go_by_what_rank_0_has_read(void **state)
{
    static const char *const costs[] = {
        "hocket fit 1\ncommon 1000 1 1\nall_reduce tree 1 0 0\n",
        "hocket fit 1\ncommon 1000 1 1\nall_reduce direct2 1 0 0\nbroadcast chain 1 0 0\n",
    };
    char script[3 * PATH_BYTES];
    const char *const args[] = {"run", "-n", "2", "sh", "-c", script, NULL};

    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        FILE *file = fopen(in_folder(rank == 0 ? "fit0" : "fit1"), "w");
        assert_non_null(file);
        (void)fputs(costs[rank], file);
        (void)fclose(file);
    }
    (void)snprintf(script, sizeof(script),
                   "HOCKET_FIT=%s$HOCKET_RANK exec %s bench --iters 1 --budget 0.001 --sizes 8,4K "
                   "--colls all_reduce,broadcast",
                   in_folder("fit"), job_tool());
    assert_int_equal(job_run(&job, args), 0);
    assert_non_null(strstr(job_line(&job, "  all_reduce"), " tree "));
    (void)unlink(in_folder("fit0"));
    (void)unlink(in_folder("fit1"));
}

static void explain_lists_every_algorithm_and_the_chosen_one(void **state)
{
    const char *const args[] = {"bench",     "-n",      "2", "--explain", "--colls",
                                "broadcast", "--sizes", "8", "--iters",   "1",
                                "--budget",  "0.001",   NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    assert_int_equal(job_count(&job, "  broadcast "), 4);
    assert_true(job_has(&job, " chosen\n"));
}

static void check_ends_with_a_count(void **state)
{
    const char *const args[] = {"bench", "-n",       "2",     "--check", "--sizes",
                                "8,64",  "--budget", "0.001", NULL};
    const int status = job_run(&job, args);
    const char *line = job_line(&job, "# check: ");
    const long found = strtol(line + strlen("# check: "), NULL, 10);

    (void)state;
    assert_true(job_has(&job, " of 17 lines contradict others")); // 8 collectives twice, barrier
    assert_int_equal(status, found > 0 ? 1 : 0);
    assert_int_equal(job_count(&job, "# !! "), found);
}

static void a_plot_is_drawn(void **state)
{
    const char *const path = in_folder("plot.svg");
    const char *const args[] = {"bench", "-n",       "2",     "--loop", "fresh", "--sizes",
                                "8,64",  "--budget", "0.001", "--plot", path,    NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 0);
    const char *svg = take_file(path);
    assert_true(strncmp(svg, "<svg ", 5) == 0);
    assert_non_null(strstr(svg, "</svg>\n"));
}

static void a_comparison_goes_on_without_peers_and_says_so(void **state)
{
    const char *const markdown = in_folder("table.text");
    const char *const json = in_folder("table.json");
    const char *const args[] = {"bench",          "--vs",    "all",     "--ranks",    "2,3",
                                "--alternations", "2",       "--sizes", "8,4K",       "--budget",
                                "0.001",          "--colls", "reduce",  "--markdown", markdown,
                                "--json",         json,      NULL};
    char *const kept = strdup(getenv("PATH"));

    (void)state;
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    assert_int_equal(setenv("HOCKET_TORCH_PYTHON", "/nonexistent/python", 1), 0);
    assert_int_equal(job_run(&job, args), 0);
    assert_int_equal(setenv("PATH", kept, 1), 0);
    free(kept);
    assert_int_equal(job_count(&job, "# !! openmpi is not compared: "), 1);
    assert_int_equal(job_count(&job, "# !! mpich is not compared: "), 1);
    assert_int_equal(job_count(&job, "# !! gloo is not compared: "), 1);
    assert_int_equal(job_count(&job, "      2 reduce "), 2);
    assert_int_equal(job_count(&job, "      3 reduce "), 2);
    assert_non_null(strstr(take_file(markdown), "| 3 | reduce | f32 | 4096 |"));
    assert_non_null(strstr(take_file(json), "\"hocket shared\""));
}

/** Machines with such a cache are told of by hwloc; without it this is as large as any. */
static void set_cache(const char *size)
{
    char machine[100];

    (void)snprintf(machine, sizeof(machine), "pack:1 l3:1(size=%s) core:4 pu:1", size);
    assert_int_equal(setenv("HWLOC_SYNTHETIC", machine, 1), 0);
}

static void cold_buffers_rotate_and_results_stay_right(void **state)
{
    const char *const args[] = {
        "bench",    "-n",     "2",        "--cold", "--colls", "all",
        "--sizes",  "8,100K", "--iters",  "3",      "--json",  in_folder("cold.json"),
        "--budget", "0.001",  "--memory", "shared", NULL};

    (void)state;
    set_cache("128KB");
    assert_int_equal(job_run(&job, args), 0); // nothing wrong
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    assert_int_equal(job_count(&job, "# cold: inputs and outputs rotate through "), 1);
    assert_int_equal(job_count(&job, "  all_reduce "), 2);
    assert_non_null(strstr(take_file(in_folder("cold.json")), "\"cold\":\ttrue"));
}

static void cold_buffers_that_memory_cannot_hold_are_refused(void **state)
{
    const char *const args[] = {"bench", "-n", "2", "--cold", "--sizes", "1T", NULL};
    const char *const vs[] = {"bench", "--cold", "--vs", "gloo", NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 1);
    assert_true(job_has(&job, "--cold takes "));
    assert_true(job_has(&job, "start fewer ranks or leave out the largest sizes"));
    assert_int_equal(job_run(&job, vs), 2);
    assert_true(job_has(&job, "--cold is for the plain loop, not for --vs"));
}

/** A program of the folder: a shell script. */
static void put_script(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");

    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    assert_int_equal(chmod(in_folder(name), 0755), 0);
}

__attribute__((format(printf, 1, 2))) static void run_shell(const char *format, ...)
{
    char command[2 * PATH_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0) {
        fail_msg("failed: %s", command);
    }
}

/* prints a line for each case that it is asked for; its times are those of its name */
#define LAUNCHER                                                                                \
    "#!/bin/sh\n"                                                                               \
    "case $0 in *openmpi) us=9000000 ;; *) us=0.001 ;; esac\n"                                  \
    "echo '# Pretended MPI 1.0, of nobody'\n"                                                   \
    "while [ $# -gt 2 ]; do shift; done\n"                                                      \
    "echo $1 | tr , '\\n' | while IFS=: read c d b; do\n"                                       \
    "  echo "                                                                                   \
    "\"{\\\"coll\\\":\\\"$c\\\",\\\"dtype\\\":\\\"$d\\\",\\\"bytes\\\":$b,\\\"time_us\\\":$us}" \
    "\"\n"                                                                                      \
    "done\n"

static void peers_take_turns_as_long_as_they_matter(void **state)
{
    char json[PATH_BYTES];
    char markdown[PATH_BYTES];
    const char *text;

    (void)state;
    // hocket as if installed here, and two MPIs of which one is far slower than the other
    run_shell("cd %s && mkdir bin path && mkdir -p share/hocket/bench && cp %s bin/hocket && "
              ": > share/hocket/bench/mpi_bench.c",
              folder, job_tool());
    put_script("path/mpicc.openmpi", "#!/bin/sh\n");
    put_script("path/mpicc.mpich", "#!/bin/sh\n");
    put_script("path/mpirun.openmpi", LAUNCHER);
    put_script("path/mpirun.mpich", LAUNCHER);
    (void)snprintf(json, sizeof(json), "%s", in_folder("vs.json"));
    (void)snprintf(markdown, sizeof(markdown), "%s", in_folder("vs.text"));
    run_shell("PATH=%s/path:$PATH; %s/bin/hocket bench --vs openmpi,mpich --ranks 2 --colls "
              "all_reduce,gather --sizes 8,1M --dtypes f32,bf16 --alternations 3 --budget 0.001 "
              "--max-memory 1M --json %s --markdown %s >/dev/null",
              folder, folder, json, markdown);
    text = take_file(markdown);
    assert_non_null(strstr(text, ", Pretended MPI 1.0"));
    assert_non_null(strstr(text, "1048576 bytes with 2 ranks")); // left out
    assert_non_null(strstr(text, "| 2 | all_reduce | bf16 | 8 | 9000000 | 0.00 | - |"));
    assert_null(strstr(text, "| 2 | gather | bf16 |")); // it moves bytes
    text = take_file(json);
    assert_non_null(strstr(text, "\"openmpi\":\t[9000000, 9000000]"));
    assert_non_null(strstr(text, "\"mpich\":\t[0.001, 0.001, 0.001]"));
    run_shell("cd %s && rm -r bin path share hocket", folder);
}

static void several_numbers_of_ranks_are_only_for_comparisons(void **state)
{
    const char *const args[] = {"bench", "--ranks", "2,4", NULL};

    (void)state;
    assert_int_equal(job_run(&job, args), 2);
    assert_true(job_has(&job, "takes one number without --vs"));
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/hocket-bench-XXXXXX");
    return mkdtemp(folder) == NULL || setenv("XDG_CACHE_HOME", folder, 1) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder); // jobs leave nothing else
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_is_stored_and_used_by_later_jobs),
        cmocka_unit_test(all_ranks_go_by_what_rank_0_has_read),
        cmocka_unit_test(explain_lists_every_algorithm_and_the_chosen_one),
        cmocka_unit_test(check_ends_with_a_count),
        cmocka_unit_test(a_plot_is_drawn),
        cmocka_unit_test(a_comparison_goes_on_without_peers_and_says_so),
        cmocka_unit_test(cold_buffers_rotate_and_results_stay_right),
        cmocka_unit_test(cold_buffers_that_memory_cannot_hold_are_refused),
        cmocka_unit_test(peers_take_turns_as_long_as_they_matter),
        cmocka_unit_test(several_numbers_of_ranks_are_only_for_comparisons),
    };

    return cmocka_run_group_tests_name("multiproc/bench", tests, set_up, tear_down);
}
