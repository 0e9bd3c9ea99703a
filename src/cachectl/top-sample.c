/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"
#include "objects.h"
#include "shared/cleanup.h"
#include "shared/string-util.h"
#include "top-sample.h"

static const char *const top_order_table[] = {
        [TOP_BY_UNIT]      = "unit",
        [TOP_BY_POLICY]    = "policy",
        [TOP_BY_CACHED]    = "cached",
        [TOP_BY_HITS]      = "hits",
        [TOP_BY_MISSES]    = "misses",
        [TOP_BY_RATIO]     = "ratio",
        [TOP_BY_EVICTIONS] = "evictions",
};

DEFINE_STRING_TABLE(top_order, TopOrder, _TOP_ORDER_MAX);

TopOrder top_order_from_key(char key) {
        for (TopOrder i = 0; i < _TOP_ORDER_MAX; i++)
                if (*top_order_table[i] == key)
                        return i;

        return _TOP_ORDER_INVALID;
}

/* ---- units */

static void unit_free(void *p) {
        TopUnit *u = p;

        free(u->name);
        free(u->policy);
        free(u->shown);
        free(u->state);
        free(u);
}

void top_sample_done(TopSample *s) {
        assert(s);

        if (s->units)
                g_ptr_array_unref(s->units);
        *s = (TopSample) {};
}

/* Its line from now on, if it has none yet. */
static TopUnit *find_unit(TopSample *s, const char *name) {
        TopUnit *u;

        for (guint i = 0; i < s->units->len; i++) {
                u = s->units->pdata[i];
                if (streq(u->name, name))
                        return u;
        }

        u = g_new(TopUnit, 1);
        *u = (TopUnit) { .name = g_strdup(name), .permille = -ENODATA };
        g_ptr_array_add(s->units, u);
        return u;
}

static void forget_units(TopSample *s) {
        for (guint i = s->units->len; i-- > 0;)
                if (((TopUnit *) s->units->pdata[i])->generation != s->generation)
                        g_ptr_array_remove_index(s->units, i);
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

/* Another policy, or the same attached anew, counts from zero. */
static bool continues(const TopUnit *u, const StatsInfo *s) {
        return u->counted && streq_ptr(u->policy, s->policy) &&
               counter_or_zero(s, "hits") >= u->hits &&
               counter_or_zero(s, "misses") >= u->misses &&
               counter_or_zero(s, "evict_reclaimed") >= u->evictions;
}

static void update_counters(TopUnit *u, const StatsInfo *s, double seconds) {
        uint64_t hits = counter_or_zero(s, "hits"), misses = counter_or_zero(s, "misses"),
                 evictions = counter_or_zero(s, "evict_reclaimed"),
                 pages = counter_or_zero(s, "managed_pages");

        u->compared = seconds > 0 && continues(u, s);
        if (u->compared) {
                u->hit_rate = (hits - u->hits) / seconds;
                u->miss_rate = (misses - u->misses) / seconds;
                u->eviction_rate = (evictions - u->evictions) / seconds;
                u->permille = hit_permille(hits - u->hits, misses - u->misses);
                add_point(u);
        } else {
                u->hit_rate = u->miss_rate = u->eviction_rate = 0;
                u->permille = hit_permille(hits, misses);
                u->n_curve = 0;
        }

        u->counted = true;
        u->hits = hits;
        u->misses = misses;
        u->evictions = evictions;
        u->cached = pages * (uint64_t) sysconf(_SC_PAGESIZE);
        g_set_str(&u->policy, s->policy);
}

static int add_units(TopSample *s, const GPtrArray *units) {
        int r;

        for (guint i = 0; i < units->len; i++) {
                UnitInfo info;
                TopUnit *u;

                r = unit_info_parse(units->pdata[i], &info);
                if (r < 0)
                        return r;

                u = find_unit(s, info.unit);
                u->generation = s->generation;
                g_set_str(&u->state, info.state);
                free(u->shown);
                u->shown = info.choice ? unit_info_policy(&info) : NULL;

                /* without counters: what is wanted */
                if (!u->counted)
                        g_set_str(&u->policy, info.effective ?: info.configured);
        }

        return 0;
}

static int add_stats(TopSample *s, const GPtrArray *stats, double seconds) {
        _cleanup_hash_table_ GHashTable *counted = g_hash_table_new(NULL, NULL);
        int r;

        for (guint i = 0; i < stats->len; i++) {
                StatsInfo info;
                TopUnit *u;

                r = stats_info_parse(stats->pdata[i], &info);
                if (r < 0)
                        return r;
                if (sd_json_variant_elements(info.counters) == 0)
                        continue;

                u = find_unit(s, info.unit);
                u->generation = s->generation;
                update_counters(u, &info, seconds);
                g_hash_table_add(counted, u);
        }

        /* it had a policy, and has none any more */
        for (guint i = 0; i < s->units->len; i++) {
                TopUnit *u = s->units->pdata[i];

                if (!g_hash_table_contains(counted, u)) {
                        u->counted = u->compared = false;
                        u->n_curve = 0;
                        u->permille = -ENODATA;
                }
        }

        return 0;
}

int top_sample_add(TopSample *s, const GPtrArray *units, const GPtrArray *stats, uint64_t at_usec) {
        double seconds;
        int r;

        assert(s);

        if (!s->units)
                s->units = g_ptr_array_new_with_free_func(unit_free);

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
        _cleanup_ptr_array_ GPtrArray *units = NULL, *stats = NULL;
        int r;

        r = objects_fetch_matching(link, &object_kind_unit, patterns, n_patterns, &units);
        if (r >= 0)
                r = objects_fetch_matching(link, &object_kind_stats, patterns, n_patterns, &stats);
        if (r < 0)
                return r;

        return top_sample_add(s, units, stats, (uint64_t) g_get_monotonic_time());
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

        g_ptr_array_sort_with_data(s->units, compare_units, &order);
}

/* ---- curve */

char *top_curve(const TopUnit *u, unsigned width, bool utf8) {
        static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
        static const char *const letters[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
        const char *const *steps = utf8 ? blocks : letters;
        unsigned n = MIN(u->n_curve, width);
        char *curve, *p;

        curve = p = g_malloc(width * STRLEN("█") + 1);

        for (unsigned i = n; i < width; i++)
                *p++ = ' ';
        for (unsigned i = u->n_curve - n; i < u->n_curve; i++)
                p = stpcpy(p, u->curve[i] < 0 ? " " : steps[MIN(u->curve[i] * 8 / 100, 7)]);

        *p = 0;
        return curve;
}
