/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The order of jobs, and how many run at a time. */

#include <poll.h>
#include <sys/epoll.h>

#include "daemon/core/model.h"
#include "jobs.h"
#include "shared/kept-file.h"
#include "shared/string-util.h"

/* At a time: for each it takes a process, and memory or reads of a disk. */
#define PATIENT_MAX 1U

/* The jobs of one unit. */
typedef struct Lane {
        Jobs *all;
        char *unit;
        GQueue jobs;  /* owned; waiting */
        Job *running; /* owned */
} Lane;

struct Jobs {
        sd_event *event;
        const JobsHandler *handler;
        void *userdata;
        GHashTable *lanes;  /* unit -> Lane, owned */
        GQueue ready[2];    /* of lanes that wait for their turn: [true]: that are urgent */
        GPtrArray *running; /* of Job, the lanes' */
};

/* ---- one job */

void job_init(Job *j, unsigned kind, bool patient, const char *unit, const char *dir) {
        *j = (Job) {
                .kind = kind,
                .patient = patient,
                .unit = g_strdup(unit),
                .dir = g_strdup(dir),
                .helper = HELPER_NONE,
        };
}

void job_done(Job *j) {
        sd_event_source_disable_unref(j->ended);
        helper_done(&j->helper);
        free(j->unit);
        free(j->dir);
}

void job_tell_forgotten(const Job *j, int error, bool removed) {
        g_autofree char *name = kept_file_name(j->unit),
                        *path = error >= 0 && removed ? g_build_filename(j->dir, name, NULL) : NULL;

        if (j->forgotten)
                j->forgotten(error, path, j->userdata);
}

/* ---- those of one unit */

static void lane_free(gpointer p) {
        Lane *lane = p;
        const JobsHandler *handler = lane->all->handler;

        while (lane->jobs.head)
                handler->free(g_queue_pop_head(&lane->jobs));
        if (lane->running)
                handler->free(lane->running);
        free(lane->unit);
        free(lane);
}

static bool lane_is_urgent(const Lane *lane) {
        for (GList *i = lane->jobs.head; i; i = i->next)
                if (!((Job *) i->data)->patient)
                        return true;

        return false;
}

/* Puts it where it has to wait, if it has to; it is freed if there is nothing to do. */
static void place(Jobs *js, Lane *lane) {
        bool urgent = lane_is_urgent(lane);

        g_queue_remove(&js->ready[!urgent], lane);
        if (lane->running)
                return;
        if (!lane->jobs.head) {
                g_queue_remove(&js->ready[urgent], lane);
                g_hash_table_remove(js->lanes, lane->unit);
        } else if (!g_queue_find(&js->ready[urgent], lane))
                g_queue_push_tail(&js->ready[urgent], lane);
}

static unsigned count_running(const Jobs *js, bool urgent) {
        unsigned n = 0;

        for (guint i = 0; i < js->running->len; i++)
                n += ((Job *) js->running->pdata[i])->urgent == urgent;
        return n;
}

/* ---- their turns */

static void start_next(Jobs *js);

static void tell(Jobs *js, Job *j, int r, const void *result) {
        if (j->given_up)
                return;

        j->given_up = true;
        js->handler->ended(j, r, result, js->userdata);
}

static void job_ended(Jobs *js, Job *j) {
        Lane *lane = g_hash_table_lookup(js->lanes, j->unit);
        g_autofree void *result = NULL;
        size_t size;
        int r = helper_read(&j->helper, &result, &size);

        if (r >= 0 && size != js->handler->result_size)
                r = -EIO;
        lane->running = NULL;
        g_ptr_array_remove(js->running, j);
        place(js, lane);
        tell(js, j, r, r < 0 ? NULL : result);
        js->handler->free(j);
        start_next(js);
}

static int on_ended(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Job *j = userdata;

        job_ended(j->jobs, j);
        return 0;
}

/* Those that the event loop does not watch, since it could not. */
static void look_for_ended(Jobs *js) {
        for (guint i = js->running->len; i > 0; i--) {
                Job *j = i <= js->running->len ? js->running->pdata[i - 1] : NULL;

                if (j && !j->ended && helper_has_ended(&j->helper))
                        job_ended(js, j);
        }
}

static int watch(Jobs *js, Job *j) {
        int r;

        r = sd_event_add_io(js->event, &j->ended, j->helper.pidfd, EPOLLIN, on_ended, j);
        return r < 0 ? r : sd_event_source_set_priority(j->ended, PRIORITY_USERS);
}

static void start_lane(Jobs *js, bool urgent) {
        Lane *lane = g_queue_pop_head(&js->ready[urgent]);
        Job *j = g_queue_pop_head(&lane->jobs);
        int r;

        j->urgent = urgent;
        r = js->handler->start(j, js->userdata);
        if (r < 0) {
                place(js, lane);
                tell(js, j, r, NULL);
                js->handler->free(j);
                return;
        }

        lane->running = j;
        g_ptr_array_add(js->running, j);
        r = watch(js, j);
        if (r < 0) { /* it is reaped later */
                helper_kill(&j->helper);
                tell(js, j, r, NULL);
        }
}

static void start_next(Jobs *js) {
        while (js->ready[true].head && count_running(js, true) < JOBS_URGENT_MAX)
                start_lane(js, true);
        while (js->ready[false].head && count_running(js, false) < PATIENT_MAX)
                start_lane(js, false);
}

/* ---- for others */

Jobs *jobs_new(sd_event *event, const JobsHandler *handler, void *userdata) {
        Jobs *js = g_new(Jobs, 1);

        *js = (Jobs) {
                .event = sd_event_ref(event),
                .handler = handler,
                .userdata = userdata,
                .lanes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, lane_free),
                .running = g_ptr_array_new(),
        };
        return js;
}

Jobs *jobs_free(Jobs *js) {
        if (!js)
                return NULL;

        g_queue_clear(&js->ready[false]);
        g_queue_clear(&js->ready[true]);
        g_ptr_array_unref(js->running);
        g_hash_table_unref(js->lanes);
        sd_event_unref(js->event);
        return mfree(js);
}

void jobs_add(Jobs *js, Job *j) {
        Lane *lane;

        look_for_ended(js);
        lane = g_hash_table_lookup(js->lanes, j->unit);
        if (!lane) {
                lane = g_new0(Lane, 1);
                lane->all = js;
                lane->unit = g_strdup(j->unit);
                g_hash_table_insert(js->lanes, lane->unit, lane);
        }

        j->jobs = js;
        g_queue_push_tail(&lane->jobs, j);
        place(js, lane);
        start_next(js);
}

static bool is_job(const Job *j, unsigned kind, uint64_t generation) {
        return j->kind == kind && j->generation == generation;
}

bool jobs_has(const Jobs *js, const char *unit, unsigned kind, uint64_t generation) {
        const Lane *lane = g_hash_table_lookup(js->lanes, unit);

        for (GList *i = lane ? lane->jobs.head : NULL; i; i = i->next)
                if (is_job(i->data, kind, generation))
                        return true;

        return lane && lane->running && !lane->running->given_up && is_job(lane->running, kind, generation);
}

void jobs_drop(Jobs *js, const char *unit, unsigned kinds) {
        Lane *lane = g_hash_table_lookup(js->lanes, unit);

        for (GList *i = lane ? lane->jobs.head : NULL, *next; i; i = next) {
                Job *j = i->data;

                next = i->next;
                if (kinds & 1U << j->kind) {
                        g_queue_delete_link(&lane->jobs, i);
                        js->handler->free(j);
                }
        }
        if (lane)
                place(js, lane);
}

void jobs_kill(Jobs *js, const char *unit, unsigned kinds) {
        Lane *lane = g_hash_table_lookup(js->lanes, unit);

        if (!lane || !lane->running || !(kinds & 1U << lane->running->kind))
                return;

        lane->running->given_up = true;
        helper_kill(&lane->running->helper);
}

static void disown(Job *j, const void *userdata) {
        if (j && j->userdata == userdata)
                j->forgotten = NULL;
}

void jobs_disown(Jobs *js, const void *userdata) {
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, js->lanes);
        while (g_hash_table_iter_next(&it, NULL, &p)) {
                Lane *lane = p;

                disown(lane->running, userdata);
                for (GList *i = lane->jobs.head; i; i = i->next)
                        disown(i->data, userdata);
        }
}

void jobs_minute(Jobs *js) {
        look_for_ended(js);
        for (guint i = 0; i < js->running->len; i++) {
                Job *j = js->running->pdata[i];

                if (++j->minutes < 2)
                        continue;
                helper_kill(&j->helper);
                tell(js, j, -ETIMEDOUT, NULL);
        }
}

bool jobs_are_busy(const Jobs *js) {
        return g_hash_table_size(js->lanes) > 0;
}

/* Until one that runs has ended. */
static bool wait_for_one(Jobs *js, int msec) {
        g_autofree struct pollfd *fds = g_new0(struct pollfd, js->running->len);
        g_autoptr(GPtrArray) ended = g_ptr_array_new();

        for (guint i = 0; i < js->running->len; i++)
                fds[i] = (struct pollfd) {
                        .fd = ((Job *) js->running->pdata[i])->helper.pidfd,
                        .events = POLLIN,
                };
        if (poll(fds, js->running->len, msec) <= 0)
                return false;

        for (guint i = 0; i < js->running->len; i++)
                if (fds[i].revents)
                        g_ptr_array_add(ended, js->running->pdata[i]);
        for (guint i = 0; i < ended->len; i++)
                job_ended(js, ended->pdata[i]);
        return true;
}

bool jobs_wait(Jobs *js, uint64_t usec) {
        uint64_t end = (uint64_t) g_get_monotonic_time() + usec, now;

        while (jobs_are_busy(js)) {
                now = (uint64_t) g_get_monotonic_time();
                if (now >= end || !wait_for_one(js, (int) ((end - now) / USEC_PER_MSEC) + 1))
                        return false;
        }
        return true;
}
