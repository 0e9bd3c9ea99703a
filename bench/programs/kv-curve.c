/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "kv-curve.h"

static uint64_t take_reads(Curve *c) {
        Counters counters = {};
        int r;

        r = counters_take(c->disk, &counters);
        if (r < 0 && c->error == 0)
                c->error = r;
        return counters.disk_reads;
}

void curve_begin(Curve *c) {
        c->before = take_reads(c);
}

void curve_step(Curve *c) {
        uint64_t reads;

        if (++c->done * c->parts < (c->n + 1) * c->operations)
                return;

        reads = take_reads(c);
        /* of a run with fewer operations than parts, one operation completes several */
        while (c->n < c->parts && c->done * c->parts >= (c->n + 1) * c->operations) {
                c->reads[c->n++] = reads - c->before;
                c->before = reads;
        }
}

void curve_print(const Curve *c, Figures *figures) {
        if (c->parts > 0)
                figure_list(figures, "curve", "disk reads in each part", c->reads, c->n);
}
