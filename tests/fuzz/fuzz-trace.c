/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A libFuzzer target for the readers of traces. $TRACE_FORMAT says which ("auto" if it is not set), with
 * settings ("csv:obj-id-col=1"). What is read must be consistent; what is refused must come with one line
 * that says why. */

#include "fuzz-files.h"
#include "sim/trace-options.h"

static void check_trace(const Trace *t) {
        uint32_t known = 0;

        CHECK(t->n_requests > 0);
        CHECK(t->n_objects > 0 && t->n_objects <= t->n_requests);

        /* numbered in the order of their first request */
        for (size_t i = 0; i < t->n_requests; i++) {
                CHECK(t->objects[i] <= known);
                known += t->objects[i] == known;
                CHECK(!t->flags ||
                      (t->flags[i] & TRACE_CLASS_MASK) >> TRACE_CLASS_SHIFT <= TRACE_CLASS_BACKGROUND);
        }
        CHECK(known == t->n_objects);

        for (uint32_t i = 1; i < t->n_objects; i++)
                CHECK(t->keys[i] != t->keys[i - 1]);
}

static void check_error(int r, char *error, const char *path) {
        CHECK(r == -EBADMSG || r == -ENODATA || r == -E2BIG);
        CHECK(error);
        CHECK(strncmp(error, path, strlen(path)) == 0);
        CHECK(!strchr(error, '\n'));
        free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *format_name = getenv("TRACE_FORMAT") ?: "auto";
        TraceOptions options = TRACE_OPTIONS_DEFAULT;
        char *error = NULL;
        TraceFormat format;
        FuzzFiles files;
        Trace *t = NULL;
        int r;

        CHECK(trace_format_parse(format_name, &format, &options, &error) == 0);
        options.scan_threads = strdup("scan* [a-c]");
        options.background_threads = strdup("*low?");

        fuzz_files_make_one(&files, "trace", data, size);
        r = trace_read(files.paths[0], format, &options, &t, &error);
        if (r < 0)
                check_error(r, error, files.paths[0]);
        else
                check_trace(t);

        trace_free(t);
        trace_options_done(&options);
        fuzz_files_remove(&files);
        return 0;
}
