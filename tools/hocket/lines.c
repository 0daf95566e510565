/*
 * Output of many ranks in whole lines: what a rank writes is kept until its line ends, then goes to
 * the sink behind all others' lines. Lines longer than LINE_BYTES_MAX are cut there.
 */
#include "lines.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_BYTES_MAX = 1 << 16,
    ROOM_BYTES = 1 << 20,   /* a sink with more than this waiting stops its streams */
    READ_BYTES = 1 << 16,   /* what a pipe holds */
    DRAIN_READS = 64,       /* more than the largest pipe holds; what has escaped may write on */
    PIECE_BYTES = PIPE_BUF, /* what a pipe that poll() calls writable takes without blocking */
};

bool hki_sink_has_work(const hki_sink_t *sink)
{
    return sink->text.length > sink->written && !sink->is_broken;
}

bool hki_sink_has_room(const hki_sink_t *sink)
{
    return sink->text.length - sink->written < ROOM_BYTES;
}

void hki_sink_write(hki_sink_t *sink)
{
    const size_t waiting = sink->text.length - sink->written;
    const ssize_t got = write(sink->fd, sink->text.data + sink->written,
                              waiting < PIECE_BYTES ? waiting : PIECE_BYTES);

    if (got < 0 && errno != EINTR && errno != EAGAIN) {
        sink->is_broken = true;
    }
    sink->written += got > 0 ? (size_t)got : 0;
    if (sink->written == sink->text.length || sink->is_broken) {
        hki_text_clear(&sink->text);
        sink->written = 0;
    }
}

/** Hand the line on, with its prefix and its end. */
static void end_line(hki_stream_t *stream, const char *rest, size_t bytes)
{
    hki_text_t *out = &stream->sink->text;

    hki_text_append(out, stream->prefix, strlen(stream->prefix));
    if (stream->line.length > 0) {
        hki_text_append(out, stream->line.data, stream->line.length);
        hki_text_clear(&stream->line);
    }
    hki_text_append(out, rest, bytes);
    hki_text_append(out, "\n", 1);
}

static void take_bytes(hki_stream_t *stream, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const char *end = memchr(data, '\n', bytes);
        const size_t length = end != NULL ? (size_t)(end - data) : bytes;
        if (end != NULL) {
            end_line(stream, data, length);
        } else if (stream->line.length + length > LINE_BYTES_MAX) {
            end_line(stream, data, length);
        } else {
            hki_text_append(&stream->line, data, length);
        }
        data += length + (end != NULL);
        bytes -= length + (end != NULL);
    }
}

void hki_stream_close(hki_stream_t *stream)
{
    if (stream->fd < 0) {
        return;
    }
    if (stream->line.length > 0 && !stream->sink->is_broken) {
        end_line(stream, "", 0);
    }
    (void)close(stream->fd);
    stream->fd = -1;
    hki_text_fini(&stream->line);
}

/** @return true if there may be more to read now */
static bool read_once(hki_stream_t *stream)
{
    static char buffer[READ_BYTES]; // one thread; too large for the stack of a loop
    const ssize_t got = stream->fd < 0 ? 0 : read(stream->fd, buffer, sizeof(buffer));

    if (got > 0 && !stream->sink->is_broken) {
        take_bytes(stream, buffer, (size_t)got);
        return true;
    }
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        return errno == EINTR;
    }
    hki_stream_close(stream); // the end, or nobody reads: the rank's next write tells it so
    return false;
}

void hki_stream_read(hki_stream_t *stream)
{
    (void)read_once(stream);
}

void hki_stream_drain(hki_stream_t *stream)
{
    for (int i = 0; i < DRAIN_READS && read_once(stream); i++) {
    }
    hki_stream_close(stream);
}
