/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "auto.h"
#include "daemon/core/choice.h"
#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "racer.h"
#include "shared/log.h"

#define TICK_USEC (1 * USEC_PER_SEC)
/* What did not begin is tried again so much later. */
#define RETRY_USEC (60 * USEC_PER_SEC)

struct Auto {
        Manager *manager;
        const AutoBackend *backend;
        ShadowHost *host;        /* NULL: nothing can be chosen here */
        GHashTable *racers;      /* Unit -> Racer, owned */
        GHashTable *resting;     /* Unit -> Racer, owned: by rest.h, or they wait for their next turn */
        GHashTable *noted;       /* set of Unit: it changed, and has CachePolicy=auto or had it */
        sd_event_source *timer;  /* on while there are such */
        uint64_t retry_at;       /* CLOCK_MONOTONIC; UINT64_MAX: all have begun */
        guint n_told;            /* units of which the journal says that they wait for their turn */
};

/* ---- time */

static void set_timer(Auto *a) {
        bool on = g_hash_table_size(a->racers) > 0 || g_hash_table_size(a->resting) > 0 ||
                a->retry_at != UINT64_MAX;
        int enabled = SD_EVENT_OFF, r;

        (void) sd_event_source_get_enabled(a->timer, &enabled);
        if (on == (enabled != SD_EVENT_OFF))
                return;

        r = on ? sd_event_source_set_time_relative(a->timer, TICK_USEC) : 0;
        if (r >= 0)
                r = sd_event_source_set_enabled(a->timer, on ? SD_EVENT_ON : SD_EVENT_OFF);
        if (r < 0)
                log_warning_errno(r, "Cannot set the timer that chooses policies: %m");
}

/* ---- units come and go */

static void racer_destroy(void *p) {
        racer_free(p);
}

static int begin(Auto *a, Unit *u, uint64_t now) {
        g_autofree char *verdict = NULL;
        const char *why;
        Racer *racer;
        int r;

        r = racer_new(u, a->backend, a->host, now, g_hash_table_lookup(a->resting, u), &racer);
        if (r >= 0) {
                g_hash_table_remove(a->resting, u);
                g_hash_table_insert(a->racers, u, racer);
                u->race_error = 0;
                g_set_str(&u->choice->verdict, NULL); /* no window is over */
                return 0;
        }

        why = r == -EBUSY ? "there are too many candidates of other units" : strerror(-r);
        verdict = g_strdup_printf("stays with %s, policies cannot be compared: %s", unit_chosen_name(u),
                                  why);
        g_set_str(&u->choice->verdict, verdict);
        if (r != -EBUSY && u->race_error != r) /* once; and those who wait for their turn are counted */
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = u->name),
                                "%s: Cannot compare cache policies, trying again each minute: %s.", u->name,
                                why);
        u->race_error = r;
        a->retry_at = MIN(a->retry_at, now + RETRY_USEC); /* others do not wait longer for that */
        return r;
}

/* Takes a racer that is none of the others any more. */
static void rest(Auto *a, Racer *racer, uint64_t now) {
        g_autofree char *why = rest_to_string(&racer->rest);
        Unit *u = racer->unit;

        g_hash_table_insert(a->resting, u, racer);
        racer_rest(racer);
        u->raced_until = now;
        free(u->choice->verdict);
        u->choice->verdict = g_strdup_printf("stays with %s, %s", unit_chosen_name(u), why);
}

/* Whether its race rests until there may be something to be gained. */
static bool is_resting(const Auto *a, const Unit *u) {
        const Racer *resting = g_hash_table_lookup(a->resting, u);

        return resting && racer_rests(resting);
}

/* There is no race that says what else to try, but for one that rests. */
static void fall_back(Auto *a, Unit *u) {
        Racer *resting = g_hash_table_lookup(a->resting, u);
        g_autofree char *why = NULL;

        if (resting && racer_fits(resting) && racer_is_ejected(resting)) {
                racer_ejected(resting);
                return;
        }

        why = g_strdup_printf("from %s to " CANDIDATE_STOCK ": %s", unit_chosen_name(u), strna(u->reason));
        unit_reset_retry(u);
        unit_choose(u, RACE_STOCK, why);
}

/* A reconcile is to follow. Its state may be of a control group that is gone. */
static bool is_in_motion(const Auto *a, const Unit *u) {
        return u->fetching || g_hash_table_contains(a->manager->dirty, u);
}

static void look_at(Auto *a, Unit *u) {
        Racer *r = g_hash_table_lookup(a->racers, u);

        if (is_in_motion(a, u)) {
                g_hash_table_add(a->noted, u);
                return;
        }

        if (r && !racer_fits(r)) {
                g_hash_table_remove(a->racers, u);
                u->raced_until = g_get_monotonic_time();
                r = NULL;
        }

        /* one that rests and fits no more is replaced, if there is another race */
        if (!u->choice)
                g_hash_table_remove(a->resting, u);

        if (r)
                racer_reconciled(r, g_get_monotonic_time());
        else if (u->choice && u->state == UNIT_ATTACHED && !is_resting(a, u))
                (void) begin(a, u, g_get_monotonic_time());
        else if (u->choice && u->choice->chosen != RACE_STOCK && !u->link &&
                 (u->state == UNIT_FAILED || u->state == UNIT_LOST))
                fall_back(a, u);
}

static void note(Auto *a, Unit *u) {
        if (a->host && (u->choice || g_hash_table_contains(a->racers, u) ||
                        g_hash_table_contains(a->resting, u)))
                g_hash_table_add(a->noted, u);
}

static void unit_changed(void *userdata, Unit *u) {
        note(userdata, u);
}

static void policy_came(void *userdata, Unit *u) {
        Auto *a = userdata;
        Racer *r = g_hash_table_lookup(a->racers, u);

        if (r)
                racer_policy_came(r);
        note(a, u);
}

static void unit_removed(void *userdata, Unit *u) {
        Auto *a = userdata;

        g_hash_table_remove(a->noted, u);
        g_hash_table_remove(a->racers, u);
        g_hash_table_remove(a->resting, u);
}

static void reloaded(void *userdata) {
        Auto *a = userdata;
        GHashTableIter it;
        gpointer r;

        g_hash_table_iter_init(&it, a->racers);
        while (g_hash_table_iter_next(&it, NULL, &r))
                racer_reloaded(r);
        g_hash_table_iter_init(&it, a->resting);
        while (g_hash_table_iter_next(&it, NULL, &r)) {
                racer_reloaded(r);
                a->retry_at = 0; /* it may not rest any more */
        }
}

/* By then each unit is what its state says. */
static void reconciled(void *userdata) {
        Auto *a = userdata;
        g_autoptr(GHashTable) noted = g_steal_pointer(&a->noted);
        GHashTableIter it;
        gpointer u;

        a->noted = g_hash_table_new(NULL, NULL);
        g_hash_table_iter_init(&it, noted);
        while (g_hash_table_iter_next(&it, &u, NULL))
                look_at(a, u);
        set_timer(a);
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .policy_came = policy_came,
        .unit_removed = unit_removed,
        .reloaded = reloaded,
        .reconciled = reconciled,
};

/* ---- turns */

/* Who waits, those first who never had a race, or had none for the longest time. */
static gint compare_waiting(gconstpointer a, gconstpointer b) {
        uint64_t x = (*(const Unit *const *) a)->raced_until, y = (*(const Unit *const *) b)->raced_until;

        return (x > y) - (x < y);
}

static GPtrArray *list_waiting(Auto *a) {
        GPtrArray *list = g_ptr_array_new();
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, a->manager->units);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                const Unit *u = p;

                if (!u->choice || u->state != UNIT_ATTACHED || g_hash_table_contains(a->racers, u) ||
                    is_resting(a, u))
                        continue;
                if (is_in_motion(a, u))
                        g_hash_table_add(a->noted, p); /* it is looked at then */
                else
                        g_ptr_array_add(list, p);
        }
        g_ptr_array_sort(list, compare_waiting);
        return list;
}

/* Ends the race of the unit for which the least has changed for some time. Returns whether there was one.
 * None ends if that would not do: the one that waits may need more than all of these have. */
static bool make_room(Auto *a, const Unit *waiting, uint64_t now) {
        guint n_candidates = waiting->choice->candidates.list->len;
        Racer *calmest = NULL;
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, a->racers);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                Racer *r = p;

                if (!racer_fits(r) || !racer_is_calm(r))
                        n_candidates += r->candidates->len;
                else if (!calmest || r->rest.n_same > calmest->rest.n_same)
                        calmest = r;
        }
        if (!calmest || n_candidates > SHADOWS_PROCESSES_MAX)
                return false;

        (void) g_hash_table_steal(a->racers, calmest->unit);
        rest(a, calmest, now);
        return true;
}

/* One message for all of them, when they are more than before. */
static void tell_waiting(Auto *a) {
        _cleanup_ptr_array_ GPtrArray *waiting = list_waiting(a);
        guint n = 0;

        for (guint i = 0; i < waiting->len; i++) {
                const Unit *u = waiting->pdata[i];

                n += u->race_error == -EBUSY || g_hash_table_contains(a->resting, u);
        }

        if (n > a->n_told)
                log_warning("%u unit%s with CachePolicy=auto wait%s for %s turn: policies are compared for "
                            "as many as have %u candidates together; CacheCandidates= can name fewer.", n,
                            n == 1 ? "" : "s", n == 1 ? "s" : "", n == 1 ? "its" : "their",
                            SHADOWS_PROCESSES_MAX);
        a->n_told = n > 0 ? MAX(n, a->n_told) : 0;
}

static void begin_again(Auto *a, uint64_t now) {
        _cleanup_ptr_array_ GPtrArray *waiting = list_waiting(a);

        a->retry_at = UINT64_MAX;
        for (guint i = 0; i < waiting->len; i++)
                while (begin(a, waiting->pdata[i], now) == -EBUSY && make_room(a, waiting->pdata[i], now))
                        ;
        tell_waiting(a);
}

/* Those whose rest is over; they wait for their turn from now on. */
static GPtrArray *list_awake(Auto *a, uint64_t now) {
        GPtrArray *list = g_ptr_array_new();
        GHashTableIter it;
        gpointer u, r;

        g_hash_table_iter_init(&it, a->resting);
        while (g_hash_table_iter_next(&it, &u, &r))
                if (racer_rests(r) && !is_in_motion(a, u) && racer_wakes(r, now))
                        g_ptr_array_add(list, u);
        return list;
}

void auto_tick(Auto *a, uint64_t now) {
        _cleanup_ptr_array_ GPtrArray *awake = list_awake(a, now);
        GHashTableIter it;
        gpointer r;

        for (guint i = 0; i < awake->len; i++)
                (void) begin(a, awake->pdata[i], now);

        g_hash_table_iter_init(&it, a->racers);
        while (g_hash_table_iter_next(&it, NULL, &r)) {
                racer_tick(r, now);
                if (racer_rests(r)) {
                        g_hash_table_iter_steal(&it);
                        rest(a, r, now);
                        a->retry_at = now; /* another one may have its place */
                }
        }

        if (now >= a->retry_at)
                begin_again(a, now);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        auto_tick(userdata, g_get_monotonic_time());
        return sd_event_source_set_time_relative(s, TICK_USEC);
}

/* ---- beginning and end */

static char *find_obstacle(int error) {
        if (error == -EOPNOTSUPP)
                return g_strdup("the kernel cannot sample what units read, which CachePolicy=auto needs");
        if (error < 0)
                return g_strdup_printf("CachePolicy=auto cannot sample what units read: %s",
                                       strerror(-error));
        return NULL;
}

int auto_new(Manager *m, const AutoBackend *b, Auto **ret) {
        _cleanup_(auto_freep) Auto *a = g_new0(Auto, 1);
        int r;

        a->manager = m;
        a->backend = b;
        a->retry_at = UINT64_MAX;
        a->racers = g_hash_table_new_full(NULL, NULL, NULL, racer_destroy);
        a->resting = g_hash_table_new_full(NULL, NULL, NULL, racer_destroy);
        a->noted = g_hash_table_new(NULL, NULL);

        r = sd_event_add_time_relative(m->event, &a->timer, CLOCK_MONOTONIC, TICK_USEC, 0, on_timer, a);
        if (r >= 0)
                r = sd_event_source_set_enabled(a->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;

        r = b->host_new(m->event, &m->paths.kernel, &a->host);
        free(m->no_choice);
        m->no_choice = find_obstacle(r);
        manager_observe(m, &observer, a);
        *ret = TAKE_PTR(a);
        return 0;
}

Auto *auto_free(Auto *a) {
        if (!a)
                return NULL;

        manager_unobserve(a->manager, &observer, a);
        sd_event_source_disable_unref(a->timer);
        g_hash_table_unref(a->racers);
        g_hash_table_unref(a->resting);
        g_hash_table_unref(a->noted);
        if (a->host)
                a->backend->host_free(a->host);
        return mfree(a);
}
