/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units have policies that learn, and what is to be done for them. */

#include <fcntl.h>
#include <inttypes.h>

#include "config/policy-config.h"
#include "daemon/core/registry.h"
#include "job.h"
#include "learning.h"
#include "shared/cleanup.h"
#include "shared/kept-file.h"
#include "shared/log.h"
#include "shared/string-util.h"

/* What is learned in this time may be lost. */
#define SAVE_USEC (60 * USEC_PER_SEC)
/* At the end nobody waits for longer; what is in the files by then was saved a minute ago. */
#define FINISH_USEC (10 * USEC_PER_SEC)

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
        Jobs *jobs;
        sd_event_source *timer;
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
        return jobs_are_busy(l->jobs);
}

/* ---- what comes of jobs */

static void saved(Learning *l, const Job *j, int r, const LearningResult *result) {
        if (r >= 0) {
                /* not if another one has nothing new */
                l->failing = l->failing && !result->written;
                return;
        }
        if (!l->failing && r == -ETIMEDOUT)
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = j->unit),
                                "%s: Saving what its cache policy has learned in '%s' takes more than a "
                                "minute, giving up; what was saved before stays.", j->unit, j->dir);
        else if (!l->failing) /* once, not each minute for each unit */
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = j->unit),
                                "%s: Cannot save what its cache policy has learned in '%s', what was saved "
                                "before stays: %m", j->unit, j->dir);
        l->failing = true;
}

/* Another try would bring the same: there is nothing, or nothing of use. */
static bool is_final(int r) {
        return r >= 0 || r == -ENOENT || r == -EBADMSG || r == -EPROTONOSUPPORT || r == -EMEDIUMTYPE;
}

static void restored(Learner *x, const Job *j, int r) {
        g_autofree char *name = kept_file_name(j->unit);

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

        u->link->restored = true; /* even if it cannot be noted: it must not be restored again */
        r = b->mark_restored(b->userdata, u->link);
        if (r < 0)
                log_debug_errno(r, "%s: Cannot note that its cache policy has what was learned before: %m",
                                u->name);
}

static void sync_unit(Learning *l, Unit *u);

static Learner *find_learner(Learning *l, const Job *j, Unit **ret_unit) {
        *ret_unit = manager_find_unit(l->manager, j->unit);
        return *ret_unit ? g_hash_table_lookup(l->learners, *ret_unit) : NULL;
}

static int start_job(Job *job, void *userdata) {
        LearningJob *j = (LearningJob *) job;
        Unit *u;
        const Learner *x = find_learner(userdata, job, &u);

        if (x && job->kind == LEARNING_SAVE) {
                j->has_sum = x->has_sum;
                memcpy(j->sum, x->sum, sizeof(j->sum));
        }
        return learning_job_start(j);
}

static void job_ended(Job *j, int r, const void *bytes, void *userdata) {
        const LearningResult *result = bytes;
        Learning *l = userdata;
        Unit *u;
        Learner *x = find_learner(l, j, &u);

        if (result)
                r = result->error;
        if (x) {
                x->has_sum = r >= 0 && result->has_sum;
                if (x->has_sum)
                        memcpy(x->sum, result->sum, sizeof(x->sum));
        }

        switch ((LearningJobKind) j->kind) {
        case LEARNING_SAVE:
                saved(l, j, r, result);
                break;
        case LEARNING_RESTORE:
                restored(x, j, r);
                break;
        case LEARNING_FORGET:
                job_tell_forgotten(j, r, r >= 0 && result->written);
                break;
        }

        /* if it was for the one before, there is another job for this one */
        if (x && j->kind == LEARNING_RESTORE && is_learning(u) && x->generation == j->generation &&
            is_final(r))
                note_restored(l, u);
}

static const JobsHandler handler = {
        .result_size = sizeof(LearningResult),
        .start = start_job,
        .ended = job_ended,
        .free = learning_job_free,
};

/* ---- jobs */

/* For the policy that it has now. */
static bool is_queued(Learning *l, Unit *u, LearningJobKind kind) {
        return jobs_has(l->jobs, u->name, kind, learner_of(l, u)->generation);
}

static void queue(Learning *l, Unit *u, LearningJobKind kind) {
        LearningJob *j = learning_job_new(kind, u->name, l->manager->paths.learned, u->link->learned,
                                          u->link->learned_fd);

        j->job.generation = learner_of(l, u)->generation;
        jobs_add(l->jobs, &j->job);
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

        jobs_minute(l->jobs);
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
        save_all(l);
        if (!jobs_wait(l->jobs, FINISH_USEC))
                log_warning("Not all that cache policies learned in the last minute was saved.");
}

void learning_forget(Learning *l, const char *unit, job_forgotten_t func, void *userdata) {
        Unit *u = manager_find_unit(l->manager, unit);
        bool learns = u && is_learning(u);
        const unsigned kinds = 1U << LEARNING_SAVE | 1U << LEARNING_RESTORE;
        LearningJob *j = learning_job_new(LEARNING_FORGET, unit, l->manager->paths.learned, NULL,
                                          learns ? u->link->learned_fd : -EBADF);

        j->job.forgotten = func;
        j->job.userdata = userdata;
        jobs_drop(l->jobs, unit, kinds);
        jobs_kill(l->jobs, unit, kinds);
        jobs_add(l->jobs, &j->job);
        if (learns)
                sync_unit(l, u); /* there is nothing to restore then, and that has to be noted */
}

void learning_disown(Learning *l, const void *userdata) {
        jobs_disown(l->jobs, userdata);
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

        jobs_drop(l->jobs, u->name, 1U << LEARNING_RESTORE);
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
                (void) kept_clean(fd);
}

int learning_new(Manager *m, Learning **ret) {
        _cleanup_(learning_freep) Learning *l = g_new0(Learning, 1);
        int r;

        l->manager = m;
        l->learners = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        l->jobs = jobs_new(m->event, &handler, l);
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
        if (!l)
                return NULL;

        manager_unobserve(l->manager, &observer, l);
        jobs_free(l->jobs);
        sd_event_source_disable_unref(l->timer);
        g_hash_table_unref(l->learners);
        return mfree(l);
}
