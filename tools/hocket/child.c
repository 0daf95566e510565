/*
 * Runs another program: one pipe, one poll loop, one deadline. It leads a process group, so that
 * what it has started (the ranks of an MPI job) ends with it.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum { GRACE_MS = 3000 };

extern char **environ;

/** Start it with its output on `writing`. @return 0 or an errno */
static int start(const hki_child_t *child, int writing, pid_t *pid_out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        (void)posix_spawn_file_actions_adddup2(&actions, writing, STDOUT_FILENO);
        if (child->is_quiet) {
            (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
                                                   0);
        }
        error = posix_spawnp(pid_out, child->argv[0], &actions, &attributes,
                             (char *const *)(const void *)child->argv, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/** Read until the end of the output. @return false: the deadline passed */
static bool read_all(int reading, uint64_t deadline_ns, hki_text_t *text)
{
    char buffer[4096];

    for (;;) {
        struct pollfd ready = {.fd = reading, .events = POLLIN};
        const uint64_t now_ns = hki_clock_ns();
        const uint64_t left_ms = now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000000 + 1 : 0;
        const int count = poll(&ready, 1, left_ms > 1000 ? 1000 : (int)left_ms);
        if (count > 0) {
            const ssize_t bytes = read(reading, buffer, sizeof(buffer));
            if (bytes == 0 || (bytes < 0 && errno != EINTR)) {
                return true;
            }
            hki_text_append(text, buffer, bytes > 0 ? (size_t)bytes : 0);
        } else if (left_ms == 0) {
            return false;
        }
    }
}

/** End it, with the time to end what it has started outside its process group. */
static void end(pid_t pid, int reading, hki_text_t *text)
{
    (void)kill(-pid, SIGTERM);
    (void)read_all(reading, hki_deadline_ns(GRACE_MS), text);
    (void)kill(-pid, SIGKILL);
}

/** Wait for its end. @return HK_OK if its status is 0 */
static hk_status_t reap(const hki_child_t *child, pid_t pid)
{
    int end = 0;

    while (waitpid(pid, &end, 0) < 0) {
        if (errno != EINTR) {
            return HKI_FAIL(HK_ERR_SYSTEM, "waiting for %s: %s", child->argv[0], strerror(errno));
        }
    }
    if (WIFSIGNALED(end)) {
        return HKI_FAIL(HK_ERR_SYSTEM, "%s was ended by signal %d", child->argv[0], WTERMSIG(end));
    }
    if (WEXITSTATUS(end) != 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "%s ended with status %d", child->argv[0], WEXITSTATUS(end));
    }
    return HK_OK;
}

hk_status_t hki_child_run(const hki_child_t *child, hki_text_t *text)
{
    int ends[2];
    pid_t pid = -1;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "a pipe to %s: %s", child->argv[0], strerror(errno));
    }
    const int error = start(child, ends[1], &pid);
    (void)close(ends[1]);
    if (error != 0) {
        (void)close(ends[0]);
        return HKI_FAIL(HK_ERR_SYSTEM, "%s cannot be started: %s", child->argv[0], strerror(error));
    }
    const double timeout_ms = child->timeout_s * 1e3;
    const bool is_done = read_all(ends[0], hki_deadline_ns((int)timeout_ms), text);
    if (!is_done) {
        end(pid, ends[0], text);
    }
    (void)close(ends[0]);
    const hk_status_t status = reap(child, pid);
    if (!is_done) {
        return HKI_FAIL(HK_ERR_TIMED_OUT, "%s ran for more than %g s and was killed",
                        child->argv[0], child->timeout_s);
    }
    return text->is_failed ? HKI_FAIL(HK_ERR_NO_MEMORY, "output of %s", child->argv[0]) : status;
}

bool hki_child_find(const char *program)
{
    const char *folders = getenv("PATH");
    char path[4096];

    if (strchr(program, '/') != NULL) {
        return access(program, X_OK) == 0;
    }
    while (folders != NULL && *folders != '\0') {
        const size_t length = strcspn(folders, ":");
        if (snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, program) <
                (int)sizeof(path) &&
            access(path, X_OK) == 0) {
            return true;
        }
        folders += length + (folders[length] == ':');
    }
    return false;
}
