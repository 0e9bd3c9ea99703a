/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/core/choice.h"
#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "racer.h"
#include "shared/log.h"

static_assert(RACE_CANDIDATES_MAX == CANDIDATES_MAX, "each candidate is in the race");
static_assert(ELEMENTSOF(((ShadowsWindow *) NULL)->candidates) == CANDIDATES_MAX, "and has a shadow");

/* How often the counters are read: each second near the end of a window, more seldom before. */
#define LOOK_USEC_MIN (1 * USEC_PER_SEC)
#define LOOK_USEC_MAX (8 * USEC_PER_SEC)

static const char *name_of(const Racer *r, guint i) {
        return ((const PolicyCandidate *) r->candidates->pdata[i])->name;
}

/* ---- what is shown */

static void show(Racer *r, const char *verdict) {
        UnitChoice *c = r->unit->choice;

        for (guint i = 0; i < r->candidates->len; i++) {
                const RaceCandidate *x = r->race.candidates + i;

                c->figures[i] = (CandidateFigures) {
                        .known = r->shadows && x->begun,
                        .miss_ratio = x->ratio,
                        .banned = x->banned > 0 ? x->banned - 1 : 0, /* after this window */
                        .out = x->out,
                };
        }
        if (verdict)
                g_set_str(&c->verdict, verdict);
}

/* No window counts now. */
static void show_waiting(Racer *r, const char *why) {
        g_autofree char *verdict = g_strdup_printf("stays with %s: %s", name_of(r, r->present), why);

        show(r, verdict);
}

/* The same, with an error. Of a control group that is gone systemd will tell. */
static void show_unsampled(Racer *r, int error) {
        g_autofree char *why = g_strdup_printf("the kernel does not sample what the unit reads: %s",
                                               strerror(-error));

        if (error != -ENOENT)
                show_waiting(r, why);
}

/* ---- windows */

/* That of the shadows begins now, too. */
static void begin_window(Racer *r, uint64_t now) {
        r->metered = r->backend->read(r->unit, &r->begin) >= 0;
        r->begin_usec = now;
        r->look_usec = now + LOOK_USEC_MIN;
        r->begin_again = false;
}

/* What came before counts for nothing. */
static void begin_anew(Racer *r, uint64_t now) {
        bool was_ending = r->ending;

        r->ending = r->backend->shadows_end_window(r->shadows) >= 0 || was_ending;
        r->void_window = true;
        begin_window(r, now);
        r->begin_again = was_ending;
}

/* At half of the time that it takes to the end, if all goes on as it went. */
static uint64_t find_next_look(const Racer *r, const Meter *m, uint64_t requests, uint64_t now) {
        uint64_t wanted = race_window_requests(m->n_cached), passed = now - r->begin_usec;
        double rest;

        if (requests == 0 || requests >= wanted)
                return now + LOOK_USEC_MIN;

        rest = (double) passed * (wanted - requests) / requests / 2;
        return now + (uint64_t) CLAMP(rest, LOOK_USEC_MIN, LOOK_USEC_MAX);
}

/* Requests that were lost on their way to the shadows are no part of the sample. What was lost is a part of
 * the events: they count otherwise than the unit's requests do, with removals, and each page of a folio. */
static uint64_t expected_of(const RaceWindow *window, const ShadowsWindow *w) {
        double share = (double) window->requests / MAX(w->one_in, 1U);

        return (uint64_t) (share * w->sampled / MAX(w->sampled + w->lost, 1U));
}

/* Whether the shadows' caches are as large as the unit's. */
static bool fits_capacity(Racer *r) {
        unsigned wait;
        int fits;

        fits = r->backend->shadows_resize(r->shadows, r->backend->read_capacity(r->unit, &r->begin), &wait);
        if (fits > 0)
                return true;

        rest_unsettle(&r->rest);
        if (fits < 0)
                show_unsampled(r, fits);
        else if (wait > 0) {
                g_autofree char *why = g_strdup_printf("the size of the cache is another one; if that lasts "
                                                       "for %u window%s, its shadows begin anew", wait,
                                                       wait == 1 ? "" : "s");

                show_waiting(r, why);
        }
        return false;
}

static void on_window(Shadows *s, const ShadowsWindow *w, void *userdata) {
        Racer *r = ASSERT_PTR(userdata);
        g_autofree const char **names = g_new0(const char *, r->candidates->len);
        g_autofree char *verdict = NULL;
        RaceStep step;

        if (!r->ending)
                return;
        r->ending = false;
        if (!racer_fits(r))
                return;
        if (r->void_window) {
                if (r->begin_again)
                        begin_anew(r, g_get_monotonic_time());
                return;
        }
        if (!fits_capacity(r))
                return;

        r->window.expected = expected_of(&r->window, w);
        r->window.sampled = w->sampled;
        for (guint i = 0; i < r->candidates->len; i++) {
                names[i] = name_of(r, i);
                r->window.shadow_misses[i] = w->candidates[i].misses;
                r->window.silent[i] = !w->candidates[i].valid;
        }

        race_step(&r->race, &r->window, &step);
        rest_take_step(&r->rest, &r->window, &step);
        verdict = race_step_to_string(&step, names);
        log_debug("%s: %s.", r->unit->name, verdict);
        show(r, verdict);
        if (step.action != RACE_STAY) {
                unit_reset_retry(r->unit);
                unit_choose(r->unit, step.to, verdict);
        }
}

static void on_reseeded(Shadows *s, void *userdata) {
        Racer *r = ASSERT_PTR(userdata);

        race_reseed(&r->race);
        rest_unsettle(&r->rest);
        if (racer_fits(r))
                show_waiting(r, "its shadows began anew, as the size of the cache or of the sample changed");
        r->ending = false; /* what they were asked before, they do not answer any more */
        begin_window(r, g_get_monotonic_time());
}

/* Whether the window is over, and what the counters say then. -ESTALE: they began anew since it did. */
static int look(Racer *r, uint64_t now, Meter *ret) {
        uint64_t requests;
        int e;

        if (now < r->look_usec)
                return false;
        e = r->backend->read(r->unit, ret);
        if (e < 0)
                return false;
        if (!r->metered || ret->requests < r->begin.requests || ret->misses < r->begin.misses)
                return -ESTALE;

        requests = ret->requests - r->begin.requests;
        if (race_window_over(ret->n_cached, requests, now - r->begin_usec))
                return true;
        r->look_usec = find_next_look(r, ret, requests, now);
        return false;
}

static RaceWindow window_until(const Racer *r, const Meter *m) {
        return (RaceWindow) {
                .present = r->present,
                .n_cached = m->n_cached,
                .requests = m->requests - r->begin.requests,
                .misses = m->misses - r->begin.misses,
        };
}

static void end_window(Racer *r, const Meter *m, uint64_t now) {
        int e;

        r->window = window_until(r, m);
        rest_count(&r->rest, &r->window, r->race.margin);
        e = r->backend->shadows_end_window(r->shadows);
        if (e < 0)
                log_debug_errno(e, "%s: Cannot end a window, ignoring it: %m", r->unit->name);

        r->ending = e >= 0;
        r->void_window = false;
        begin_window(r, now);
}

/* Another policy runs. If the kernel does not hear of the sample, it is told again later. */
static void tell_rate(Racer *r) {
        int e = r->backend->shadows_policy_replaced(r->shadows);

        if (e < 0)
                show_unsampled(r, e);
        if (e < 0 && e != -ENOENT && e != r->untold) /* that is: systemd will tell */
                log_full_fields(LOG_WARNING, e, LOG_FIELDS(.unit = r->unit->name),
                                "%s: Cannot have the kernel sample what the unit reads, trying again: %m",
                                r->unit->name);
        r->untold = MIN(e, 0);
}

void racer_tick(Racer *r, uint64_t now) {
        Meter m;
        int over;

        /* no window ends while a switch is on its way: what runs then is not what was chosen */
        if (!racer_fits(r) || r->unit->state != UNIT_ATTACHED || r->unit->choice->chosen != r->present ||
            r->ending || now < r->look_usec)
                return;

        if (r->untold) {
                tell_rate(r);
                if (!r->untold) {
                        g_set_str(&r->unit->choice->verdict, NULL); /* which was the error */
                        begin_anew(r, now);
                }
                return;
        }

        over = look(r, now, &m);
        if (over < 0)
                begin_anew(r, now);
        else if (over)
                end_window(r, &m, now);
}

bool racer_wakes(Racer *r, uint64_t now) {
        bool wakes = false;
        RaceWindow w;
        Meter m;
        int over;

        if (!racer_fits(r) || r->unit->state != UNIT_ATTACHED)
                return false;

        over = look(r, now, &m);
        if (over > 0) {
                w = window_until(r, &m);
                wakes = rest_ends(&r->rest, &w, r->race.margin);
                if (race_pass_bans(&r->race) && !wakes) {
                        rest_unsettle(&r->rest);
                        wakes = r->rest.reason == REST_NOT;
                }
                show(r, NULL);
        }
        if (over)
                begin_window(r, now);
        return wakes;
}

/* ---- switches */

bool racer_fits(const Racer *r) {
        const UnitChoice *c = r->unit->choice;

        return c && c->candidates.list == r->candidates && r->unit->cgroup_id == r->cgroup_id;
}

static char *describe_ban(unsigned banned) {
        return banned == UINT_MAX ? g_strdup("for good") :
                g_strdup_printf("for %u window%s", banned, banned == 1 ? "" : "s");
}

/* The kernel did not take it. What runs is what ran before, and the core says so after the next reconcile.
 * If that was ended meanwhile, the stock policy is attached next. Another try that would come to the same is
 * not made. */
static void refused(Racer *r, guint candidate) {
        bool final = r->unit->retry_at == UINT64_MAX, runs = r->unit->link;
        guint next = runs ? r->present : RACE_STOCK;
        g_autofree char *ban = NULL, *verdict = NULL;

        if (final)
                race_exclude(&r->race, candidate);
        ban = describe_ban(final ? UINT_MAX : race_ban(&r->race, candidate));
        verdict = g_strdup_printf("%s %s: the switch to %s failed, which is out %s (%s)",
                                  runs ? "stays with" : "back to", name_of(r, next),
                                  name_of(r, candidate), ban, strna(r->unit->reason));
        show(r, verdict);
        log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = r->unit->name, .policy = name_of(r, candidate)),
                        "%s: Cache policy 'auto' %s.", r->unit->name, verdict);
        unit_reset_retry(r->unit);
        unit_choose(r->unit, next, runs ? NULL : verdict);
}

/* The stock policy is what runs now, so it is what is attached next, if no switch to another one was on its
 * way. */
void racer_ejected(Racer *r) {
        const UnitChoice *c = r->unit->choice;
        guint next = c->chosen == r->came ? RACE_STOCK : c->chosen;
        g_autofree char *ban = describe_ban(race_ban(&r->race, r->came)),
                *verdict = g_strdup_printf("%sfrom %s to %s, as %s is out %s: %s",
                                           next == RACE_STOCK ? "back " : "", name_of(r, r->came),
                                           name_of(r, next), name_of(r, r->came), ban,
                                           strna(r->unit->reason));

        show(r, verdict);
        rest_switched(&r->rest);
        r->came = RACE_STOCK;
        unit_reset_retry(r->unit);
        unit_choose(r->unit, next, verdict);
}

void racer_policy_came(Racer *r) {
        if (!racer_fits(r))
                return;
        r->came = r->unit->choice->chosen;
        r->replaced = true;
}

/* A switch was tried, and did not come to pass. Without a link there is nothing to stay with, but the stock
 * policy is all that can be tried then. */
static bool is_refused(const Racer *r) {
        const Unit *u = r->unit;

        return u->state == UNIT_FAILED && !unit_may_try(u) &&
                u->choice->chosen != (u->link ? r->present : RACE_STOCK);
}

void racer_reconciled(Racer *r, uint64_t now) {
        const UnitChoice *c = r->unit->choice;

        if (racer_is_ejected(r))
                racer_ejected(r);
        else if (is_refused(r))
                refused(r, c->chosen);
        else if (r->unit->state == UNIT_ATTACHED && (r->replaced || c->chosen != r->present)) {
                r->present = r->came = c->chosen;
                r->replaced = false;
                tell_rate(r);
                begin_anew(r, now);
        }
}

void racer_reloaded(Racer *r) {
        if (race_readmit(&r->race))
                rest_unsettle(&r->rest);
        if (r->shadows && racer_fits(r))
                show(r, NULL);
}

/* ---- beginning and end */

/* The race goes on from what it knows of candidates. */
static void init_race(Racer *r, const Racer *before) {
        race_init(&r->race, r->candidates->len, r->present);
        r->race.margin = r->unit->choice->candidates.margin / 100;
        if (!before || !racer_fits(before))
                return;

        r->race = before->race;
        race_reseed(&r->race);
        r->rest.n_doubled = before->rest.n_doubled;
}

int racer_new(Unit *u, const AutoBackend *b, ShadowHost *host, uint64_t now, const Racer *before,
              Racer **ret) {
        static const ShadowsHandlers handlers = { .window = on_window, .reseeded = on_reseeded };
        GPtrArray *list = u->choice->candidates.list;
        g_autofree ShadowCandidate *candidates = g_new0(ShadowCandidate, list->len);
        _cleanup_(racer_freep) Racer *r = g_new0(Racer, 1);
        Meter m = {};
        int e;

        r->unit = u;
        r->backend = b;
        r->candidates = g_ptr_array_ref(list);
        r->cgroup_id = u->cgroup_id;
        r->present = r->came = u->choice->chosen;
        init_race(r, before);

        for (guint i = 0; i < list->len; i++) {
                const PolicyCandidate *c = list->pdata[i];

                candidates[i] = (ShadowCandidate) {
                        .policy = c->policy,
                        .options = (const char *const *) c->options,
                };
        }

        (void) b->read(u, &m);
        e = b->shadows_new(host, u->name, u->cgroup, u->cgroup_id, MAX(b->read_capacity(u, &m), 1U),
                           candidates, list->len, &handlers, r, &r->shadows);
        if (e < 0)
                return e;

        begin_window(r, now);
        *ret = TAKE_PTR(r);
        return 0;
}

void racer_rest(Racer *r) {
        r->shadows = r->backend->shadows_free(r->shadows);
        show(r, NULL); /* without what they missed */
}

Racer *racer_free(Racer *r) {
        if (!r)
                return NULL;

        if (r->shadows)
                r->backend->shadows_free(r->shadows);
        g_ptr_array_unref(r->candidates);
        return mfree(r);
}
