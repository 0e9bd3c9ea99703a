/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"
#include "rest.h"
#include "shared/cleanup.h"

/* The race of one unit with CachePolicy=auto: its windows, and what the core hears of them. */
typedef struct Racer {
        Unit *unit;
        const AutoBackend *backend;
        Shadows *shadows;        /* NULL: it rests */
        Race race;
        Rest rest;
        GPtrArray *candidates;   /* as they were at the beginning */
        uint64_t cgroup_id;
        guint present;           /* the candidate that runs, as the race knows */
        guint came;              /* the one whose policy came last, until the kernel ends it */
        bool replaced;           /* and the race does not know that */
        int untold;              /* why the kernel does not know the rate of the sample; 0: it does */

        /* this window */
        Meter begin;
        uint64_t begin_usec;     /* CLOCK_MONOTONIC */
        uint64_t look_usec;      /* when to read the counters */
        bool metered;            /* begin is known */

        /* the one before, which the shadows have not answered for */
        RaceWindow window;
        bool ending;
        bool void_window;        /* something else runs since: it counts for nothing */
        bool begin_again;        /* and so does this one, as the shadows' begins with that answer */
} Racer;

/* Begins; the policy of the unit is attached. What the race before knows of candidates goes on, if that
 * fits; NULL: there was none. */
int racer_new(Unit *u, const AutoBackend *b, ShadowHost *host, uint64_t now, const Racer *before,
              Racer **ret);
/* Has no shadows any more: all that is left of it is what its race knows. */
void racer_rest(Racer *r);
Racer *racer_free(Racer *r);
DEFINE_TRIVIAL_CLEANUP_FUNC(Racer *, racer_free);

/* Whether it goes on: neither candidates nor control group are others now. */
bool racer_fits(const Racer *r);
/* Nothing changed for some windows, or none can pass now: other units may have its place. */
static inline bool racer_is_calm(const Racer *r) {
        return r->rest.n_same >= REST_CALM_WINDOWS || r->untold < 0 || r->unit->state != UNIT_ATTACHED;
}

/* Whether the kernel ended the policy, which is not the stock one; … */
static inline bool racer_is_ejected(const Racer *r) {
        return r->unit->state == UNIT_LOST && r->came != RACE_STOCK;
}
/* … that one is banned, and another one chosen. It may rest. */
void racer_ejected(Racer *r);

/* The policy of the candidate that is chosen is behind the unit's link now. */
void racer_policy_came(Racer *r);
/* After a reconcile that left nothing to be done for the unit: sees what became of a switch, and whether the
 * kernel ended the policy. */
void racer_reconciled(Racer *r, uint64_t now);
/* The configuration was read again: what the kernel refused may be something else now. */
void racer_reloaded(Racer *r);
/* Time has passed: ends the window if it is over. */
void racer_tick(Racer *r, uint64_t now);

/* Whether it rests for a reason of its own, or is to. Else, without shadows, it waits for its turn. */
static inline bool racer_rests(const Racer *r) {
        return r->rest.reason != REST_NOT && racer_fits(r);
}
/* So it does, and time has passed: whether it goes on. */
bool racer_wakes(Racer *r, uint64_t now);
