/*
 * Memory that ranks share: that of hk_mem_alloc(), malloc() under `hocket run --shared-heap`, and
 * the buffers of `hocket train`. Which way messages have travelled is read off the transport's own
 * counts; results are compared by the ranks. That the drop-in malloc is one, programs show that
 * know nothing of it.
 */
#include "support/hk_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

enum { RANKS_MAX = 8 };

static job_t job;

typedef struct travelled {
    long wrong;
    long staged;
    long direct;
} travelled_t;

/** The drop-in malloc is not built with sanitizers, which bring their own. */
static bool has_shared_heap(void)
{
    static const char *const args[] = {"run", "-n", "1", "--shared-heap", "true", NULL};
    static int status = -1;

    if (status < 0) {
        status = job_run(&job, args);
        if (status != 0 && !job_has(&job, "libhocket_malloc.so, which is neither in")) {
            fail_msg("%s", job.text);
        }
    }
    return status == 0;
}

/** What rank `rank` says of a kind of memory. */
static travelled_t travelled(int rank, const char *kind)
{
    travelled_t found = {-1, -1, -1};
    char start[64];

    (void)snprintf(start, sizeof(start), "rank %d %s: ", rank, kind);
    const char *line = job_line(&job, start);
    if (sscanf(line + strlen(start), "%ld wrong, %ld staged, %ld direct", &found.wrong,
               &found.staged, &found.direct) != 3) {
        fail_msg("%s", line);
    }
    if (found.wrong != 0) {
        fail_msg("%s", job.text);
    }
    return found;
}

static void assert_alike(int nranks, const char *kind)
{
    for (int rank = 0; rank < nranks; rank++) {
        const travelled_t mem = travelled(rank, "mem");
        const travelled_t other = travelled(rank, kind);
        if (mem.direct <= 0 || other.direct != mem.direct || other.staged != mem.staged) {
            fail_msg("%d ranks, %s is not as mem:\n%s", nranks, kind, job.text);
        }
    }
}

/** Start the program `shared`, and read what it says. */
static void run_shared(const char *nranks, bool has_heap, const char *const *kinds)
{
    const char *args[16] = {"run", "-n", nranks, "--timeout", "60"};
    int n = 5;

    if (has_heap) {
        args[n++] = "--shared-heap";
    }
    args[n++] = job_rank_program("shared");
    for (; *kinds != NULL; kinds++) {
        args[n++] = *kinds;
    }
    if (job_run(&job, args) != 0) {
        fail_msg("%s ranks: %s", nranks, job.text);
    }
}

static void any_place_in_shared_memory_is_recognised(void **state)
{
    static const char *const counts[] = {"2", "3", "5"};
    static const char *const kinds[] = {"mem", "sub", "across", "malloc", NULL};
    (void)state;

    for (int i = 0; i < 3; i++) {
        const int nranks = counts[i][0] - '0';
        run_shared(counts[i], false, kinds);
        assert_alike(nranks, "sub");
        assert_alike(nranks, "across");
        for (int rank = 0; rank < nranks; rank++) { // it can tell them from private memory
            assert_true(travelled(rank, "malloc").direct < travelled(rank, "mem").direct);
            assert_true(travelled(rank, "malloc").staged > travelled(rank, "mem").staged);
        }
    }
}

static void malloc_of_an_unchanged_program_is_as_good(void **state)
{
    static const char *const counts[] = {"2", "3", "5"};
    static const char *const kinds[] = {"mem", "malloc", "mixed", NULL};
    (void)state;

    if (!has_shared_heap()) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        run_shared(counts[i], true, kinds);
        assert_alike(counts[i][0] - '0', "malloc");
        assert_alike(counts[i][0] - '0', "mixed");
    }
}

static void a_buffer_that_leaves_the_heap_is_private(void **state)
{
    static const char *const kinds[] = {"mem", "edge", NULL};
    (void)state;

    if (has_shared_heap()) {
        run_shared("4", true, kinds);
        for (int rank = 0; rank < 4; rank++) {
            assert_true(travelled(rank, "edge").staged > travelled(rank, "mem").staged);
            assert_true(travelled(rank, "edge").direct < travelled(rank, "mem").direct);
            assert_true(travelled(rank, "edge").direct > 0);
        }
    }
}

static void small_blocks_are_private(void **state)
{
    const char *args[] = {"run", "-n", "2",   "--shared-heap", "--shared-heap-min",
                          "1G",  NULL, "mem", "malloc",        NULL};
    (void)state;

    args[6] = job_rank_program("shared");
    if (has_shared_heap()) {
        assert_int_equal(job_run(&job, args), 0);
        for (int rank = 0; rank < 2; rank++) {
            assert_true(travelled(rank, "malloc").direct < travelled(rank, "mem").direct);
        }
    }
}

/** Run `shared` with three ranks from a script of the shell. */
static void run_script(const char *script)
{
    const char *args[] = {"run", "-n", "3", "--shared-heap", "sh", "-c", script, NULL, NULL};

    args[7] = job_rank_program("shared");
    if (job_run(&job, args) != 0) {
        fail_msg("%s: %s", script, job.text);
    }
}

/** There is a heap, but no room for those of others; or only a small one. */
static void narrow_limits_do_no_harm(void **state)
{
    (void)state;
    if (has_shared_heap()) {
        run_script("ulimit -v 1000000; exec $0 mem malloc");
        for (int rank = 0; rank < 3; rank++) {
            assert_true(travelled(rank, "malloc").direct <= travelled(rank, "mem").direct);
        }
        run_script("ulimit -f 1000000; exec $0 mem malloc");
        assert_alike(3, "malloc");
    }
}

static void a_rank_without_a_heap_keeps_the_others_theirs(void **state)
{
    (void)state;
    if (has_shared_heap()) {
        run_script("test $HOCKET_RANK = 1 && unset LD_PRELOAD; exec $0 mem malloc");
        assert_true(travelled(1, "malloc").direct < travelled(1, "mem").direct);
        assert_int_equal(travelled(0, "malloc").direct, travelled(0, "mem").direct);
        assert_int_equal(travelled(2, "malloc").direct, travelled(2, "mem").direct);
    }
}

static void gives_what_malloc_gives(void **state)
{
    static const char *const parts[] = {"grid", "realloc", "threads", "fork", "limit", "files"};
    static const char *const mins[] = {"64K", "4K"};
    (void)state;

    for (int i = 0; i < 12 && has_shared_heap(); i++) {
        const char *args[] = {"run", "-n", "2", "--shared-heap", "--shared-heap-min", mins[i % 2],
                              NULL,  NULL, NULL};
        char right[64];
        args[6] = job_rank_program("allocate");
        args[7] = parts[i / 2];
        (void)snprintf(right, sizeof(right), "%s is right", parts[i / 2]);
        if (job_run(&job, args) != 0 || job_count(&job, right) != 2) {
            fail_msg("%s from %s: %s", parts[i / 2], mins[i % 2], job.text);
        }
    }
}

static void other_programs_run_as_ever(void **state)
{
    static const char *const scripts[] = {
        "ls -l / | wc -l >&2; echo fine",
        "dd if=/dev/zero bs=3M count=3 2>/dev/null | sort | wc -c | sed s/9437185/fine/",
        "command -v python3 >/dev/null || { echo fine; exit; }; python3 -c \""
        "import subprocess, threading\n"
        "blocks = [bytearray(100000 * i) for i in range(1, 40)]\n"
        "def work():\n"
        "    for i in range(300): blocks[i % 39] = blocks[i % 39] + b'x' * 70000\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[t.start() for t in threads]\n"
        "out = subprocess.run(['echo', 'fi'], stdout=subprocess.PIPE).stdout.strip()\n"
        "[t.join() for t in threads]\n"
        "print(out.decode() + 'ne' if all(len(b) >= 100000 for b in blocks) else 'wrong')\""};
    (void)state;

    for (int i = 0; i < 3 && has_shared_heap(); i++) {
        const char *const args[] = {"run", "-n", "2",        "--shared-heap",
                                    "sh",  "-c", scripts[i], NULL};
        if (job_run(&job, args) != 0 || job_count(&job, "fine") != 2) {
            fail_msg("%s: %s", scripts[i], job.text);
        }
    }
}

/** Others may be reading the memory of the one that dies. */
static void the_death_of_a_rank_takes_nobody_along(void **state)
{
    static const char *const moments[] = {"large", "loop"};
    (void)state;

    for (int i = 0; i < 2 && has_shared_heap(); i++) {
        const char *args[] = {"run",     "-n", "3",         "--shared-heap",
                              "--grace", "20", "--timeout", "60",
                              NULL,      NULL, "1",         NULL};
        args[8] = job_rank_program("victim");
        args[9] = moments[i];
        job_start(&job, args);
        job_expect(&job, "rank 0 waits in ");
        job_expect(&job, "rank 2 waits in ");
        assert_int_equal(kill((pid_t)job_number(&job, "victim "), SIGKILL), 0);
        if (job_end(&job) != 128 + SIGKILL ||
            strstr(job_line(&job, "rank 0 failed "), "was killed by signal 9") == NULL ||
            strstr(job_line(&job, "rank 2 failed "), "was killed by signal 9") == NULL) {
            fail_msg("%s: %s", moments[i], job.text);
        }
    }
}

static void training_sends_from_where_its_numbers_are(void **state)
{
    static const char *const meshes[][2] = {{"2", "data=2"}, {"4", "data=2,pipe=2"}};
    static const char from[] = "messages beyond a line: ";
    (void)state;

    assert_int_equal(setenv("HK_LOG", "transport:debug", 1), 0);
    for (int i = 0; i < 2; i++) {
        const char *const args[] = {"train",   "-n",      meshes[i][0], "--mesh", meshes[i][1],
                                    "--model", "mlp",     "--batch",    "8",      "--unit",
                                    "1",       "--steps", "3",          NULL};
        const int status = job_run(&job, args);
        long direct_most = 0;
        for (const char *at = job.text; (at = strstr(at, from)) != NULL; at++) {
            long staged = -1;
            long direct = -1;
            assert_int_equal(
                sscanf(at + sizeof(from) - 1, "%ld staged, %ld direct", &staged, &direct), 2);
            assert_int_equal(staged, 0);
            direct_most = direct > direct_most ? direct : direct_most;
        }
        if (status != 0 || direct_most < 3) {
            fail_msg("%s: %s", meshes[i][1], job.text);
        }
    }
    assert_int_equal(unsetenv("HK_LOG"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_place_in_shared_memory_is_recognised),
        cmocka_unit_test(malloc_of_an_unchanged_program_is_as_good),
        cmocka_unit_test(a_buffer_that_leaves_the_heap_is_private),
        cmocka_unit_test(small_blocks_are_private),
        cmocka_unit_test(narrow_limits_do_no_harm),
        cmocka_unit_test(a_rank_without_a_heap_keeps_the_others_theirs),
        cmocka_unit_test(gives_what_malloc_gives),
        cmocka_unit_test(other_programs_run_as_ever),
        cmocka_unit_test(the_death_of_a_rank_takes_nobody_along),
        cmocka_unit_test(training_sends_from_where_its_numbers_are),
    };
    return cmocka_run_group_tests_name("multiproc/shared_heap", tests, NULL, NULL);
}
