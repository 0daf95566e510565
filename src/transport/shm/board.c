/**
 * @file board.c
 * @brief The board: a header and one 64-bit word a rank, kind << 32 | code.
 */
#include "transport/shm/board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "transport/shm/memfd.h"

#define BOARD_MAGIC UINT64_C(0x6472616f62746b68)

typedef struct board_memory {
    uint64_t magic;
    uint64_t nranks;
    _Atomic uint64_t ends[];
} board_memory_t;

struct hki_board {
    board_memory_t *memory;
    size_t bytes;
    int fd; /**< the launcher's, kept open so that ranks can open it; -1 in ranks */
};

void hki_board_destroy(hki_board_t **board)
{
    if (*board == NULL) {
        return;
    }
    if ((*board)->memory != NULL) {
        (void)munmap((*board)->memory, (*board)->bytes);
    }
    if ((*board)->fd >= 0) {
        (void)close((*board)->fd);
    }
    hki_free(*board);
    *board = NULL;
}

static hk_status_t board_allocate(size_t bytes, hki_board_t **board_out)
{
    hki_board_t *board = hki_calloc(1, sizeof(*board));

    if (board == NULL) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "board, %zu bytes", sizeof(*board));
    }
    board->fd = -1;
    board->bytes = bytes;
    *board_out = board;
    return HK_OK;
}

/** Map the file, shared. */
static hk_status_t board_map(hki_board_t *board, int fd)
{
    void *memory = mmap(NULL, board->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED) {
        return HKI_FAIL(HK_ERR_NO_MEMORY, "board of %zu bytes: %s", board->bytes, strerror(errno));
    }
    board->memory = memory;
    return HK_OK;
}

hk_status_t hki_board_create(int nranks, hki_board_t **board_out)
{
    hki_board_t *board = NULL;
    const size_t bytes = sizeof(board_memory_t) + (size_t)nranks * sizeof(uint64_t);
    hk_status_t status = board_allocate(bytes, &board);

    if (status != HK_OK) {
        return status;
    }
    HKI_TRY(status = hki_memfd_create("hocket-board", bytes, &board->fd), fail);
    HKI_TRY(status = hki_memfd_commit(board->fd, 0, bytes), fail);
    HKI_TRY(status = board_map(board, board->fd), fail);
    board->memory->magic = BOARD_MAGIC;
    board->memory->nranks = (uint64_t)nranks;
    *board_out = board;
    return HK_OK;
fail:
    hki_board_destroy(&board);
    return status;
}

void hki_board_value(const hki_board_t *board, char value[HKI_BOARD_VALUE_BYTES])
{
    (void)snprintf(value, HKI_BOARD_VALUE_BYTES, "%d:%d", (int)getpid(), board->fd);
}

void hki_board_set(hki_board_t *board, int rank, hki_board_kind_t kind, int code)
{
    atomic_store_explicit(&board->memory->ends[rank], (uint64_t)kind << 32 | (uint32_t)code,
                          memory_order_release);
}

hk_status_t hki_board_open(const char *value, int nranks, hki_board_t **board_out)
{
    char path[64];
    hki_board_t *board = NULL;
    struct stat info;
    int pid = 0;
    int number = 0;
    char rest = 0;

    if (sscanf(value, "%d:%d%c", &pid, &number, &rest) != 2 || pid <= 0 || number < 0) {
        return HKI_FAIL(HK_ERR_INVALID_ARG, HKI_BOARD_VARIABLE " is \"%s\", not pid:fd", value);
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return HKI_FAIL(HK_ERR_SYSTEM, "board %s: %s", path, strerror(errno));
    }
    const size_t least = sizeof(board_memory_t) + (size_t)nranks * sizeof(uint64_t);
    hk_status_t status = HK_ERR_SYSTEM;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (size_t)info.st_size < least) {
        HKI_TRY(status = HKI_FAIL(HK_ERR_SYSTEM, "board %s is not one of %d ranks", path, nranks),
                done);
    }
    HKI_TRY(status = board_allocate((size_t)info.st_size, &board), done);
    HKI_TRY(status = board_map(board, fd), done);
    if (board->memory->magic != BOARD_MAGIC || board->memory->nranks < (uint64_t)nranks) {
        HKI_TRY(status = HKI_FAIL(HK_ERR_SYSTEM, "board %s is not one of %d ranks", path, nranks),
                done);
    }
    *board_out = board;
    board = NULL;
done:
    hki_board_destroy(&board);
    (void)close(fd);
    return status;
}

hki_board_kind_t hki_board_get(const hki_board_t *board, int rank, int *code_out)
{
    const uint64_t end = atomic_load_explicit(&board->memory->ends[rank], memory_order_acquire);

    *code_out = (int)(uint32_t)end;
    return (hki_board_kind_t)(end >> 32);
}

hki_board_t *hki_board_find(int nranks)
{
    const char *value = getenv(HKI_BOARD_VARIABLE);
    hki_board_t *board = NULL;

    if (value != NULL && hki_board_open(value, nranks, &board) != HK_OK) {
        hki_log(HKI_LOG_INFO, "transport", "no reasons of ends: %s", hk_last_error());
    }
    return board;
}

bool hki_board_describe(const hki_board_t *board, int rank, char *text, size_t text_bytes)
{
    int code = 0;
    const hki_board_kind_t kind =
        board == NULL ? HKI_BOARD_RUNNING : hki_board_get(board, rank, &code);

    if (kind == HKI_BOARD_SIGNALED) {
        (void)snprintf(text, text_bytes, "was killed by signal %d", code);
    } else if (kind == HKI_BOARD_EXITED) {
        (void)snprintf(text, text_bytes, "exited with status %d", code);
    }
    return kind != HKI_BOARD_RUNNING;
}
