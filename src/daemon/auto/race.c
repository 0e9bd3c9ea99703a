/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>
#include <math.h>

#include "race.h"

void race_init(Race *race, size_t n_candidates) {
        assert(race);
        assert(n_candidates > 0 && n_candidates <= RACE_CANDIDATES_MAX);

        *race = (Race) {
                .n_candidates = n_candidates,
                .present = RACE_STOCK,
                .winner = RACE_STOCK,
                .since_switch = RACE_DWELL,
                .gain_min = RACE_GAIN_MIN,
        };
}

void race_reseed(Race *race) {
        assert(race);

        for (size_t i = 0; i < race->n_candidates; i++)
                race->candidates[i].begun = false;
        race->begun = false;
        race->n_wins = 0;
        race->guarded = 0;
}

bool race_window_over(uint64_t n_cached, uint64_t requests, uint64_t usec) {
        if (usec >= RACE_WINDOW_USEC_MAX)
                return true;
        return requests >= n_cached * RACE_WINDOW_TURNS && usec >= RACE_WINDOW_USEC_MIN;
}

static double average(bool begun, double old, double new) {
        return begun ? old + RACE_ALPHA * (new - old) : new;
}

static double shadow_ratio(const RaceWindow *w, size_t candidate) {
        return MIN((double) w->shadow_misses[candidate] / w->expected, 1.0);
}

static double real_ratio(const RaceWindow *w) {
        return (double) w->misses / w->requests;
}

/* ---- windows pass */

static void pass_bans(Race *race) {
        for (size_t i = 0; i < race->n_candidates; i++) {
                RaceCandidate *c = race->candidates + i;

                if (c->banned > 0)
                        c->banned--;
                else if (c->n_bans > 0 && ++c->since_ban >= RACE_BAN_FORGET)
                        c->n_bans = 0;
        }
}

static void take_ratios(Race *race, const RaceWindow *w) {
        for (size_t i = 0; i < race->n_candidates; i++) {
                RaceCandidate *c = race->candidates + i;

                if (w->silent[i])
                        continue;
                c->ratio = average(c->begun, c->ratio, shadow_ratio(w, i));
                c->begun = true;
        }
        race->bias = average(race->begun, race->bias, real_ratio(w) - shadow_ratio(w, w->present));
        race->begun = true;
}

/* Somebody else has changed the policy, or a switch did not succeed. */
static void follow(Race *race, size_t present) {
        if (race->present == present)
                return;
        race->present = present;
        race->since_switch = 0;
        race->n_wins = 0;
        race->guarded = 0;
}

static void run(Race *race, size_t candidate) {
        race->present = candidate;
        race->since_switch = 0;
        race->n_wins = 0;
        race->n_losses = 0;
}

/* ---- the guard */

unsigned race_ban(Race *race, size_t candidate) {
        RaceCandidate *c;
        unsigned windows;

        assert(race);
        assert(candidate < race->n_candidates);

        c = race->candidates + candidate;
        windows = 1U << MIN(c->n_bans, RACE_BAN_MOST);

        c->banned = windows + 1; /* the one that ends now is none of them */
        c->n_bans++;
        c->since_ban = 0;
        return windows;
}

void race_exclude(Race *race, size_t candidate) {
        assert(race);
        assert(candidate < race->n_candidates);

        race->candidates[candidate].out = true;
}

void race_readmit(Race *race) {
        assert(race);

        for (size_t i = 0; i < race->n_candidates; i++)
                race->candidates[i].out = false;
}

/* The unit is compared with the shadow of the policy before, and with how far the unit was off a shadow
 * then: shadows do not know all that happens to the unit. */
static bool disappoints(Race *race, const RaceWindow *w, RaceStep *ret) {
        double before;

        if (race->guarded == 0)
                return false;
        race->guarded--;

        if (w->silent[race->before])
                return false;
        before = shadow_ratio(w, race->before) + race->before_bias;
        if (real_ratio(w) <= before + RACE_GUARD_LOSS) {
                race->n_losses = 0;
                return false;
        }
        if (++race->n_losses < RACE_GUARD_CONFIRM)
                return false;

        *ret = (RaceStep) {
                .action = RACE_ROLL_BACK,
                .from = race->present,
                .to = race->before,
                .from_ratio = real_ratio(w),
                .to_ratio = CLAMP(before, 0, 1),
                .margin = RACE_GUARD_LOSS,
                .banned = race_ban(race, race->present),
        };
        race->guarded = 0;
        run(race, race->before);
        return true;
}

/* ---- the choice */

static size_t find_best(const Race *race) {
        size_t best = race->present;

        for (size_t i = 0; i < race->n_candidates; i++) {
                const RaceCandidate *c = race->candidates + i;

                if (c->begun && !c->out && c->banned == 0 && c->ratio < race->candidates[best].ratio)
                        best = i;
        }
        return best;
}

static double margin_of(const Race *race, const RaceWindow *w, double ratio) {
        double noise = sqrt(ratio * (1 - ratio) / MAX(w->n_pages, 1U));

        return MAX(MAX(race->gain_min, RACE_GAIN_PART * ratio), RACE_GAIN_NOISE * noise);
}

static bool is_idle(const RaceWindow *w, double gain) {
        return w->miss_usec > 0 && gain * w->requests * w->miss_usec < RACE_TIME_PART * w->usec;
}

static RaceReason why_stay(Race *race, const RaceWindow *w, const RaceStep *step) {
        double gain = step->from_ratio - step->to_ratio;

        if (step->to == step->from)
                return RACE_BEST;
        if (gain <= step->margin)
                return RACE_SMALL_GAIN;
        if (is_idle(w, gain))
                return RACE_IDLE;

        race->n_wins = step->to == race->winner ? race->n_wins + 1 : 1;
        race->winner = step->to;
        if (race->n_wins < RACE_CONFIRM)
                return RACE_UNCONFIRMED;
        return race->since_switch < RACE_DWELL ? RACE_TOO_SOON : RACE_BECAUSE_OF_FIGURES;
}

/* Why a window says nothing. */
static RaceReason find_obstacle(const RaceWindow *w) {
        if (w->sampled < RACE_SAMPLE_MIN || w->expected == 0 || w->requests == 0)
                return RACE_NO_SAMPLE;
        return w->silent[w->present] ? RACE_NO_SHADOW : RACE_BECAUSE_OF_FIGURES;
}

void race_step(Race *race, const RaceWindow *w, RaceStep *ret) {
        RaceReason obstacle;
        size_t best;

        assert(race);
        assert(w);
        assert(w->present < race->n_candidates);
        assert(ret);

        pass_bans(race);
        follow(race, w->present);
        obstacle = find_obstacle(w);
        if (obstacle != RACE_BECAUSE_OF_FIGURES) {
                *ret = (RaceStep) { .reason = obstacle, .from = race->present, .to = race->present };
                return;
        }

        race->since_switch++;
        take_ratios(race, w);
        if (disappoints(race, w, ret))
                return;

        best = find_best(race);
        *ret = (RaceStep) {
                .from = race->present,
                .to = best,
                .from_ratio = race->candidates[race->present].ratio,
                .to_ratio = race->candidates[best].ratio,
                .margin = margin_of(race, w, race->candidates[race->present].ratio),
        };
        ret->reason = why_stay(race, w, ret);
        if (ret->reason != RACE_BECAUSE_OF_FIGURES) {
                if (ret->reason != RACE_UNCONFIRMED && ret->reason != RACE_TOO_SOON)
                        race->n_wins = 0;
                return;
        }

        ret->action = RACE_SWITCH;
        race->before = race->present;
        race->before_bias = race->bias;
        race->guarded = RACE_GUARD_WINDOWS;
        run(race, best);
}

/* ---- words */

char *race_step_to_string(const RaceStep *step, const char *const *names) {
        static const char *const reasons[_RACE_REASON_MAX] = {
                [RACE_NO_SAMPLE]   = "there were too few requests",
                [RACE_NO_SHADOW]   = "nothing is known of what it misses in the sample",
                [RACE_BEST]        = "no other policy would miss less",
                [RACE_SMALL_GAIN]  = "that is too little to gain",
                [RACE_IDLE]        = "that is too little time to gain",
                [RACE_UNCONFIRMED] = "the next window has to confirm it",
                [RACE_TOO_SOON]    = "the last switch was a short time ago",
        };
        const char *from, *to;
        double from_percent, to_percent;

        assert(step);
        assert(names);

        from = names[step->from];
        to = names[step->to];
        from_percent = step->from_ratio * 100;
        to_percent = step->to_ratio * 100;
        switch (step->action) {
        case RACE_SWITCH:
                return g_strdup_printf("from %s to %s: %s would miss %.1f %% of all requests, %s %.1f %%",
                                       from, to, to, to_percent, from, from_percent);
        case RACE_ROLL_BACK:
                return g_strdup_printf("back from %s to %s: it missed %.1f %% of all requests, %s would "
                                       "miss %.1f %%; %s is out for %u window%s",
                                       from, to, from_percent, to, to_percent, from, step->banned,
                                       step->banned == 1 ? "" : "s");
        case RACE_STAY:
                break;
        }
        if (step->from == step->to)
                return g_strdup_printf("stays with %s: %s", from, reasons[step->reason]);
        return g_strdup_printf("stays with %s, which would miss %.1f %% of all requests, %s %.1f %%: %s",
                               from, from_percent, to, to_percent, reasons[step->reason]);
}
