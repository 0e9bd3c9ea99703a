/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "auto-fixture.h"

#define REQUESTS 100000U
#define SAMPLED 10000U
#define CACHED 200000U /* two windows make a turn */
#define WINDOW_USEC (10 * USEC_PER_SEC)

static Auto *chooser;
static uint64_t now;

static void start_auto(void) {
        static const char *const names[] = { "noop", "lru", "s3fifo" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                add_policy(names[i], NULL);
        assert_int_equal(auto_new(fixture->manager, &played_auto, &chooser), 0);
}

int auto_setup(void **state) {
        fixture_setup(state);
        played = (PlayedHost) { .capacity = 1000 };
        now = g_get_monotonic_time() + USEC_PER_SEC;
        start_auto();
        return 0;
}

int auto_teardown(void **state) {
        chooser = auto_free(chooser);
        return fixture_teardown(state);
}

void auto_restart(void) {
        chooser = auto_free(chooser);
        stop_daemon();
        start_daemon();
        start_auto();
}

void warm_up(Unit *u) {
        PlayedShadows *s = played.shadows[u->cgroup_id];

        for (unsigned i = 0; s && i < 4; i++)
                play_window(u, 500, 500, 500, 500);
        if (s)
                s->n_ended = s->n_answered = 0;
}

Unit *add_auto_unit(const char *name, uint64_t cgroup_id) {
        Unit *u = add_unit(name, "auto", cgroup_id);

        set(u, "CacheCandidates", AUTO_CANDIDATES, 8);
        assert_state(u, UNIT_ATTACHED);
        warm_up(u);
        return u;
}

void pass_window(Unit *u, unsigned real) {
        Meter *m = played.meters + u->cgroup_id;

        m->requests += REQUESTS;
        m->misses += REQUESTS / 1000 * real;
        m->n_cached = CACHED;
        now += WINDOW_USEC;
        auto_tick(chooser, now);
        run();
}

void answer_window(Unit *u, unsigned stock, unsigned lru, unsigned mru) {
        PlayedShadows *s = played.shadows[u->cgroup_id];
        ShadowsWindow w = {
                .sampled = SAMPLED,
                .lost = played.lost,
                .one_in = REQUESTS / SAMPLED,
                .candidates = {
                        { .misses = SAMPLED / 1000 * stock, .valid = !(played.silent & 1U << STOCK) },
                        { .misses = SAMPLED / 1000 * lru, .valid = !(played.silent & 1U << LRU) },
                        { .misses = SAMPLED / 1000 * mru, .valid = !(played.silent & 1U << MRU) },
                },
        };

        assert_non_null(s);
        assert_true(s->n_answered < s->n_ended);
        s->n_answered++;
        s->handlers->window((Shadows *) s, &w, s->userdata);
        run();
}

void play_window(Unit *u, unsigned real, unsigned stock, unsigned lru, unsigned mru) {
        PlayedShadows *s = played.shadows[u->cgroup_id];

        /* One that ended with another policy: it would have LRU win. */
        while (s->n_answered < s->n_ended)
                answer_window(u, 900, 100, 900);
        pass_window(u, real);
        answer_window(u, stock, lru, mru);
}

void switch_to_lru(Unit *u) {
        for (unsigned i = 0; i < 2; i++)
                play_window(u, 500, 500, 300, 500);
        assert_runs(u, "lru");
}

void switch_to_mru(Unit *u) {
        for (unsigned i = 0; i < 2; i++)
                play_window(u, 500, 500, 500, 300);
        assert_runs(u, "mru");
}

void refuse_mru(Unit *u) {
        fixture->kernel.update_error = -EINVAL;
        for (unsigned i = 0; i < 2; i++)
                play_window(u, 500, 500, 500, 300);
        fixture->kernel.update_error = 0;
        assert_true(u->choice->figures[MRU].out);
}

void count_warnings(int level, const LogFields *fields, const char *message, void *userdata) {
        *(unsigned *) userdata += level <= LOG_WARNING;
}

void pass_minute(Unit *u) {
        for (unsigned i = 0; i < 7; i++)
                play_window(u, 500, 500, 500, 500);
}

void make_room(Unit *u, const Unit *waiting) {
        for (unsigned i = 0; played.shadows[u->cgroup_id]; i++) {
                assert_true(i < 100);
                pass_window(u, 500);
                if (played.shadows[u->cgroup_id])
                        answer_window(u, 500, 489, 500);
        }
        assert_non_null(played.shadows[waiting->cgroup_id]);
}

void start_again(Unit *u, uint64_t cgroup_id) {
        fixture->kernel.cgroups[u->cgroup_id].exists = false;
        u->active = false;
        set_cgroup(u, 0);
        run();
        assert_state(u, UNIT_INACTIVE);
        u->active = true;
        set_cgroup(u, cgroup_id);
        run();
        assert_state(u, UNIT_ATTACHED);
}
