/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units have policies that learn, and what is to be done for them. */

#include <fcntl.h>
#include <inttypes.h>
#include <sys/epoll.h>

#include "config/policy-config.h"
#include "daemon/core/registry.h"
#include "job.h"
#include "learning.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"

/* What is learned in this time may be lost. */
#define SAVE_USEC (60 * USEC_PER_SEC)
/* At the end nobody waits for longer; what is in the files by then was saved a minute ago. */
#define FINISH_USEC (10 * USEC_PER_SEC)
/* For a child that was killed. */
#define KILLED_MSEC 1000

/* A unit whose policy learns, or did so. */
typedef struct Learner {
        bool wanted;         /* by CacheLearning=, when it was looked at last */
        uint64_t generation; /* of what is behind the link */
        bool complained;     /* that it cannot be restored now */
        bool has_sum;        /* what the file has, as far as it is known */
        uint8_t sum[LEARNED_SUM_SIZE];
} Learner;

struct Learning {
        Manager *manager;
        GHashTable *learners; /* Unit -> Learner, owned */
        GQueue queue;         /* of LearningJob, owned */
        LearningJob *running; /* not in the queue */
        sd_event_source *ended, *timer;
        uint64_t last_generation;
        bool failing;         /* to save: that was said already */
};

static bool is_learning(const Unit *u) {
        return u->link && u->link->learned_fd >= 0;
}

static Learner *learner_of(Learning *l, Unit *u) {
        Learner *x = g_hash_table_lookup(l->learners, u);

        if (!x) {
                x = g_new0(Learner, 1);
                g_hash_table_insert(l->learners, u, x);
        }

        /* Who has no policy any more may have no setting any more: what it was counts. */
        if (u->setting.policy)
                x->wanted = policy_setting_wants_learning(&u->setting);
        return x;
}

bool learning_is_busy(const Learning *l) {
        return l->running || l->queue.head;
}

/* ---- what comes of jobs */

static void saved(Learning *l, const LearningJob *j, int r) {
        if (r >= 0) {
                /* not if another one has nothing new */
                l->failing = l->failing && !j->written;
                return;
        }
        if (!l->failing) /* once, not each minute for each unit */
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = j->unit),
                                "%s: Cannot save what its cache policy has learned in '%s', what was saved "
                                "before stays: %m", j->unit, j->dir);
        l->failing = true;
}

/* Another try would bring the same: there is nothing, or nothing of use. */
static bool is_final(int r) {
        return r >= 0 || r == -ENOENT || r == -EBADMSG || r == -EPROTONOSUPPORT || r == -EMEDIUMTYPE;
}

static void restored(Learner *x, const LearningJob *j, int r) {
        g_autofree char *name = learned_file_name(j->unit);

        if (r >= 0)
                log_debug("%s: What its cache policy learned before is restored.", j->unit);
        else if (!is_final(r) && x && !x->complained)
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = j->unit),
                                "%s: Cannot restore what its cache policy learned before, trying again each "
                                "minute: %m", j->unit);
        else if (is_final(r) && r != -ENOENT)
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = j->unit),
                                "%s: What its cache policy learned before is ignored: '%s/%s' %s.", j->unit,
                                j->dir, name, learned_strerror(r));
        if (x)
                x->complained = !is_final(r);
}

/* Until then the file is what counts, and is not written. */
static void note_restored(Learning *l, Unit *u) {
        const PolicyBackend *b = l->manager->backend;
        int r;

        u->link->restored = true;
        r = b->mark_restored(b->userdata, u->link);
        if (r < 0)
                log_debug_errno(r, "%s: Cannot note that its cache policy has what was learned before: %m",
                                u->name);
}

static void sync_unit(Learning *l, Unit *u);
static void start_next(Learning *l);

static void end_running(Learning *l) {
        _cleanup_(learning_job_freep) LearningJob *j = TAKE_PTR(l->running);
        Unit *u = manager_find_unit(l->manager, j->unit);
        Learner *x = u ? g_hash_table_lookup(l->learners, u) : NULL;
        int r;

        l->ended = sd_event_source_disable_unref(l->ended);
        r = learning_job_end(j);

        if (x && j->kind != LEARNING_EMPTY) {
                x->has_sum = j->has_sum;
                memcpy(x->sum, j->sum, sizeof(x->sum));
        }

        if (j->kind == LEARNING_SAVE)
                saved(l, j, r);
        else if (j->kind == LEARNING_RESTORE)
                restored(x, j, r);
        else if (r < 0)
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = j->unit),
                                "%s: Cannot take from its cache policy what it has learned, ignoring: %m",
                                j->unit);

        if (x && j->kind == LEARNING_RESTORE && is_learning(u)) {
                if (x->generation != j->generation) /* it was for the one before */
                        sync_unit(l, u);
                else if (is_final(r))
                        note_restored(l, u);
        }

        start_next(l);
}

static int on_ended(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        end_running(userdata);
        return 0;
}

/* ---- jobs */

static int start(Learning *l, LearningJob *j) {
        int r;

        r = learning_job_start(j);
        if (r >= 0)
                r = sd_event_add_io(l->manager->event, &l->ended, j->helper.pidfd, EPOLLIN, on_ended, l);
        if (r >= 0)
                r = sd_event_source_set_priority(l->ended, PRIORITY_USERS);
        return r;
}

static void start_next(Learning *l) {
        while (!l->running && l->queue.head) {
                LearningJob *j = g_queue_pop_head(&l->queue);
                Unit *u = manager_find_unit(l->manager, j->unit);
                Learner *x = u ? g_hash_table_lookup(l->learners, u) : NULL;
                int r;

                if (x && j->kind == LEARNING_SAVE) {
                        j->has_sum = x->has_sum;
                        memcpy(j->sum, x->sum, sizeof(j->sum));
                }

                r = start(l, j);
                if (r >= 0) {
                        l->running = j;
                        return;
                }

                l->ended = sd_event_source_disable_unref(l->ended);
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = j->unit),
                                "%s: Cannot start to %s what its cache policy has learned, ignoring: %m",
                                j->unit, j->kind == LEARNING_SAVE ? "save" : "restore");
                learning_job_free(j);
        }
}

static bool is_job(const LearningJob *j, LearningJobKind kind, const Unit *u, uint64_t generation) {
        return j->kind == kind && j->generation == generation && streq(j->unit, u->name);
}

/* For the policy that it has now. */
static bool is_queued(Learning *l, Unit *u, LearningJobKind kind) {
        uint64_t generation = learner_of(l, u)->generation;

        for (GList *i = l->queue.head; i; i = i->next)
                if (is_job(i->data, kind, u, generation))
                        return true;

        return l->running && is_job(l->running, kind, u, generation);
}

/* Those of the kinds in the mask; a job that runs goes on. */
static void unqueue(Learning *l, const char *unit, unsigned kinds) {
        for (GList *i = l->queue.head, *next; i; i = next) {
                LearningJob *j = i->data;

                next = i->next;
                if (kinds & 1U << j->kind && streq(j->unit, unit)) {
                        g_queue_delete_link(&l->queue, i);
                        learning_job_free(j);
                }
        }
}

static void queue(Learning *l, Unit *u, LearningJobKind kind) {
        LearningJob *j = learning_job_new(kind, u->name, l->manager->paths.learned, u->link->learned,
                                          u->link->learned_fd);

        j->generation = learner_of(l, u)->generation;
        g_queue_push_tail(&l->queue, j);
        start_next(l);
}

/* What is in a map that is not restored yet, or belongs to an update that was interrupted, is no reason to
 * lose what is in the file. */
static bool is_to_save(Learning *l, Unit *u) {
        return is_learning(u) && u->link->restored && !u->link->incomplete && learner_of(l, u)->wanted;
}

static void save_all(Learning *l) {
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, l->learners);
        while (g_hash_table_iter_next(&it, &p, NULL)) {
                Unit *u = p;

                if (is_to_save(l, u) && !is_queued(l, u, LEARNING_SAVE))
                        queue(l, u, LEARNING_SAVE);
        }
}

void learning_minute(Learning *l) {
        GHashTableIter it;
        gpointer u;

        g_hash_table_iter_init(&it, l->learners);
        while (g_hash_table_iter_next(&it, &u, NULL))
                sync_unit(l, u);
        save_all(l);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Learning *l = ASSERT_PTR(userdata);

        learning_minute(l);
        (void) sd_event_source_set_time_relative(s, SAVE_USEC);
        (void) sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        return 0;
}

void learning_finish(Learning *l) {
        uint64_t end = (uint64_t) g_get_monotonic_time() + FINISH_USEC;

        save_all(l);
        while (l->running) {
                uint64_t now = (uint64_t) g_get_monotonic_time();

                if (now >= end) {
                        log_warning("Not all that cache policies learned in the last minute was saved.");
                        return;
                }
                helper_wait(&l->running->helper, (int) ((end - now) / USEC_PER_MSEC) + 1);
                if (helper_has_ended(&l->running->helper))
                        end_running(l);
        }
}

int learning_forget(Learning *l, const char *unit, char **ret_file) {
        g_autofree char *name = learned_file_name(unit),
                        *path = g_strdup_printf("%s/%s", l->manager->paths.learned, name);
        Unit *u = manager_find_unit(l->manager, unit);
        Learner *x = u ? g_hash_table_lookup(l->learners, u) : NULL;
        bool existed;

        unqueue(l, unit, 1U << LEARNING_SAVE | 1U << LEARNING_RESTORE);
        if (l->running && streq(l->running->unit, unit)) {
                (void) helper_stop(&l->running->helper);
                helper_wait(&l->running->helper, KILLED_MSEC);
                l->ended = sd_event_source_disable_unref(l->ended);
                l->running = learning_job_free(l->running);
                start_next(l);
        }

        existed = unlink(path) >= 0;
        if (!existed && errno != ENOENT)
                return -errno;

        if (x)
                x->has_sum = false;
        if (u && is_learning(u)) {
                queue(l, u, LEARNING_EMPTY);
                sync_unit(l, u); /* there is nothing to restore now, and that has to be noted */
        }
        *ret_file = existed ? TAKE_PTR(path) : NULL;
        return 0;
}

/* ---- what happens in the manager */

/* Begins to restore what is wanted and not restored yet. */
static void sync_unit(Learning *l, Unit *u) {
        Learner *x;

        if (!is_learning(u))
                return;

        x = learner_of(l, u);
        if (x->wanted && !u->link->restored && !u->link->incomplete &&
            !is_queued(l, u, LEARNING_RESTORE))
                queue(l, u, LEARNING_RESTORE);
}

static void policy_came(void *userdata, Unit *u) {
        Learning *l = ASSERT_PTR(userdata);

        if (is_learning(u))
                learner_of(l, u)->generation = ++l->last_generation;
        sync_unit(l, u);
}

static void policy_goes(void *userdata, Unit *u) {
        Learning *l = ASSERT_PTR(userdata);

        if (!is_learning(u))
                return;

        unqueue(l, u->name, 1U << LEARNING_RESTORE);
        if (is_to_save(l, u))
                queue(l, u, LEARNING_SAVE);
        /* What becomes of a restore that runs does not concern the next one. */
        learner_of(l, u)->generation = ++l->last_generation;
}

static void unit_changed(void *userdata, Unit *u) {
        sync_unit(userdata, u);
}

static void unit_removed(void *userdata, Unit *u) {
        (void) g_hash_table_remove(((Learning *) userdata)->learners, u);
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .policy_came = policy_came,
        .policy_goes = policy_goes,
        .unit_removed = unit_removed,
};

static void clean(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        if (fd >= 0)
                (void) learned_clean(fd);
}

int learning_new(Manager *m, Learning **ret) {
        _cleanup_(learning_freep) Learning *l = g_new0(Learning, 1);
        int r;

        l->manager = m;
        l->learners = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        clean(m->paths.learned);
        manager_observe(m, &observer, l);

        r = sd_event_add_time_relative(m->event, &l->timer, CLOCK_MONOTONIC, SAVE_USEC, USEC_PER_SEC,
                                       on_timer, l);
        if (r >= 0)
                r = sd_event_source_set_priority(l->timer, PRIORITY_USERS);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(l->timer, "learning");

        *ret = TAKE_PTR(l);
        return 0;
}

Learning *learning_free(Learning *l) {
        LearningJob *j;

        if (!l)
                return NULL;

        manager_unobserve(l->manager, &observer, l);
        while ((j = g_queue_pop_head(&l->queue)))
                learning_job_free(j);
        l->ended = sd_event_source_disable_unref(l->ended);
        learning_job_free(l->running);
        sd_event_source_disable_unref(l->timer);
        g_hash_table_unref(l->learners);
        return mfree(l);
}
