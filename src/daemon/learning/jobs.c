/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The order of jobs, and how many run at a time. */

#include <poll.h>
#include <sys/epoll.h>

#include "daemon/core/model.h"
#include "jobs.h"
#include "shared/string-util.h"

/* At a time: for each it takes a process, and memory for what is learned. */
#define URGENT_MAX 4U
#define SAVES_MAX 1U

/* The jobs of one unit. */
typedef struct Lane {
        char *unit;
        GQueue jobs;          /* owned; waiting */
        LearningJob *running; /* owned */
} Lane;

struct LearningJobs {
        sd_event *event;
        const LearningJobsHandler *handler;
        void *userdata;
        GHashTable *lanes;    /* unit -> Lane, owned */
        GQueue ready[2];      /* of lanes that wait for their turn: [true]: that are urgent */
        GPtrArray *running;   /* of LearningJob, the lanes' */
};

static void lane_free(gpointer p) {
        Lane *lane = p;

        while (lane->jobs.head)
                learning_job_free(g_queue_pop_head(&lane->jobs));
        learning_job_free(lane->running);
        free(lane->unit);
        free(lane);
}

static bool lane_is_urgent(const Lane *lane) {
        for (GList *i = lane->jobs.head; i; i = i->next)
                if (((LearningJob *) i->data)->kind != LEARNING_SAVE)
                        return true;

        return false;
}

/* Puts it where it has to wait, if it has to; it is freed if there is nothing to do. */
static void place(LearningJobs *js, Lane *lane) {
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

static unsigned count_running(const LearningJobs *js, bool urgent) {
        unsigned n = 0;

        for (guint i = 0; i < js->running->len; i++)
                n += ((LearningJob *) js->running->pdata[i])->urgent == urgent;
        return n;
}

/* ---- one job */

static void start_next(LearningJobs *js);

static void tell(LearningJobs *js, LearningJob *j, int r) {
        if (j->given_up)
                return;

        j->given_up = true;
        js->handler->ended(j, r, js->userdata);
}

static void job_ended(LearningJobs *js, LearningJob *j) {
        Lane *lane = g_hash_table_lookup(js->lanes, j->unit);
        int r = learning_job_end(j);

        lane->running = NULL;
        g_ptr_array_remove(js->running, j);
        place(js, lane);
        tell(js, j, r);
        learning_job_free(j);
        start_next(js);
}

static int on_ended(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        LearningJob *j = userdata;

        job_ended(j->jobs, j);
        return 0;
}

static int start(LearningJobs *js, LearningJob *j) {
        int r;

        js->handler->begins(j, js->userdata);
        r = learning_job_start(j);
        if (r >= 0)
                r = sd_event_add_io(js->event, &j->ended, j->helper.pidfd, EPOLLIN, on_ended, j);
        if (r >= 0)
                r = sd_event_source_set_priority(j->ended, PRIORITY_USERS);
        return r;
}

static void start_lane(LearningJobs *js, bool urgent) {
        Lane *lane = g_queue_pop_head(&js->ready[urgent]);
        LearningJob *j = g_queue_pop_head(&lane->jobs);
        int r;

        j->urgent = urgent;
        r = start(js, j);
        if (r >= 0) {
                lane->running = j;
                g_ptr_array_add(js->running, j);
                return;
        }

        place(js, lane);
        tell(js, j, r);
        learning_job_free(j);
}

static void start_next(LearningJobs *js) {
        while (js->ready[true].head && count_running(js, true) < URGENT_MAX)
                start_lane(js, true);
        while (js->ready[false].head && count_running(js, false) < SAVES_MAX)
                start_lane(js, false);
}

/* ---- for others */

LearningJobs *learning_jobs_new(sd_event *event, const LearningJobsHandler *handler, void *userdata) {
        LearningJobs *js = g_new(LearningJobs, 1);

        *js = (LearningJobs) {
                .event = sd_event_ref(event),
                .handler = handler,
                .userdata = userdata,
                .lanes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, lane_free),
                .running = g_ptr_array_new(),
        };
        return js;
}

LearningJobs *learning_jobs_free(LearningJobs *js) {
        if (!js)
                return NULL;

        g_queue_clear(&js->ready[false]);
        g_queue_clear(&js->ready[true]);
        g_ptr_array_unref(js->running);
        g_hash_table_unref(js->lanes);
        sd_event_unref(js->event);
        return mfree(js);
}

void learning_jobs_add(LearningJobs *js, LearningJob *j) {
        Lane *lane = g_hash_table_lookup(js->lanes, j->unit);

        if (!lane) {
                lane = g_new0(Lane, 1);
                lane->unit = g_strdup(j->unit);
                g_hash_table_insert(js->lanes, lane->unit, lane);
        }

        j->jobs = js;
        g_queue_push_tail(&lane->jobs, j);
        place(js, lane);
        start_next(js);
}

static bool is_job(const LearningJob *j, LearningJobKind kind, uint64_t generation) {
        return j->kind == kind && j->generation == generation;
}

bool learning_jobs_has(const LearningJobs *js, const char *unit, LearningJobKind kind,
                       uint64_t generation) {
        const Lane *lane = g_hash_table_lookup(js->lanes, unit);

        for (GList *i = lane ? lane->jobs.head : NULL; i; i = i->next)
                if (is_job(i->data, kind, generation))
                        return true;

        return lane && lane->running && !lane->running->given_up && is_job(lane->running, kind, generation);
}

void learning_jobs_drop(LearningJobs *js, const char *unit, unsigned kinds) {
        Lane *lane = g_hash_table_lookup(js->lanes, unit);

        for (GList *i = lane ? lane->jobs.head : NULL, *next; i; i = next) {
                LearningJob *j = i->data;

                next = i->next;
                if (kinds & 1U << j->kind) {
                        g_queue_delete_link(&lane->jobs, i);
                        learning_job_free(j);
                }
        }
        if (lane)
                place(js, lane);
}

void learning_jobs_kill(LearningJobs *js, const char *unit, unsigned kinds) {
        Lane *lane = g_hash_table_lookup(js->lanes, unit);

        if (!lane || !lane->running || !(kinds & 1U << lane->running->kind))
                return;

        lane->running->given_up = true;
        helper_kill(&lane->running->helper);
}

static void disown(LearningJob *j, const void *userdata) {
        if (j && j->userdata == userdata)
                j->forgotten = NULL;
}

void learning_jobs_disown(LearningJobs *js, void *userdata) {
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

void learning_jobs_minute(LearningJobs *js) {
        for (guint i = 0; i < js->running->len; i++) {
                LearningJob *j = js->running->pdata[i];

                if (++j->minutes < 2)
                        continue;
                helper_kill(&j->helper);
                j->has_sum = false;
                tell(js, j, -ETIMEDOUT);
        }
}

bool learning_jobs_are_busy(const LearningJobs *js) {
        return g_hash_table_size(js->lanes) > 0;
}

/* Until one that runs has ended. */
static bool wait_for_one(LearningJobs *js, int msec) {
        g_autofree struct pollfd *fds = g_new0(struct pollfd, js->running->len);
        g_autoptr(GPtrArray) ended = g_ptr_array_new();

        for (guint i = 0; i < js->running->len; i++)
                fds[i] = (struct pollfd) {
                        .fd = ((LearningJob *) js->running->pdata[i])->helper.pidfd,
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

bool learning_jobs_wait(LearningJobs *js, uint64_t usec) {
        uint64_t end = (uint64_t) g_get_monotonic_time() + usec, now;

        while (learning_jobs_are_busy(js)) {
                now = (uint64_t) g_get_monotonic_time();
                if (now >= end || !wait_for_one(js, (int) ((end - now) / USEC_PER_MSEC) + 1))
                        return false;
        }
        return true;
}
