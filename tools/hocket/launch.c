/*
 * The launcher: one thread, one poll() loop over signals (SIGCHLD among them), the ranks' pipes and
 * its own two outputs. Nothing blocks, nothing sleeps.
 *
 * When a rank fails, the board is told first (the other ranks wait for it), then the terminal. The
 * others have a grace, then get SIGTERM, and a second later SIGKILL. Each rank is the leader of a
 * process group, which is killed when the rank has ended, before its number can be used again.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "lines.h"
#include "spawn.h"
#include "tool.h"

#define NS_PER_S       1000000000.0
#define TERM_GRACE_S   1.0  /* from SIGTERM to SIGKILL */
#define SIGNAL_GRACE_S 10.0 /* from a signal of the user that should end the job to SIGKILL */

/** How far the ending of a job has gone. */
typedef enum phase {
    PHASE_RUN,
    PHASE_GRACE, /* a rank has failed; SIGTERM at the deadline */
    PHASE_TERM,  /* told to end; SIGKILL at the deadline */
    PHASE_KILL,  /* killed */
} phase_t;

typedef struct rank_state {
    pid_t pid;      /**< 0: not started */
    bool has_ended; /**< the process is gone; `end` is set */
    bool is_done;   /**< ... and that has been reported */
    bool is_told;   /**< we have told it to end, or killed it */
    siginfo_t end;  /**< si_code, si_status as waitid() gives them */
    hki_stream_t streams[2];
} rank_state_t;

typedef struct launch {
    const hki_launch_opts_t *opts;
    hki_job_t job;
    hki_board_t *board;   /**< owned */
    rank_state_t *ranks;  /**< (nranks,) owned */
    struct pollfd *polls; /**< (3 + 2 nranks,) owned */
    hki_sink_t sinks[2];
    int signal_fd;
    int started;      /**< ranks */
    int running;      /**< ranks started and not done */
    int first_failed; /**< rank, or -1 */
    phase_t phase;
    uint64_t deadline_ns; /**< of the phase; UINT64_MAX: none */
    bool is_interrupted;  /**< the user has told the job to end */
} launch_t;

static const int passed_signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                     SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

enum { PASSED_COUNT = sizeof(passed_signals) / sizeof(passed_signals[0]) };

/** A line of the launcher's own, behind the ranks' lines. */
#define SAY(launch, ...)                                         \
    do {                                                         \
        if (!(launch)->opts->is_quiet) {                         \
            hki_text_add(&(launch)->sinks[1].text, __VA_ARGS__); \
        }                                                        \
    } while (0)

static bool has_failed(const siginfo_t *end)
{
    return end->si_code != CLD_EXITED || end->si_status != 0;
}

static int exit_status(const siginfo_t *end)
{
    return end->si_code == CLD_EXITED ? end->si_status : 128 + end->si_status;
}

/** "exited with status 3", "was killed by signal 9 (Killed)". */
static void describe(const siginfo_t *end, char *text, size_t bytes)
{
    if (end->si_code == CLD_EXITED) {
        (void)snprintf(text, bytes, "exited with status %d", end->si_status);
    } else {
        (void)snprintf(text, bytes, "was killed by signal %d (%s)%s", end->si_status,
                       strsignal(end->si_status),
                       end->si_code == CLD_DUMPED ? ", core dumped" : "");
    }
}

/** Send to every rank that runs, and to what it has started. */
static void send_all(const launch_t *launch, int signal_number)
{
    for (int rank = 0; rank < launch->opts->nranks; rank++) {
        const rank_state_t *state = &launch->ranks[rank];
        if (state->pid > 0 && !state->has_ended) {
            (void)kill(-state->pid, signal_number);
        }
    }
}

/** Send to every rank that runs, as our own will. */
static void end_all(launch_t *launch, int signal_number)
{
    for (int rank = 0; rank < launch->opts->nranks; rank++) {
        launch->ranks[rank].is_told |= !launch->ranks[rank].has_ended;
    }
    send_all(launch, signal_number);
}

static void enter(launch_t *launch, phase_t phase, double seconds)
{
    const double ns = seconds * NS_PER_S;

    launch->phase = phase;
    launch->deadline_ns = hki_clock_ns() + (uint64_t)ns;
}

static void kill_all(launch_t *launch)
{
    end_all(launch, SIGKILL);
    launch->phase = PHASE_KILL;
    launch->deadline_ns = UINT64_MAX;
}

static void check_deadline(launch_t *launch)
{
    if (hki_clock_ns() < launch->deadline_ns) {
        return;
    }
    if (launch->phase == PHASE_GRACE) {
        end_all(launch, SIGTERM);
        send_all(launch, SIGCONT); // a stopped rank would not see it
        enter(launch, PHASE_TERM, TERM_GRACE_S);
    } else {
        kill_all(launch);
    }
}

/** @return the rank of a process, or -1 */
static int find_rank(const launch_t *launch, pid_t pid)
{
    for (int rank = 0; rank < launch->opts->nranks; rank++) {
        if (launch->ranks[rank].pid == pid && !launch->ranks[rank].has_ended) {
            return rank;
        }
    }
    return -1;
}

static void end_rank(launch_t *launch, int rank)
{
    rank_state_t *state = &launch->ranks[rank];
    const siginfo_t *end = &state->end;
    char text[128];

    describe(end, text, sizeof(text));
    state->is_done = true;
    launch->running--;
    hki_stream_drain(&state->streams[0]); // its last words come before ours
    hki_stream_drain(&state->streams[1]);
    if (!has_failed(end)) {
        return;
    }
    if (launch->first_failed < 0) {
        launch->first_failed = rank;
        SAY(launch, "hocket %s: rank %d (pid %d) %s\n", launch->opts->command, rank,
            (int)state->pid, text);
    }
    if (launch->phase == PHASE_RUN && launch->running > 0) {
        enter(launch, PHASE_GRACE, launch->opts->grace_s);
    }
}

/** Note the end of every rank that has ended. @return how many */
static int collect_ends(launch_t *launch)
{
    siginfo_t end = {.si_pid = 0};
    int count = 0;

    while (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0) {
        const int rank = find_rank(launch, end.si_pid);
        siginfo_t again;
        if (rank >= 0) { // first of all: the other ranks are waiting for the reason
            const bool is_exit = end.si_code == CLD_EXITED;
            hki_board_set(launch->board, rank, is_exit ? HKI_BOARD_EXITED : HKI_BOARD_SIGNALED,
                          end.si_status);
            (void)kill(-end.si_pid, SIGKILL); // before its number can be used again
            launch->ranks[rank].end = end;
            launch->ranks[rank].has_ended = true;
            count++;
        }
        (void)waitid(P_PID, (id_t)end.si_pid, &again, WEXITED);
        end.si_pid = 0;
    }
    return count;
}

/** Report ranks that have ended: of those that ended since we last looked, the killed ones first,
 *  because others may have ended of their death. */
static void reap(launch_t *launch)
{
    if (collect_ends(launch) == 0) {
        return;
    }
    for (int is_exit = 0; is_exit <= 1; is_exit++) {
        for (int rank = 0; rank < launch->opts->nranks; rank++) {
            const rank_state_t *state = &launch->ranks[rank];
            if (state->has_ended && !state->is_done &&
                (state->end.si_code == CLD_EXITED) == is_exit) {
                end_rank(launch, rank);
            }
        }
    }
}

static void pass_signal(launch_t *launch, int number)
{
    const bool is_ending =
        number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;

    if (is_ending && launch->is_interrupted) {
        kill_all(launch);
        return;
    }
    send_all(launch, number);
    if (is_ending) {
        launch->is_interrupted = true;
        SAY(launch, "hocket %s: signal %d (%s) was passed to all ranks; a second one kills them\n",
            launch->opts->command, number, strsignal(number));
        enter(launch, PHASE_TERM, SIGNAL_GRACE_S);
    } else if (number == SIGTSTP) {
        (void)kill(getpid(), SIGSTOP); // and with SIGCONT we go on, and pass it
    }
}

static void take_signals(launch_t *launch)
{
    struct signalfd_siginfo info;

    while (read(launch->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD) {
            reap(launch);
        } else {
            pass_signal(launch, (int)info.ssi_signo);
        }
    }
}

static int poll_timeout_ms(const launch_t *launch)
{
    const uint64_t now = hki_clock_ns();

    if (launch->deadline_ns == UINT64_MAX) {
        return -1;
    }
    if (launch->deadline_ns <= now) {
        return 0;
    }
    const uint64_t ms = (launch->deadline_ns - now) / 1000000 + 1;
    return ms > 60000 ? 60000 : (int)ms;
}

/** One round of the loop: wait for anything, then do all that can be done. */
static void step(launch_t *launch)
{
    struct pollfd *polls = launch->polls;
    const int nranks = launch->started; // poll() refuses more entries than files may be open

    polls[0] = (struct pollfd){.fd = launch->signal_fd, .events = POLLIN};
    for (int i = 0; i < 2; i++) {
        const bool has_work = hki_sink_has_work(&launch->sinks[i]);
        polls[1 + i] =
            (struct pollfd){.fd = has_work ? launch->sinks[i].fd : -1, .events = POLLOUT};
    }
    for (int i = 0; i < 2 * nranks; i++) {
        const hki_stream_t *stream = &launch->ranks[i / 2].streams[i % 2];
        const bool has_room = hki_sink_has_room(stream->sink);
        polls[3 + i] = (struct pollfd){.fd = has_room ? stream->fd : -1, .events = POLLIN};
    }
    if (poll(polls, (nfds_t)(3 + 2 * nranks), poll_timeout_ms(launch)) < 0) {
        return; // EINTR: only by a debugger, all our signals are blocked
    }
    if (polls[0].revents != 0) {
        take_signals(launch);
    }
    for (int i = 0; i < 2 * nranks; i++) {
        hki_stream_t *stream = &launch->ranks[i / 2].streams[i % 2];
        if (polls[3 + i].revents != 0 && stream->fd >= 0) {
            hki_stream_read(stream);
        }
    }
    for (int i = 0; i < 2; i++) {
        if (polls[1 + i].revents != 0) {
            hki_sink_write(&launch->sinks[i]);
        }
    }
    check_deadline(launch);
}

/** Write what is left, as long as somebody reads; signals that end us end it. */
static void flush_sinks(launch_t *launch)
{
    while (hki_sink_has_work(&launch->sinks[0]) || hki_sink_has_work(&launch->sinks[1])) {
        step(launch);
        if (launch->phase == PHASE_KILL && launch->is_interrupted) {
            return;
        }
    }
}

static void say_summary(launch_t *launch)
{
    char text[128];

    if (launch->first_failed < 0 || launch->opts->nranks == 1) {
        return;
    }
    for (int rank = 0; rank < launch->opts->nranks; rank++) {
        const rank_state_t *state = &launch->ranks[rank];
        if (state->pid > 0) {
            const bool is_killed = state->end.si_code != CLD_EXITED;
            describe(&state->end, text, sizeof(text));
            SAY(launch, "  rank %d: %s%s%s\n", rank, text,
                state->is_told && is_killed ? " by the launcher" : "",
                rank == launch->first_failed ? ", first" : "");
        }
    }
}

/** Our own changes to the process; the children undo them. */
static hk_status_t prepare(launch_t *launch)
{
    struct rlimit files;
    sigset_t mask;

    (void)getrlimit(RLIMIT_NOFILE, &files);
    launch->job.old_files = files;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)signal(SIGPIPE, SIG_IGN); // a reader of our output may leave; see hki_sink_write()
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    for (int i = 0; i < PASSED_COUNT; i++) {
        struct sigaction old = {.sa_handler = SIG_DFL};
        (void)sigaction(passed_signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) { // nohup, and shells for what runs in the background
            (void)sigaddset(&mask, passed_signals[i]);
        }
    }
    (void)signal(SIGCHLD, SIG_DFL); // ignored by a parent, children would end without a trace
    (void)sigprocmask(SIG_BLOCK, &mask, &launch->job.old_mask);
    launch->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (launch->signal_fd < 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "signalfd: %s", strerror(errno));
    }
    return HK_OK;
}

static hk_status_t start_all(launch_t *launch)
{
    for (int rank = 0; rank < launch->opts->nranks; rank++) {
        rank_state_t *state = &launch->ranks[rank];
        int pipes[2];
        const hk_status_t status = hki_spawn(&launch->job, rank, &state->pid, pipes);
        if (status != HK_OK) {
            return status;
        }
        launch->started++;
        launch->running++;
        for (int i = 0; i < 2; i++) {
            state->streams[i].fd = pipes[i];
            if (launch->opts->has_prefix) {
                (void)snprintf(state->streams[i].prefix, sizeof(state->streams[i].prefix), "[%d] ",
                               rank);
            }
        }
    }
    return HK_OK;
}

static hk_status_t create(launch_t *launch, const hki_launch_opts_t *opts)
{
    const size_t nranks = (size_t)opts->nranks;

    launch->opts = opts;
    launch->first_failed = -1;
    launch->deadline_ns = UINT64_MAX;
    launch->signal_fd = -1;
    launch->sinks[0].fd = STDOUT_FILENO;
    launch->sinks[1].fd = STDERR_FILENO;
    launch->ranks = hki_calloc(nranks, sizeof(*launch->ranks));
    launch->polls = hki_calloc(3 + 2 * nranks, sizeof(*launch->polls));
    if (launch->ranks == NULL || launch->polls == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "launcher, %d ranks", opts->nranks);
    }
    for (size_t i = 0; i < 2 * nranks; i++) {
        launch->ranks[i / 2].streams[i % 2] =
            (hki_stream_t){.fd = -1, .sink = &launch->sinks[i % 2]};
    }
    const hk_status_t status = hki_board_create(opts->nranks, &launch->board);
    if (status != HK_OK) {
        return status;
    }
    hki_board_value(launch->board, launch->job.board);
    return prepare(launch);
}

static void destroy(launch_t *launch)
{
    for (int rank = 0; launch->ranks != NULL && rank < launch->opts->nranks; rank++) {
        hki_stream_close(&launch->ranks[rank].streams[0]);
        hki_stream_close(&launch->ranks[rank].streams[1]);
    }
    for (int i = 0; i < 2; i++) {
        hki_text_fini(&launch->sinks[i].text);
    }
    if (launch->signal_fd >= 0) {
        (void)close(launch->signal_fd);
    }
    hki_board_destroy(&launch->board);
    hki_free(launch->ranks);
    hki_free(launch->polls);
}

/** stdin, stdout and stderr must be open, or pipes would take their numbers. */
static void open_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", O_RDWR);
        }
    }
}

int hki_launch(const hki_launch_opts_t *opts)
{
    launch_t launch = {.opts = opts};
    int status;

    open_standard_files();
    status = hki_job_init(&launch.job, opts);
    if (status != 0) {
        return status;
    }
    if (create(&launch, opts) != HK_OK) {
        (void)fprintf(stderr, "hocket %s: %s\n", opts->command, hk_last_error());
        status = HKI_EXIT_FAILED;
    } else if (start_all(&launch) != HK_OK) {
        (void)fprintf(stderr, "hocket %s: %s\n", opts->command, hk_last_error());
        status = HKI_EXIT_FAILED;
        kill_all(&launch);
    }
    while (launch.running > 0) {
        step(&launch);
    }
    say_summary(&launch);
    flush_sinks(&launch);
    if (status == 0 && launch.first_failed >= 0) {
        status = exit_status(&launch.ranks[launch.first_failed].end);
    }
    if (launch.sinks[0].text.is_failed || launch.sinks[1].text.is_failed) {
        (void)fprintf(stderr, "hocket %s: no memory; output was lost\n", opts->command);
        status = status == 0 ? HKI_EXIT_FAILED : status;
    }
    destroy(&launch);
    return status;
}

int hki_launch_self(const hki_launch_opts_t *opts, int argc, char **argv)
{
    char path[4096];
    hki_launch_opts_t own = *opts;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (length <= 0) {
        (void)fprintf(stderr, "hocket %s: /proc/self/exe: %s; start it with hocket run instead\n",
                      opts->command, strerror(errno));
        return HKI_EXIT_FAILED;
    }
    path[length] = '\0';
    char **words = hki_calloc((size_t)argc + 2, sizeof(*words));
    if (words == NULL) {
        return HKI_EXIT_FAILED;
    }
    words[0] = path;
    memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
    own.argv = words;
    const int status = hki_launch(&own);
    hki_free(words);
    return status;
}

bool hki_launch_is_rank(void)
{
    static const char *const names[] = {
        "HOCKET_RANK",
        "RANK",
        "SLURM_STEP_ID" /* not SLURM_PROCID: batch scripts have it too */,
        "PMIX_RANK",
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i]) != NULL) {
            return true;
        }
    }
    return false;
}
