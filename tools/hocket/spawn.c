/*
 * Starts one rank: two pipes, fork, and in the child: die with the launcher, own process group,
 * environment, core, standard files, exec. Whatever the launcher changed for itself (signal mask,
 * SIGPIPE, limit of open files) is put back.
 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "tool.h"
#include "topo/cpus.h"
#include "topo/hardware.h"

enum { CPUS_MAX = 8192 };

static bool is_file(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/** Look the program up as execvp() would. @return false: no such file */
static bool find_program(const char *name, char *path, size_t path_bytes)
{
    const char *list = getenv("PATH");
    bool is_found = false;

    if (strchr(name, '/') != NULL) {
        return snprintf(path, path_bytes, "%s", name) < (int)path_bytes && is_file(path);
    }
    for (list = list != NULL ? list : "/usr/local/bin:/usr/bin:/bin"; *name != '\0';) {
        const size_t length = strcspn(list, ":");
        char candidate[4096];
        const int bytes = length == 0 ? snprintf(candidate, sizeof(candidate), "./%s", name)
                                      : snprintf(candidate, sizeof(candidate), "%.*s/%s",
                                                 (int)length, list, name);
        if (bytes < (int)sizeof(candidate) && is_file(candidate)) {
            (void)snprintf(path, path_bytes, "%s", candidate);
            is_found = true;
            if (access(candidate, X_OK) == 0) {
                return true;
            }
        }
        if (list[length] == '\0') {
            return is_found;
        }
        list += length + 1;
    }
    return false;
}

static bool draw_hex(char *out, size_t bytes)
{
    unsigned char raw[32];

    if (bytes > sizeof(raw) || getrandom(raw, bytes, 0) != (ssize_t)bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
    }
    return true;
}

/** Where ranks are at home when they take these logical cores, (count,), one after the other. */
static void place_homes(hki_job_t *job, const hki_hardware_t *hardware, const int *order, int count)
{
    job->home_count = count < HKI_RANKS_PLACED ? count : HKI_RANKS_PLACED;
    for (int i = 0; i < job->home_count; i++) {
        const hki_cpu_t *cpu = hki_hardware_find(hardware, order[i]);

        job->homes[i] =
            cpu == NULL
                ? hki_home_unknown()
                : (hki_home_t){
                      .part = {[HKI_HOME_CACHE] = cpu->cache, [HKI_HOME_MEMORY] = cpu->domain}};
    }
}

/** The homes that ranks would have on a machine that was made up: they run on this one. */
static hk_status_t make_up_homes(hki_job_t *job, const hki_hardware_t *hardware)
{
    int *numbers = hki_calloc(2 * (size_t)hardware->ncpus, sizeof(*numbers));

    if (numbers == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "order of %d cores", hardware->ncpus);
    }
    for (int i = 0; i < hardware->ncpus; i++) {
        numbers[i] = hardware->cpus[i].number;
    }
    int *order = numbers + hardware->ncpus;
    hki_hardware_order(hardware, numbers, hardware->ncpus, order);
    place_homes(job, hardware, order, hardware->ncpus);
    hki_free(numbers);
    return HK_OK;
}

/** Which logical cores ranks take: the allowed ones, neighbours first. */
static hk_status_t place_ranks(hki_job_t *job)
{
    int allowed[CPUS_MAX];
    int order[CPUS_MAX];
    hki_hardware_t *hardware = NULL;
    hk_status_t status = HK_OK;
    const int count = hki_cpus_list(allowed, CPUS_MAX);

    if (count < 1 || count > CPUS_MAX) {
        return HKI_FAIL(HK_ERR_SYSTEM, "sched_getaffinity: %s; --bind none does without",
                        strerror(errno));
    }
    memcpy(order, allowed, (size_t)count * sizeof(order[0]));
    // two are neighbours in any order, and looking takes milliseconds
    if (count > 2 || hki_hardware_is_made_up()) {
        status = hki_hardware_create(&hardware);
        if (status != HK_OK) {
            return status;
        }
        hki_hardware_order(hardware, allowed, count, order);
        if (hardware->is_fabricated) {
            status = make_up_homes(job, hardware);
        } else if (hardware->is_mapped) {
            place_homes(job, hardware, order, count);
        }
        hki_hardware_destroy(&hardware);
    }
    job->core_count = count < HKI_RANKS_PLACED ? count : HKI_RANKS_PLACED;
    memcpy(job->cores, order, (size_t)job->core_count * sizeof(order[0]));
    return status;
}

int hki_job_init(hki_job_t *job, const hki_launch_opts_t *opts)
{
    const char *program = opts->argv[0];

    *job = (hki_job_t){.opts = opts, .launcher = getpid()};
    if (!find_program(program, job->path, sizeof(job->path))) {
        const bool is_path = strchr(program, '/') != NULL;

        (void)fprintf(stderr, "hocket %s: program %.160s was not found; give its path%s%.60s\n",
                      opts->command, program, is_path ? ", from here or from /" : ", e.g. ./",
                      is_path ? "" : program);
        return HKI_EXIT_NOT_FOUND;
    }
    if (access(job->path, X_OK) != 0) {
        (void)fprintf(stderr,
                      "hocket %s: program %.160s may not be executed: %s; try chmod +x %.160s\n",
                      opts->command, job->path, strerror(errno), job->path);
        return HKI_EXIT_NOT_EXECUTABLE;
    }
    memcpy(job->name, "hocket-", 8);
    if (!draw_hex(job->name + 7, 12) || !draw_hex(job->secret, 32)) {
        (void)fprintf(stderr, "hocket %s: getrandom: %s\n", opts->command, strerror(errno));
        return HKI_EXIT_FAILED;
    }
    if (opts->bind == HKI_BIND_CORE && place_ranks(job) != HK_OK) {
        (void)fprintf(stderr, "hocket %s: %s\n", opts->command, hk_last_error());
        return HKI_EXIT_FAILED;
    }
    return 0;
}

/** Nothing but this may be said in the child when the rank cannot be started. */
static _Noreturn void child_fail(const hki_job_t *job, int rank, const char *what)
{
    (void)fprintf(stderr, "hocket %s: rank %d cannot start: %s: %s\n", job->opts->command, rank,
                  what, strerror(errno));
    _exit(errno == ENOENT ? HKI_EXIT_NOT_FOUND : HKI_EXIT_NOT_EXECUTABLE);
}

static bool set_number(const char *name, long value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%ld", value);
    return setenv(name, text, 1) == 0;
}

/** HOCKET_DOMAIN of a rank. What this process may have of it is not the ranks'. */
static bool set_home(const hki_job_t *job, int rank)
{
    char text[HKI_HOME_TEXT_BYTES];

    if (job->home_count == 0) {
        return unsetenv(HKI_HOME_VARIABLE) == 0;
    }
    hki_home_format(&job->homes[rank % job->home_count], text);
    return setenv(HKI_HOME_VARIABLE, text, 1) == 0;
}

static bool set_environment(const hki_job_t *job, int rank)
{
    char seconds[32];

    (void)snprintf(seconds, sizeof(seconds), "%.3f", job->opts->timeout_s);
    if (job->opts->timeout_s > 0 && (setenv("HOCKET_TIMEOUT", seconds, 1) != 0 ||
                                     setenv("HOCKET_OPEN_TIMEOUT", seconds, 0) != 0)) {
        return false;
    }
    return set_home(job, rank) && setenv(HKI_BOARD_VARIABLE, job->board, 1) == 0 &&
           set_number("HOCKET_RANK", rank) && set_number("HOCKET_NRANKS", job->opts->nranks) &&
           setenv("HOCKET_JOB", job->name, 1) == 0 && setenv("HOCKET_SECRET", job->secret, 1) == 0;
}

/** Pin this process to one logical core. Before it takes any memory: what a rank touches first
 *  then lies near its core. */
static bool bind_core(int core)
{
    union {
        cpu_set_t set; // too small for the largest machines by itself
        unsigned char bytes[CPUS_MAX / 8];
    } mask = {.bytes = {0}};

    CPU_SET_S((size_t)core, sizeof(mask), &mask.set);
    return sched_setaffinity(0, sizeof(mask), &mask.set) == 0;
}

/** Rank 0 keeps standard input, unless it is a terminal: ranks are not its foreground group. */
static bool set_files(int rank, int out, int err)
{
    if (rank != 0 || isatty(STDIN_FILENO)) {
        const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (null < 0 || dup2(null, STDIN_FILENO) < 0) {
            return false;
        }
    }
    return dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0;
}

static _Noreturn void child_main(const hki_job_t *job, int rank, int out, int err)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        child_fail(job, rank, "prctl");
    }
    if (getppid() != job->launcher) {
        _exit(HKI_EXIT_FAILED); // the launcher died before the line above
    }
    (void)setpgid(0, 0);
    if (!set_files(rank, out, err)) {
        child_fail(job, rank, "standard files");
    }
    if (!set_environment(job, rank)) {
        child_fail(job, rank, "environment");
    }
    if (job->core_count > 0 && !bind_core(job->cores[rank % job->core_count])) {
        child_fail(job, rank, "binding to a core");
    }
    (void)setrlimit(RLIMIT_NOFILE, &job->old_files);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
    (void)execv(job->path, job->opts->argv);
    if (errno == ENOEXEC) { // a script without #!, as the shell would take it
        (void)execvp(job->path, job->opts->argv);
    }
    child_fail(job, rank, job->path);
}

hk_status_t hki_spawn(const hki_job_t *job, int rank, pid_t *pid_out, int *pipes_out)
{
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};

    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        (void)HKI_FAIL(HK_ERR_SYSTEM, "pipes for rank %d: %s", rank, strerror(errno));
        goto fail;
    }
    const pid_t pid = fork();
    if (pid < 0) {
        (void)HKI_FAIL(HK_ERR_SYSTEM, "process for rank %d: %s; see ulimit -u", rank,
                       strerror(errno));
        goto fail;
    }
    if (pid == 0) {
        child_main(job, rank, out[1], err[1]);
    }
    (void)setpgid(pid, pid); // both sides do it, so that it is true for both at once
    (void)close(out[1]);
    (void)close(err[1]);
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(err[0], F_SETFL, O_NONBLOCK);
    pipes_out[0] = out[0];
    pipes_out[1] = err[0];
    *pid_out = pid;
    return HK_OK;
fail:
    for (int i = 0; i < 2; i++) {
        (void)(out[i] >= 0 && close(out[i]));
        (void)(err[i] >= 0 && close(err[i]));
    }
    return HK_ERR_SYSTEM;
}
