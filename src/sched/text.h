/**
 * @file text.h
 * @brief Schedules as text, for people, tools and custom algorithms.
 *
 *   schedule all_reduce_direct
 *   rank 0 of 2 root 0 alias none
 *   count 10 in 1 out 1 tmp 0 acc 0
 *   send 1 in[0][0:10]
 *   reduce out[0][0:10] = in[0][0:10] + rank 1
 *
 * Further steps: "send 1 acc[0:5] copied", "recv 1 out[0][5:10]", "copy tmp[0:5] in[0][5:10]",
 * "send_token 1", "recv_token 1"; an operand "partial 1" is a message of partial sums. A range is
 * [first:end). Blank lines and what follows a # are ignored. alias: none, same, own_out, own_in.
 */
#ifndef HKI_SCHED_TEXT_H
#define HKI_SCHED_TEXT_H

#include "base/text.h"
#include "sched/schedule.h"

/** Append the schedule as text; hki_schedule_parse() makes an equal one of it. */
void hki_schedule_write(const hk_schedule_t *schedule, hki_text_t *text);

/**
 * Make a schedule of the text of one rank.
 *
 * @param[in]  text          (bytes,) any bytes
 * @param[out] schedule_out  set on success only; owned by the caller
 * @return HK_OK, HK_ERR_FORMAT ("line 3: ..."), HK_ERR_INVALID_ARG (a step that a builder refuses:
 *         the error names it and the line), HK_ERR_NO_MEMORY
 */
hk_status_t hki_schedule_parse(const char *text, size_t bytes, hk_schedule_t **schedule_out);

#endif /* HKI_SCHED_TEXT_H */
