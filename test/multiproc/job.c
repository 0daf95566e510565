/*
 * The real command as a child process. A variable in its environment marks all of its descendants,
 * so that what it leaves behind can be found in /proc.
 */
#include "support/hk_test.h"

#include "job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ARGS_MAX = 64, FILES_MAX = 1024 };

uint64_t job_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

const char *job_rank_program(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", HK_RANKS_DIR, name);
    return path;
}

static void child(const job_t *job, const char *const *args, int out)
{
    char *argv[ARGS_MAX + 2] = {(char[]){"hocket"}};
    const int null = open("/dev/null", O_RDONLY);

    for (int i = 0; args[i] != NULL && i < ARGS_MAX; i++) {
        argv[i + 1] = strdup(args[i]);
    }
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(out, STDERR_FILENO);
    for (int fd = 3; fd < FILES_MAX; fd++) {
        (void)close(fd); // also those that our own caller left open
    }
    for (int number = 1; number < SIGRTMIN; number++) {
        (void)signal(number, SIG_DFL); // our own caller may ignore some
    }
    (void)setenv("HOCKET_TEST_MARK", job->mark, 1);
    (void)setenv("TMPDIR", job->folder, 1);
    if (chdir(job->folder) == 0) {
        (void)execv(HK_TOOL, argv);
    }
    _exit(99);
}

void job_start(job_t *job, const char *const *args)
{
    static int number;
    int pipes[2];

    job->length = 0;
    job->text[0] = '\0';
    (void)snprintf(job->mark, sizeof(job->mark), "%d-%d", (int)getpid(), number++);
    (void)snprintf(job->folder, sizeof(job->folder), "/tmp/hocket-test-XXXXXX");
    assert_non_null(mkdtemp(job->folder));
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    job->pid = fork();
    assert_true(job->pid >= 0);
    if (job->pid == 0) {
        child(job, args, pipes[1]);
    }
    (void)close(pipes[1]);
    job->fd = pipes[0];
}

/** Read what comes next. @return false at the end of the output */
static bool read_more(job_t *job, const char *what)
{
    struct pollfd one = {.fd = job->fd, .events = POLLIN};
    const int ready = poll(&one, 1, JOB_PATIENCE_MS);

    if (ready <= 0 || job->length + 1 >= sizeof(job->text)) {
        (void)kill(job->pid, SIGKILL);
        fail_msg("waiting for '%s', got:\n%s", what, job->text);
    }
    const ssize_t got = read(job->fd, job->text + job->length, sizeof(job->text) - job->length - 1);
    job->length += got > 0 ? (size_t)got : 0;
    job->text[job->length] = '\0';
    job->read_ns = got > 0 ? job_now_ns() : job->read_ns;
    return got > 0;
}

void job_expect(job_t *job, const char *text)
{
    while (strstr(job->text, text) == NULL) {
        if (!read_more(job, text)) {
            fail_msg("'%s' did not come in:\n%s", text, job->text);
        }
    }
}

long job_number(job_t *job, const char *text)
{
    job_expect(job, text);
    const char *at = strstr(job->text, text) + strlen(text);
    const size_t offset = (size_t)(at - job->text);
    while (strchr(job->text + offset, '\n') == NULL) {
        if (!read_more(job, text)) {
            break;
        }
    }
    return strtol(job->text + offset, NULL, 10);
}

/** Does the file /proc/PID/environ hold the job's mark? */
static bool is_marked(const char *pid, const char *mark)
{
    static char text[1 << 16];
    char path[300];
    char want[128];

    (void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    (void)snprintf(want, sizeof(want), "HOCKET_TEST_MARK=%s", mark);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text));
    (void)(fd >= 0 && close(fd));
    return got > 0 && memmem(text, (size_t)got, want, strlen(want) + 1) != NULL;
}

/** Processes of the job that live. */
static int count_processes(const job_t *job)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int count = 0;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
                 is_marked(entry->d_name, job->mark);
    }
    (void)(proc != NULL && closedir(proc));
    return count;
}

/** Entries of a folder whose names hold `part`. */
static int count_files(const char *folder, const char *part)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        count += entry->d_name[0] != '.' && strstr(entry->d_name, part) != NULL;
    }
    (void)(dir != NULL && closedir(dir));
    return count;
}

int job_end(job_t *job)
{
    int status = 0;

    while (read_more(job, "its end")) {
    }
    (void)close(job->fd);
    assert_int_equal(waitpid(job->pid, &status, 0), job->pid);
    // killed ranks need a moment to leave /proc when the launcher was killed itself
    const uint64_t end_ns = job_now_ns() + UINT64_C(5000000000);
    while (count_processes(job) > 0 && job_now_ns() < end_ns) {
        (void)poll(NULL, 0, 1);
    }
    const int processes = count_processes(job);
    const int files = count_files(job->folder, "");
    const int shared = count_files("/dev/shm", "hocket");
    if (processes > 0 || files > 0 || shared > 0) {
        fail_msg("left %d processes, %d files, %d shared:\n%s", processes, files, shared,
                 job->text);
    }
    (void)rmdir(job->folder);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int job_run(job_t *job, const char *const *args)
{
    job_start(job, args);
    return job_end(job);
}

bool job_has(const job_t *job, const char *text)
{
    return strstr(job->text, text) != NULL;
}

/** Start of the first line from `at` on that starts with `start`, or NULL. */
static const char *find_line(const char *at, const char *start)
{
    const size_t length = strlen(start);

    while (at != NULL && strncmp(at, start, length) != 0) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return at;
}

const char *job_line(const job_t *job, const char *start)
{
    static char line[4096];
    const char *at = find_line(job->text, start);

    if (at == NULL) {
        fail_msg("no line starts with '%s' in:\n%s", start, job->text);
        return "";
    }
    (void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

int job_count(const job_t *job, const char *start)
{
    int count = 0;

    for (const char *at = find_line(job->text, start); at != NULL;) {
        count++;
        at = strchr(at, '\n');
        at = at != NULL ? find_line(at + 1, start) : NULL;
    }
    return count;
}

void job_wait_state(pid_t pid, char state)
{
    const uint64_t end_ns = job_now_ns() + UINT64_C(1000000) * JOB_PATIENCE_MS;
    char path[64];
    char now = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (now != state && now != '?' && job_now_ns() < end_ns) {
        FILE *file = fopen(path, "re");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &now) != 1) {
            now = '?'; // it has ended
        }
        (void)(file != NULL && fclose(file));
        if (now != state) {
            (void)poll(NULL, 0, 1);
        }
    }
    assert_int_equal(now, state);
}

pid_t job_rank_pid(const job_t *job, int rank)
{
    char path[64];
    int pid = -1;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)job->pid, (int)job->pid);
    FILE *file = fopen(path, "re");
    for (int i = 0; file != NULL && i <= rank; i++) { // children are listed in order of birth
        if (fscanf(file, "%d", &pid) != 1) {
            pid = -1;
        }
    }
    (void)(file != NULL && fclose(file));
    return pid;
}

const char *job_tool(void)
{
    return HK_TOOL;
}
