/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "by-process.h"
#include "client.h"
#include "exit-codes.h"
#include "model.h"
#include "objects.h"
#include "openmetrics.h"
#include "options.h"
#include "output.h"
#include "pager.h"
#include "shared/cleanup.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "table.h"
#include "text.h"
#include "verbs.h"

static const TableColumn summary_columns[] = {
        { .header = "UNIT", .flags = COLUMN_SHRINK_MID },
        { .header = "POLICY" },
        { .header = "PAGES", .flags = COLUMN_RIGHT },
        { .header = "HITS", .flags = COLUMN_RIGHT },
        { .header = "MISSES", .flags = COLUMN_RIGHT },
        { .header = "HIT%", .flags = COLUMN_RIGHT },
        { .header = "REFAULTS", .flags = COLUMN_RIGHT },
        { .header = "EVICTED", .flags = COLUMN_RIGHT },
        { .header = "REFUSED", .flags = COLUMN_RIGHT },
        { .header = "FALLBACK", .flags = COLUMN_RIGHT },
};

static void add_number(Table *t, uint64_t n) {
        if (n == UINT64_MAX)
                table_add(t, NULL);
        else
                table_addf(t, "%" PRIu64, n);
}

static void add_summary(Table *t, const StatsInfo *s) {
        table_add(t, s->unit);
        table_add(t, s->policy);
        add_number(t, stats_info_counter(s, "managed_pages"));
        add_number(t, stats_info_counter(s, "hits"));
        add_number(t, stats_info_counter(s, "misses"));
        table_add_permille(t, stats_info_hit_permille(s));
        add_number(t, stats_info_counter(s, "refaults"));
        add_number(t, stats_info_counter(s, "evict_reclaimed"));
        add_number(t, stats_info_sum(s, "reject_"));
        add_number(t, stats_info_counter(s, "evict_fallback"));
}

static bool stats_info_empty(const StatsInfo *s) {
        return sd_json_variant_elements(s->counters) == 0;
}

static int show_summary(const GPtrArray *units) {
        _cleanup_(table_freep) Table *t = table_new(summary_columns, ELEMENTSOF(summary_columns));

        for (guint i = 0; i < units->len; i++) {
                StatsInfo s;
                int r;

                r = stats_info_parse(units->pdata[i], &s);
                if (r < 0)
                        return r;

                /* No policy, no counters: a line of dashes would say nothing. */
                if (!stats_info_empty(&s))
                        add_summary(t, &s);
        }

        return output_table(t, "unit with a policy", "units with a policy");
}

static void print_counters(const StatsInfo *s) {
        static const TableColumn columns[] = {
                {},
                { .flags = COLUMN_RIGHT },
        };
        _cleanup_free_ char *unit = text_escape(s->unit), *policy = text_escape(s->policy ?: "no policy");
        _cleanup_(table_freep) Table *t = table_new(columns, ELEMENTSOF(columns));
        const char *name;
        uint64_t value;

        for (size_t i = 0; json_next_counter(s->counters, &i, &name, &value);) {
                table_addf(t, "  %s", name);
                add_number(t, value);
        }

        if (stats_info_hit_permille(s) >= 0) {
                table_add_colored(t, COLOR_BOLD, "  hit ratio");
                table_add_permille(t, stats_info_hit_permille(s));
        }

        printf("%s%s%s: %s\n", color_on(COLOR_BOLD), unit, color_off(COLOR_BOLD), policy);
        details_print(t);
}

static int show_counters(const GPtrArray *units) {
        if (arg_pager)
                pager_open();

        for (guint i = 0; i < units->len; i++) {
                StatsInfo s;
                int r;

                r = stats_info_parse(units->pdata[i], &s);
                if (r < 0)
                        return r;

                if (i > 0)
                        putchar('\n');

                print_counters(&s);
        }

        return EXIT_SUCCESS;
}

/* Without support in the kernel there never will be counters. An empty table would look like an idle
 * system. */
static int check_kernel(sd_varlink *link) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *manager = NULL;
        _cleanup_free_ char *reason = NULL;
        ManagerInfo m;
        int r;

        r = client_call(link, CACHEBPF_VARLINK_INTERFACE ".GetStatus", NULL, &manager);
        if (r < 0)
                return r;

        r = manager_info_parse(manager, &m);
        if (r < 0)
                return r;

        if (m.kernel_support)
                return 0;

        reason = text_escape(m.kernel_reason ?: "the running kernel has no support for it");
        return log_error_errno(EOPNOTSUPP, "There are no counters without cachebpf in the kernel: %s.",
                               reason);
}

/* The states of the units whose counters are shown; without names, of all. */
static int print_metrics(sd_varlink *link, const GPtrArray *stats, size_t n_names, MetricsFormat format,
                         FILE *f) {
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        int r;

        r = objects_fetch_matching(link, &object_kind_unit, /* names= */ NULL, 0, &units);
        if (r < 0)
                return r;

        if (n_names > 0)
                objects_keep(&object_kind_unit, units, stats);

        return openmetrics_print(units, stats, format, f);
}

static int replace_file(const char *path, const char *text) {
        _cleanup_(file_update_done) FileUpdate update = {};
        g_autofree char *dir = g_path_get_dirname(path);
        int r;

        /* A directory that is missing may be a slip of the pen: it is not made. */
        r = access(dir, F_OK) < 0 ? -errno : file_update_prepare(path, text, &update);
        return r < 0 ? r : file_update_commit(&update);
}

/* A device, or a FIFO. */
static int write_into(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);

        return fd < 0 ? -errno : write_all(fd, text, strlen(text));
}

static bool is_stdout(const struct stat *st) {
        struct stat out;

        return fstat(STDOUT_FILENO, &out) >= 0 && out.st_dev == st->st_dev && out.st_ino == st->st_ino;
}

/* What is there and is no file is not replaced, nor is what the standard output writes to already. */
static int write_file(const char *path, const char *text) {
        struct stat st;
        bool there = stat(path, &st) >= 0;
        int r;

        if (there && is_stdout(&st))
                r = write_all(STDOUT_FILENO, text, strlen(text));
        else if (there && !S_ISREG(st.st_mode))
                r = write_into(path, text);
        else
                r = replace_file(path, text);
        return r < 0 ? log_error_errno(r, "Cannot write %s: %m", path) : 0;
}

/* A file gets them all at once: who reads it sees what was there before, or what is now. */
static int show_metrics(sd_varlink *link, const GPtrArray *stats, size_t n_names, MetricsFormat format) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f;
        int r;

        if (!arg_output || streq(arg_output, "-")) {
                r = print_metrics(link, stats, n_names, format, stdout);
                return r < 0 ? r : EXIT_SUCCESS;
        }

        f = open_memstream(&text, &size);
        if (!f)
                return log_oom();

        r = print_metrics(link, stats, n_names, format, f);
        if (fclose(f) != 0 && r >= 0)
                r = log_oom();
        if (r >= 0)
                r = write_file(arg_output, text);
        return r < 0 ? r : EXIT_SUCCESS;
}

/* What --format= asks for; -EINVAL (logged): something else that we do not have. */
static int metrics_wanted(void) {
        MetricsFormat format = METRICS_NONE;

        if (arg_format && streq(arg_format, "openmetrics"))
                format = METRICS_OPENMETRICS;
        else if (arg_format && streq(arg_format, "prometheus"))
                format = METRICS_PROMETHEUS;
        else if (arg_format && !streq(arg_format, "table"))
                return log_error_errno(EINVAL,
                                       "Option --format= takes table, openmetrics or prometheus here, "
                                       "not \"%s\".", arg_format);

        if (format != METRICS_NONE && json_wanted())
                return log_error_errno(EINVAL, "It can be --json= or --format=%s, not both.", arg_format);
        if (format == METRICS_NONE && arg_output)
                return log_error_errno(EINVAL,
                                       "Option --output= is for --format=openmetrics and "
                                       "--format=prometheus.");

        return format;
}

int verb_stats(char **names, size_t n_names) {
        _cleanup_(sd_varlink_flush_close_unrefp) sd_varlink *link = NULL;
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        size_t unknown;
        bool by_process;
        int r, metrics;

        r = by_process_wanted(&by_process);
        if (r != 0)
                return r;
        if (by_process)
                return stats_processes(names, n_names);

        metrics = metrics_wanted();
        if (metrics < 0)
                return EXIT_USAGE;

        r = client_connect(&link);
        if (r < 0)
                return r;

        r = check_kernel(link);
        if (r < 0)
                return r;

        r = objects_fetch(link, &object_kind_stats, names, n_names, &units, &unknown);
        if (r < 0)
                return r;

        if (metrics != METRICS_NONE)
                r = show_metrics(link, units, n_names, metrics);
        else if (json_wanted())
                r = output_json_objects(units);
        else
                r = n_names > 0 ? show_counters(units) : show_summary(units);
        if (r < 0)
                return r;

        return unknown > 0 ? EXIT_UNKNOWN : EXIT_SUCCESS;
}
