/**
 * @file child.h
 * @brief Runs another program to its end and keeps what it prints.
 */
#ifndef HKI_TOOLS_HOCKET_CHILD_H
#define HKI_TOOLS_HOCKET_CHILD_H

#include <stdbool.h>

#include <hocket/base.h>

#include "base/text.h"

typedef struct hki_child {
    const char *const *argv; /**< looked up in PATH; NULL ends it; borrowed */
    double timeout_s;        /**< then it and all it has started are killed */
    bool is_quiet;           /**< its stderr goes nowhere, instead of to ours */
} hki_child_t;

/**
 * Run it, in a process group of its own, with nothing on its standard input.
 *
 * @param[out] text  its standard output is appended, whatever the result
 * @return HK_OK: it ended with status 0; HK_ERR_SYSTEM (not started, another status, a signal),
 *         HK_ERR_TIMED_OUT, HK_ERR_NO_MEMORY
 */
HK_NODISCARD hk_status_t hki_child_run(const hki_child_t *child, hki_text_t *text);

/** The first of PATH's folders that has this program. @return false: none */
bool hki_child_find(const char *program);

#endif /* HKI_TOOLS_HOCKET_CHILD_H */
