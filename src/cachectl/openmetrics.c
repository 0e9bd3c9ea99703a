/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <inttypes.h>

#include "config/catalog.h"
#include "model.h"
#include "openmetrics.h"
#include "shared/cleanup.h"
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
        { "cachebpf_readahead_asked", COUNTER, "readahead_asked", NULL,
          "Times that the policy was asked what to read of a file" },
        { "cachebpf_readahead_declined", COUNTER, "readahead_declined", NULL,
          "Times that the policy left it to stock readahead" },
        { "cachebpf_readahead_clamped", COUNTER, "readahead_clamped", NULL,
          "Times that the policy wanted to read more than it may" },
        { "cachebpf_readahead_pages", COUNTER, "readahead_pages", "pages",
          "Pages that were read as the policy said" },
        { "cachebpf_readahead_prefetched_pages", COUNTER, "readahead_prefetched", "pages",
          "Pages that were read beside that, because the policy said so" },
        { "cachebpf_readahead_marks_set", COUNTER, "readahead_marks_set", NULL,
          "Windows of the policy with a page that says when it is used" },
        { "cachebpf_readahead_marks_hit", COUNTER, "readahead_marks_hit", NULL,
          "Such pages that were used, and those of stock readahead" },
        { "cachebpf_readahead_unused_pages", COUNTER, "readahead_unused", "pages",
          "Pages that left the cache unused, as far as the policy plans readahead" },
        { "cachebpf_readahead_again_pages", COUNTER, "readahead_again", "pages",
          "Pages of those that were soon read again" },
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

static const struct {
        const char *openmetrics, *prometheus;
        const char *suffix; /* of the samples */
} types[] = {
        [COUNTER] = { "counter",  "counter", "_total" },
        [GAUGE]   = { "gauge",    "gauge",   "" },
        [SECONDS] = { "counter",  "counter", "_total" },
        [LONGEST] = { "gauge",    "gauge",   "" },
        [STATES]  = { "stateset", "gauge",   "" },
        [UNKNOWN] = { "unknown",  "untyped", "" },
};

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
static void print_head(const Family *family, MetricsFormat format, FILE *f) {
        const char *name = family->name, *suffix = types[family->type].suffix;

        if (format == METRICS_PROMETHEUS) {
                fprintf(f, "# HELP %s%s %s.\n", name, suffix, family->help);
                fprintf(f, "# TYPE %s%s %s\n", name, suffix, types[family->type].prometheus);
                return;
        }

        fprintf(f, "# TYPE %s %s\n", name, types[family->type].openmetrics);
        if (family->unit)
                fprintf(f, "# UNIT %s %s\n", name, family->unit);
        fprintf(f, "# HELP %s %s.\n", name, family->help);
}

/* ---- counters */

typedef struct Sample {
        StatsInfo stats;
        const char *counter;
        uint64_t value;
        CounterInfo declared; /* by the policy; without a name: by the kernel */
} Sample;

static void print_sample(const Family *family, const Sample *s, const char *reason, FILE *f) {
        fprintf(f, "%s%s{", family->name, types[family->type].suffix);
        print_label("unit", s->stats.unit, f);
        fputc(',', f);
        print_label("policy", strempty(s->stats.policy), f);
        if (*reason) {
                fputc(',', f);
                print_label("reason", reason, f);
        }

        if (family->type == SECONDS || family->type == LONGEST)
                fprintf(f, "} %" PRIu64 ".%09" PRIu64 "\n", s->value / 1000000000, s->value % 1000000000);
        else
                fprintf(f, "} %" PRIu64 "\n", s->value);
}

/* "removed_" and "removed_reclaim": the rest, "reclaim"; "hits" and "hits": "". NULL: another one. */
static const char *counter_rest(const Family *family, const char *counter) {
        bool has_rest = family->type != UNKNOWN && endswith(family->counter, "_");
        const char *rest = startswith(counter, family->counter);

        return rest && !*rest != has_rest ? rest : NULL;
}

static void print_family(const Family *family, const GArray *samples, MetricsFormat format, FILE *f) {
        bool begun = false;

        for (guint i = 0; i < samples->len; i++) {
                const Sample *s = &g_array_index(samples, Sample, i);
                const char *rest = counter_rest(family, s->counter);

                if (!rest)
                        continue;
                if (!begun)
                        print_head(family, format, f);
                begun = true;
                print_sample(family, s, rest, f);
        }
}

/* ---- what a newer kernel counts */

static bool is_known(const char *counter) {
        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                if (counter_rest(families + i, counter) ||
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

static void print_unknown(const GArray *samples, MetricsFormat format, FILE *f) {
        _cleanup_hash_table_ GHashTable *printed = g_hash_table_new(g_str_hash, g_str_equal);

        for (guint i = 0; i < samples->len; i++) {
                const Sample *s = &g_array_index(samples, Sample, i);
                const char *counter = s->counter;
                _cleanup_free_ char *name = g_strconcat("cachebpf_", counter, NULL);
                const Family family = {
                        name, UNKNOWN, counter, NULL, "Something that the kernel counts",
                };

                if (!s->declared.name && !is_known(counter) && is_metric_name(counter) &&
                    g_hash_table_add(printed, (void *) counter))
                        print_family(&family, samples, format, f);
        }
}

/* ---- what policies count */

/* The name has the policy in it: what two of them call the same need not be the same. */
static char *declared_family(const Sample *s) {
        const char *unit = s->declared.unit;
        g_autofree char *policy = g_strdup(strempty(s->stats.policy));

        g_strcanon(policy, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", '_');
        return g_strconcat("cachebpf_policy_", policy, "_", s->declared.name, unit ? "_" : NULL, unit, NULL);
}

static char *declared_help(const CounterInfo *c) {
        char *help = g_strconcat(strempty(c->unit), c->unit ? " " : "", c->doc ?: c->name, NULL);

        /* what would have to be escaped, and differently in the two forms */
        g_strdelimit(help, "\"\\\n", '\'');
        *help = g_ascii_toupper(*help);
        return help;
}

static void print_declared(const GArray *samples, MetricsFormat format, FILE *f) {
        g_autoptr(GHashTable) printed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        for (guint i = 0; i < samples->len; i++) {
                const Sample *first = &g_array_index(samples, Sample, i);
                g_autofree char *name = NULL, *help = NULL;
                Family family = { .type = COUNTER };

                if (!first->declared.name)
                        continue;
                name = declared_family(first);
                if (g_hash_table_contains(printed, name))
                        continue;

                help = declared_help(&first->declared);
                family.name = name;
                family.unit = first->declared.unit;
                family.help = help;
                print_head(&family, format, f);
                for (guint j = i; j < samples->len; j++) {
                        const Sample *s = &g_array_index(samples, Sample, j);
                        g_autofree char *other = s->declared.name ? declared_family(s) : NULL;

                        if (other && streq(other, name))
                                print_sample(&family, s, "", f);
                }
                (void) g_hash_table_add(printed, g_steal_pointer(&name));
        }
}

/* What the policy says of its counter. One that it does not explain is like one of a newer kernel. */
static int find_declared(Sample *s) {
        const char *name = startswith(s->counter, POLICY_COUNTER_PREFIX);
        CounterInfo c;
        int r;

        s->declared = (CounterInfo) {};
        for (size_t i = 0; name && i < sd_json_variant_elements(s->stats.declared); i++) {
                r = counter_info_parse(sd_json_variant_by_index(s->stats.declared, i), &c);
                if (r < 0)
                        return r;

                if (streq(c.name, name) && is_metric_name(c.name) && (!c.unit || is_metric_name(c.unit)))
                        s->declared = c;
        }

        return 0;
}

static int collect_samples(const GPtrArray *stats, GArray *samples) {
        for (guint i = 0; i < stats->len; i++) {
                Sample s = {};
                int r;

                r = stats_info_parse(stats->pdata[i], &s.stats);
                if (r < 0)
                        return r;

                for (size_t j = 0; json_next_counter(s.stats.counters, &j, &s.counter, &s.value);) {
                        r = find_declared(&s);
                        if (r < 0)
                                return r;

                        g_array_append_val(samples, s);
                }
        }

        return 0;
}

/* ---- states */

/* A set of states, of which one is 1. */
static int print_states(const GPtrArray *units, MetricsFormat format, FILE *f) {
        static const Family family = {
                "cachebpf_unit_state", STATES, NULL, NULL, "What the policy of the unit is doing",
        };
        int r;

        if (units->len > 0)
                print_head(&family, format, f);

        for (guint i = 0; i < units->len; i++) {
                UnitInfo u;

                r = unit_info_parse(units->pdata[i], &u);
                if (r < 0)
                        return r;

                for (UnitState s = 0; s < _UNIT_STATE_MAX; s++) {
                        fprintf(f, "%s{", family.name);
                        print_label("unit", u.unit, f);
                        fputc(',', f);
                        print_label(family.name, unit_state_to_string(s), f);
                        fprintf(f, "} %i\n", u.state && streq(u.state, unit_state_to_string(s)));
                }
        }

        return 0;
}

/* ---- what CachePolicy=auto chooses from */

static void print_candidate(const Family *family, const char *unit, const CandidateInfo *c, FILE *f) {
        char ratio[G_ASCII_DTOSTR_BUF_SIZE];

        fprintf(f, "%s{", family->name);
        print_label("unit", unit, f);
        fputc(',', f);
        print_label("candidate", c->name, f);
        fprintf(f, "} %s\n", g_ascii_formatd(ratio, sizeof(ratio), "%.6f", c->miss_ratio));
}

static int print_candidates(const GPtrArray *units, MetricsFormat format, FILE *f) {
        static const Family family = {
                "cachebpf_candidate_miss_ratio", GAUGE, NULL, "ratio",
                "What a candidate of CachePolicy=auto would miss of all requests",
        };
        bool begun = false;

        for (guint i = 0; i < units->len; i++) {
                sd_json_variant *unit = units->pdata[i],
                                *candidates = sd_json_variant_by_key(sd_json_variant_by_key(unit, "choice"),
                                                                     "candidates");

                for (size_t j = 0; j < sd_json_variant_elements(candidates); j++) {
                        CandidateInfo c;
                        int r;

                        r = candidate_info_parse(sd_json_variant_by_index(candidates, j), &c);
                        if (r < 0)
                                return r;
                        if (c.miss_ratio < 0)
                                continue;
                        if (!begun)
                                print_head(&family, format, f);
                        begun = true;
                        print_candidate(&family, json_string(unit, "unit"), &c, f);
                }
        }

        return 0;
}

/* ---- numbers of a unit, which need not have a policy */

typedef struct UnitFamily {
        Family family;
        const char *object, *member; /* of the unit */
} UnitFamily;

static const UnitFamily unit_families[] = {
        { { "cachebpf_switches", COUNTER, NULL, NULL, "How often CachePolicy=auto chose another policy" },
          "choice", "switches" },
        { { "cachebpf_replay_read_bytes", COUNTER, NULL, "bytes",
            "Bytes that CacheReplay= read ahead when the unit started" },
          "replay", "readBytesTotal" },
};

static void print_unit_family(const UnitFamily *x, const GPtrArray *units, MetricsFormat format, FILE *f) {
        bool begun = false;

        for (guint i = 0; i < units->len; i++) {
                sd_json_variant *object = sd_json_variant_by_key(units->pdata[i], x->object),
                                *n = sd_json_variant_by_key(object, x->member);

                if (!n || !sd_json_variant_is_unsigned(n))
                        continue;
                if (!begun)
                        print_head(&x->family, format, f);
                begun = true;
                fprintf(f, "%s_total{", x->family.name);
                print_label("unit", json_string(units->pdata[i], "unit"), f);
                fprintf(f, "} %" PRIu64 "\n", sd_json_variant_unsigned(n));
        }
}

int openmetrics_print(const GPtrArray *units, const GPtrArray *stats, MetricsFormat format, FILE *f) {
        g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(Sample));
        int r;

        assert(units);
        assert(stats);
        assert(f);

        r = collect_samples(stats, samples);
        if (r >= 0)
                r = print_states(units, format, f);
        if (r >= 0)
                r = print_candidates(units, format, f);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(unit_families); i++)
                print_unit_family(unit_families + i, units, format, f);
        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                print_family(families + i, samples, format, f);
        print_declared(samples, format, f);
        print_unknown(samples, format, f);
        if (format == METRICS_OPENMETRICS)
                fputs("# EOF\n", f);
        return 0;
}
