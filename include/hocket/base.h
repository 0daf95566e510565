/**
 * @file hocket/base.h
 * @brief Export macros, version, status codes and error text shared by every public header.
 */
#ifndef HK_BASE_H
#define HK_BASE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#    define HK_API       __attribute__((visibility("default")))
#    define HK_NODISCARD __attribute__((warn_unused_result))
#else
#    define HK_API
#    define HK_NODISCARD
#endif

#define HK_VERSION_MAJOR  0
#define HK_VERSION_MINOR  1
#define HK_VERSION_PATCH  0
#define HK_VERSION_STRING "0.1.0"

/**
 * Every status code: name, value, text. The only list of them in the project: the enum,
 * hk_status_text() and docs/status.md are all made from it.
 * Values are part of the ABI: append, never renumber. Positive is not an error, negative is.
 */
#define HK_STATUS_MAP(X)                                                                  \
    X(OK, 0, "success")                                                                   \
    X(IN_PROGRESS, 1, "posted, not complete yet")                                         \
    X(ERR_INVALID_ARG, -1, "invalid argument")                                            \
    X(ERR_NO_MEMORY, -2, "out of memory")                                                 \
    X(ERR_UNSUPPORTED, -3, "not supported here")                                          \
    X(ERR_TIMED_OUT, -4, "the deadline passed")                                           \
    X(ERR_PEER_FAILED, -5, "a peer failed or left")                                       \
    X(ERR_SYSTEM, -6, "a system call failed")                                             \
    X(ERR_INTERNAL, -7, "internal error, please report it")                               \
    X(ERR_MISMATCH, -8, "ranks called different operations, or with different arguments") \
    X(ERR_ABORTED, -9, "the communicator was aborted")                                    \
    X(ERR_LIMIT, -10, "a limit was reached")                                              \
    X(ERR_IO, -11, "a file could not be read or written")                                 \
    X(ERR_FORMAT, -12, "a file or message is malformed")

typedef enum hk_status {
#define HK_STATUS_ENUM(name, value, text) HK_##name = (value),
    HK_STATUS_MAP(HK_STATUS_ENUM)
#undef HK_STATUS_ENUM
} hk_status_t;

/** Text of a status code. Never NULL, never freed; unknown codes give "unknown status". */
HK_API const char *hk_status_text(hk_status_t status);

/**
 * What went wrong in the last call of this thread that returned an error: one line that names the
 * values, the limit and the rank. Never NULL; "" if no call of this thread has failed yet. Valid
 * until the next failing call of this thread.
 */
HK_API const char *hk_last_error(void);

/** Version of the library that is running, "0.1.0". May differ from HK_VERSION_STRING, which is
 *  that of the header. */
HK_API const char *hk_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HK_BASE_H */
