/**
 * @file file.c
 * @brief Whole small files, and lines "key number" in them.
 */
#include "topo/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t hki_file_read(const char *path, char *text, size_t text_bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;

    text[0] = '\0';
    if (fd < 0) {
        return 0;
    }
    while (have + 1 < text_bytes) {
        const ssize_t got = read(fd, text + have, text_bytes - 1 - have);
        if (got <= 0) {
            break;
        }
        have += (size_t)got;
    }
    text[have] = '\0';
    (void)close(fd);
    return have;
}

uint64_t hki_text_number(const char *text, const char *key)
{
    const size_t key_length = strlen(key);

    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, key_length) == 0) {
            return strtoull(line + key_length, NULL, 10);
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return UINT64_MAX;
}
