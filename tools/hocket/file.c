/*
 * Whole text files. Written beside their place and renamed, so that readers never see a part.
 */
#include "file.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { PATH_BYTES = 4096 };

hk_status_t hki_file_get(const char *path, hki_text_t *text)
{
    FILE *file = fopen(path, "re");
    char buffer[4096];
    size_t bytes;

    if (file == NULL && errno == ENOENT) {
        return HK_OK;
    }
    if (file == NULL) {
        return HKI_FAIL(HK_ERR_IO, "%s: %s", path, strerror(errno));
    }
    while ((bytes = fread(buffer, 1, sizeof(buffer), file)) > 0) {
        hki_text_append(text, buffer, bytes);
    }
    const bool is_failed = ferror(file) != 0;
    (void)fclose(file);
    if (is_failed) {
        return HKI_FAIL(HK_ERR_IO, "%s cannot be read", path);
    }
    return text->is_failed ? HKI_FAIL(HK_ERR_NO_MEMORY, "text of %s", path) : HK_OK;
}

hk_status_t hki_file_check(const char *path)
{
    char copy[PATH_BYTES];
    struct stat info;

    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy) || path[0] == '\0') {
        return HKI_FAIL(HK_ERR_IO, "the name is empty or too long");
    }
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return HKI_FAIL(HK_ERR_IO, "it is a directory");
        }
        if (access(path, W_OK) != 0) {
            return HKI_FAIL(HK_ERR_IO, "%s", strerror(errno));
        }
        return HK_OK;
    }
    const char *folder = dirname(copy);
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode) || access(folder, W_OK | X_OK) != 0) {
        return HKI_FAIL(HK_ERR_IO, "folder %.160s: %s", folder,
                        errno != 0 ? strerror(errno) : "not a folder");
    }
    return HK_OK;
}

static hk_status_t write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    if (file == NULL) {
        return HKI_FAIL(HK_ERR_IO, "%s: %s", path, strerror(errno));
    }
    const bool is_written = fputs(text, file) >= 0;
    if (fclose(file) != 0 || !is_written) {
        return HKI_FAIL(HK_ERR_IO, "%s: %s", path, strerror(errno));
    }
    return HK_OK;
}

hk_status_t hki_file_put(const char *path, const char *text)
{
    char partial[PATH_BYTES + 16];
    struct stat info;
    hk_status_t status;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { // a pipe, /dev/stdout
        return write_text(path, text);
    }
    (void)snprintf(partial, sizeof(partial), "%s.%d", path, (int)getpid());
    status = write_text(partial, text);
    if (status == HK_OK && rename(partial, path) != 0) {
        status = HKI_FAIL(HK_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (status != HK_OK) {
        (void)unlink(partial);
    }
    return status;
}
