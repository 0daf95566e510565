/**
 * @file board.h
 * @brief How the launcher tells the ranks how each of them ended.
 *
 * The launcher makes a memory file, and keeps it open while ranks live; HOCKET_BOARD=<pid>:<fd>
 * names it. A rank opens it through /proc when it joins, or goes without: then ends have no reason.
 * Lives in memory only: no name, nothing left behind.
 */
#ifndef HKI_TRANSPORT_SHM_BOARD_H
#define HKI_TRANSPORT_SHM_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include <hocket/base.h>

#define HKI_BOARD_VARIABLE "HOCKET_BOARD"

enum { HKI_BOARD_VALUE_BYTES = 32 };

typedef enum hki_board_kind {
    HKI_BOARD_RUNNING = 0,
    HKI_BOARD_EXITED = 1,   /**< code: exit status */
    HKI_BOARD_SIGNALED = 2, /**< code: signal */
} hki_board_kind_t;

typedef struct hki_board hki_board_t;

/** Launcher: make a board on which all ranks run. @return HK_OK, HK_ERR_NO_MEMORY, HK_ERR_SYSTEM */
hk_status_t hki_board_create(int nranks, hki_board_t **board_out);
/** Launcher: the value of HOCKET_BOARD for the ranks. */
void hki_board_value(const hki_board_t *board, char value[HKI_BOARD_VALUE_BYTES]);
/** Launcher: rank has ended (or, restarted, runs again). */
void hki_board_set(hki_board_t *board, int rank, hki_board_kind_t kind, int code);

/** Rank: open the board that `value` names. @return HK_OK, HK_ERR_INVALID_ARG (not pid:fd),
 *  HK_ERR_SYSTEM (no such board, or one of fewer ranks), HK_ERR_NO_MEMORY */
hk_status_t hki_board_open(const char *value, int nranks, hki_board_t **board_out);
/** Either: what is known of this rank. */
hki_board_kind_t hki_board_get(const hki_board_t *board, int rank, int *code_out);

/** Rank: the board that HOCKET_BOARD names, or NULL: then the end of a rank has no reason. */
hki_board_t *hki_board_find(int nranks);
/** "was killed by signal 9", "exited with status 3". NULL: no board. @return false: nothing
 *  known */
bool hki_board_describe(const hki_board_t *board, int rank, char *text, size_t text_bytes);

/** Either: unmap and close; sets NULL, accepts NULL. */
void hki_board_destroy(hki_board_t **board);

#endif /* HKI_TRANSPORT_SHM_BOARD_H */
