/**
 * @file file.h
 * @brief Whole text files, read and written.
 */
#ifndef HKI_TOOLS_HOCKET_FILE_H
#define HKI_TOOLS_HOCKET_FILE_H

#include <hocket/base.h>

#include "base/text.h"

/** Append a file's text. A file that does not exist is empty. @return HK_OK, HK_ERR_IO,
 *  HK_ERR_NO_MEMORY */
HK_NODISCARD hk_status_t hki_file_get(const char *path, hki_text_t *text);

/**
 * Write a file: it appears whole or not at all, unless it is a pipe or a device.
 *
 * @return HK_OK, HK_ERR_IO
 */
HK_NODISCARD hk_status_t hki_file_put(const char *path, const char *text);

/** Can the file be written when all is done? @return HK_OK, HK_ERR_IO (the reason is the text) */
HK_NODISCARD hk_status_t hki_file_check(const char *path);

#endif /* HKI_TOOLS_HOCKET_FILE_H */
