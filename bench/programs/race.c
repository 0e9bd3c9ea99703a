/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What CachePolicy=auto would miss in traces, beside each of its default candidates:
 *
 *      race [--sizes=PERCENT,…] TRACE…
 *
 * In caches of 1, 10 and 30 % of a trace's pages. Prints a line for each, and then what the evaluation
 * claims: auto against the best policy of each trace and size, against the best one for all, and the worst
 * against the stock policy. */

#include <err.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/auto/rate.h"
#include "race-run.h"
#include "sim/trace-options.h"

static const char *const names[] = { "noop", "wtinylfu", "s3fifo", "lru", "lhd", "mru" };
#define N ELEMENTSOF(names)
#define FIRST 1U

typedef struct Sums {
        unsigned n;
        double policies[N], best, automatic; /* miss ratios */
        double worst;                        /* points more than stock */
        char *worst_name;
} Sums;

static void run_one(const char *name, const Trace *t, unsigned percent, const RaceEntrant *entrants,
                    Sums *sums) {
        uint32_t capacity = MAX(t->n_objects * (uint64_t) percent / 100, 1U);
        RaceCourse course = {
                .trace = t,
                .capacity = capacity,
                .one_in = rate_of(capacity),
                .entrants = entrants,
                .n_entrants = N,
                .first = FIRST,
        };
        RaceResult r;
        double ratio, stock;
        size_t best = 0;

        race_run(&course, NULL, /* print= */ false, &r);
        for (size_t i = 0; i < N; i++) {
                sums->policies[i] += (double) r.alone[i] / r.requests;
                if (r.alone[i] < r.alone[best])
                        best = i;
        }
        ratio = (double) r.misses / r.requests;
        stock = (double) r.alone[RACE_STOCK] / r.requests;
        sums->n++;
        sums->automatic += ratio;
        sums->best += (double) r.alone[best] / r.requests;
        if (!sums->worst_name || ratio - stock > sums->worst) {
                sums->worst = ratio - stock;
                g_free(sums->worst_name);
                sums->worst_name = g_strdup_printf("%s, %u %%", name, percent);
        }

        printf("%-24s %3u %% %8u pages, 1 in %-3u stock %.4f  best %.4f %-8s  auto %.4f, %u switches\n",
               name, percent, capacity, course.one_in, stock, (double) r.alone[best] / r.requests,
               names[best], ratio, r.n_switches);
        fflush(stdout);
}

static void print_sums(const Sums *s) {
        size_t best = 0;

        for (size_t i = 1; i < N; i++)
                if (s->policies[i] < s->policies[best])
                        best = i;
        printf("mean of %u: stock %.4f  best policy for all %.4f %s  best for each %.4f  auto %.4f "
               "(%+.2f %%)\n", s->n, s->policies[RACE_STOCK] / s->n, s->policies[best] / s->n, names[best],
               s->best / s->n, s->automatic / s->n, (s->automatic / s->best - 1) * 100);
        printf("worst against stock: %+.2f points (%s)\n", s->worst * 100, s->worst_name);
}

int main(int argc, char *argv[]) {
        const char *sizes = "1,10,30";
        TraceOptions options = TRACE_OPTIONS_DEFAULT;
        RaceEntrant entrants[N] = {};
        Sums sums = {};
        int first = 1;

        if (argc > 1 && g_str_has_prefix(argv[1], "--sizes=")) {
                sizes = argv[1] + strlen("--sizes=");
                first++;
        }
        if (first >= argc || argv[first][0] == '-')
                errx(EXIT_FAILURE, "usage: race [--sizes=PERCENT,...] TRACE...");
        for (size_t i = 0; i < N; i++)
                entrants[i] = (RaceEntrant) { .name = names[i], .policy = sim_policy_find(names[i]) };

        options.ignore_obj_size = true;
        for (int i = first; i < argc; i++) {
                g_auto(GStrv) percents = g_strsplit(sizes, ",", -1);
                g_autofree char *name = g_path_get_basename(argv[i]), *problem = NULL;
                _cleanup_(trace_freep) Trace *t = NULL;

                if (trace_read(argv[i], TRACE_FORMAT_AUTO, &options, &t, &problem) < 0)
                        errx(EXIT_FAILURE, "%s", problem ?: argv[i]);
                name[strcspn(name, ".")] = '\0';
                for (size_t k = 0; percents[k]; k++) {
                        guint64 percent;

                        if (!g_ascii_string_to_unsigned(percents[k], 10, 1, 100, &percent, NULL))
                                errx(EXIT_FAILURE, "--sizes= takes numbers of percent, not '%s'",
                                     percents[k]);
                        run_one(name, t, (unsigned) percent, entrants, &sums);
                }
        }
        print_sums(&sums);
        g_free(sums.worst_name);
        return EXIT_SUCCESS;
}
