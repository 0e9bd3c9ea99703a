/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units are recorded, and what is to be done for them. */

#include <fcntl.h>
#include <inttypes.h>

#include "config/policy-config.h"
#include "daemon/core/registry.h"
#include "daemon/kernel/cgroup.h"
#include "job.h"
#include "replay-file.h"
#include "replay.h"
#include "shared/cleanup.h"
#include "shared/kept-file.h"
#include "shared/log.h"
#include "shared/meminfo.h"
#include "shared/string-util.h"

#define RECORD_USEC (60 * USEC_PER_SEC)
/* After its start: what is not read by then was needed before. */
#define READ_USEC (30 * USEC_PER_SEC)
#define MINUTE_USEC (60 * USEC_PER_SEC)

/* A unit that is recorded now. */
typedef struct Recorded {
        Replay *replay;
        Unit *unit;
        uint64_t cgroup_id;
        sd_event_source *timer;
} Recorded;

struct Replay {
        Manager *manager;
        ReplayBackend backend;
        GHashTable *recorded;  /* Unit -> Recorded, owned */
        Jobs *jobs;
        sd_event_source *timer;
        int prepared;          /* what came of it; 0: that was not tried */
        char *problem;         /* why nothing can be recorded; NULL: it can, or that was not tried */
        bool failing;          /* to save: that was said already */
};

/* ---- what comes of jobs */

static void was_read(const Job *j, int r, const ReplayResult *result) {
        static const char *const harms[] = {
                [REPLAY_HARM_DELEGATED] = "its control group is delegated",
                [REPLAY_HARM_READS] = "io.max limits its reads",
                [REPLAY_HARM_TASKS] = "pids.max leaves too few tasks",
        };
        const ReplayCounts *c = result ? &result->counts : NULL;

        if (r >= 0 && result->harm != REPLAY_HARM_NONE)
                log_debug("%s: Nothing is read ahead: %s.", j->unit, harms[result->harm]);
        else if (r >= 0)
                log_full_fields(LOG_INFO, 0,
                                LOG_FIELDS(.unit = j->unit, .cgroup = ((const ReplayJob *) j)->cgroup),
                                "%s: Read %" PRIu64 " pages of %" PRIu32 " files ahead, %" PRIu32
                                " files are not as they were recorded%s.", j->unit, c->n_pages, c->n_files,
                                c->n_passed_over, c->full ? "; then there was no more room" : "");
        else if (r == -EBADMSG || r == -EPROTONOSUPPORT) {
                g_autofree char *name = kept_file_name(j->unit);

                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = j->unit),
                                "%s: What it read at its last start is ignored: '%s/%s' %s.", j->unit,
                                j->dir, name, kept_strerror(r));
        } else if (r == -EIO || r == -ECANCELED) /* it was killed, or ended with the unit or by its time */
                log_debug("%s: Reading ahead what it read at its last start was stopped.", j->unit);
        else if (r == -ETIME)
                log_debug("%s: Nothing is read ahead: too many units start at a time.", j->unit);
        else if (r == -EACCES || r == -EBUSY) /* the control group is a user's, or has others below */
                log_debug_errno(r, "%s: Nothing is read ahead: %m", j->unit);
        else if (r != -ENOENT)
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = j->unit),
                                "%s: Cannot read ahead what it read at its last start: %m", j->unit);
}

static void was_saved(Replay *x, const Job *j, int r, const ReplayResult *result) {
        if (r >= 0)
                log_full_fields(LOG_INFO, 0, LOG_FIELDS(.unit = j->unit),
                                "%s: Recorded for its next start that it uses %" PRIu64 " pages of %" PRIu32
                                " files%s.", j->unit, result->counts.n_pages, result->counts.n_files,
                                ((const ReplayJob *) j)->uses.n_lost > 0 ? "; it used more" : "");
        else if (r == -ENODATA)
                log_debug("%s: It used no files that could be recorded.", j->unit);
        else if (r == -EALREADY)
                log_debug("%s: It ended early, and more is recorded already.", j->unit);
        else if (!x->failing)
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = j->unit),
                                "%s: Cannot keep in '%s' what it read after its start, what was kept before "
                                "stays: %m", j->unit, j->dir);
        x->failing = r < 0 && r != -ENODATA && r != -EALREADY;
}

static void job_ended(Job *j, int r, const void *bytes, void *userdata) {
        const ReplayResult *result = bytes;

        if (result)
                r = result->error;

        switch ((ReplayJobKind) j->kind) {
        case REPLAY_READ:
                was_read(j, r, result);
                break;
        case REPLAY_SAVE:
                was_saved(userdata, j, r, result);
                break;
        case REPLAY_FORGET:
                job_tell_forgotten(j, r, r >= 0 && result->removed);
                break;
        }
}

static const JobsHandler handler = {
        .result_size = sizeof(ReplayResult),
        .start = replay_job_start,
        .ended = job_ended,
        .free = replay_job_free,
};

/* Of a unit, of a kind: none is to be done any more. */
static void stop_jobs(Replay *r, const char *unit, ReplayJobKind kind) {
        jobs_drop(r->jobs, unit, 1U << kind);
        jobs_kill(r->jobs, unit, 1U << kind);
}

/* ---- recordings */

static void recorded_free(void *p) {
        Recorded *x = p;

        sd_event_source_disable_unref(x->timer);
        free(x);
}

/* What becomes of a recording that ends. */
typedef enum Keep {
        KEEP_NOT,
        KEEP_BRIEF, /* the unit ended early */
        KEEP,
} Keep;

/* Ends the recording of a unit, if there is one. */
static void end_recording(Replay *r, Unit *u, Keep keep) {
        Recorded *x = g_hash_table_lookup(r->recorded, u);
        _cleanup_uses_ Uses uses = {};
        ReplayJob *j;
        int k;

        if (!x)
                return;

        k = r->backend.end(r->backend.userdata, x->cgroup_id, &uses);
        g_hash_table_remove(r->recorded, u);
        if (k < 0)
                log_full_fields(LOG_WARNING, k, LOG_FIELDS(.unit = u->name),
                                "%s: Cannot find out which pages it used after its start: %m", u->name);
        if (k < 0 || keep == KEEP_NOT)
                return;

        j = replay_job_new(REPLAY_SAVE, u->name, r->manager->paths.replay);
        j->uses = TAKE_STRUCT(uses);
        j->brief = keep == KEEP_BRIEF;
        j->mounts = r->manager->paths.mounts;
        jobs_drop(r->jobs, u->name, 1U << REPLAY_SAVE);
        jobs_add(r->jobs, &j->job);
}

void replay_minute_over(Replay *r, Unit *u) {
        end_recording(r, u, KEEP);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Recorded *x = userdata;

        replay_minute_over(x->replay, x->unit);
        return 0;
}

static unsigned count_levels(const char *cgroup) {
        unsigned n = 0;

        for (const char *s = cgroup; *s; s++)
                n += s[0] == '/' && s[1];
        return n;
}

/* No more than half of what the unit has room for. */
static uint64_t pages_max(const Unit *u) {
        uint64_t room = MIN(cgroup_read_room(u->manager->paths.kernel.cgroup, u->cgroup),
                            meminfo_read_available("/proc/meminfo"));

        return MIN(room / 2 / (uint64_t) sysconf(_SC_PAGESIZE), RECORDING_PAGES_MAX);
}

static void begin_recording(Replay *r, Unit *u, uint64_t usec) {
        Recorded *x;
        int k;

        if (r->prepared < 0)
                return;
        k = r->backend.begin(r->backend.userdata, u->cgroup_id, count_levels(u->cgroup), pages_max(u));
        if (k == -EUSERS) {
                log_full_fields(LOG_INFO, 0, LOG_FIELDS(.unit = u->name),
                                "%s: Not recorded at this start: too many units start at a time.", u->name);
                return;
        }
        if (k < 0) {
                log_full_fields(LOG_WARNING, k, LOG_FIELDS(.unit = u->name),
                                "%s: Cannot record which pages it uses after its start: %m", u->name);
                return;
        }

        x = g_new(Recorded, 1);
        *x = (Recorded) { .replay = r, .unit = u, .cgroup_id = u->cgroup_id };
        g_hash_table_insert(r->recorded, u, x);
        k = sd_event_add_time_relative(r->manager->event, &x->timer, CLOCK_MONOTONIC, usec, USEC_PER_SEC,
                                       on_timer, x);
        if (k >= 0)
                k = sd_event_source_set_priority(x->timer, PRIORITY_USERS);
        if (k < 0) {
                log_warning_errno(k, "%s: Cannot arm the timer of a recording: %m", u->name);
                end_recording(r, u, KEEP_NOT);
        }
}

static void begin_reading(Replay *r, Unit *u) {
        ReplayJob *j = replay_job_new(REPLAY_READ, u->name, r->manager->paths.replay);

        j->root = r->manager->paths.kernel.cgroup;
        j->cgroup = g_strdup(u->cgroup);
        j->cgroup_id = u->cgroup_id;
        j->deadline = u->started_at + READ_USEC;
        j->mounts = r->manager->paths.mounts;
        jobs_add(r->jobs, &j->job);
}

/* ---- what happens in the manager */

/* There are slices as long as something is in them; scopes and transient services do not start again by that
 * name. */
static bool starts_again(const Unit *u) {
        return endswith(u->name, ".service") && !u->transient;
}

static bool wants(const Unit *u) {
        g_autofree char *problem = NULL;

        return policy_setting_wants_replay(&u->setting) && starts_again(u) &&
                policy_setting_check_replay(&u->setting, &problem) >= 0;
}

/* Before a unit starts, if that is possible: to load the programs takes longer than what is to be
 * recorded. */
static void prepare(Replay *r) {
        if (r->prepared != 0)
                return;

        r->prepared = r->backend.prepare(r->backend.userdata, &r->problem);
        if (r->prepared < 0)
                log_warning("Cannot record which pages units use: %s.", r->problem);
        else
                r->prepared = 1;
}

static void check(const Unit *u) {
        g_autofree char *problem = NULL;

        if (u->setting.policy && policy_setting_check_replay(&u->setting, &problem) < 0)
                return; /* the policy is refused for that, which says it */
        if (policy_setting_check_replay(&u->setting, &problem) < 0)
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = u->name),
                                "%s: CacheReplay= is ignored: %s.", u->name, problem);
        else if (policy_setting_wants_replay(&u->setting) && !starts_again(u)) /* rules may mean too many */
                log_full_fields(policy_setting_wants_replay(&u->file_setting) ? LOG_WARNING : LOG_DEBUG, 0,
                                LOG_FIELDS(.unit = u->name),
                                "%s: CacheReplay= is ignored: it is for services that start again.",
                                u->name);
}

static void started(Replay *r, Unit *u) {
        uint64_t age = (uint64_t) g_get_monotonic_time() - u->started_at;

        check(u);
        if (!wants(u) || u->started_at == 0 || u->stopping || age >= RECORD_USEC)
                return;

        begin_reading(r, u);
        prepare(r);
        begin_recording(r, u, RECORD_USEC - age);
}

static void cgroup_changed(void *userdata, Unit *u) {
        Replay *r = userdata;

        stop_jobs(r, u->name, REPLAY_READ);
        end_recording(r, u, KEEP_BRIEF);
        if (u->cgroup_id != 0)
                started(r, u);
}

static void unit_changed(void *userdata, Unit *u) {
        Replay *r = userdata;

        if (wants(u))
                prepare(r);
        else if (g_hash_table_contains(r->recorded, u)) {
                stop_jobs(r, u->name, REPLAY_READ);
                end_recording(r, u, KEEP_NOT);
        }
}

/* Nobody needs what it reads any more, and KillMode= may leave it to us to end who does. */
static void unit_stopping(void *userdata, Unit *u) {
        stop_jobs(userdata, u->name, REPLAY_READ);
}

static void unit_removed(void *userdata, Unit *u) {
        end_recording(userdata, u, KEEP_BRIEF);
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .cgroup_changed = cgroup_changed,
        .unit_stopping = unit_stopping,
        .unit_removed = unit_removed,
};

/* ---- for others */

bool replay_is_busy(const Replay *r) {
        return jobs_are_busy(r->jobs);
}

void replay_forget(Replay *r, const char *unit, job_forgotten_t forgotten, void *userdata) {
        Unit *u = manager_find_unit(r->manager, unit);
        ReplayJob *j = replay_job_new(REPLAY_FORGET, unit, r->manager->paths.replay);

        if (u)
                end_recording(r, u, KEEP_NOT);
        stop_jobs(r, unit, REPLAY_SAVE);
        stop_jobs(r, unit, REPLAY_READ); /* or this would wait for it */
        j->job.forgotten = forgotten;
        j->job.userdata = userdata;
        jobs_add(r->jobs, &j->job);
}

void replay_disown(Replay *r, const void *userdata) {
        jobs_disown(r->jobs, userdata);
}

void replay_minute(Replay *r) {
        jobs_minute(r->jobs);
}

static int on_minute(sd_event_source *s, uint64_t usec, void *userdata) {
        replay_minute(userdata);
        (void) sd_event_source_set_time_relative(s, MINUTE_USEC);
        (void) sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        return 0;
}

static void clean(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

        if (fd >= 0)
                (void) kept_clean(fd);
}

Replay *replay_new(Manager *m, const ReplayBackend *backend) {
        Replay *r = g_new(Replay, 1);
        int k;

        *r = (Replay) {
                .manager = m,
                .backend = *backend,
                .recorded = g_hash_table_new_full(NULL, NULL, NULL, recorded_free),
                .jobs = jobs_new(m->event, &handler, r),
        };
        clean(m->paths.replay);
        manager_observe(m, &observer, r);

        k = sd_event_add_time_relative(m->event, &r->timer, CLOCK_MONOTONIC, MINUTE_USEC, USEC_PER_SEC,
                                       on_minute, r);
        if (k < 0)
                log_warning_errno(k, "Cannot arm the timer for recordings that hang, ignoring: %m");
        return r;
}

Replay *replay_free(Replay *r) {
        if (!r)
                return NULL;

        manager_unobserve(r->manager, &observer, r);
        sd_event_source_disable_unref(r->timer);
        jobs_free(r->jobs);
        g_hash_table_unref(r->recorded);
        r->backend.done(r->backend.userdata);
        free(r->problem);
        return mfree(r);
}
