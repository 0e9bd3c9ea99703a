/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache-size.h"
#include "config/unit-file.h"
#include "exit-codes.h"
#include "options.h"
#include "record-loop.h"
#include "sample.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/meminfo.h"
#include "sim/trace-options.h"
#include "simulate-output.h"
#include "simulate-setup.h"
#include "unit-policy.h"

#define DEFAULT_DURATION (60 * USEC_PER_SEC)
/* The cache has at least so many pages in the sample, or all that it has. */
#define SAMPLE_MIN 2048U
/* More requests say nothing new. */
#define ENOUGH (UINT64_C(1) << 24)

void sample_done(Sample *s) {
        free(s->name);
        free(s->policy);
        free(s->chosen);
        trace_free(s->trace);
        *s = (Sample) {};
}

/* ---- recording */

typedef struct Recording {
        const char *name;
        RecordWriter *writer;
        uint64_t requests;
        uint64_t begin_usec, duration;
        bool shown;
} Recording;

static int on_access(const RecordAccess *a, void *userdata) {
        Recording *r = userdata;

        r->requests += a->n_pages;
        return record_writer_access(r->writer, a);
}

static bool on_tick(void *userdata) {
        Recording *r = userdata;

        if (!arg_quiet && isatty(STDERR_FILENO)) {
                uint64_t usec = (uint64_t) g_get_monotonic_time() - r->begin_usec;

                fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " s, %" PRIu64 " requests recorded\033[K",
                        usec / USEC_PER_SEC, r->duration / USEC_PER_SEC, r->requests);
                r->shown = true;
        }
        return r->requests < ENOUGH;
}

static int finish(Sample *s, Recorder *recorder, Recording *recording) {
        uint64_t all = recorder_accesses(recorder);
        int r;

        s->usec = (uint64_t) g_get_monotonic_time() - recording->begin_usec;
        s->lost = recorder_lost(recorder);
        s->requests = all - MIN(all, s->lost * s->rate);
        r = record_writer_finish(recording->writer);
        return r < 0 ? log_error_errno(r, "Cannot keep the recording: %m") : 0;
}

static int record(Sample *s, const Cgroup *cgroup, int fd) {
        _cleanup_(recorder_freep) Recorder *recorder = NULL;
        _cleanup_(record_writer_freep) RecordWriter *writer = NULL;
        Recording recording = {
                .name = cgroup->name,
                .duration = arg_duration != UINT64_MAX ? arg_duration : DEFAULT_DURATION,
        };
        int r;

        r = record_writer_new(fd, /* zstd= */ true, (uint64_t) g_get_real_time() * 1000, &writer);
        if (r < 0)
                return log_error_errno(r, "Cannot keep the recording: %m");
        recording.writer = writer;

        r = record_begin(cgroup,
                         (RecorderSettings) { .sample = s->rate, .func = on_access, .userdata = &recording },
                         &recorder);
        if (r < 0)
                return r;

        if (!arg_quiet)
                log_info("Recording %s for %" PRIu64 " s; Ctrl-C ends it.", cgroup->name,
                         recording.duration / USEC_PER_SEC);
        recording.begin_usec = (uint64_t) g_get_monotonic_time();
        r = record_until_end(recorder, cgroup, recording.duration, on_tick, &recording);
        if (recording.shown)
                fputc('\n', stderr);
        if (r < 0)
                return log_error_errno(r, "Cannot record %s: %m", cgroup->name);
        if (r > 0)
                record_warn_gone(cgroup);
        return finish(s, recorder, &recording);
}

static int record_and_read(Sample *s, const Cgroup *cgroup) {
        _cleanup_close_ int fd = memfd_create("recording", MFD_CLOEXEC);
        _cleanup_free_ char *path = NULL, *error = NULL;
        int r;

        if (fd < 0)
                return log_error_errno(errno, "Cannot keep the recording: %m");
        r = record(s, cgroup, fd);
        if (r < 0)
                return r;

        path = g_strdup_printf("/proc/self/fd/%i", fd);
        r = trace_read(path, TRACE_FORMAT_RECORD, NULL, &s->trace, &error);
        if (r == -ENODATA)
                return trace_new(&s->trace) < 0 ? log_oom() : 0; /* nothing was read */
        return r < 0 ? log_error_errno(r, "%s", error ?: "Cannot read the recording.") : 0;
}

/* ---- the cache */

/* The pages of the cache that is to be simulated, by the command line or by the control group. */
static int find_size(Sample *s, const Cgroup *cgroup) {
        int r;

        if (arg_size)
                return cache_size_parse(arg_size, /* n_pages= */ 0, &s->pages) < 0 ? EXIT_USAGE : 0;

        r = unit_cache_read(cgroup->path, cgroup->level, meminfo_read_available("/proc/meminfo"),
                            &s->cache);
        if (r < 0)
                return log_error_errno(r, "Cannot find out how large the cache of %s is: %m", s->name);

        s->pages = MIN(s->cache.bytes / TRACE_PAGE_SIZE, UINT32_MAX);
        if (s->pages == 0)
                return log_error_errno(ENODATA,
                                       "%s has nothing cached; --size= says how large its cache is.",
                                       s->name);
        return 0;
}

/* The largest power of two that leaves enough. */
static uint32_t choose_rate(uint32_t pages) {
        return UINT32_C(1) << (g_bit_storage(MAX(pages / SAMPLE_MIN, 1U)) - 1);
}

static uint64_t count_requests(const Trace *t) {
        uint64_t n = 0;

        for (size_t i = 0; i < t->n_requests; i++)
                n += !(trace_flags(t, i) & (TRACE_READAHEAD | TRACE_REMOVE));
        return n;
}

/* Whether the kernel's own policy is MGLRU: the lowest bit of a hexadecimal number. */
static bool kernel_is_multi_gen(void) {
        g_autofree char *text = NULL;

        return g_file_get_contents("/sys/kernel/mm/lru_gen/enabled", &text, NULL, NULL) &&
               strtoull(text, NULL, 16) & 1;
}

/* ---- both */

static int check_arguments(size_t n_arguments) {
        if (n_arguments == 0 && !arg_input)
                log_error("Whose cache? Name a unit, the path of a control group, or a trace (--input=).");
        else if (n_arguments == 0 && !arg_size)
                log_error("Option --input= needs the name of a unit, or --size= for that of its cache.");
        else if (arg_input && arg_duration != UINT64_MAX)
                log_error("Option --duration= is not for --input=: the trace is as long as it is.");
        else
                return 0;
        return EXIT_USAGE;
}

static int find(char **arguments, size_t n_arguments, Cgroup *ret) {
        int r;

        if (!arg_input)
                return record_find(arguments[0], ret);
        if (arg_size) { /* then nothing is asked of the unit */
                ret->name = n_arguments > 0 ? unit_name_mangle(arguments[0]) : NULL;
                return 0;
        }
        r = cgroup_find(arguments[0], ret);
        return r == -ESRCH ? EXIT_UNKNOWN : r;
}

int sample_take(char **arguments, size_t n_arguments, Sample *ret) {
        _cleanup_(cgroup_done) Cgroup cgroup = {};
        _cleanup_(sample_done) Sample s = { .rate = 1 };
        int r;

        r = check_arguments(n_arguments);
        if (r == 0)
                r = simulation_check_plot(arg_plot);
        if (r == 0)
                r = find(arguments, n_arguments, &cgroup);
        if (r != 0)
                return r;
        s.name = g_strdup(cgroup.name);
        s.policy = cgroup.path ? cgroup_policy(&cgroup) : NULL;
        s.chosen = s.policy ? unit_chosen_policy(cgroup.name) : NULL;

        r = find_size(&s, &cgroup);
        if (r != 0)
                return r;

        if (arg_input)
                r = simulation_read_trace(arg_input, &s.trace);
        else {
                s.rate = choose_rate(s.pages);
                s.multi_gen = kernel_is_multi_gen();
                r = record_and_read(&s, &cgroup);
        }
        if (r < 0)
                return r == -EINVAL && arg_input ? EXIT_USAGE : r;

        s.sampled = count_requests(s.trace);
        if (s.rate == 1)
                s.requests = s.sampled;
        if (!arg_quiet)
                log_info("Simulating policies on %" PRIu64 " requests.", s.sampled);
        *ret = s;
        s = (Sample) {};
        return 0;
}

/* ---- what it means */

uint32_t sample_capacity(const Sample *s, uint32_t pages) {
        return MAX(pages / s->rate, 1U);
}

size_t sample_warm_up(const Sample *s, uint32_t capacity, bool *ret_full) {
        size_t n = s->trace->n_requests, full = 0;

        /* objects are numbered as they come up */
        while (full < n && s->trace->objects[full] + 1 < capacity)
                full++;
        *ret_full = full < n / 2;
        return CLAMP(full, n / 4, n / 2);
}

double sample_ratio(const Sample *s, double ratio) {
        double part = s->requests > 0 ? (double) s->sampled * s->rate / s->requests : 1;

        return MIN(ratio * part, 1);
}
