/*
 * A growing string. The buffer doubles; a failed allocation sets is_failed and everything later is
 * ignored, so a caller checks once at the end.
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { FIRST_BYTES = 256 };

/** Make room for `more` bytes and a zero byte. */
static bool reserve(hki_text_t *text, size_t more)
{
    size_t capacity = text->capacity == 0 ? FIRST_BYTES : text->capacity;

    if (text->is_failed) {
        return false;
    }
    while (capacity - text->length <= more) {
        capacity *= 2;
    }
    if (capacity == text->capacity) {
        return true;
    }
    char *data = hki_calloc(capacity, 1);
    if (data == NULL) {
        text->is_failed = true;
        return false;
    }
    if (text->data != NULL) {
        memcpy(data, text->data, text->length);
        hki_free(text->data);
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void hki_text_add(hki_text_t *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length <= 0 || !reserve(text, (size_t)length)) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

void hki_text_append(hki_text_t *text, const char *data, size_t bytes)
{
    if (!reserve(text, bytes)) {
        return;
    }
    memcpy(text->data + text->length, data, bytes);
    text->length += bytes;
    text->data[text->length] = '\0';
}

/** Characters since the last line end. */
static size_t column_of(const hki_text_t *text)
{
    size_t column = 0;

    while (column < text->length && text->data[text->length - 1 - column] != '\n') {
        column++;
    }
    return column;
}

void hki_text_pad(hki_text_t *text, size_t column)
{
    for (size_t at = column_of(text); at < column; at++) {
        hki_text_append(text, " ", 1);
    }
}

void hki_text_wrap(hki_text_t *text, const char *words, size_t indent, size_t width)
{
    bool is_line_start = true;

    hki_text_pad(text, indent);
    while (*words != '\0') {
        const size_t length = strcspn(words, " \n");
        if (length > 0) {
            if (!is_line_start && column_of(text) + 1 + length > width) {
                hki_text_append(text, "\n", 1);
                is_line_start = true;
            }
            if (is_line_start) {
                hki_text_pad(text, indent);
            } else {
                hki_text_append(text, " ", 1);
            }
            hki_text_append(text, words, length);
            is_line_start = false;
        }
        words += length;
        if (*words == '\n') {
            hki_text_append(text, "\n", 1);
            is_line_start = true;
        }
        words += *words != '\0';
    }
}

void hki_text_clear(hki_text_t *text)
{
    text->length = 0;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

void hki_text_fini(hki_text_t *text)
{
    hki_free(text->data);
    memset(text, 0, sizeof(*text));
}
