/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test-util.h"

#include <glib.h>

#include "played-shadows.h"

PlayedHost played;

static int host_new(sd_event *event, const KernelPaths *paths, ShadowHost **ret) {
        if (played.host_error < 0)
                return played.host_error;

        *ret = (ShadowHost *) &played;
        return 0;
}

static ShadowHost *host_free(ShadowHost *h) {
        for (size_t i = 0; i < PLAYED_UNITS; i++)
                assert_null(played.shadows[i]);
        return NULL;
}

static bool is_full(void) {
        unsigned n = 0;

        for (size_t i = 0; i < PLAYED_UNITS; i++)
                n += !!played.shadows[i];
        return played.room > 0 && n >= played.room;
}

static int play_new(ShadowHost *h, const char *unit, const char *cgroup, uint64_t cgroup_id,
                    uint64_t n_pages, const ShadowCandidate *candidates, size_t n_candidates,
                    const ShadowsHandlers *handlers, void *userdata, Shadows **ret) {
        g_autoptr(GString) names = g_string_new(NULL);
        PlayedShadows *s;

        assert_ptr_equal(h, &played);
        assert_non_null(cgroup);
        assert_in_range(cgroup_id, 1, PLAYED_UNITS - 1);
        assert_null(played.shadows[cgroup_id]);
        if (played.shadows_error < 0)
                return played.shadows_error;
        if (is_full())
                return -EBUSY;

        for (size_t i = 0; i < n_candidates; i++) {
                g_autofree char *options = g_strjoinv(" ", (char **) candidates[i].options);

                g_string_append_printf(names, "%s%s%s%s", i > 0 ? ", " : "", candidates[i].policy,
                                       *options ? " " : "", options);
        }

        s = g_new(PlayedShadows, 1);
        *s = (PlayedShadows) {
                .cgroup_id = cgroup_id,
                .n_pages = n_pages,
                .candidates = g_strdup(names->str),
                .handlers = handlers,
                .userdata = userdata,
        };
        played.shadows[cgroup_id] = s;
        played.n_new++;
        *ret = (Shadows *) s;
        return 0;
}

static Shadows *play_free(Shadows *p) {
        PlayedShadows *s = (PlayedShadows *) p;

        played.shadows[s->cgroup_id] = NULL;
        g_free(s->candidates);
        g_free(s);
        return NULL;
}

static int resize(Shadows *p, uint64_t n_pages, unsigned *ret_wait) {
        PlayedShadows *s = (PlayedShadows *) p;
        uint64_t before = s->n_pages;

        *ret_wait = played.patient ? 3 : 0;
        if (played.resize_error < 0)
                return played.resize_error;

        if (!played.patient)
                s->n_pages = n_pages;
        return n_pages == before;
}

static int policy_replaced(Shadows *p) {
        ((PlayedShadows *) p)->n_replaced++;
        return played.replaced_error;
}

static int end_window(Shadows *p) {
        PlayedShadows *s = (PlayedShadows *) p;

        if (s->n_answered < s->n_ended)
                return -EALREADY;
        s->n_ended++;
        return 0;
}

static int read_meter(const Unit *u, Meter *ret) {
        played.n_read++;
        if (played.read_error < 0)
                return played.read_error;

        *ret = played.meters[u->cgroup_id];
        return 0;
}

static uint64_t read_capacity(const Unit *u, const Meter *m) {
        return played.capacity;
}

const AutoBackend played_auto = {
        .host_new = host_new,
        .host_free = host_free,
        .shadows_new = play_new,
        .shadows_free = play_free,
        .shadows_resize = resize,
        .shadows_policy_replaced = policy_replaced,
        .shadows_end_window = end_window,
        .read = read_meter,
        .read_capacity = read_capacity,
};
