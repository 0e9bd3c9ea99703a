/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <math.h>

#include "advice.h"
#include "shared/macro.h"
#include "shared/string-util.h"

/* What a change has to gain, in misses per request; less is not worth the trouble. */
#define GAIN_MIN 0.01
/* A recording tells something if it has so many times as many requests as the cache has pages. */
#define TURNS_MIN 4
#define PAGE_MIB (TRACE_PAGE_SIZE / 1048576.0)

static const char *const advice_kind_table[] = {
        [ADVICE_CHANGE]    = "change",
        [ADVICE_STAY]      = "stay",
        [ADVICE_TOO_SHORT] = "too-short",
        [ADVICE_NOTHING]   = "nothing",
};

const char *advice_kind_to_string(AdviceKind kind) {
        static_assert(ELEMENTSOF(advice_kind_table) == _ADVICE_KIND_MAX, "each needs its name");
        return advice_kind_table[kind];
}

static size_t find_best(const Sample *sample, const Simulation *s, size_t stock) {
        size_t best = stock;

        for (size_t i = 0; i < s->n_rows; i++)
                if (s->rows[i].policy &&
                    forecast_ratio(sample, s, i, 0) < forecast_ratio(sample, s, best, 0))
                        best = i;
        return best;
}

/* How many times as long a recording must be that fills the cache twice, with enough requests. */
static unsigned find_times(const Sample *sample) {
        double used = (double) sample->trace->n_objects * sample->rate;
        double times = MAX(2.0 * sample->pages / MAX(used, 1),
                           TURNS_MIN * (double) sample->pages / MAX(sample->requests, 1U));

        return CLAMP(ceil(times), 2, 1000);
}

static bool is_too_short(const Sample *sample) {
        bool full;

        (void) sample_warm_up(sample, sample_capacity(sample, sample->pages), &full);
        return !full || sample->requests < (uint64_t) sample->pages * TURNS_MIN;
}

void advice_find(const Sample *sample, const Simulation *s, Advice *ret) {
        Advice a = {
                .stock = forecast_row(s, FORECAST_STOCK),
                .optimum = s->n_rows - 1,
                .used_bytes = (uint64_t) sample->trace->n_objects * sample->rate * TRACE_PAGE_SIZE,
        };

        assert(a.stock != SIZE_MAX);
        assert(ret);

        a.best = find_best(sample, s, a.stock);
        a.stock_ratio = forecast_ratio(sample, s, a.stock, 0);
        a.best_ratio = forecast_ratio(sample, s, a.best, 0);
        a.optimum_ratio = forecast_ratio(sample, s, a.optimum, 0);
        a.cold_ratio = forecast_cold_ratio(sample, s, a.stock, 0);
        a.margin = MAX(GAIN_MIN, forecast_noise(sample, a.stock_ratio));

        if (sample->sampled == 0)
                a.kind = ADVICE_NOTHING;
        else if (is_too_short(sample)) {
                a.kind = ADVICE_TOO_SHORT;
                a.times = find_times(sample);
                a.duration_usec = sample->usec * a.times;
        } else
                a.kind = a.stock_ratio - a.best_ratio < a.margin ? ADVICE_STAY : ADVICE_CHANGE;
        *ret = a;
}

char *advice_duration_to_string(uint64_t usec) {
        uint64_t seconds = (usec + USEC_PER_SEC - 1) / USEC_PER_SEC;

        return seconds < 120 ? g_strdup_printf("%" PRIu64 "s", seconds) :
                               g_strdup_printf("%" PRIu64 "min", (seconds + 59) / 60);
}

static void add_longer(GString *text, const Advice *a) {
        if (a->duration_usec > 0) {
                g_autofree char *duration = advice_duration_to_string(a->duration_usec);

                g_string_append_printf(text, " Try --duration=%s.", duration);
        } else
                g_string_append_printf(text, " Try a trace that is %u times as long.", a->times);
}

static void add_too_short(GString *text, const Sample *sample, const Advice *a) {
        double used = a->used_bytes / 1048576.0, cache = sample->pages * PAGE_MIB;

        if (used < cache)
                g_string_append_printf(text, "Only %.1f MiB were used, which fit into the cache, and no "
                                             "policy would miss less; a longer time may tell more.", used);
        else
                g_string_append_printf(text, "This was too short to tell: %.1f MiB of requests for a cache "
                                             "of %.1f MiB.", sample->requests * PAGE_MIB, cache);
        add_longer(text, a);
}

char *advice_to_string(const Sample *sample, const Simulation *s, const Advice *a) {
        GString *text = g_string_new(NULL);
        double gain = a->stock_ratio - a->best_ratio;

        switch (a->kind) {
        case ADVICE_CHANGE:
                g_string_append_printf(text,
                                       "With %s %.1f%% of the requests would miss, with the kernel's own "
                                       "policy %.1f%%.",
                                       forecast_name(s, a->best), 100 * a->best_ratio, 100 * a->stock_ratio);
                break;
        case ADVICE_STAY:
                g_string_append(text, "Stay with the kernel's own policy: ");
                if (gain < GAIN_MIN)
                        g_string_append(text, "no other would miss a hundredth of the requests less.");
                else
                        g_string_append_printf(text, "%s would miss %.1f%% less of the requests, and chance "
                                                     "alone could make %.1f%%.", forecast_name(s, a->best),
                                               100 * gain, 100 * a->margin);
                break;
        case ADVICE_TOO_SHORT:
                add_too_short(text, sample, a);
                break;
        case ADVICE_NOTHING:
                g_string_append(text, "Nothing was read or written: there is nothing to tell.");
                break;
        default:
                g_assert_not_reached();
        }

        if (a->kind <= ADVICE_STAY && a->cold_ratio > a->stock_ratio / 2)
                g_string_append_printf(text,
                                       " Of all requests %.1f%% were the first for their page; if pages "
                                       "come back later, a longer time tells more.", 100 * a->cold_ratio);
        return g_string_free(text, FALSE);
}

char *advice_present(const Sample *sample, const char *policy) {
        if (!sample->policy)
                return NULL;
        if (!streq(sample->policy, policy))
                return g_strdup_printf("Now it has %s.", sample->chosen ?: sample->policy);
        return sample->chosen ? g_strdup_printf("It has this policy now: %s.", sample->chosen) :
                                g_strdup("It has this policy now.");
}
