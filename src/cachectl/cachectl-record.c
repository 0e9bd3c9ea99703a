/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cgroup.h"
#include "exit-codes.h"
#include "options.h"
#include "record-loop.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "sim/trace-text.h"
#include "sim/trace.h"
#include "verbs.h"

/* Where the trace goes, in one of two forms. */
typedef struct Output {
        char *path; /* NULL: the standard output */
        int fd;
        bool created; /* the file, and nothing was written yet */
        FILE *text;
        RecordWriter *writer;
        uint64_t n_accesses, n_pages;
} Output;

static void output_done(Output *o) {
        if (o->text)
                (void) fclose(o->text);
        record_writer_free(o->writer);
        safe_close(o->fd);
        if (o->created)
                (void) unlink(o->path);
        free(o->path);
}

static int output_error(const Output *o, int error) {
        return log_error_errno(error, "Cannot write %s: %m", o->path ?: "the trace");
}

static int open_file(Output *o) {
        o->fd = open(o->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        o->created = o->fd >= 0;
        if (o->fd < 0 && errno == EEXIST && arg_output)
                o->fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666); /* also what a link leads to */
        if (o->fd >= 0)
                return 0;

        if (errno == EEXIST)
                return log_error_errno(EEXIST, "%s exists already; -o FILE names the file to write.",
                                       o->path);
        return output_error(o, errno);
}

/* A file that was named may exist, one that was not may not. What is in it stays until there is something to
 * write. */
static int output_open(Output *o, const char *name) {
        int r;

        if (arg_output && streq(arg_output, "-")) {
                o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
                if (o->fd < 0)
                        return output_error(o, errno);
        } else {
                o->path = g_strconcat(arg_output ?: name,
                                      arg_output ? "" : arg_text ? ".trace" : ".trace.zst", NULL);
                r = open_file(o);
                if (r < 0)
                        return r;
        }

        if (!arg_text && isatty(o->fd)) {
                log_error("A recording is no text; write it to a file, or give --text.");
                return EXIT_USAGE;
        }

        return 0;
}

/* Is written over now. */
static int output_begin(Output *o) {
        int r;

        if (o->path && ftruncate(o->fd, 0) < 0 && errno != EINVAL) /* a device or a FIFO */
                return output_error(o, errno);
        o->created = false;

        if (arg_text) {
                o->text = fdopen(o->fd, "we");
                if (!o->text)
                        return output_error(o, errno);
                o->fd = -EBADF;
                fputs(TRACE_TEXT_HEADER "\n", o->text);
                return 0;
        }

        r = record_writer_new(o->fd, o->path && endswith(o->path, ".zst"),
                              (uint64_t) g_get_real_time() * 1000, &o->writer);
        return r < 0 ? output_error(o, r) : 0;
}

static int write_text(Output *o, const RecordAccess *a) {
        char file[64];

        (void) snprintf(file, sizeof(file), "%u:%u/%" PRIu64 ".%" PRIu32, a->device >> 20,
                        a->device & 0xfffff, a->inode, a->generation);
        return trace_text_write(o->text, &(TraceTextAccess) {
                        .file = file,
                        .page = a->page,
                        .n = a->n_pages,
                        .flags = a->flags,
                        .thread = a->thread,
                        .manager = a->manager,
        });
}

static int on_access(const RecordAccess *a, void *userdata) {
        Output *o = userdata;

        o->n_accesses++;
        o->n_pages += a->n_pages;
        return o->text ? write_text(o, a) : record_writer_access(o->writer, a);
}

static int output_finish(Output *o, uint64_t lost) {
        int r = 0;

        if (o->text) {
                if (lost > 0)
                        fprintf(o->text, "# %" PRIu64 " events were lost\n", lost);
                r = fclose(TAKE_PTR(o->text)) < 0 ? -errno : 0;
        } else {
                if (lost > 0)
                        r = record_writer_lost(o->writer, lost);
                if (r >= 0)
                        r = record_writer_finish(o->writer);
                if (r >= 0 && close(TAKE_FD(o->fd)) < 0)
                        r = -errno;
        }

        return r < 0 ? output_error(o, r) : 0;
}

/* ---- recording */

static int record(const Cgroup *cgroup, Output *output) {
        _cleanup_(recorder_freep) Recorder *recorder = NULL;
        uint64_t lost;
        bool gone;
        int r;

        r = record_begin(cgroup,
                         (RecorderSettings) {
                                 .readahead = arg_readahead,
                                 .sample = 1,
                                 .func = on_access,
                                 .userdata = output,
                         }, &recorder);
        if (r < 0)
                return r;

        r = output_begin(output);
        if (r < 0)
                return r;

        /* after this, everything is in the trace */
        if (!arg_quiet)
                log_info("Recording %s to %s; Ctrl-C ends it.", cgroup->name,
                         output->path ?: "the standard output");

        r = record_until_end(recorder, cgroup, arg_duration, /* tick= */ NULL, /* userdata= */ NULL);
        if (r < 0)
                return output_error(output, r);
        gone = r > 0;

        lost = recorder_lost(recorder);
        r = output_finish(output, lost);
        if (r < 0)
                return r;

        if (!arg_quiet)
                log_info("Recorded %" PRIu64 " accesses to %" PRIu64 " pages.", output->n_accesses,
                         output->n_pages);
        if (gone)
                record_warn_gone(cgroup);
        if (lost > 0)
                log_warning("%" PRIu64 " events came too fast and were lost.", lost);
        return EXIT_SUCCESS;
}

int verb_record(char **arguments, size_t n_arguments) {
        _cleanup_(output_done) Output output = { .fd = -EBADF };
        _cleanup_(cgroup_done) Cgroup cgroup = {};
        int r;

        if (n_arguments == 0) {
                log_error("\"record\" needs the name of a unit, or the path of a control group.");
                return EXIT_USAGE;
        }

        if (arg_windows) {
                log_error("Option --readahead takes no value here.");
                return EXIT_USAGE;
        }

        if (arg_text && arg_output && endswith(arg_output, ".zst")) {
                log_error("Text is not written compressed: choose another name than %s.", arg_output);
                return EXIT_USAGE;
        }

        r = record_find(arguments[0], &cgroup);
        if (r != 0)
                return r;

        r = output_open(&output, cgroup.name);
        if (r != 0)
                return r;

        return record(&cgroup, &output);
}
