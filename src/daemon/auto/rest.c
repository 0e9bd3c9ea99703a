/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>

#include "rest.h"

/* A window in which the unit asked for next to nothing says nothing else. */
static bool missed_less_than(const RaceWindow *w, double part) {
        return w->misses == 0 || w->requests < RACE_SAMPLE_MIN || w->misses < part * w->requests;
}

void rest_count(Rest *r, const RaceWindow *w, double margin) {
        assert(r);
        assert(w);

        r->n_idle = missed_less_than(w, margin / 2) ? r->n_idle + 1 : 0;
        if (r->n_idle >= REST_IDLE_WINDOWS)
                r->reason = REST_IDLE;
}

/* ---- it settles */

void rest_unsettle(Rest *r) {
        assert(r);

        r->n_calm = r->n_settled = 0;
        if (r->reason == REST_SETTLED)
                r->reason = REST_NOT;
}

void rest_switched(Rest *r) {
        rest_unsettle(r);
        r->n_same = r->n_doubled = 0;
}

/* Of the settled windows, with one that is the last of these. */
static void add_ratio(Rest *r, double ratio) {
        double part = 1.0 / r->n_settled, more = ratio - r->ratio;

        r->ratio += part * more;
        r->variance = (1 - part) * (r->variance + part * more * more);
}

void rest_take_step(Rest *r, const RaceWindow *w, const RaceStep *step) {
        assert(r);
        assert(w);
        assert(step);

        if (step->action != RACE_STAY) {
                rest_switched(r);
                return;
        }

        r->n_same++;
        r->n_calm++;
        if (!step->settled)
                return;
        r->n_settled++;
        add_ratio(r, (double) w->misses / w->requests);
        if (r->n_calm >= REST_CALM_WINDOWS && r->n_settled >= REST_SETTLED_WINDOWS)
                r->reason = REST_SETTLED;
}

/* ---- it rests */

static unsigned length_of(const Rest *r) {
        return REST_FIRST << r->n_doubled;
}

/* Whether the unit misses more than it did (1), less (-1), or neither. */
static int find_direction(const Rest *r, const RaceWindow *w, double margin) {
        double more = (double) w->misses / w->requests - r->ratio,
               beyond = ABS(more) - MAX(REST_MARGINS * margin, REST_PART * r->ratio);

        if (beyond <= 0 || beyond * beyond <= REST_DEVIATIONS * REST_DEVIATIONS * r->variance)
                return 0;
        return more > 0 ? 1 : -1;
}

/* A window in which the unit asked for next to nothing says nothing. */
static bool misses_otherwise(Rest *r, const RaceWindow *w, double margin) {
        int before = r->direction;

        if (w->requests < RACE_SAMPLE_MIN)
                return false;
        r->direction = find_direction(r, w, margin);
        return r->direction != 0 && r->direction == before;
}

bool rest_ends(Rest *r, const RaceWindow *w, double margin) {
        bool misses, over;

        assert(r);
        assert(w);

        misses = r->reason == REST_IDLE ? !missed_less_than(w, margin) : misses_otherwise(r, w, margin);
        over = r->reason == REST_SETTLED && ++r->n_passed >= length_of(r);
        if (!misses && !over)
                return false;

        *r = (Rest) { .n_doubled = misses ? 0 : MIN(r->n_doubled + 1, REST_DOUBLED_MOST) };
        return true;
}

/* ---- words */

char *rest_to_string(const Rest *r) {
        assert(r);

        switch (r->reason) {
        case REST_IDLE:
                return g_strdup("which misses so little that none could be better");
        case REST_SETTLED:
                return g_strdup_printf("as no other one gains more than the margin: policies are compared "
                                       "again when it misses more or less than now, when a ban ends, or %u "
                                       "windows later", length_of(r));
        case REST_NOT:
                break;
        }
        return g_strdup("policies of other units are compared");
}
