/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which units are recorded, and what is to be done for them. */

#include <fcntl.h>
#include <inttypes.h>

#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "daemon/kernel/cgroup.h"
#include "job.h"
#include "replay-file.h"
#include "replay.h"
#include "report.h"
#include "shared/cleanup.h"
#include "shared/kept-file.h"
#include "shared/log.h"
#include "shared/meminfo.h"
#include "wanted.h"

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
        GHashTable *failing;   /* set of names of units that could not be saved: that was said already */
};

/* ---- what comes of jobs */

/* Others that something that is shown is another one. */
static void tell(Unit *u) {
        if (u->replay)
                manager_notify(u->manager, unit_changed, u);
}

static void was_saved(Replay *x, Unit *u, const ReplayJob *j, int r, const ReplayResult *result) {
        const char *unit = j->job.unit;

        /* a disk that is full is so at each start */
        if (report_saved(u, j, r, result, g_hash_table_contains(x->failing, unit)))
                g_hash_table_add(x->failing, g_strdup(unit));
        else
                g_hash_table_remove(x->failing, unit);
}

static void was_forgotten(Unit *u, const Job *j, int r, const ReplayResult *result) {
        if (r >= 0 && u && u->replay)
                u->replay->recorded_at = u->replay->recorded_bytes = u->replay->recorded_ranges = 0;
        job_tell_forgotten(j, r, r >= 0 && result->removed);
}

static void job_ended(Job *job, int r, const void *bytes, void *userdata) {
        const ReplayJob *j = (const ReplayJob *) job;
        const ReplayResult *result = bytes;
        Replay *x = userdata;
        Unit *u = manager_find_unit(x->manager, job->unit);

        if (result)
                r = result->error;

        switch ((ReplayJobKind) job->kind) {
        case REPLAY_READ:
                report_read(u, j, r, result);
                break;
        case REPLAY_SAVE:
        case REPLAY_SAVE_BRIEF:
                was_saved(x, u, j, r, result);
                break;
        case REPLAY_FORGET:
                was_forgotten(u, job, r, result);
                break;
        case REPLAY_LOOK:
                report_looked(u, j, r, result);
                break;
        }
        if (u && u->replay) {
                u->replay->known = true;
                tell(u);
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

static void cannot_record(Unit *u, int error, const char *what) {
        g_autofree char *reason = g_strdup_printf("cannot %s: %s", what, strerror(-error));

        report_reason(u, reason);
        log_full_fields(LOG_WARNING, error, LOG_FIELDS(.unit = u->name),
                        "%s: Cannot %s after its start: %m", u->name, what);
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
        if (u->replay)
                u->replay->recording_until = 0; /* what becomes of it is told later */
        if (k < 0)
                cannot_record(u, k, "find out which pages it used");
        if (k < 0 || keep == KEEP_NOT)
                return;

        j = replay_job_new(keep == KEEP ? REPLAY_SAVE : REPLAY_SAVE_BRIEF, u->name,
                           r->manager->paths.replay);
        j->uses = TAKE_STRUCT(uses);
        j->mounts = r->manager->paths.mounts;
        jobs_drop(r->jobs, u->name, 1U << REPLAY_SAVE_BRIEF | (keep == KEEP ? 1U << REPLAY_SAVE : 0));
        jobs_add(r->jobs, &j->job);
}

void replay_minute_over(Replay *r, Unit *u) {
        end_recording(r, u, KEEP);
        tell(u);
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
        uint64_t room = MIN(cgroup_read_cache_room(u->manager->paths.kernel.cgroup, u->cgroup),
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
                report_reason(u, "not recorded at this start: too many units start at a time");
                log_full_fields(LOG_INFO, 0, LOG_FIELDS(.unit = u->name),
                                "%s: Not recorded at this start: too many units start at a time.", u->name);
                return;
        }
        if (k < 0)
                return cannot_record(u, k, "record which pages it uses");

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
                return;
        }
        if (u->replay)
                u->replay->recording_until = (uint64_t) g_get_real_time() + usec;
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

static void look(Replay *r, const Unit *u) {
        ReplayJob *j = replay_job_new(REPLAY_LOOK, u->name, r->manager->paths.replay);

        jobs_drop(r->jobs, u->name, 1U << REPLAY_LOOK); /* it may come and go */
        jobs_add(r->jobs, &j->job);
}

/* What people see of it begins, or ends. */
static void show(Replay *r, Unit *u) {
        g_autofree char *ignored = replay_why_ignored(u);

        if (!replay_is_asked_for(u)) {
                u->replay = unit_replay_free(u->replay);
                return;
        }

        if (!u->replay) {
                u->replay = g_new0(UnitReplay, 1);
                look(r, u);
        }
        if (!ignored && r->prepared < 0)
                ignored = g_strdup_printf("it cannot be recorded: %s", r->problem);
        if (ignored || u->replay->ignored)
                g_set_str(&u->replay->reason, ignored);
        u->replay->ignored = ignored;
}

static void started(Replay *r, Unit *u) {
        uint64_t age = (uint64_t) g_get_monotonic_time() - u->started_at;

        replay_warn_ignored(u);
        if (!replay_is_wanted(u) || u->started_at == 0 || u->stopping || age >= RECORD_USEC)
                return;

        if (u->replay) { /* of the start before */
                u->replay->read_at = u->replay->read_bytes = u->replay->read_ranges = 0;
                g_clear_pointer(&u->replay->reason, g_free);
        }
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
        tell(u);
}

static void unit_changed(void *userdata, Unit *u) {
        Replay *r = userdata;

        if (replay_is_wanted(u))
                prepare(r);
        show(r, u);
        if (!replay_is_wanted(u) && g_hash_table_contains(r->recorded, u)) {
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
        stop_jobs(r, unit, REPLAY_SAVE_BRIEF);
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
                .failing = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
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
        g_hash_table_unref(r->failing);
        r->backend.done(r->backend.userdata);
        free(r->problem);
        return mfree(r);
}
