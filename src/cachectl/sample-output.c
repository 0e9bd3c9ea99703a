/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <inttypes.h>
#include <glib.h>
#include <stdio.h>

#include "options.h"
#include "sample-output.h"
#include "shared/cleanup.h"
#include "simulate-output.h"
#include "text.h"

static char *title_of(const Sample *sample) {
        return text_escape(sample->name ?: arg_input);
}

static const char *source_of(const Sample *sample) {
        if (arg_size)
                return "as --size= says";
        return sample->cache.limited ? "what its limit leaves" : "what it has cached";
}

void sample_print_title(const Sample *sample) {
        _cleanup_free_ char *title = title_of(sample);

        assert(sample);

        printf("%s: %" PRIu64 " requests for pages", title, sample->requests);
        if (sample->usec > 0)
                printf(" in %.1f s", (double) sample->usec / USEC_PER_SEC);
        printf(", a cache of %.1f MiB (%s)\n", sample->pages * (TRACE_PAGE_SIZE / 1048576.0),
               source_of(sample));
        if (sample->rate > 1)
                printf("Recorded was one page in %" PRIu32 ".\n", sample->rate);
        if (sample->multi_gen)
                printf("This kernel has MGLRU; what it would miss without is shown as stock.\n");
        if (sample->lost > 0)
                printf("%" PRIu64 " events came too fast and were lost.\n", sample->lost);
        putchar('\n');
}

struct json_object *sample_to_json(const Sample *sample) {
        struct json_object *o = json_object_new_object();
        _cleanup_free_ char *name = g_utf8_make_valid(sample->name ?: arg_input, -1);

        json_object_object_add(o, "name", json_object_new_string(name));
        json_object_object_add(o, "usec", json_object_new_uint64(sample->usec));
        json_object_object_add(o, "requests", json_object_new_uint64(sample->requests));
        json_object_object_add(o, "sampled", json_object_new_uint64(sample->sampled));
        json_object_object_add(o, "lost", json_object_new_uint64(sample->lost));
        json_object_object_add(o, "one_page_in", json_object_new_uint64(sample->rate));
        json_object_object_add(o, "mglru", json_object_new_boolean(sample->multi_gen));
        json_object_object_add(o, "used_bytes", json_object_new_uint64((uint64_t) sample->trace->n_objects *
                                                                       sample->rate * TRACE_PAGE_SIZE));
        json_object_object_add(o, "cache_bytes",
                               json_object_new_uint64((uint64_t) sample->pages * TRACE_PAGE_SIZE));
        return o;
}

int sample_plot(const Sample *sample, const Simulation *s, const char *path) {
        g_autofree const char **names = g_new(const char *, s->n_rows);
        g_autofree double *ratios = g_new(double, s->n_rows * s->n_sizes);
        _cleanup_free_ char *title = title_of(sample);

        for (size_t i = 0; i < s->n_rows; i++) {
                names[i] = forecast_name(s, i);
                for (size_t j = 0; j < s->n_sizes; j++)
                        ratios[i * s->n_sizes + j] = forecast_ratio(sample, s, i, j);
        }
        return simulation_draw(s, title, names, ratios, path);
}
