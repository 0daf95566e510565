/**
 * @file journal.h
 * @brief The log of a training run: a JSON object a line, a line a step, and one at the end.
 *
 *     {"step":1,"loss":5.54,"loss_hex":"0x1.62d0p+2","rate":0.0001,"grad_norm":1.9,...}
 *     {"end":true,"steps":200,"weights_digest":"...","losses":["0x1.62d0p+2",...],...}
 *
 * Hexadecimal floats hold every bit. Threads: one at a time per journal.
 */
#ifndef HKI_TRAIN_JOURNAL_H
#define HKI_TRAIN_JOURNAL_H

#include <hocket/base.h>

typedef struct hki_journal hki_journal_t;

typedef struct hki_journal_step {
    int step; /**< 1-based */
    double loss;
    double rate;
    double grad_norm;
    double tokens_per_s; /**< since the step before */
    double comm_share;   /**< of this rank's time in the step, 0 .. 1 */
} hki_journal_step_t;

/** Refuse a path that cannot be written, without changing a file that is there.
 *  @return HK_OK, HK_ERR_IO (names the path, why, and the way out) */
hk_status_t hki_journal_check(const char *path);

/**
 * Start a log, replacing what is there.
 *
 * @param[in]  steps_max    losses kept for the end record
 * @param[out] journal_out  set on success only; end it with hki_journal_close()
 * @return HK_OK, HK_ERR_IO, HK_ERR_NO_MEMORY
 */
hk_status_t hki_journal_open(const char *path, int steps_max, hki_journal_t **journal_out);
void hki_journal_close(hki_journal_t **journal);

hk_status_t hki_journal_step(hki_journal_t *journal, const hki_journal_step_t *record);

/** A held-out loss, measured after `step` steps. */
hk_status_t hki_journal_eval(hki_journal_t *journal, int step, double loss);

/** The last record. @param weights_digest  64 hexadecimal digits
 *  @return HK_OK, HK_ERR_IO (also when an earlier line did not reach the file) */
hk_status_t hki_journal_end(hki_journal_t *journal, const char *weights_digest, double seconds);

#endif /* HKI_TRAIN_JOURNAL_H */
