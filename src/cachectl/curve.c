/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <math.h>

#include "curve.h"

int curve_make(const Sample *sample, const char *policies, Curve *ret) {
        Curve c = {};
        int r;

        assert(sample);
        assert(ret);

        for (int i = 0; i < CURVE_SIZES; i++) {
                double pages = round(sample->pages * pow(2, (i - CURVE_NOW) / 2.0));

                c.pages[i] = CLAMP(pages, 1, UINT32_MAX);
        }

        r = forecast_run(sample, policies, c.pages, CURVE_SIZES, &c.simulation);
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

void curve_done(Curve *c) {
        forecast_done(&c->simulation);
}

uint64_t curve_smallest(const Sample *sample, const Curve *c, size_t row) {
        size_t stock = forecast_row(&c->simulation, FORECAST_STOCK);
        double wanted = forecast_ratio(sample, &c->simulation, stock, CURVE_NOW) * (1 + CURVE_TOLERANCE);
        double larger = forecast_ratio(sample, &c->simulation, row, CURVE_NOW);

        if (larger > wanted)
                return 0;

        for (size_t i = CURVE_NOW; i > 0; i--) {
                double smaller = forecast_ratio(sample, &c->simulation, row, i - 1), part, pages;

                if (smaller <= wanted) {
                        larger = smaller;
                        continue;
                }
                part = (smaller - wanted) / (smaller - larger);
                pages = c->pages[i - 1] + part * (c->pages[i] - c->pages[i - 1]);
                return (uint64_t) ceil(pages) * TRACE_PAGE_SIZE;
        }
        return (uint64_t) c->pages[0] * TRACE_PAGE_SIZE;
}
