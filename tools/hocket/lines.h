/**
 * @file lines.h
 * @brief Carries the output of many ranks to one file in whole lines.
 *
 * A stream is the reading end of one rank's pipe; a sink is stdout or stderr. Neither blocks:
 * streams are read when poll() says so and the sink has room, sinks are written in pieces that a
 * pipe takes at once.
 */
#ifndef HKI_TOOLS_HOCKET_LINES_H
#define HKI_TOOLS_HOCKET_LINES_H

#include "base/text.h"

typedef struct hki_sink {
    int fd;
    hki_text_t text; /**< whole lines, not written yet from `written` on */
    size_t written;  /**< [bytes] of text */
    bool is_broken;  /**< nobody reads the file any more */
} hki_sink_t;

typedef struct hki_stream {
    int fd;           /**< -1: ended */
    hki_text_t line;  /**< a line that has no end yet */
    hki_sink_t *sink; /**< borrowed */
    char prefix[16];  /**< "[3] " or "" */
} hki_stream_t;

/** Anything to write? */
bool hki_sink_has_work(const hki_sink_t *sink);
/** May streams be read, or is too much waiting to be written? */
bool hki_sink_has_room(const hki_sink_t *sink);
/** Write one piece. Only when poll() says that the file takes it. */
void hki_sink_write(hki_sink_t *sink);

/** Read once. The stream is closed at its end, with its last line; or if the sink is broken. */
void hki_stream_read(hki_stream_t *stream);
/** Read all that is there without waiting, then close the stream. */
void hki_stream_drain(hki_stream_t *stream);
/** Close; a line without end gets one. */
void hki_stream_close(hki_stream_t *stream);

#endif /* HKI_TOOLS_HOCKET_LINES_H */
