/**
 * @file log.h
 * @brief The log: levels, components, one line a message. See HK_LOG in docs/tuning.md.
 */
#ifndef HKI_BASE_LOG_H
#define HKI_BASE_LOG_H

#include <stdbool.h>

typedef enum hki_log_level {
    HKI_LOG_ERROR,
    HKI_LOG_WARN,
    HKI_LOG_INFO,
    HKI_LOG_DEBUG,
    HKI_LOG_TRACE,
} hki_log_level_t;

/** Write one line "hocket 3/8 exec debug: ..." if HK_LOG asks for it. Default: warn and above.
 *  HK_LOG=info, HK_LOG=exec:trace,transport:debug. @param component "exec" and the like */
void hki_log(hki_log_level_t level, const char *component, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** True if such a line would be written: guard costly arguments with it. */
bool hki_log_is_on(hki_log_level_t level, const char *component);

/** Use `spec` in place of HK_LOG from now on; NULL or "": the default. What is not understood gets
 *  one warning and changes nothing. @return false if some of it was not understood */
bool hki_log_configure(const char *spec);

/** The "3/8" of this thread's lines. nranks 0: none. */
void hki_log_set_rank(int rank, int nranks);

/** Test hook: lines of level error or warn written since the last call. */
int hki_log_take_count(void);

#endif /* HKI_BASE_LOG_H */
