/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <assert.h>
#include <glib.h>

#include "race.h"

void race_init(Race *race, size_t n_candidates, size_t present) {
        assert(race);
        assert(n_candidates > 0 && n_candidates <= RACE_CANDIDATES_MAX);
        assert(present < n_candidates);

        *race = (Race) {
                .n_candidates = n_candidates,
                .margin = RACE_MARGIN,
                .needed = RACE_REGRET_FIRST,
                .present = present,
                .first = present != RACE_STOCK,
                .guarded = present != RACE_STOCK ? RACE_GUARD_TURNS : 0,
        };
}

static void forget_regret(RaceCandidate *c) {
        c->regret = c->turns = c->missed = c->present_missed = 0;
}

static void forget_regrets(Race *race) {
        for (size_t i = 0; i < race->n_candidates; i++)
                forget_regret(race->candidates + i);
}

void race_reseed(Race *race) {
        assert(race);

        for (size_t i = 0; i < race->n_candidates; i++) {
                race->candidates[i].begun = false;
                race->candidates[i].warm = 0;
        }
        forget_regrets(race);
        race->begun = false;
}

uint64_t race_window_requests(uint64_t n_cached) {
        return MAX((uint64_t) (n_cached * RACE_WINDOW_TURNS), (uint64_t) RACE_WINDOW_REQUESTS);
}

bool race_window_over(uint64_t n_cached, uint64_t requests, uint64_t usec) {
        if (usec >= RACE_WINDOW_USEC_MAX)
                return true;
        return requests >= race_window_requests(n_cached) && usec >= RACE_WINDOW_USEC_MIN;
}

static double average(bool begun, double old, double new) {
        return begun ? old + RACE_ALPHA * (new - old) : new;
}

/* What is missing of the expected sample counts as hits. There can be more than was expected: the unit
 * counts uses of folios, which may be large, and the sample those of pages. */
static double shadow_ratio(const RaceWindow *w, size_t candidate) {
        return (double) w->shadow_misses[candidate] / MAX(w->expected, w->sampled);
}

static double real_ratio(const RaceWindow *w) {
        return (double) w->misses / w->requests;
}

/* A window counts as one turn at most, or a small cache would never have the same policy for long. */
static double turns_of(const RaceWindow *w) {
        return MIN((double) w->requests / MAX(w->n_cached, 1U), 1.0);
}

/* ---- windows pass */

static void hush_cold_shadows(Race *race, RaceWindow *w) {
        for (size_t i = 0; i < race->n_candidates; i++) {
                RaceCandidate *c = race->candidates + i;

                if (w->silent[i])
                        c->warm = 0;
                else if (c->warm < RACE_WARM_TURNS) {
                        c->warm += turns_of(w);
                        w->silent[i] = true;
                }
        }
}

bool race_pass_bans(Race *race) {
        bool ended = false;

        assert(race);

        for (size_t i = 0; i < race->n_candidates; i++) {
                RaceCandidate *c = race->candidates + i;

                if (c->banned > 0)
                        ended |= --c->banned == 0 && !c->out;
                else if (c->n_bans > 0 && ++c->since_ban >= RACE_BAN_FORGET)
                        c->n_bans = 0;
        }
        return ended;
}

static void add_regret(RaceCandidate *c, double turns, double missed, double present_missed, double margin) {
        c->regret += (present_missed - missed - margin) * turns;
        c->turns += turns;
        c->missed += missed * turns;
        c->present_missed += present_missed * turns;
        if (c->regret <= 0 || c->banned > 0)
                forget_regret(c);
}

static void take_ratios(Race *race, const RaceWindow *w) {
        double present = shadow_ratio(w, w->present), margin = MAX(race->margin, RACE_MARGIN_PART * present);

        for (size_t i = 0; i < race->n_candidates; i++) {
                RaceCandidate *c = race->candidates + i;

                if (w->silent[i])
                        continue;
                c->ratio = average(c->begun, c->ratio, shadow_ratio(w, i));
                c->begun = true;
                add_regret(c, turns_of(w), shadow_ratio(w, i), present, margin);
        }
        race->bias = average(race->begun, race->bias, real_ratio(w) - present);
        race->begun = true;
}

static void run(Race *race, size_t candidate) {
        race->present = candidate;
        race->first = false;
        race->guarded = 0;
        forget_regrets(race);
}

/* ---- the guard */

unsigned race_ban(Race *race, size_t candidate) {
        RaceCandidate *c;
        unsigned windows;

        assert(race);
        assert(candidate < race->n_candidates);

        c = race->candidates + candidate;
        windows = RACE_BAN_FIRST << MIN(c->n_bans, RACE_BAN_MOST);

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

bool race_readmit(Race *race) {
        bool any = false;

        assert(race);

        for (size_t i = 0; i < race->n_candidates; i++) {
                any = any || race->candidates[i].out;
                race->candidates[i].out = false;
        }
        return any;
}

/* The candidate comes, with the present one before it. */
static void switch_to(Race *race, size_t candidate) {
        race->switched = true;
        race->before = race->present;
        race->before_bias = race->bias;
        run(race, candidate);
        race->guarded = RACE_GUARD_TURNS;
        race->guard_regret = 0;
}

static bool may_win(const Race *race, size_t candidate) {
        const RaceCandidate *c = race->candidates + candidate;

        return candidate != race->present && c->begun && !c->out && c->banned == 0;
}

/* Whether the unit has missed enough more than it would with another one. */
static bool has_regret(Race *race, const RaceWindow *w, double other, double loss) {
        race->guarded -= turns_of(w);
        race->guard_regret += (real_ratio(w) - other - loss) * turns_of(w);
        race->guard_regret = MAX(race->guard_regret, 0.0);
        return race->guard_regret >= RACE_GUARD_REGRET;
}

/* The candidate that the race began with is compared with the one whose shadow misses least. */
static bool first_disappoints(Race *race, const RaceWindow *w, RaceStep *ret) {
        size_t best = race->present;

        if (race->guarded <= 0)
                return false;
        for (size_t i = 0; i < race->n_candidates; i++)
                if (may_win(race, i) && !w->silent[i] &&
                    (best == race->present || race->candidates[i].ratio < race->candidates[best].ratio))
                        best = i;
        if (best == race->present || !has_regret(race, w, shadow_ratio(w, best), RACE_GUARD_LOSS_FIRST))
                return false;

        *ret = (RaceStep) {
                .action = RACE_LEAVE,
                .from = race->present,
                .to = best,
                .from_ratio = real_ratio(w),
                .to_ratio = shadow_ratio(w, best),
        };
        switch_to(race, best);
        return true;
}

/* The unit is compared with the shadow of the policy before, and with how far the unit was off a shadow
 * then: shadows do not know all that happens to the unit. */
static bool disappoints(Race *race, const RaceWindow *w, RaceStep *ret) {
        double before;

        if (race->first)
                return first_disappoints(race, w, ret);
        if (race->guarded <= 0 || w->silent[race->before])
                return false;
        before = shadow_ratio(w, race->before) + race->before_bias;
        if (!has_regret(race, w, before, RACE_GUARD_LOSS))
                return false;

        *ret = (RaceStep) {
                .action = RACE_ROLL_BACK,
                .from = race->present,
                .to = race->before,
                .from_ratio = real_ratio(w),
                .to_ratio = CLAMP(before, 0, 1),
                .banned = race_ban(race, race->present),
        };
        run(race, race->before);
        return true;
}

/* ---- the choice */

static double needed_for(const Race *race, size_t candidate) {
        return candidate == RACE_STOCK ? race->needed * RACE_REGRET_STOCK : race->needed;
}

/* Of those that may win, the one of the greatest regret beyond what it needs; the present one if there is no
 * regret. */
static size_t find_best(const Race *race) {
        size_t best = race->present;
        double most = 0;

        for (size_t i = 0; i < race->n_candidates; i++) {
                double part = race->candidates[i].regret / needed_for(race, i);

                if (may_win(race, i) && part > most) {
                        best = i;
                        most = part;
                }
        }
        return best;
}

/* Why a window says nothing. */
static RaceReason find_obstacle(const RaceWindow *w) {
        if (w->sampled < RACE_SAMPLE_MIN || w->requests == 0)
                return RACE_NO_SAMPLE;
        return w->silent[w->present] ? RACE_NO_SHADOW : RACE_BECAUSE_OF_FIGURES;
}

static RaceReason find_reason(const Race *race, size_t best) {
        if (best == race->present)
                return RACE_BEST;
        return race->candidates[best].regret < needed_for(race, best) ? RACE_UNCONFIRMED :
                                                                        RACE_BECAUSE_OF_FIGURES;
}

/* Whether nothing is left to be found out. */
static bool is_settled(const Race *race, const RaceWindow *w) {
        for (size_t i = 0; i < race->n_candidates; i++)
                if (w->silent[i] && !race->candidates[i].out)
                        return false;
        return race->guarded <= 0;
}

void race_step(Race *race, const RaceWindow *window, RaceStep *ret) {
        RaceReason obstacle;
        RaceWindow warm, *w = &warm;
        size_t best;

        assert(race);
        assert(window);
        assert(window->present < race->n_candidates);
        assert(ret);

        warm = *window;
        hush_cold_shadows(race, w);
        (void) race_pass_bans(race);
        /* somebody else has changed the policy, or a switch did not succeed */
        if (race->present != w->present)
                run(race, w->present);
        else if (race->switched)
                race->needed = MIN(race->needed * 2, RACE_REGRET_MOST);
        race->switched = false;
        obstacle = find_obstacle(w);
        if (obstacle != RACE_BECAUSE_OF_FIGURES) {
                *ret = (RaceStep) { .reason = obstacle, .from = race->present, .to = race->present };
                return;
        }

        take_ratios(race, w);
        if (disappoints(race, w, ret))
                return;

        best = find_best(race);
        *ret = (RaceStep) {
                .reason = find_reason(race, best),
                .from = race->present,
                .to = best,
        };
        if (best == race->present) {
                ret->from_ratio = ret->to_ratio = race->candidates[best].ratio;
                ret->settled = is_settled(race, w);
        } else {
                ret->from_ratio = race->candidates[best].present_missed / race->candidates[best].turns;
                ret->to_ratio = race->candidates[best].missed / race->candidates[best].turns;
        }
        if (ret->reason != RACE_BECAUSE_OF_FIGURES)
                return;

        ret->action = RACE_SWITCH;
        switch_to(race, best);
}

/* ---- words */

char *race_step_to_string(const RaceStep *step, const char *const *names) {
        static const char *const reasons[_RACE_REASON_MAX] = {
                [RACE_NO_SAMPLE]   = "there were too few requests",
                [RACE_NO_SHADOW]   = "its shadow has not run for long enough",
                [RACE_BEST]        = "no other policy gains more than the margin",
                [RACE_UNCONFIRMED] = "more windows have to confirm it",
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
        case RACE_LEAVE:
                return g_strdup_printf("from %s to %s: it missed %.1f %% of all requests, %s would miss "
                                       "%.1f %%", from, to, from_percent, to, to_percent);
        case RACE_ROLL_BACK:
                return g_strdup_printf("back from %s to %s: it missed %.1f %% of all requests, %s would "
                                       "miss %.1f %%; %s is out for %u windows",
                                       from, to, from_percent, to, to_percent, from, step->banned);
        case RACE_STAY:
                break;
        }
        if (step->from == step->to)
                return g_strdup_printf("stays with %s: %s", from, reasons[step->reason]);
        return g_strdup_printf("stays with %s, which would miss %.1f %% of all requests, %s %.1f %%: %s",
                               from, from_percent, to, to_percent, reasons[step->reason]);
}
