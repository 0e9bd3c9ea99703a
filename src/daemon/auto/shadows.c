/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "daemon/kernel/cgroup.h"
#include "patience.h"
#include "rate.h"
#include "sampler.h"
#include "shadow-process.h"
#include "shadows.h"
#include "shared/cleanup.h"
#include "shared/log.h"

#include "config.h"

/* A shadow that did not answer for so long hangs. */
#define ANSWER_USEC (5 * USEC_PER_SEC)

struct ShadowHost {
        sd_event *event;
        char *cgroup_root, *program;
        Sampler *sampler;     /* NULL: no unit needs it */
        GHashTable *units;    /* Shadows by the id of the control group */
        size_t n_processes;   /* of all units */
};

struct Shadows {
        ShadowHost *host;
        char *unit, *cgroup;
        uint64_t cgroup_id;
        ShadowsHandlers handlers;
        void *userdata;

        uint64_t n_pages;     /* when they began */
        uint32_t one_in;
        Patience resizing, rating;
        bool stuck;           /* they cannot begin anew, which the journal says */

        ShadowProcess *processes[SHADOWS_CANDIDATES_MAX];
        size_t n_processes;
        ShadowMessage events; /* that are to be sent */

        /* the window that goes on */
        uint64_t begin_usec;
        uint64_t n_events;    /* that came, with removals */
        uint64_t lost_before; /* in the ring buffer, until its begin */
        ShadowsWindow now;

        /* the one that ended */
        uint32_t number;
        ShadowsWindow ended;
        uint64_t waiting;     /* for the answers of these, a bit each */
        bool telling;         /* and it is to be told */
        uint32_t next_one_in; /* after that */
        sd_event_source *tell, *timeout;
};

static uint64_t now_usec(const Shadows *s) {
        uint64_t usec = 0;

        (void) sd_event_now(s->host->event, CLOCK_MONOTONIC, &usec);
        return usec;
}

/* ---- events */

/* A process that misses some of it says nothing in this window. */
static void flush(Shadows *s) {
        for (size_t i = 0; s->events.n > 0 && i < s->n_processes; i++)
                (void) shadow_process_send(s->processes[i], &s->events);
        s->events.n = 0;
}

static void on_sample(uint64_t cgroup_id, uint64_t key, bool gone, void *userdata) {
        ShadowHost *h = userdata;
        Shadows *s = g_hash_table_lookup(h->units, &cgroup_id);

        if (!s) /* from the time before it was removed */
                return;

        s->n_events++;
        s->now.sampled += !gone;
        s->events.events[s->events.n++] = (ShadowEvent) { .key = key, .gone = gone };
        if (s->events.n == SHADOW_EVENTS_MAX)
                flush(s);
}

/* ---- windows */

static void begin_window(Shadows *s) {
        s->begin_usec = now_usec(s);
        s->n_events = 0;
        s->lost_before = sampler_lost(s->host->sampler, s->cgroup_id);
        s->now = (ShadowsWindow) { .one_in = s->one_in };
}

/* It is told from the event loop, when nobody is in the middle of something. */
static void tell_soon(Shadows *s) {
        (void) sd_event_source_set_enabled(s->timeout, SD_EVENT_OFF);
        (void) sd_event_source_set_enabled(s->tell, SD_EVENT_ONESHOT);
}

/* Returns whether the answer of that one was waited for. */
static bool stop_waiting(Shadows *s, size_t i) {
        uint64_t bit = UINT64_C(1) << i;

        if (!(s->waiting & bit))
                return false;
        s->waiting &= ~bit;
        if (s->waiting == 0)
                tell_soon(s);
        return true;
}

static bool on_answer(ShadowProcess *p, const ShadowAnswer *answer, void *userdata) {
        Shadows *s = userdata;
        size_t i = 0;

        while (s->processes[i] != p)
                i++;
        /* One that got all has had all requests. */
        if (!answer || answer->window != s->number || answer->requests != s->ended.sampled)
                s->ended.candidates[i].valid = false;
        else
                s->ended.candidates[i].misses = answer->misses;
        return stop_waiting(s, i);
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        Shadows *s = userdata;

        for (size_t i = 0; i < s->n_processes; i++)
                if (s->waiting & UINT64_C(1) << i) {
                        s->ended.candidates[i].valid = false;
                        shadow_process_fail(s->processes[i], "does not answer");
                }
        s->waiting = 0;
        tell_soon(s);
        return 0;
}

/* Has the process answer, if it runs. */
static void ask(Shadows *s, size_t i) {
        ShadowMessage end = { .kind = SHADOW_END_WINDOW, .n = s->number };
        int r;

        s->ended.candidates[i].valid = shadow_process_take_complete(s->processes[i]);
        r = shadow_process_send(s->processes[i], &end);
        if (r >= 0) {
                s->waiting |= UINT64_C(1) << i;
                return;
        }
        s->ended.candidates[i].valid = false;
        if (r != -ENOTCONN)
                shadow_process_fail(s->processes[i], "does not keep up");
}

int shadows_end_window(Shadows *s) {
        uint64_t lost;

        if (s->telling)
                return -EALREADY;

        sampler_read(s->host->sampler);
        flush(s);
        lost = sampler_lost(s->host->sampler, s->cgroup_id) - s->lost_before;
        s->now.lost += lost;
        s->next_one_in = rate_adapt(s->one_in, s->n_pages, s->n_events + lost, lost,
                                    now_usec(s) - s->begin_usec);
        s->ended = s->now;
        begin_window(s);

        s->number++;
        for (size_t i = 0; i < s->n_processes; i++)
                ask(s, i);

        s->telling = true;
        (void) sd_event_source_set_time_relative(s->timeout, ANSWER_USEC);
        (void) sd_event_source_set_enabled(s->timeout, SD_EVENT_ONESHOT);
        if (s->waiting == 0)
                tell_soon(s);
        return 0;
}

/* ---- the size */

static int write_rate(const Shadows *s, uint32_t one_in) {
        return cgroup_write_sample(s->host->cgroup_root, s->cgroup, s->cgroup_id, one_in);
}

/* Anew, with empty caches. */
static int begin(Shadows *s, uint64_t n_pages, uint32_t one_in) {
        int r = write_rate(s, one_in);

        if (r < 0)
                return r;

        sampler_read(s->host->sampler); /* which is of the rate before */
        s->n_pages = n_pages;
        s->one_in = one_in;
        s->events.n = 0;
        s->waiting = 0;
        s->telling = false;
        (void) sd_event_source_set_enabled(s->timeout, SD_EVENT_OFF);
        (void) sd_event_source_set_enabled(s->tell, SD_EVENT_OFF);
        for (size_t i = 0; i < s->n_processes; i++)
                shadow_process_start(s->processes[i], rate_capacity(one_in, n_pages), one_in);
        begin_window(s);
        return 0;
}

static int begin_again(Shadows *s, Patience *p, uint64_t n_pages, uint32_t one_in) {
        int r = begin(s, n_pages, one_in);

        if (r < 0 && r != -ENOENT && !s->stuck) /* that is: systemd will tell */
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = s->unit),
                                "%s: Cannot have the kernel sample another part of what the unit reads, "
                                "trying again: %m", s->unit);
        s->stuck = r < 0;
        if (r < 0)
                return r;

        patience_spend(p);
        if (s->handlers.reseeded)
                s->handlers.reseeded(s, s->userdata);
        return 0;
}

static int on_tell(sd_event_source *source, void *userdata) {
        Shadows *s = userdata;
        ShadowsWindow w = s->ended;
        uint32_t one_in = s->next_one_in;

        s->telling = false;
        if (patience_ends(&s->rating, (one_in > s->one_in) - (one_in < s->one_in)) &&
            begin_again(s, &s->rating, s->n_pages, one_in) >= 0)
                return 0;
        s->handlers.window(s, &w, s->userdata);
        return 0;
}

int shadows_resize(Shadows *s, uint64_t n_pages, unsigned *ret_wait) {
        uint64_t slack = s->n_pages / 4;
        int direction = n_pages == 0 ? 0 : (n_pages > s->n_pages + slack) - (n_pages + slack < s->n_pages);

        *ret_wait = 0;
        if (patience_ends(&s->resizing, direction)) {
                int r = begin_again(s, &s->resizing, n_pages, rate_of(n_pages));

                if (r < 0)
                        return r;
        } else if (direction != 0)
                *ret_wait = patience_left(&s->resizing);
        return direction == 0;
}

int shadows_policy_replaced(Shadows *s) {
        uint64_t one_in;
        int r;

        r = cgroup_read_sample(s->host->cgroup_root, s->cgroup, s->cgroup_id, &one_in);
        return r >= 0 && one_in != s->one_in ? write_rate(s, s->one_in) : r;
}

/* ---- the shadows of a unit */

Shadows *shadows_free(Shadows *s) {
        if (!s)
                return NULL;

        if (s->host->sampler && g_hash_table_remove(s->host->units, &s->cgroup_id)) {
                (void) write_rate(s, 0);
                sampler_remove(s->host->sampler, s->cgroup_id);
        }
        for (size_t i = 0; i < s->n_processes; i++)
                shadow_process_free(s->processes[i]);
        s->host->n_processes -= s->n_processes;
        if (g_hash_table_size(s->host->units) == 0)
                s->host->sampler = sampler_free(s->host->sampler);

        sd_event_source_disable_unref(s->tell);
        sd_event_source_disable_unref(s->timeout);
        free(s->unit);
        free(s->cgroup);
        return mfree(s);
}

static int add_processes(Shadows *s, const ShadowCandidate *candidates, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *policy = candidates[i].policy;

                s->processes[i] = shadow_process_new(s->host->event, s->host->program, s->unit,
                                                     streq(policy, "stock") ? "noop" : policy,
                                                     candidates[i].options, on_answer, s);
                if (!s->processes[i])
                        return -ENOMEM;
                s->n_processes++;
                s->host->n_processes++;
        }
        return 0;
}

static int add_sources(Shadows *s) {
        int r;

        r = sd_event_add_defer(s->host->event, &s->tell, on_tell, s);
        if (r >= 0)
                r = sd_event_source_set_enabled(s->tell, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time_relative(s->host->event, &s->timeout, CLOCK_MONOTONIC, ANSWER_USEC, 0,
                                               on_timeout, s);
        if (r >= 0)
                r = sd_event_source_set_enabled(s->timeout, SD_EVENT_OFF);
        return r;
}

static int add_to_sampler(Shadows *s) {
        ShadowHost *h = s->host;
        int r;

        if (!h->sampler) {
                r = sampler_new(h->event, on_sample, h, &h->sampler);
                if (r < 0)
                        return r;
        }
        r = sampler_add(h->sampler, s->cgroup_id);
        if (r >= 0)
                g_hash_table_insert(h->units, &s->cgroup_id, s);
        return r;
}

int shadows_new(ShadowHost *h, const char *unit, const char *cgroup, uint64_t cgroup_id, uint64_t n_pages,
                const ShadowCandidate *candidates, size_t n_candidates,
                const ShadowsHandlers *handlers, void *userdata, Shadows **ret) {
        _cleanup_(shadows_freep) Shadows *s = NULL;
        int r;

        assert(h);
        assert(handlers && handlers->window);
        assert(ret);

        if (n_candidates == 0 || n_candidates > SHADOWS_CANDIDATES_MAX || n_pages == 0)
                return -EINVAL;
        if (h->n_processes + n_candidates > SHADOWS_PROCESSES_MAX)
                return -EBUSY;
        if (g_hash_table_contains(h->units, &cgroup_id))
                return -EEXIST;

        s = g_new0(Shadows, 1);
        s->host = h;
        s->unit = g_strdup(unit);
        s->cgroup = g_strdup(cgroup);
        s->cgroup_id = cgroup_id;
        s->handlers = *handlers;
        s->userdata = userdata;

        r = add_processes(s, candidates, n_candidates);
        if (r >= 0)
                r = add_sources(s);
        if (r >= 0)
                r = add_to_sampler(s);
        if (r >= 0)
                r = begin(s, n_pages, rate_of(n_pages));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

/* ---- all of them */

int shadow_host_new(sd_event *event, const KernelPaths *paths, ShadowHost **ret) {
        _cleanup_(kernel_features_done) KernelFeatures features = {};
        ShadowHost *h;
        int r;

        assert(event);
        assert(paths);
        assert(ret);

        r = kernel_features_load(paths, &features);
        if (r < 0)
                return r;
        if (!g_strv_contains((const char *const *) features.features, "sample"))
                return -EOPNOTSUPP;

        h = g_new(ShadowHost, 1);
        *h = (ShadowHost) {
                .event = sd_event_ref(event),
                .cgroup_root = g_strdup(paths->cgroup),
                .program = g_strdup(PKGLIBDIR "/cachebpf-shadow"),
                .units = g_hash_table_new(g_int64_hash, g_int64_equal),
        };
        *ret = h;
        return 0;
}

void shadow_host_set_program(ShadowHost *h, const char *program) {
        g_set_str(&h->program, program);
}

ShadowHost *shadow_host_free(ShadowHost *h) {
        if (!h)
                return NULL;

        assert(g_hash_table_size(h->units) == 0);

        g_hash_table_unref(h->units);
        sd_event_unref(h->event);
        free(h->cgroup_root);
        free(h->program);
        return mfree(h);
}
