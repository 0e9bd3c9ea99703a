/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdarg.h>
#include <zstd.h>

#include "shared/cleanup.h"
#include "trace-input.h"

#define RAW_SIZE 65536U
#define BUFFER_SIZE (4U * TRACE_LINE_MAX)

/* "Skippable" frames may come first: pzstd writes them. */
#define ZSTD_FRAME UINT32_C(0xfd2fb528)
#define ZSTD_SKIPPABLE_FRAME UINT32_C(0x184d2a50)

struct TraceInput {
        char *name;
        int fd;

        /* compressed content */
        ZSTD_DStream *zstd; /* NULL: not compressed */
        uint8_t *raw;
        ZSTD_inBuffer raw_in;
        bool in_frame;

        uint8_t *buffer;
        size_t begin, end; /* what is in the buffer and not taken yet */
        bool eof;

        uint64_t offset; /* of what was taken last, in the uncompressed content */
        uint64_t next_offset;
        uint64_t line; /* number of the line taken last; 0: none was */
        char *error;
};

const char *trace_input_name(const TraceInput *in) {
        return in->name;
}

char *trace_input_take_error(TraceInput *in) {
        return TAKE_PTR(in->error);
}

static void _printf_(3, 0) set_error(TraceInput *in, bool place, const char *format, va_list ap) {
        g_autofree char *text = g_strdup_vprintf(format, ap);

        g_free(in->error);
        if (place && in->line > 0)
                in->error = g_strdup_printf("%s:%" PRIu64 ": %s", in->name, in->line, text);
        else if (place)
                in->error = g_strdup_printf("%s: at byte %" PRIu64 ": %s", in->name, in->offset, text);
        else
                in->error = g_strdup_printf("%s: %s", in->name, text);
}

int trace_input_fail(TraceInput *in, int error, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        set_error(in, /* place= */ true, format, ap);
        va_end(ap);
        return -abs(error);
}

int trace_input_fail_file(TraceInput *in, int error, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        set_error(in, /* place= */ false, format, ap);
        va_end(ap);
        return -abs(error);
}

/* ---- bytes of the file */

static ssize_t read_raw(TraceInput *in, void *p, size_t n) {
        ssize_t l;

        do
                l = read(in->fd, p, n);
        while (l < 0 && errno == EINTR);

        if (l < 0)
                return trace_input_fail_file(in, errno, "cannot be read: %s", strerror(errno));
        return l;
}

static ssize_t read_zstd(TraceInput *in, void *p, size_t n) {
        ZSTD_outBuffer out = { .dst = p, .size = n };

        for (;;) {
                size_t r;

                if (in->raw_in.pos == in->raw_in.size) {
                        ssize_t l = read_raw(in, in->raw, RAW_SIZE);

                        if (l < 0)
                                return l;
                        if (l == 0 && in->in_frame)
                                return trace_input_fail_file(in, EBADMSG, "the compressed file is cut off: "
                                                             "it ends in the middle of a zstd frame");
                        if (l == 0)
                                return 0;
                        in->raw_in = (ZSTD_inBuffer) { .src = in->raw, .size = (size_t) l };
                }

                r = ZSTD_decompressStream(in->zstd, &out, &in->raw_in);
                if (ZSTD_isError(r))
                        return trace_input_fail_file(in, EBADMSG, "cannot be decompressed: %s",
                                                     ZSTD_getErrorName(r));
                in->in_frame = r > 0;
                if (out.pos > 0)
                        return (ssize_t) out.pos;
        }
}

/* Reads more behind what the buffer has: 1, 0 at the end of the file. The buffer must not be full. */
static int fill(TraceInput *in) {
        ssize_t l;

        if (in->eof)
                return 0;

        if (in->begin > 0) {
                memmove(in->buffer, in->buffer + in->begin, in->end - in->begin);
                in->end -= in->begin;
                in->begin = 0;
        }
        assert(in->end < BUFFER_SIZE);

        l = in->zstd ? read_zstd(in, in->buffer + in->end, BUFFER_SIZE - in->end) :
                       read_raw(in, in->buffer + in->end, BUFFER_SIZE - in->end);
        if (l < 0)
                return (int) l;

        in->end += (size_t) l;
        in->eof = l == 0;
        return l > 0;
}

/* ---- opening and closing */

TraceInput *trace_input_free(TraceInput *in) {
        if (!in)
                return NULL;

        if (in->fd != STDIN_FILENO)
                safe_close(in->fd);
        (void) ZSTD_freeDStream(in->zstd);
        free(in->raw);
        free(in->buffer);
        free(in->name);
        free(in->error);
        return mfree(in);
}

/* What is in the buffer becomes the compressed input if it looks so. */
static int begin_zstd(TraceInput *in) {
        uint32_t magic;

        if (in->end - in->begin < sizeof(magic))
                return 0;
        memcpy(&magic, in->buffer + in->begin, sizeof(magic));
        magic = le32toh(magic);
        if (magic != ZSTD_FRAME && (magic & ~UINT32_C(0xf)) != ZSTD_SKIPPABLE_FRAME)
                return 0;

        in->zstd = ZSTD_createDStream();
        if (!in->zstd)
                return -ENOMEM;
        in->raw = g_malloc(MAX(RAW_SIZE, BUFFER_SIZE));

        memcpy(in->raw, in->buffer + in->begin, in->end - in->begin);
        in->raw_in = (ZSTD_inBuffer) { .src = in->raw, .size = in->end - in->begin };
        in->begin = in->end = 0;
        in->eof = false;
        return 0;
}

int trace_input_open(const char *path, TraceInput **ret, char **ret_error) {
        _cleanup_(trace_input_freep) TraceInput *in = g_new0(TraceInput, 1);
        bool standard;
        int r;

        assert(path);
        assert(ret);
        assert(ret_error);

        *ret_error = NULL;
        standard = streq(path, "-");
        in->name = g_strdup(standard ? "standard input" : path);
        in->buffer = g_malloc(BUFFER_SIZE);
        in->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (in->fd < 0)
                r = trace_input_fail_file(in, errno, "cannot be opened: %s", strerror(errno));
        else {
                do
                        r = fill(in);
                while (r > 0 && in->end < sizeof(uint32_t));
                if (r >= 0)
                        r = begin_zstd(in);
        }
        if (r < 0) {
                *ret_error = trace_input_take_error(in);
                return r;
        }

        *ret = TAKE_PTR(in);
        return 0;
}

/* ---- taking */

int trace_input_peek(TraceInput *in, size_t want, const uint8_t **ret, size_t *ret_n) {
        int r;

        assert(want <= TRACE_LINE_MAX);

        while (in->end - in->begin < want) {
                r = fill(in);
                if (r < 0)
                        return r;
                if (r == 0)
                        break;
        }

        *ret = in->buffer + in->begin;
        *ret_n = MIN(want, in->end - in->begin);
        return 0;
}

static void take(TraceInput *in, size_t n) {
        in->offset = in->next_offset;
        in->next_offset += n;
        in->begin += n;
}

int trace_input_take(TraceInput *in, size_t n, const char *what, const uint8_t **ret) {
        size_t available;
        int r;

        r = trace_input_peek(in, n, ret, &available);
        if (r < 0)
                return r;

        take(in, available);
        if (available == 0 && n > 0)
                return 0;
        if (available < n)
                return trace_input_fail(in, EBADMSG, "the file is cut off: %zu of the %zu bytes of a %s",
                                        available, n, what);
        return 1;
}

int trace_input_take_varint(TraceInput *in, const char *what, uint64_t *ret) {
        uint64_t v = 0;

        for (unsigned shift = 0;; shift += 7) {
                const uint8_t *p;
                int r;

                r = trace_input_take(in, 1, what, &p);
                if (r < 0)
                        return r;
                if (r == 0)
                        return trace_input_fail(in, EBADMSG, "the file is cut off in %s", what);
                if (shift == 63 && *p > 1)
                        return trace_input_fail(in, EBADMSG, "%s has more than 64 bits", what);

                v |= (uint64_t) (*p & 0x7f) << shift;
                if (!(*p & 0x80))
                        break;
        }

        *ret = v;
        return 1;
}

int trace_input_take_line(TraceInput *in, char **ret) {
        uint8_t *end = NULL;
        size_t seen = 0, n;
        char *line;
        int r;

        for (;;) {
                size_t available = in->end - in->begin;

                end = available > seen ? memchr(in->buffer + in->begin + seen, '\n', available - seen) :
                                         NULL;
                seen = available;
                if (end || seen > TRACE_LINE_MAX)
                        break;

                r = fill(in);
                if (r < 0)
                        return r;
                if (r == 0) {
                        if (seen == 0)
                                return 0;
                        break;
                }
        }

        line = (char *) in->buffer + in->begin;
        n = end ? (size_t) ((char *) end - line) : seen;
        in->line++;
        if (n > TRACE_LINE_MAX)
                return trace_input_fail(in, EBADMSG,
                                        "the line has more than %u bytes: this is no trace in text form",
                                        TRACE_LINE_MAX);
        if (memchr(line, 0, n))
                return trace_input_fail(in, EBADMSG, "the line contains a NUL byte: this is no text");

        /* A last line without "\n" ends where the data ends, and that is before the end of the buffer. */
        take(in, end ? n + 1 : n);
        if (n > 0 && line[n - 1] == '\r')
                n--;
        line[n] = 0;
        *ret = line;
        return 1;
}
