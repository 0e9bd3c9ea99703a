/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "by-process.h"
#include "cgroup.h"
#include "event-end.h"
#include "exit-codes.h"
#include "options.h"
#include "output.h"
#include "process-list.h"
#include "record/processes.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "terminal.h"
#include "top-loop.h"

#define DEFAULT_DURATION (10 * USEC_PER_SEC)

typedef struct Watch {
        Cgroup cgroup;
        bool policy; /* it has one */
        Processes *processes;
        GHashTable *counts; /* of type ProcessCounts */
        uint64_t lost; /* as much was told */
        /* of "top" */
        ProcessOrder order;
        uint64_t at_usec; /* CLOCK_MONOTONIC; 0: no sample yet */
        double seconds; /* between the last two */
} Watch;

static void watch_done(Watch *w) {
        cgroup_done(&w->cgroup);
        processes_free(w->processes);
        if (w->counts)
                g_hash_table_unref(w->counts);
}

static void counts_free(void *p) {
        process_counts_free(p);
}

int by_process_wanted(bool *ret) {
        *ret = arg_by && streq(arg_by, "process");

        if (arg_by && !*ret && !streq(arg_by, "unit")) {
                log_error("Option --by= takes unit or process, not \"%s\".", arg_by);
                return EXIT_USAGE;
        }
        if (*ret && (arg_host || arg_machine)) {
                log_error("Processes of other machines cannot be watched: --by=process is not for %s.",
                          arg_host ? "--host=" : "--machine=");
                return EXIT_USAGE;
        }
        if (*ret && (arg_format || arg_output)) {
                log_error("Option %s is not for --by=process.", arg_format ? "--format=" : "--output=");
                return EXIT_USAGE;
        }
        if (!*ret && arg_duration != UINT64_MAX) {
                log_error("Option --duration= is for --by=process.");
                return EXIT_USAGE;
        }

        return 0;
}

static int watch_begin(Watch *w, char **names, size_t n_names) {
        _cleanup_free_ char *error = NULL, *policy = NULL;
        int r;

        if (n_names > 1) {
                log_error("The processes of one unit or control group can be watched, "
                          "not of several: \"%s\" is one too many.", names[1]);
                return EXIT_USAGE;
        }

        r = cgroup_find(n_names > 0 ? names[0] : "/", &w->cgroup);
        if (r == -ESRCH)
                return EXIT_UNKNOWN;
        if (r < 0)
                return r;

        if (geteuid() != 0)
                return log_error_errno(EPERM, "Only root may watch what other processes do.");

        w->counts = g_hash_table_new_full(NULL, NULL, NULL, counts_free);
        policy = cgroup_policy(&w->cgroup);
        w->policy = policy;
        r = processes_new(w->cgroup.id, w->cgroup.level, w->policy, &w->processes, &error);
        if (r < 0)
                return log_error_errno(r, "Cannot watch processes: %s.", error ?: strerror(-r));

        return 0;
}

/* More threads began than there is room for, and not all was counted. */
static void tell_lost(Watch *w) {
        uint64_t lost = processes_lost(w->processes);

        if (lost > w->lost)
                log_warning("%" PRIu64 " accesses of threads for which there was no room were not counted.",
                            lost - w->lost);
        w->lost = lost;
}

/* ---- stats */

static int on_second(sd_event_source *s, uint64_t usec, void *userdata) {
        Watch *w = userdata;
        int r;

        processes_take(w->processes, w->counts);
        r = sd_event_source_set_time_relative(s, USEC_PER_SEC);
        return r < 0 ? r : sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int wait_for_end(Watch *w) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        int r;

        r = event_new_with_end(arg_duration != UINT64_MAX ? arg_duration : DEFAULT_DURATION, &event);
        if (r >= 0)
                r = sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, USEC_PER_SEC, 0, on_second, w);
        if (r < 0)
                return log_error_errno(r, "Cannot set up the event loop: %m");

        return sd_event_loop(event);
}

static int show_json(const Watch *w, const GPtrArray *list) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *array = NULL, *v = NULL;
        int r;

        r = process_list_json(list, &array);
        if (r >= 0)
                r = sd_json_buildo(&v,
                                   SD_JSON_BUILD_PAIR_STRING("name", w->cgroup.name),
                                   SD_JSON_BUILD_PAIR_UNSIGNED("lost", processes_lost(w->processes)),
                                   SD_JSON_BUILD_PAIR_VARIANT("processes", array));
        return r < 0 ? log_error_errno(r, "Cannot build JSON: %m") : output_json(v);
}

int stats_processes(char **names, size_t n_names) {
        _cleanup_(watch_done) Watch w = {};
        _cleanup_ptr_array_ GPtrArray *list = NULL;
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        r = watch_begin(&w, names, n_names);
        if (r != 0)
                return r;

        /* after this, everything is counted */
        log_info("Watching the processes of %s%s; Ctrl-C shows what they did.", w.cgroup.name,
                 w.policy ? ", as its policy counts" : "");

        r = wait_for_end(&w);
        if (r < 0)
                return r;

        processes_take(w.processes, w.counts);
        tell_lost(&w);
        list = process_list_new(w.counts, PROCESSES_BY_MISSES);
        if (json_wanted())
                return show_json(&w, list);

        table = process_list_table(list, 0);
        return output_table(table, "process", "processes");
}

/* ---- top */

static int take(void *userdata) {
        uint64_t now = (uint64_t) g_get_monotonic_time();
        Watch *w = userdata;

        w->seconds = (double) MAX(now - w->at_usec, 1U) / USEC_PER_SEC;
        w->at_usec = now;
        g_hash_table_remove_all(w->counts);
        processes_take(w->processes, w->counts);
        tell_lost(w);
        return 0;
}

static bool obey(void *userdata, char key) {
        ProcessOrder order = process_order_from_key(key);
        Watch *w = userdata;

        if (order == _PROCESS_ORDER_INVALID)
                return false;

        w->order = order;
        return true;
}

static void print_title(void *userdata, FILE *f) {
        const Watch *w = userdata;
        guint n = g_hash_table_size(w->counts);

        fprintf(f, "%u %s of %s, by %s", n, n == 1 ? "process" : "processes", w->cgroup.name,
                process_order_to_string(w->order));
}

static void print_table(void *userdata, FILE *f, size_t columns) {
        const Watch *w = userdata;
        _cleanup_ptr_array_ GPtrArray *list = process_list_new(w->counts, w->order);
        _cleanup_(table_freep) Table *t = process_list_table(list, w->seconds);

        table_print(t, f, arg_legend, arg_full ? SIZE_MAX : columns);
}

int top_processes(char **names, size_t n_names) {
        _cleanup_(watch_done) Watch w = { .order = PROCESSES_BY_MISSES };
        int r;

        if (arg_sort) {
                w.order = process_order_from_string(arg_sort);
                if (w.order == _PROCESS_ORDER_INVALID) {
                        log_error("Option --sort= takes pid, name, hits, misses, ratio or bytes "
                                  "with --by=process, not \"%s\".", arg_sort);
                        return EXIT_USAGE;
                }
        }

        r = watch_begin(&w, names, n_names);
        if (r != 0)
                return r;

        w.at_usec = (uint64_t) g_get_monotonic_time();
        if (top_is_plain())
                g_usleep(top_delay()); /* nothing was counted yet */

        return top_loop(&(TopView) {
                .take = take,
                .obey = obey,
                .print_title = print_title,
                .print_table = print_table,
                .userdata = &w,
        });
}
