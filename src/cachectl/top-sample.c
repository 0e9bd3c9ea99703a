/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model.h"
#include "objects.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "top-sample.h"

static const char *const order_names[_TOP_ORDER_MAX] = {
        [TOP_BY_UNIT]      = "unit",
        [TOP_BY_POLICY]    = "policy",
        [TOP_BY_CACHED]    = "cached",
        [TOP_BY_HITS]      = "hits",
        [TOP_BY_MISSES]    = "misses",
        [TOP_BY_RATIO]     = "ratio",
        [TOP_BY_EVICTIONS] = "evictions",
};

const char *top_order_to_string(TopOrder order) {
        assert(order >= 0 && order < _TOP_ORDER_MAX);
        return order_names[order];
}

TopOrder top_order_from_string(const char *s) {
        for (TopOrder i = 0; i < _TOP_ORDER_MAX; i++)
                if (streq(order_names[i], s))
                        return i;

        return _TOP_ORDER_INVALID;
}

TopOrder top_order_from_key(char key) {
        for (TopOrder i = 0; i < _TOP_ORDER_MAX; i++)
                if (*order_names[i] == key)
                        return i;

        return _TOP_ORDER_INVALID;
}

/* ---- units */

static void unit_free(TopUnit *u) {
        free(u->name);
        free(u->policy);
        free(u->state);
        free(u);
}

void top_sample_done(TopSample *s) {
        assert(s);

        for (size_t i = 0; i < s->n; i++)
                unit_free(s->units[i]);
        free(s->units);
        *s = (TopSample) {};
}

/* Its line from now on, if it has none yet. */
static TopUnit *find_unit(TopSample *s, const char *name) {
        TopUnit **units, *u;

        for (size_t i = 0; i < s->n; i++)
                if (streq(s->units[i]->name, name))
                        return s->units[i];

        units = reallocarray(s->units, s->n + 1, sizeof(*units));
        if (!units)
                return NULL;
        s->units = units;

        u = calloc(1, sizeof(TopUnit));
        if (!u)
                return NULL;
        u->name = strdup(name);
        if (!u->name) {
                free(u);
                return NULL;
        }
        u->permille = -1;

        return s->units[s->n++] = u;
}

static void forget_units(TopSample *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n; i++)
                if (s->units[i]->generation == s->generation)
                        s->units[n++] = s->units[i];
                else
                        unit_free(s->units[i]);
        s->n = n;
}

/* ---- counters */

static void add_point(TopUnit *u) {
        if (u->n_curve == TOP_CURVE_MAX)
                memmove(u->curve, u->curve + 1, --u->n_curve);
        u->curve[u->n_curve++] = u->permille < 0 ? -1 : u->permille / 10;
}

static uint64_t counter_or_zero(const StatsInfo *s, const char *name) {
        uint64_t n = stats_info_counter(s, name);

        return n == UINT64_MAX ? 0 : n;
}

static int permille(uint64_t hits, uint64_t misses) {
        if (hits + misses == 0)
                return -1;

        return (int) ((long double) hits * 1000 / ((long double) hits + misses));
}

/* Another policy, or the same attached anew, counts from zero. */
static bool continues(const TopUnit *u, const StatsInfo *s) {
        return u->counted && streq_ptr(u->policy, s->policy) &&
               counter_or_zero(s, "hits") >= u->hits &&
               counter_or_zero(s, "misses") >= u->misses &&
               counter_or_zero(s, "evict_reclaimed") >= u->evictions;
}

static int update_counters(TopUnit *u, const StatsInfo *s, double seconds) {
        uint64_t hits = counter_or_zero(s, "hits"), misses = counter_or_zero(s, "misses"),
                 evictions = counter_or_zero(s, "evict_reclaimed"),
                 pages = counter_or_zero(s, "managed_pages");

        u->compared = seconds > 0 && continues(u, s);
        if (u->compared) {
                u->hit_rate = (hits - u->hits) / seconds;
                u->miss_rate = (misses - u->misses) / seconds;
                u->eviction_rate = (evictions - u->evictions) / seconds;
                u->permille = permille(hits - u->hits, misses - u->misses);
                add_point(u);
        } else {
                u->hit_rate = u->miss_rate = u->eviction_rate = 0;
                u->permille = permille(hits, misses);
                u->n_curve = 0;
        }

        u->counted = true;
        u->hits = hits;
        u->misses = misses;
        u->evictions = evictions;
        u->cached = pages * (uint64_t) sysconf(_SC_PAGESIZE);

        return free_and_strdup(&u->policy, s->policy);
}

static int add_units(TopSample *s, const ObjectList *units) {
        int r;

        for (size_t i = 0; i < units->n; i++) {
                UnitInfo info;
                TopUnit *u;

                r = unit_info_parse(units->items[i], &info);
                if (r < 0)
                        return r;

                u = find_unit(s, info.unit);
                if (!u || free_and_strdup(&u->state, info.state) < 0)
                        return log_oom();
                u->generation = s->generation;

                /* without counters: what is wanted */
                if (!u->counted && free_and_strdup(&u->policy, info.effective ?: info.configured) < 0)
                        return log_oom();
        }

        return 0;
}

static int add_stats(TopSample *s, const ObjectList *stats, double seconds) {
        _cleanup_hash_table_ GHashTable *counted = g_hash_table_new(NULL, NULL);
        int r;

        for (size_t i = 0; i < stats->n; i++) {
                StatsInfo info;
                TopUnit *u;

                r = stats_info_parse(stats->items[i], &info);
                if (r < 0)
                        return r;
                if (sd_json_variant_elements(info.counters) == 0)
                        continue;

                u = find_unit(s, info.unit);
                if (!u || update_counters(u, &info, seconds) < 0)
                        return log_oom();
                u->generation = s->generation;
                g_hash_table_add(counted, u);
        }

        /* it had a policy, and has none any more */
        for (size_t i = 0; i < s->n; i++)
                if (!g_hash_table_contains(counted, s->units[i])) {
                        s->units[i]->counted = s->units[i]->compared = false;
                        s->units[i]->n_curve = 0;
                        s->units[i]->permille = -1;
                }

        return 0;
}

int top_sample_add(TopSample *s, const ObjectList *units, const ObjectList *stats, uint64_t at_usec) {
        double seconds;
        int r;

        assert(s);

        seconds = s->at_usec > 0 && at_usec > s->at_usec ? (double) (at_usec - s->at_usec) / USEC_PER_SEC :
                                                           0;
        s->at_usec = at_usec;
        s->generation++;

        r = add_stats(s, stats, seconds);
        if (r >= 0)
                r = add_units(s, units);
        if (r < 0)
                return r;

        forget_units(s);
        return 0;
}

int top_sample_take(TopSample *s, sd_varlink *link, char **patterns, size_t n_patterns) {
        _cleanup_(object_list_done) ObjectList units = {}, stats = {};
        struct timespec ts;
        int r;

        r = objects_fetch(link, &object_kind_unit, /* names= */ NULL, 0, &units, /* ret_unknown= */ NULL);
        if (r >= 0)
                r = objects_fetch(link, &object_kind_stats, /* names= */ NULL, 0, &stats,
                                  /* ret_unknown= */ NULL);
        if (r < 0)
                return r;

        r = objects_filter(&object_kind_unit, &units, patterns, n_patterns);
        if (r >= 0)
                r = objects_filter(&object_kind_stats, &stats, patterns, n_patterns);
        if (r < 0)
                return log_oom();

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return top_sample_add(s, &units, &stats, (uint64_t) ts.tv_sec * USEC_PER_SEC + ts.tv_nsec / 1000);
}

/* ---- order */

static int compare_numbers(double a, double b) {
        return (b > a) - (b < a); /* the larger one first */
}

/* The worst of those that have one first. */
static int compare_ratios(const TopUnit *a, const TopUnit *b) {
        return compare_numbers(b->permille < 0 ? 1001 : b->permille, a->permille < 0 ? 1001 : a->permille);
}

static int compare_units(const void *x, const void *y, void *userdata) {
        const TopUnit *a = *(TopUnit *const *) x, *b = *(TopUnit *const *) y;
        int r = 0;

        switch (*(const TopOrder *) userdata) {

        case TOP_BY_POLICY:
                r = strcmp(strempty(a->policy), strempty(b->policy));
                break;
        case TOP_BY_CACHED:
                r = compare_numbers(a->counted ? a->cached : 0, b->counted ? b->cached : 0);
                break;
        case TOP_BY_HITS:
                r = compare_numbers(a->hit_rate, b->hit_rate) ?: compare_numbers(a->hits, b->hits);
                break;
        case TOP_BY_MISSES:
                r = compare_numbers(a->miss_rate, b->miss_rate) ?: compare_numbers(a->misses, b->misses);
                break;
        case TOP_BY_RATIO:
                r = compare_ratios(a, b);
                break;
        case TOP_BY_EVICTIONS:
                r = compare_numbers(a->eviction_rate, b->eviction_rate) ?:
                    compare_numbers(a->evictions, b->evictions);
                break;
        default:
                break;
        }

        return r ?: strcmp(a->name, b->name);
}

void top_sample_sort(TopSample *s, TopOrder order) {
        assert(s);

        if (s->n > 1)
                qsort_r(s->units, s->n, sizeof(*s->units), compare_units, &order);
}

/* ---- curve */

char *top_curve(const TopUnit *u, unsigned width, bool utf8) {
        static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        static const char *const letters[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
        const char *const *steps = utf8 ? blocks : letters;
        unsigned n = MIN(u->n_curve, width);
        char *curve, *p;

        curve = p = malloc(width * STRLEN("█") + 1);
        if (!curve)
                return NULL;

        for (unsigned i = n; i < width; i++)
                *p++ = ' ';
        for (unsigned i = u->n_curve - n; i < u->n_curve; i++)
                p = stpcpy(p, u->curve[i] < 0 ? " " : steps[MIN(u->curve[i] * 8 / 100, 7)]);

        *p = 0;
        return curve;
}
