/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "plot.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* In pixels; the axes end at LEFT + WIDTH and TOP + HEIGHT, names stand to the right of that. */
enum {
        LEFT = 60,
        TOP = 50,
        WIDTH = 560,
        HEIGHT = 360,
        NAMES = 130,
        BOTTOM = 50,
        LINE = 18,         /* of the list of names */
        LABEL_SPACE = 36,  /* between labels of the axis of sizes, at least */
};

/* Colours that can be told apart with any kind of colour vision, and shapes for where they cannot.
 * Source: M. Okabe and K. Ito, "Color universal design", 2008, without the yellow. */
static const char *const colors[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00" };
static const char *const dashes[] = { "none", "6 3", "2 3" };

static const char *color_of(const PlotSeries *s, size_t i) {
        return s->optimum ? "#000000" : colors[i % ELEMENTSOF(colors)];
}

static const char *dash_of(const PlotSeries *s, size_t i) {
        return s->optimum ? "1 2" : dashes[i / ELEMENTSOF(colors) % ELEMENTSOF(dashes)];
}

static double y_of(double ratio) {
        return TOP + HEIGHT * (1 - ratio);
}

static void put_text(FILE *f, double x, double y, const char *anchor, const char *text) {
        char *escaped = g_markup_escape_text(text, -1);

        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, escaped);
        g_free(escaped);
}

static void put_line(FILE *f, double x1, double y1, double x2, double y2, const char *color) {
        fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                x1, y1, x2, y2, color);
}

static void begin(FILE *f, const char *title, int height) {
        fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%i\" height=\"%i\" "
                   "font-family=\"sans-serif\" font-size=\"12\">\n"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                LEFT + WIDTH + NAMES, height);
        put_text(f, LEFT, TOP - 28, "start", title);
}

/* ---- lines */

/* The logarithm of the size, between those of the smallest and of the largest. */
static double x_of(const Plot *p, uint32_t pages) {
        uint32_t min = UINT32_MAX, max = 0;

        for (size_t i = 0; i < p->n_sizes; i++) {
                min = MIN(min, p->sizes[i].pages);
                max = MAX(max, p->sizes[i].pages);
        }
        return min == max ? LEFT + WIDTH / 2.0 :
                            LEFT + WIDTH * log((double) pages / min) / log((double) max / min);
}

/* The sizes from the smallest to the largest, as indexes. */
static size_t *sort_sizes(const Plot *p) {
        size_t *order = g_new(size_t, p->n_sizes);

        for (size_t i = 0; i < p->n_sizes; i++) {
                size_t at = i;

                for (; at > 0 && p->sizes[order[at - 1]].pages > p->sizes[i].pages; at--)
                        order[at] = order[at - 1];
                order[at] = i;
        }
        return order;
}

static void put_axes(FILE *f, const Plot *p, const size_t *order) {
        double last = -INFINITY;

        for (int percent = 0; percent <= 100; percent += 20) {
                char label[8];

                (void) snprintf(label, sizeof(label), "%i%%", percent);
                put_line(f, LEFT, y_of(percent / 100.0), LEFT + WIDTH, y_of(percent / 100.0), "#dddddd");
                put_text(f, LEFT - 8, y_of(percent / 100.0) + 4, "end", label);
        }

        for (size_t i = 0; i < p->n_sizes; i++) {
                double x = x_of(p, p->sizes[order[i]].pages);

                put_line(f, x, TOP + HEIGHT, x, TOP + HEIGHT + 5, "#000000");
                if (x - last < LABEL_SPACE)
                        continue;
                put_text(f, x, TOP + HEIGHT + 20, "middle", p->sizes[order[i]].label);
                last = x;
        }
        put_line(f, LEFT, TOP, LEFT, TOP + HEIGHT, "#000000");
        put_line(f, LEFT, TOP + HEIGHT, LEFT + WIDTH, TOP + HEIGHT, "#000000");
        put_text(f, LEFT + WIDTH / 2.0, TOP + HEIGHT + 40, "middle", "cache size");
        put_text(f, LEFT - 40, TOP - 10, "start", "misses");
}

static void put_series(FILE *f, const Plot *p, const size_t *order, size_t i) {
        const PlotSeries *s = p->series + i;

        fprintf(f, "<g stroke=\"%s\" fill=\"%s\">\n"
                   "<polyline fill=\"none\" stroke-width=\"1.5\" stroke-dasharray=\"%s\" points=\"",
                color_of(s, i), color_of(s, i), dash_of(s, i));
        for (size_t j = 0; j < p->n_sizes; j++)
                if (s->ratios[order[j]] >= 0)
                        fprintf(f, "%.1f,%.1f ", x_of(p, p->sizes[order[j]].pages),
                                y_of(s->ratios[order[j]]));
        fprintf(f, "\"/>\n");
        for (size_t j = 0; j < p->n_sizes; j++)
                if (s->ratios[order[j]] >= 0)
                        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n",
                                x_of(p, p->sizes[order[j]].pages), y_of(s->ratios[order[j]]));
        fprintf(f, "<line x1=\"%i\" y1=\"%zu\" x2=\"%i\" y2=\"%zu\" stroke-width=\"1.5\" "
                   "stroke-dasharray=\"%s\"/>\n</g>\n",
                LEFT + WIDTH + 15, TOP + 8 + i * LINE, LEFT + WIDTH + 40, TOP + 8 + i * LINE, dash_of(s, i));
        put_text(f, LEFT + WIDTH + 46, TOP + 12 + i * LINE, "start", s->name);
}

static void put_lines(FILE *f, const Plot *p) {
        size_t *order = sort_sizes(p);

        begin(f, p->title, MAX(TOP + HEIGHT + BOTTOM, TOP + (int) (p->n_series + 1) * LINE));
        put_axes(f, p, order);
        for (size_t i = 0; i < p->n_series; i++)
                put_series(f, p, order, i);
        g_free(order);
}

/* ---- bars */

static void put_bars(FILE *f, const Plot *p) {
        begin(f, p->title, TOP + (int) p->n_series * 2 * LINE + BOTTOM);

        for (size_t i = 0; i < p->n_series; i++) {
                const PlotSeries *s = p->series + i;
                double y = TOP + i * 2 * LINE, width = WIDTH * MAX(s->ratios[0], 0);
                char label[16];

                if (s->ratios[0] < 0)
                        continue;
                (void) snprintf(label, sizeof(label), "%.2f%%", 100 * s->ratios[0]);
                fprintf(f, "<rect x=\"%i\" y=\"%.1f\" width=\"%.1f\" height=\"%i\" fill=\"%s\"/>\n",
                        LEFT + 30, y, width, LINE, s->optimum ? "#000000" : colors[0]);
                put_text(f, LEFT + 24, y + 14, "end", s->name);
                put_text(f, LEFT + 36 + width, y + 14, "start", label);
        }
        put_text(f, LEFT + 30, TOP + p->n_series * 2.0 * LINE + 20, "start", p->sizes[0].label);
}

static void restore_locale(locale_t *previous) {
        locale_t own = uselocale(*previous);

        if (own != LC_GLOBAL_LOCALE)
                freelocale(own);
}

int plot_write(const Plot *plot, const char *path) {
        _cleanup_(restore_locale) locale_t previous = (locale_t) 0;
        _cleanup_fclose_ FILE *f = NULL;

        assert(plot);
        assert(plot->n_sizes > 0);
        assert(path);

        /* numbers with a point, whatever the user's language has */
        previous = uselocale(newlocale(LC_NUMERIC_MASK, "C", (locale_t) 0));
        f = fopen(path, "we");
        if (!f)
                return -errno;

        if (plot->n_sizes > 1)
                put_lines(f, plot);
        else
                put_bars(f, plot);
        fprintf(f, "</svg>\n");

        if (fflush(f) == EOF || ferror(f))
                return errno > 0 ? -errno : -EIO;
        return 0;
}
