/**
 * @file text.h
 * @brief A growing string. A builder: it keeps the first failure, so that calls need no check each.
 */
#ifndef HKI_BASE_TEXT_H
#define HKI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** Zero it to begin; end it with hki_text_fini(). */
typedef struct hki_text {
    char *data;      /**< ends in a zero byte; NULL while nothing was added; owned */
    size_t length;   /**< [bytes] without the zero byte */
    size_t capacity; /**< [bytes] allocated */
    bool is_failed;  /**< memory ran out; later calls do nothing */
} hki_text_t;

/** Append as printf does. */
void hki_text_add(hki_text_t *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Append `bytes` bytes of `data`. */
void hki_text_append(hki_text_t *text, const char *data, size_t bytes);

/** Append spaces until the current line is `column` characters long; at least none. */
void hki_text_pad(hki_text_t *text, size_t column);

/**
 * Append the words of `words`, breaking lines before column `width`; new lines start with `indent`
 * spaces. A line end in `words` stays one. Ends without a line end.
 */
void hki_text_wrap(hki_text_t *text, const char *words, size_t indent, size_t width);

/** Forget the contents, keep the memory. */
void hki_text_clear(hki_text_t *text);

/** Free the memory and zero *text. */
void hki_text_fini(hki_text_t *text);

#endif /* HKI_BASE_TEXT_H */
