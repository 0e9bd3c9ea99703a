/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <sys/mman.h>

#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "trace-test.h"

#define FD 100
#define NAME "/proc/self/fd/100"

static TraceFormat parse(const char *s, TraceOptions *ret) {
        char *error = NULL;
        TraceFormat f;

        *ret = TRACE_OPTIONS_DEFAULT;
        if (trace_format_parse(s, &f, ret, &error) < 0)
                fail_msg("%s", error);
        return f;
}

int read_data(const void *data, size_t size, TraceFormat format, const TraceOptions *options, Trace **ret,
              char **ret_error) {
        _cleanup_close_ int fd = memfd_create("trace", MFD_CLOEXEC);
        int r;

        assert_true(fd >= 0);
        assert_int_equal(write_all(fd, data, size), 0);
        assert_int_equal(dup2(fd, FD), FD);
        r = trace_read(NAME, format, options, ret, ret_error);
        assert_int_equal(close(FD), 0);
        return r;
}

Trace *read_good(const char *options, const void *data, size_t size) {
        char *error = NULL;
        TraceOptions o;
        TraceFormat f = parse(options, &o);
        Trace *t;

        if (read_data(data, size, f, &o, &t, &error) < 0)
                fail_msg("it is good, but: %s", error ?: "(no message)");
        trace_options_done(&o);
        return t;
}

void read_bad(const char *options, const void *data, size_t size, int error, const char *message) {
        char *got = NULL, *expected;
        TraceOptions o;
        TraceFormat f = parse(options, &o);
        Trace *t;
        int r;

        r = read_data(data, size, f, &o, &t, &got);
        if (r >= 0)
                fail_msg("it was read, though it should fail with \"%s\"", message);

        assert_true(asprintf(&expected, "%s%s", NAME, message) > 0);
        assert_string_equal(got, expected);
        assert_int_equal(r, -error);
        trace_options_done(&o);
        free(got);
        free(expected);
}

void check_trace(Trace *t, size_t n, const uint32_t objects[], const uint8_t flags[]) {
        assert_int_equal(t->n_requests, n);
        for (size_t i = 0; i < n; i++) {
                if (t->objects[i] != objects[i])
                        fail_msg("request %zu is for object %u instead of %u", i, t->objects[i], objects[i]);
                if (flags && (t->flags ? t->flags[i] : 0) != flags[i])
                        fail_msg("request %zu has the flags 0x%x instead of 0x%x", i,
                                 t->flags ? t->flags[i] : 0, flags[i]);
                assert_true(t->objects[i] < t->n_objects);
        }
        trace_free(t);
}
