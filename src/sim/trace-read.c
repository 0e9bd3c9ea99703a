/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a trace in whatever form it is. */

#include <inttypes.h>

#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "trace-reader.h"

/* ---- what the readers use */

int trace_parse_number(const char *s, uint64_t *ret) {
        const char *hexadecimal = startswith(s, "0x");

        return hexadecimal ? safe_atou64_base(hexadecimal, 16, ret) : safe_atou64(s, ret);
}

uint32_t trace_reader_number(TraceReader *r, const char *name) {
        uint32_t number;

        if (!r->names)
                r->names = g_hash_table_new_full(g_str_hash, g_str_equal, free, NULL);

        number = GPOINTER_TO_UINT(g_hash_table_lookup(r->names, name));
        if (number == 0) {
                number = g_hash_table_size(r->names) + 1;
                g_hash_table_insert(r->names, g_strdup(name), GUINT_TO_POINTER(number));
        }
        return number - 1;
}

static int add(TraceReader *r, uint64_t id, uint8_t flags) {
        int k;

        k = trace_add(r->trace, id, flags);
        if (k == -E2BIG)
                return trace_input_fail(r->input, E2BIG,
                                        "the trace is too large: at most %" PRIu32 " requests "
                                        "for %" PRIu32 " pages can be read", TRACE_MAX_REQUESTS,
                                        TRACE_MAX_OBJECTS);
        if (k == -ENOMEM)
                return trace_input_fail(r->input, ENOMEM, "not enough memory for the trace from here on");
        return k;
}

int trace_reader_set_manager(TraceReader *r, const char *name) {
        int k;

        k = trace_set_manager(r->trace, name);
        if (k == -E2BIG)
                return trace_input_fail(r->input, E2BIG, "more than %u managers", TRACE_MAX_MANAGERS);
        if (k == -ENOMEM)
                return trace_input_fail(r->input, ENOMEM, "not enough memory for the trace from here on");
        return k;
}

static int check_n_pages(TraceReader *r, uint64_t n_pages) {
        if (n_pages > TRACE_MAX_PAGES)
                return trace_input_fail(r->input, EBADMSG,
                                        "one access of %" PRIu64 " pages; at most %" PRIu64
                                        " (4 GiB) make sense", n_pages, TRACE_MAX_PAGES);
        return 0;
}

int trace_reader_add_pages(TraceReader *r, uint64_t file, uint64_t page, uint64_t n_pages, uint8_t flags) {
        int k;

        if (n_pages == 0)
                return trace_input_fail(r->input, EBADMSG, "an access of no page");
        k = check_n_pages(r, n_pages);
        if (k < 0)
                return k;
        if (page + n_pages > UINT64_C(1) << TRACE_PAGE_BITS || page + n_pages < page)
                return trace_input_fail(r->input, EBADMSG,
                                        "page %" PRIu64 " is too far into the file; no file has "
                                        "more than 2^%u pages", page, TRACE_PAGE_BITS);
        if (file >> TRACE_FILE_BITS)
                return trace_input_fail(r->input, E2BIG, "more than 2^%u files", TRACE_FILE_BITS);

        r->trace->has_files = true;
        for (uint64_t i = 0; i < n_pages; i++) {
                k = add(r, file << TRACE_PAGE_BITS | (page + i), flags);
                if (k < 0)
                        return k;
        }
        return 0;
}

int trace_reader_add_bytes(TraceReader *r, uint64_t file, uint64_t offset, uint64_t size, uint8_t flags) {
        uint64_t end;

        if (size == 0)
                return trace_input_fail(r->input, EBADMSG, "an access of no byte");
        if (__builtin_add_overflow(offset, size, &end))
                return trace_input_fail(r->input, EBADMSG,
                                        "offset %" PRIu64 " and length %" PRIu64 " together are "
                                        "more than 64 bits", offset, size);

        return trace_reader_add_pages(r, file, offset / TRACE_PAGE_SIZE,
                                      (end - 1) / TRACE_PAGE_SIZE - offset / TRACE_PAGE_SIZE + 1, flags);
}

/* The identity of a further page of an object, whose number has all 64 bits for itself. */
static uint64_t hash_page(uint64_t id, uint64_t page) {
        /* splitmix64 (Steele, Lea, Flood 2014), on the page and then on both */
        for (uint64_t x = page, i = 0;; i++) {
                x += UINT64_C(0x9e3779b97f4a7c15);
                x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
                x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
                x ^= x >> 31;
                if (i == 1)
                        return x;
                x ^= id;
        }
}

int trace_reader_add_object(TraceReader *r, uint64_t id, uint64_t size, uint8_t flags) {
        uint64_t n_pages = r->options->ignore_obj_size ? 1 :
                           size / TRACE_PAGE_SIZE + (size % TRACE_PAGE_SIZE > 0);
        int k;

        k = check_n_pages(r, n_pages);
        for (uint64_t i = 0; k >= 0 && i < n_pages; i++)
                k = add(r, i == 0 ? id : hash_page(id, i), flags);
        return k;
}

/* ---- forms */

/* Text has no control characters but white space. */
static bool looks_like_text(const uint8_t *p, size_t n) {
        for (size_t i = 0; i < n; i++)
                if ((p[i] < ' ' && !strchr("\t\r\n", p[i])) || p[i] == 0 || p[i] == 0x7f)
                        return false;

        return true;
}

/* By the first line that is neither empty nor a comment. */
static TraceFormat detect_text(const char *p, size_t n) {
        while (n > 0) {
                const char *end = memchr(p, '\n', n);
                size_t length = end ? (size_t) (end - p) : n;
                _cleanup_free_ char *line = strndup(p, length);
                const char *s = line ? strstrip(line) : "";

                if (*s && *s != '#')
                        return trace_is_text(s) ? TRACE_FORMAT_TEXT :
                               trace_is_blkparse(s) ? TRACE_FORMAT_BLKPARSE :
                               trace_is_csv(s) ? TRACE_FORMAT_CSV : _TRACE_FORMAT_INVALID;

                length += end != NULL;
                p += length;
                n -= length;
        }

        return TRACE_FORMAT_TEXT; /* nothing but comments */
}

static int detect(TraceInput *in, TraceFormat *ret) {
        TraceFormat f;
        const uint8_t *p;
        size_t n;
        int r;

        r = trace_input_peek(in, TRACE_LINE_MAX, &p, &n);
        if (r < 0)
                return r;

        if (n == 0)
                return trace_input_fail_file(in, ENODATA, "the file is empty");
        if (trace_is_record(p, n))
                f = TRACE_FORMAT_RECORD;
        else if (looks_like_text(p, n))
                f = detect_text((const char *) p, n);
        else
                f = trace_is_oracle_general(p, n) ? TRACE_FORMAT_ORACLE_GENERAL : _TRACE_FORMAT_INVALID;

        if (f < 0)
                return trace_input_fail_file(in, EBADMSG,
                                             "cannot tell what form of trace this is: neither text, "
                                             "oracleGeneral, csv, blkparse nor record; "
                                             "name it if it is one");
        *ret = f;
        return 0;
}

static int read_as(TraceReader *r, TraceFormat format) {
        switch (format) {
        case TRACE_FORMAT_TEXT:
                return trace_read_text(r);
        case TRACE_FORMAT_ORACLE_GENERAL:
                return trace_read_oracle_general(r);
        case TRACE_FORMAT_CSV:
                return trace_read_csv(r);
        case TRACE_FORMAT_BLKPARSE:
                return trace_read_blkparse(r);
        case TRACE_FORMAT_RECORD:
                return trace_read_record(r);
        default:
                return -EINVAL;
        }
}

/* Of files, by their numbers. */
static int keep_names(TraceReader *r) {
        GHashTableIter it;
        gpointer name, number;

        if (!r->names)
                return 0;
        r->trace->files = calloc(g_hash_table_size(r->names), sizeof(char *));
        if (!r->trace->files)
                return -ENOMEM;
        r->trace->n_files = g_hash_table_size(r->names);
        g_hash_table_iter_init(&it, r->names);
        while (g_hash_table_iter_next(&it, &name, &number))
                r->trace->files[GPOINTER_TO_UINT(number) - 1] = strdup(name);
        return 0;
}

static int read_input(TraceInput *in, TraceFormat format, const TraceOptions *options, Trace **ret) {
        static const TraceOptions defaults = TRACE_OPTIONS_DEFAULT;
        _cleanup_(trace_freep) Trace *trace = NULL;
        TraceReader reader = { .input = in, .options = options ?: &defaults };
        int r;

        r = trace_new(&trace);
        if (r < 0)
                return r;
        reader.trace = trace;

        if (format == TRACE_FORMAT_AUTO) {
                r = detect(in, &format);
                if (r < 0)
                        return r;
        }

        r = read_as(&reader, format);
        if (r >= 0 && trace->has_files)
                r = keep_names(&reader);
        g_clear_pointer(&reader.names, g_hash_table_unref);
        if (r < 0)
                return r;
        if (trace->n_requests == 0)
                return trace_input_fail_file(in, ENODATA, "there is no request in the trace");

        trace_seal(trace);
        *ret = TAKE_PTR(trace);
        return 0;
}

int trace_read(const char *path, TraceFormat format, const TraceOptions *options, Trace **ret,
               char **ret_error) {
        _cleanup_(trace_input_freep) TraceInput *in = NULL;
        int r;

        r = trace_input_open(path, &in, ret_error);
        if (r < 0)
                return r;

        r = read_input(in, format, options, ret);
        if (r < 0) {
                *ret_error = trace_input_take_error(in);
                if (!*ret_error && r == -ENOMEM)
                        *ret_error = g_strdup("not enough memory for the trace");
        }

        return r;
}
