/**
 * @file job.h
 * @brief Runs the real `hocket` and watches it: its output as it comes, its status, what it leaves.
 *
 * Nothing here sleeps for a fixed time: tests go on when an expected line has come. Every wait ends
 * after JOB_PATIENCE_MS, and then the test fails with the output so far.
 */
#ifndef HK_TEST_MULTIPROC_JOB_H
#define HK_TEST_MULTIPROC_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { JOB_PATIENCE_MS = 60000, JOB_TEXT_BYTES = 1 << 20 };

typedef struct job {
    pid_t pid;
    int fd;           /**< reading end of its stdout and stderr, in one */
    char mark[64];    /**< environment variable that all its processes carry */
    char folder[64];  /**< its TMPDIR and working folder */
    uint64_t read_ns; /**< when the last output came */
    size_t length;
    char text[JOB_TEXT_BYTES]; /**< output so far, ends in a zero byte */
} job_t;

/** Start `hocket` with these arguments (NULL ends them). */
void job_start(job_t *job, const char *const *args);
/** Read until `text` has come. */
void job_expect(job_t *job, const char *text);
/** The number that follows `text`, once it has come with its line. */
long job_number(job_t *job, const char *text);
/** Wait for its end and read all. Fails if it leaves a process or a file. @return exit status, or
 *  128 + signal */
int job_end(job_t *job);
/** All of it: start, end. */
int job_run(job_t *job, const char *const *args);

/** Has the text come already? */
bool job_has(const job_t *job, const char *text);
/** The whole line that starts with `start`; fails if there is none. Valid until the next call. */
const char *job_line(const job_t *job, const char *start);
/** How many lines start with `start`? */
int job_count(const job_t *job, const char *start);

/** Wait until /proc says that the process is in this state: 'S' asleep, 'T' stopped. */
void job_wait_state(pid_t pid, char state);
/** Process of a rank of a job that runs; -1: not there. */
pid_t job_rank_pid(const job_t *job, int rank);
uint64_t job_now_ns(void);

/** Path of a program of ranks/. Valid for ever. */
const char *job_rank_program(const char *name);

/** Path of `hocket` itself. */
const char *job_tool(void);

#endif /* HK_TEST_MULTIPROC_JOB_H */
