/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/epoll.h>

#include "jobs.h"
#include "shared/string-util.h"

#define JOB_USEC (60 * USEC_PER_SEC)

struct ReplayJobs {
        sd_event *event;
        replay_job_ended_t ended;
        void *userdata;
        GHashTable *units; /* name -> GQueue of ReplayJob, owned; the first one runs */
};

static void queue_free(gpointer p) {
        GQueue *queue = p;

        while (queue->head)
                replay_job_free(g_queue_pop_head(queue));
        g_queue_free(queue);
}

ReplayJobs *replay_jobs_new(sd_event *event, replay_job_ended_t ended, void *userdata) {
        ReplayJobs *js = g_new(ReplayJobs, 1);

        *js = (ReplayJobs) {
                .event = sd_event_ref(event),
                .ended = ended,
                .userdata = userdata,
                .units = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, queue_free),
        };
        return js;
}

ReplayJobs *replay_jobs_free(ReplayJobs *js) {
        if (!js)
                return NULL;

        g_hash_table_unref(js->units);
        sd_event_unref(js->event);
        return mfree(js);
}

/* ---- the first of a unit */

static void start_first(ReplayJobs *js, const char *unit);

static void first_ended(ReplayJob *j, int r, const ReplayResult *result) {
        ReplayJobs *js = j->jobs;
        GQueue *queue = g_hash_table_lookup(js->units, j->unit);

        js->ended(j, r, result, js->userdata);
        g_queue_remove(queue, j);
        start_first(js, j->unit);
        replay_job_free(j);
}

static int on_ended(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        ReplayJob *j = userdata;
        ReplayResult result;
        int r = replay_job_end(j, &result);

        first_ended(j, r, &result);
        return 0;
}

static int on_timeout(sd_event_source *s, uint64_t usec, void *userdata) {
        ReplayJob *j = userdata;

        helper_kill(&j->helper);
        return 0;
}

static int start(ReplayJobs *js, ReplayJob *j) {
        int r;

        r = replay_job_start(j);
        if (r >= 0)
                r = sd_event_add_io(js->event, &j->ended, j->helper.pidfd, EPOLLIN, on_ended, j);
        if (r >= 0)
                r = sd_event_source_set_priority(j->ended, PRIORITY_USERS);
        if (r >= 0)
                r = sd_event_add_time_relative(js->event, &j->timeout, CLOCK_MONOTONIC, JOB_USEC, 0,
                                               on_timeout, j);
        return r;
}

static void start_first(ReplayJobs *js, const char *unit) {
        GQueue *queue = g_hash_table_lookup(js->units, unit);
        ReplayJob *j = g_queue_peek_head(queue);
        int r;

        if (!j) {
                g_hash_table_remove(js->units, unit);
                return;
        }

        r = start(js, j);
        if (r < 0)
                first_ended(j, r, &(ReplayResult) {});
}

/* ---- for others */

static void drop_waiting(GQueue *queue, ReplayJobKind kind) {
        for (GList *i = queue->head ? queue->head->next : NULL, *next; i; i = next) {
                ReplayJob *j = i->data;

                next = i->next;
                if (j->kind == kind) {
                        g_queue_delete_link(queue, i);
                        replay_job_free(j);
                }
        }
}

void replay_jobs_add(ReplayJobs *js, ReplayJob *j) {
        GQueue *queue = g_hash_table_lookup(js->units, j->unit);

        if (!queue) {
                queue = g_queue_new();
                g_hash_table_insert(js->units, g_strdup(j->unit), queue);
        }

        if (j->kind == REPLAY_SAVE)
                drop_waiting(queue, REPLAY_SAVE);
        j->jobs = js;
        g_queue_push_tail(queue, j);
        if (queue->head->data == j)
                start_first(js, j->unit);
}

void replay_jobs_stop(ReplayJobs *js, const char *unit, ReplayJobKind kind) {
        GQueue *queue = g_hash_table_lookup(js->units, unit);

        ReplayJob *first = queue ? g_queue_peek_head(queue) : NULL;

        if (!first)
                return;
        drop_waiting(queue, kind);
        if (first->kind == kind) {
                first->stopped = true;
                helper_kill(&first->helper);
        }
}

void replay_jobs_disown(ReplayJobs *js, const void *userdata) {
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, js->units);
        while (g_hash_table_iter_next(&it, NULL, &p))
                for (GList *i = ((GQueue *) p)->head; i; i = i->next) {
                        ReplayJob *j = i->data;

                        if (j->userdata == userdata)
                                j->forgotten = NULL;
                }
}

bool replay_jobs_are_busy(const ReplayJobs *js) {
        return g_hash_table_size(js->units) > 0;
}
