/*
 * An unchanged program as far as memory goes: asks malloc() and its like for everything that they
 * give, and looks whether it is what the C standard and POSIX promise. Knows nothing of hocket; run
 * by itself, it tests the C library.
 *
 *     allocate grid       sizes, alignments, zeros, errors
 *     allocate realloc    up and down, over the border between small and large
 *     allocate threads    four threads that hand blocks to one another, while the process forks
 *     allocate fork       what a child does to its blocks, its parent does not see, nor the reverse
 *     allocate limit      more than there may be
 *     allocate files      all file descriptors but the standard ones are closed, and used again
 *
 * Prints "NAME is right" at the end, or what is wrong, and exits with 1.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

enum { SLOTS = 64, THREADS = 4, ROUNDS = 1500, FORKS = 15, PAGE = 4096 };

#define REQUIRE(condition, ...)                                  \
    do {                                                         \
        if (!(condition)) {                                      \
            (void)printf("line %d: %s: ", __LINE__, #condition); \
            (void)printf(__VA_ARGS__);                           \
            (void)printf("\n");                                  \
            (void)fflush(stdout);                                \
            _exit(1);                                            \
        }                                                        \
    } while (0)

/** The compiler must not take these calls away, or know what they return. */
static void *volatile g_sink;

static void fill(void *block, size_t bytes, unsigned seed)
{
    unsigned char *at = block;

    for (size_t i = 0; i < bytes; i += 61) {
        at[i] = (unsigned char)(seed + i);
    }
    if (bytes != 0) {
        at[bytes - 1] = (unsigned char)(seed + bytes - 1);
    }
}

static bool is_filled(const void *block, size_t bytes, unsigned seed)
{
    const unsigned char *at = block;

    for (size_t i = 0; i < bytes; i += 61) {
        if (at[i] != (unsigned char)(seed + i)) {
            return false;
        }
    }
    return bytes == 0 || at[bytes - 1] == (unsigned char)(seed + bytes - 1) || bytes % 61 == 1;
}

static bool is_zero(const unsigned char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != 0) {
            return false;
        }
    }
    return true;
}

static const size_t g_sizes[] = {0,     1,     7,     16,     100,    4095,    4096,   4097,
                                 65535, 65536, 65537, 100000, 131072, 1 << 20, 999999, 3 << 20};

enum { SIZES = sizeof(g_sizes) / sizeof(g_sizes[0]) };

static void one_of_each(size_t bytes)
{
    void *blocks[8] = {malloc(bytes), calloc(bytes, 1), NULL};
    const unsigned n = 2;

    errno = 77;
    for (unsigned i = 0; i < n; i++) {
        g_sink = blocks[i];
        REQUIRE(blocks[i] != NULL, "%zu bytes", bytes);
        REQUIRE((uintptr_t)blocks[i] % 16 == 0, "%zu bytes", bytes);
        REQUIRE(malloc_usable_size(blocks[i]) >= bytes, "%zu bytes", bytes);
    }
    REQUIRE(is_zero(blocks[1], bytes), "%zu bytes", bytes);
    fill(blocks[0], bytes, 1);
    fill(blocks[1], bytes, 2);
    REQUIRE(is_filled(blocks[0], bytes, 1) && is_filled(blocks[1], bytes, 2), "%zu bytes", bytes);
    free(blocks[0]);
    free(blocks[1]);
    unsigned char *zeros = calloc(1, bytes); // probably where something else was
    REQUIRE(zeros != NULL && is_zero(zeros, bytes), "%zu bytes", bytes);
    free(zeros);
    REQUIRE(errno == 77, "errno is %d after successes", errno);
}

static void aligned(size_t bytes, size_t alignment)
{
    void *blocks[4] = {NULL};

    REQUIRE(posix_memalign(&blocks[0], alignment < 8 ? 8 : alignment, bytes) == 0, "%zu", bytes);
    blocks[1] = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    blocks[2] = memalign(alignment, bytes);
    blocks[3] = valloc(bytes);
    for (unsigned i = 0; i < 4; i++) {
        const size_t want = i == 3 ? PAGE : alignment;
        REQUIRE(blocks[i] != NULL && (uintptr_t)blocks[i] % want == 0, "%u: %zu bytes at %zu", i,
                bytes, alignment);
        fill(blocks[i], bytes, i);
    }
    for (unsigned i = 0; i < 4; i++) {
        REQUIRE(is_filled(blocks[i], bytes, i), "%u: %zu bytes at %zu", i, bytes, alignment);
        free(blocks[i]);
    }
}

static void refusals(void)
{
    static char anything;
    volatile size_t most = SIZE_MAX;
    void *untouched = &anything;

    errno = 0;
    REQUIRE((g_sink = malloc(most)) == NULL && errno == ENOMEM, "errno %d", errno);
    errno = 0;
    REQUIRE((g_sink = calloc(most / 2, 3)) == NULL && errno == ENOMEM, "errno %d", errno);
    errno = 0;
    REQUIRE((g_sink = malloc(most / 2 - PAGE)) == NULL && errno == ENOMEM, "errno %d", errno);
    errno = 0;
    REQUIRE((g_sink = aligned_alloc(PAGE, most - PAGE + 1)) == NULL && errno == ENOMEM, "errno %d",
            errno);
    errno = 0;
    REQUIRE((g_sink = pvalloc(most - 1)) == NULL && errno == ENOMEM, "errno %d", errno);
    REQUIRE(posix_memalign(&untouched, 24, 100) == EINVAL && untouched == &anything, "24");
    REQUIRE(posix_memalign(&untouched, 4, 100000) == EINVAL && untouched == &anything, "4");
    REQUIRE(posix_memalign(&untouched, 0, 100000) == EINVAL && untouched == &anything, "0");
    free(NULL);
    REQUIRE(malloc_usable_size(NULL) == 0, "NULL");
    void *large = malloc(MIB);
    fill(large, MIB, 5);
    errno = 0;
    REQUIRE((g_sink = realloc(large, most)) == NULL && errno == ENOMEM, "errno %d", errno);
    errno = 0;
    REQUIRE((g_sink = reallocarray(large, most / 2, 3)) == NULL && errno == ENOMEM, "errno %d",
            errno);
    REQUIRE(is_filled(large, MIB, 5), "after refusals");
    free(large);
}

static void grid(void)
{
    for (unsigned s = 0; s < SIZES; s++) {
        one_of_each(g_sizes[s]);
        for (size_t alignment = 1; alignment <= 4 * MIB; alignment *= 4) {
            aligned(g_sizes[s], alignment);
        }
    }
    refusals();
}

static void reallocs(void)
{
    for (unsigned from = 0; from < SIZES; from++) {
        for (unsigned to = 0; to < SIZES; to++) {
            const size_t a = g_sizes[from];
            const size_t b = g_sizes[to];
            const size_t kept = a < b ? a : b;
            unsigned char *block = malloc(a);
            REQUIRE(block != NULL, "%zu", a);
            for (size_t i = 0; i < a; i++) {
                block[i] = (unsigned char)(i * 31 + 7);
            }
            block = b == 0 ? block : realloc(block, b);
            REQUIRE(block != NULL, "%zu to %zu", a, b);
            for (size_t i = 0; b != 0 && i < kept; i++) {
                REQUIRE(block[i] == (unsigned char)(i * 31 + 7), "%zu to %zu, byte %zu", a, b, i);
            }
            fill(block, b == 0 ? a : b, 3);
            free(block);
        }
    }
    size_t have = 1; // as a growing array does
    char *block = realloc(NULL, have);
    for (; have < 40 * MIB; have += have / 2 + 1) {
        block[have - 1] = (char)have;
        block = realloc(block, have + have / 2 + 1);
        REQUIRE(block != NULL && block[have - 1] == (char)have, "%zu", have);
    }
    while (have > 1) {
        have = have * 2 / 3;
        block[have - 1] = (char)have;
        char *less = realloc(block, have);
        REQUIRE(less != NULL && less[have - 1] == (char)have, "%zu", have);
        block = less;
    }
    free(block);
}

typedef struct slot {
    pthread_mutex_t mutex;
    unsigned char *block;
    size_t bytes;
    unsigned seed;
} slot_t;

static slot_t g_slots[SLOTS];

/** Replace what is in slots, whoever put it there. */
static void *churn(void *cookie)
{
    uint32_t draws = *(const uint32_t *)cookie;

    for (unsigned round = 0; round < ROUNDS; round++) {
        draws = draws * 1664525U + 1013904223U;
        slot_t *slot = &g_slots[(draws >> 8) % SLOTS];
        const size_t bytes = (draws >> 14) % (round % 8 == 0 ? 2 * MIB : 100000) + 1;
        (void)pthread_mutex_lock(&slot->mutex);
        REQUIRE(slot->block == NULL || is_filled(slot->block, slot->bytes, slot->seed),
                "%zu bytes, round %u", slot->bytes, round);
        if (round % 3 == 0) {
            free(slot->block);
            slot->block = calloc(1, bytes);
            REQUIRE(slot->block != NULL && is_zero(slot->block, bytes), "%zu", bytes);
        } else {
            slot->block = realloc(slot->block, bytes);
            REQUIRE(slot->block != NULL, "%zu", bytes);
        }
        slot->bytes = bytes;
        slot->seed = draws;
        fill(slot->block, bytes, draws);
        (void)pthread_mutex_unlock(&slot->mutex);
    }
    return NULL;
}

/** In a child: blocks of the other threads may be half written, but all calls work. */
static void use_a_little(void)
{
    for (size_t bytes = 10; bytes < MIB; bytes *= 3) {
        unsigned char *block = calloc(1, bytes);
        REQUIRE(block != NULL && is_zero(block, bytes), "%zu bytes in a child", bytes);
        fill(block, bytes, 9);
        block = realloc(block, 2 * bytes);
        REQUIRE(block != NULL && is_filled(block, bytes, 9), "%zu bytes in a child", bytes);
        free(block);
    }
}

static void wait_for_child(pid_t pid)
{
    int ended = 0;

    REQUIRE(pid > 0 && waitpid(pid, &ended, 0) == pid, "pid %d", (int)pid);
    REQUIRE(ended == 0, "a child has ended with %d", ended);
}

static void threads(void)
{
    pthread_t threads[THREADS];
    uint32_t seeds[THREADS];

    for (unsigned i = 0; i < SLOTS; i++) {
        (void)pthread_mutex_init(&g_slots[i].mutex, NULL);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i * 77 + 1;
        REQUIRE(pthread_create(&threads[i], NULL, churn, &seeds[i]) == 0, "thread %u", i);
    }
    for (unsigned i = 0; i < FORKS; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            use_a_little();
            _exit(0);
        }
        wait_for_child(pid);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        REQUIRE(g_slots[i].block == NULL ||
                    is_filled(g_slots[i].block, g_slots[i].bytes, g_slots[i].seed),
                "slot %u", i);
        free(g_slots[i].block);
    }
}

enum { BLOCKS = 12 };

static size_t fork_bytes(unsigned i)
{
    return (size_t)(i % 3 == 0 ? 1000 : 300000) * (i + 1);
}

/** Two generations: what one writes, frees and takes anew, the others must not see. */
static void forks(unsigned generation)
{
    unsigned char *blocks[BLOCKS];
    int pipes[2];
    char byte = 0;

    REQUIRE(pipe(pipes) == 0, "errno %d", errno);
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(fork_bytes(i));
        REQUIRE(blocks[i] != NULL, "block %u", i);
        fill(blocks[i], fork_bytes(i), i);
    }
    free(blocks[BLOCKS - 1]); // a hole
    const pid_t pid = fork();
    if (pid == 0) { // the parent writes first
        REQUIRE(read(pipes[0], &byte, 1) == 1, "errno %d", errno);
        for (unsigned i = 0; i < BLOCKS - 1; i++) {
            REQUIRE(is_filled(blocks[i], fork_bytes(i), i), "block %u of the child", i);
            fill(blocks[i], fork_bytes(i), 100 + i);
        }
        if (generation == 0) {
            forks(1);
        }
        use_a_little();
        for (unsigned i = 0; i < BLOCKS - 1; i++) {
            blocks[i] = realloc(blocks[i], fork_bytes(i) * 2);
            REQUIRE(blocks[i] != NULL && is_filled(blocks[i], fork_bytes(i), 100 + i), "block %u",
                    i);
            free(blocks[i]);
        }
        _exit(0);
    }
    for (unsigned i = 0; i < BLOCKS - 1; i++) {
        fill(blocks[i], fork_bytes(i), 50 + i);
    }
    free(blocks[0]);
    blocks[0] = malloc(MIB);
    fill(blocks[0], MIB, 60);
    REQUIRE(write(pipes[1], &byte, 1) == 1, "errno %d", errno);
    wait_for_child(pid);
    REQUIRE(is_filled(blocks[0], MIB, 60), "the block taken after the fork");
    for (unsigned i = 1; i < BLOCKS - 1; i++) {
        REQUIRE(is_filled(blocks[i], fork_bytes(i), 50 + i), "block %u of the parent", i);
        free(blocks[i]);
    }
    free(blocks[0]);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

/** Until there is no more: NULL and ENOMEM, and everything that was had before still works. */
static void limit(void)
{
    enum { MOST = 4000 };
    static unsigned char *blocks[MOST];
    const struct rlimit space = {.rlim_cur = 200 * MIB, .rlim_max = 200 * MIB};
    unsigned n = 0;

    REQUIRE(setrlimit(RLIMIT_AS, &space) == 0, "errno %d", errno);
    for (errno = 0; n < MOST && (blocks[n] = malloc(MIB)) != NULL; n++) {
        fill(blocks[n], MIB, n);
        errno = 0;
    }
    REQUIRE(n > 10 && n < MOST && errno == ENOMEM, "%u blocks, errno %d", n, errno);
    for (unsigned i = 0; i < n; i++) {
        REQUIRE(is_filled(blocks[i], MIB, i), "block %u", i);
        free(blocks[i]);
    }
    use_a_little();
}

/** As daemons do: what is not known is closed. The numbers then mean other files. */
static void files(void)
{
    enum { FILES = 1024 };
    unsigned char *before = malloc(MIB);
    char path[] = "/tmp/hocket-files-XXXXXX";

    REQUIRE(before != NULL, "errno %d", errno);
    fill(before, MIB, 1);
    for (int fd = STDERR_FILENO + 1; fd < FILES; fd++) {
        (void)close(fd);
    }
    const int file = mkstemp(path);
    REQUIRE(file >= 0 && unlink(path) == 0, "errno %d", errno);
    for (int fd = file + 1; fd < FILES; fd++) {
        (void)dup2(file, fd);
    }
    use_a_little();
    REQUIRE(is_filled(before, MIB, 1), "a block from before");
    before = realloc(before, 3 * MIB);
    REQUIRE(before != NULL && is_filled(before, MIB, 1), "a block from before");
    free(before);
    const pid_t pid = fork();
    if (pid == 0) {
        use_a_little();
        _exit(0);
    }
    wait_for_child(pid);
    REQUIRE(lseek(file, 0, SEEK_END) == 0, "something was done to the file");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"grid", grid},
                 {"realloc", reallocs},
                 {"threads", threads},
                 {"limit", limit},
                 {"files", files}};
    const char *name = argc > 1 ? argv[1] : "";
    bool is_known = strcmp(name, "fork") == 0;

    if (is_known) {
        forks(0);
    }
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(name, parts[i].name) == 0) {
            parts[i].run();
            is_known = true;
        }
    }
    REQUIRE(is_known, "allocate has no part %s", name);
    (void)printf("%s is right\n", name);
    return 0;
}
