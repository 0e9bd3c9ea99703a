/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model.h"
#include "openmetrics.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "shared/unit-state.h"

typedef enum Type {
        COUNTER,
        GAUGE,
        SECONDS, /* a counter, of nanoseconds in the kernel */
        LONGEST, /* a gauge, the same */
        STATES,
        UNKNOWN,
} Type;

/* A family of metrics and the counter of the kernel that it is. A counter that ends with _ stands for all
 * that begin with it: what follows is the reason. A unit is the end of the family's name, as the format
 * demands. */
typedef struct Family {
        const char *name;
        Type type;
        const char *counter;
        const char *unit;
        const char *help;
} Family;

static const Family families[] = {
        { "cachebpf_managed_folios", GAUGE, "managed_folios", "folios",
          "Folios that the policy manages now" },
        { "cachebpf_managed_pages", GAUGE, "managed_pages", "pages",
          "Pages that the policy manages now" },
        { "cachebpf_lists", GAUGE, "lists", NULL,
          "Eviction lists of the policy" },
        { "cachebpf_table_bytes", GAUGE, "table_bytes", "bytes",
          "Memory of the entries for what the policy manages" },
        { "cachebpf_bucket_bytes", GAUGE, "bucket_bytes", "bytes",
          "Memory in which the policy remembers what is not cached" },
        { "cachebpf_hits", COUNTER, "hits", NULL,
          "Accesses to what is in the cache" },
        { "cachebpf_misses", COUNTER, "misses", NULL,
          "First accesses to what had to be brought in" },
        { "cachebpf_added_pages", COUNTER, "added", "pages",
          "Pages that came into the cache" },
        { "cachebpf_adopted_pages", COUNTER, "adopted", "pages",
          "Pages that were cached before the policy was responsible for them" },
        { "cachebpf_unmanaged_pages", COUNTER, "unmanaged", "pages",
          "Pages that the policy did not learn of, for want of memory" },
        { "cachebpf_refault_pages", COUNTER, "refaults", "pages",
          "Pages that came back soon after they had been evicted" },
        { "cachebpf_rejected_pages", GAUGE, "rejected_pages", "pages",
          "Managed pages that the policy does not want, and that are still there" },
        { "cachebpf_admit_asked_pages", COUNTER, "admit_asked", "pages",
          "Pages that the admission filter was asked about" },
        { "cachebpf_admit_rejected_pages", COUNTER, "admit_rejected", "pages",
          "Pages that the admission filter did not want" },
        { "cachebpf_admit_asked_again_pages", COUNTER, "admit_asked_again", "pages",
          "Pages that the admission filter was asked about once more" },
        { "cachebpf_admit_reversed_pages", COUNTER, "admit_reversed", "pages",
          "Pages that the admission filter wanted after all" },
        { "cachebpf_removed_pages", COUNTER, "removed_", "pages",
          "Pages that the policy no longer manages" },
        { "cachebpf_evict_calls", COUNTER, "evict_calls", NULL,
          "Requests to the policy for pages to evict" },
        { "cachebpf_evict_asked_pages", COUNTER, "evict_asked", "pages",
          "Pages that were wanted of the policy" },
        { "cachebpf_evict_proposed_pages", COUNTER, "evict_proposed", "pages",
          "Pages that the policy proposed" },
        { "cachebpf_evict_isolated_pages", COUNTER, "evict_isolated", "pages",
          "Proposed pages that reclaim could take" },
        { "cachebpf_evict_reclaimed_pages", COUNTER, "evict_reclaimed", "pages",
          "Pages that were gained by what the policy proposed" },
        { "cachebpf_evict_fallback_pages", COUNTER, "evict_fallback", "pages",
          "Pages that were left to the stock policy" },
        { "cachebpf_evict_seconds", SECONDS, "evict_ns", "seconds",
          "Time that the policy took to answer requests" },
        { "cachebpf_evict_longest_seconds", LONGEST, "evict_ns_max", "seconds",
          "Longest time that the policy took to answer one" },
        { "cachebpf_refused_folios", COUNTER, "reject_", "folios",
          "Folios that the policy proposed and the kernel refused" },
        { "cachebpf_reconfigure_asked", COUNTER, "reconfigure_asked", NULL,
          "How often the policy asked to be reconfigured" },
        { "cachebpf_reconfigure_done", COUNTER, "reconfigure_done", NULL,
          "How often it was reconfigured" },
        { "cachebpf_reconfigure_failed", COUNTER, "reconfigure_failed", NULL,
          "How often that failed" },
};

static const char *const type_names[] = {
        [COUNTER] = "counter",
        [GAUGE]   = "gauge",
        [SECONDS] = "counter",
        [LONGEST] = "gauge",
        [STATES]  = "stateset",
        [UNKNOWN] = "unknown",
};

static const char *const prometheus_type_names[] = {
        [COUNTER] = "counter",
        [GAUGE]   = "gauge",
        [SECONDS] = "counter",
        [LONGEST] = "gauge",
        [STATES]  = "gauge",
        [UNKNOWN] = "untyped",
};

static const char *type_suffix(Type type) {
        return type == COUNTER || type == SECONDS ? "_total" : "";
}

/* The value of a label, quoted. What is not UTF-8 cannot be in JSON either. */
static void print_label(const char *name, const char *value, FILE *f) {
        fprintf(f, "%s=\"", name);
        for (; *value; value++)
                switch (*value) {
                case '\n':
                        fputs("\\n", f);
                        break;
                case '"':
                case '\\':
                        fputc('\\', f);
                        /* fall through */
                default:
                        fputc(*value, f);
                }
        fputc('"', f);
}

/* In the form of Prometheus it is the name of the samples that has a type. */
static void print_head(const char *name, Type type, const char *unit, const char *help,
                       MetricsFormat format, FILE *f) {
        if (format == METRICS_PROMETHEUS) {
                fprintf(f, "# HELP %s%s %s.\n", name, type_suffix(type), help);
                fprintf(f, "# TYPE %s%s %s\n", name, type_suffix(type), prometheus_type_names[type]);
                return;
        }

        fprintf(f, "# TYPE %s %s\n", name, type_names[type]);
        if (unit)
                fprintf(f, "# UNIT %s %s\n", name, unit);
        fprintf(f, "# HELP %s %s.\n", name, help);
}

static void print_sample(const char *name, Type type, const StatsInfo *s, const char *reason, uint64_t value,
                         FILE *f) {
        fprintf(f, "%s%s{", name, type_suffix(type));
        print_label("unit", s->unit, f);
        fputc(',', f);
        print_label("policy", strempty(s->policy), f);
        if (reason) {
                fputc(',', f);
                print_label("reason", reason, f);
        }

        if (type == SECONDS || type == LONGEST)
                fprintf(f, "} %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000, value % 1000000000);
        else
                fprintf(f, "} %" PRIu64 "\n", value);
}

/* "removed_" and "removed_reclaim": the rest, "reclaim"; "hits" and "hits": "". NULL: another one. */
static const char *counter_rest(const char *pattern, const char *counter) {
        const char *rest = startswith(counter, pattern);

        return rest && !*rest == !endswith(pattern, "_") ? rest : NULL;
}

typedef void (*CounterFunc)(const StatsInfo *s, const char *counter, uint64_t value, void *userdata);

static void foreach_counter(const StatsInfo *stats, size_t n, CounterFunc func, void *userdata) {
        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j + 1 < sd_json_variant_elements(stats[i].counters); j += 2) {
                        sd_json_variant *value = sd_json_variant_by_index(stats[i].counters, j + 1);

                        if (sd_json_variant_is_unsigned(value))
                                func(stats + i,
                                     sd_json_variant_string(sd_json_variant_by_index(stats[i].counters, j)),
                                     sd_json_variant_unsigned(value), userdata);
                }
}

typedef struct Output {
        const Family *family; /* NULL: the counter is one that we do not know */
        const char *counter;
        bool begun;
        MetricsFormat format;
        FILE *f;
} Output;

static void print_known(const StatsInfo *s, const char *counter, uint64_t value, void *userdata) {
        Output *o = ASSERT_PTR(userdata);
        const char *rest = counter_rest(o->family->counter, counter);

        if (!rest)
                return;

        if (!o->begun)
                print_head(o->family->name, o->family->type, o->family->unit, o->family->help, o->format,
                           o->f);
        o->begun = true;
        print_sample(o->family->name, o->family->type, s, *rest ? rest : NULL, value, o->f);
}

/* ---- what a newer kernel counts */

static bool is_known(const char *counter) {
        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                if (counter_rest(families[i].counter, counter) ||
                    streq(families[i].name + STRLEN("cachebpf_"), counter))
                        return true;

        return false;
}

/* What can be the name of a metric of type unknown: these have no suffix that means something. */
static bool is_metric_name(const char *s) {
        static const char *const suffixes[] = { "_total", "_created", "_count", "_sum", "_bucket", "_info" };

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (endswith(s, suffixes[i]))
                        return false;

        return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")];
}

static void note_unknown(const StatsInfo *s, const char *counter, uint64_t value, void *userdata) {
        GPtrArray *unknown = ASSERT_PTR(userdata);

        if (!is_known(counter) && is_metric_name(counter) &&
            !g_ptr_array_find_with_equal_func(unknown, counter, g_str_equal, NULL))
                g_ptr_array_add(unknown, (void *) counter);
}

static void print_one(const StatsInfo *s, const char *counter, uint64_t value, void *userdata) {
        Output *o = ASSERT_PTR(userdata);
        _cleanup_free_ char *name = NULL;

        if (!streq(counter, o->counter))
                return;

        name = g_strconcat("cachebpf_", counter, NULL);
        if (!o->begun)
                print_head(name, UNKNOWN, NULL, "Something that the kernel counts", o->format, o->f);
        o->begun = true;
        print_sample(name, UNKNOWN, s, NULL, value, o->f);
}

static void print_counters(const StatsInfo *stats, size_t n, MetricsFormat format, FILE *f) {
        _cleanup_ptr_array_ GPtrArray *unknown = g_ptr_array_new();

        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                foreach_counter(stats, n, print_known,
                                &(Output) { .family = families + i, .format = format, .f = f });

        foreach_counter(stats, n, note_unknown, unknown);
        for (guint i = 0; i < unknown->len; i++)
                foreach_counter(stats, n, print_one,
                                &(Output) { .counter = unknown->pdata[i], .format = format, .f = f });
}

/* ---- states */

/* A set of states, of which one is 1. */
static int print_states(const GPtrArray *units, MetricsFormat format, FILE *f) {
        static const char name[] = "cachebpf_unit_state";
        int r;

        if (units->len > 0)
                print_head(name, STATES, NULL, "What the policy of the unit is doing", format, f);

        for (guint i = 0; i < units->len; i++) {
                UnitInfo u;

                r = unit_info_parse(units->pdata[i], &u);
                if (r < 0)
                        return r;

                for (UnitState s = 0; s < _UNIT_STATE_MAX; s++) {
                        fprintf(f, "%s{", name);
                        print_label("unit", u.unit, f);
                        fputc(',', f);
                        print_label(name, unit_state_to_string(s), f);
                        fprintf(f, "} %i\n", u.state && streq(u.state, unit_state_to_string(s)));
                }
        }

        return 0;
}

int openmetrics_print(const GPtrArray *units, const GPtrArray *stats, MetricsFormat format, FILE *f) {
        _cleanup_free_ StatsInfo *infos = NULL;
        int r;

        assert(units);
        assert(stats);
        assert(f);

        infos = calloc(stats->len + 1, sizeof(StatsInfo));
        if (!infos)
                return log_oom();

        for (guint i = 0; i < stats->len; i++) {
                r = stats_info_parse(stats->pdata[i], infos + i);
                if (r < 0)
                        return r;
        }

        r = print_states(units, format, f);
        if (r < 0)
                return r;

        print_counters(infos, stats->len, format, f);
        if (format == METRICS_OPENMETRICS)
                fputs("# EOF\n", f);
        return 0;
}
