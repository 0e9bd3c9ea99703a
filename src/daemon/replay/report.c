/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <inttypes.h>
#include <unistd.h>

#include "daemon/core/messages.h"
#include "report.h"
#include "shared/kept-file.h"
#include "shared/log.h"
#include "shared/string-util.h"

static uint64_t bytes(uint64_t n_pages) {
        return n_pages * (uint64_t) sysconf(_SC_PAGESIZE);
}

void report_reason(Unit *u, const char *reason) {
        if (u && u->replay)
                g_set_str(&u->replay->reason, reason);
}

static void show_kept(UnitReplay *x, const RecordingSummary *kept) {
        x->recorded_at = kept->recorded_at;
        x->recorded_bytes = bytes(kept->n_pages);
        x->recorded_ranges = kept->n_ranges;
}

/* ---- reading ahead */

static void show_read(Unit *u, const ReplayCounts *c) {
        UnitReplay *x = u->replay;

        x->read_at = (uint64_t) g_get_real_time();
        x->read_bytes = bytes(c->n_pages);
        x->read_ranges = c->n_ranges;
        x->read_bytes_total += x->read_bytes;
}

static void was_read(Unit *u, const ReplayJob *j, const ReplayCounts *c) {
        if (u && u->replay)
                show_read(u, c);
        log_full_fields(LOG_INFO, 0,
                        LOG_FIELDS(.message_id = MESSAGE_REPLAY_READ, .unit = j->job.unit,
                                   .cgroup = j->cgroup),
                        "%s: Read %" PRIu64 " pages of %" PRIu32 " files ahead, %" PRIu32
                        " files are not as they were recorded%s.", j->job.unit, c->n_pages, c->n_files,
                        c->n_passed_over, c->full ? "; then there was no more room" : "");
}

/* Why nothing was read ahead; NULL: that is no matter. */
static char *describe(const ReplayJob *j, int error, const ReplayResult *result) {
        static const char *const harms[] = {
                [REPLAY_HARM_DELEGATED] = "its control group is delegated (Delegate=)",
                [REPLAY_HARM_READS] = "its reads are limited (IOReadBandwidthMax=, IOReadIOPSMax=)",
                [REPLAY_HARM_TASKS] = "it has too little room for more tasks (TasksMax=)",
        };
        g_autofree char *name = kept_file_name(j->job.unit);
        const char *why = strerror(abs(error));

        switch (error) {
        case 0:
                why = harms[result->harm];
                break;
        case -ENOENT:    /* nothing is recorded */
        case -ECANCELED: /* the unit is dead */
                return NULL;
        case -EIO:
        case -ETIMEDOUT:
                return g_strdup("reading ahead was stopped, by a signal or since it took long");
        case -EBADMSG:
        case -EPROTONOSUPPORT:
                return g_strdup_printf("nothing was read ahead: '%s/%s' %s", j->job.dir, name,
                                       kept_strerror(error));
        case -ETIME:
                why = "too many units started at a time";
                break;
        case -EACCES:
        case -EBUSY:
                why = "its control group is a user's, or has others below";
                break;
        default:
                break;
        }

        return g_strdup_printf("nothing was read ahead: %s", why);
}

void report_read(Unit *u, const ReplayJob *j, int error, const ReplayResult *result) {
        g_autofree char *reason = NULL;

        if (u && u->replay && result)
                show_kept(u->replay, &result->kept);
        if (error >= 0 && result->harm == REPLAY_HARM_NONE)
                return was_read(u, j, &result->counts);

        reason = describe(j, error, result);
        if (!reason)
                return;

        report_reason(u, reason);
        log_full_fields(error == -EBADMSG || error == -EPROTONOSUPPORT ? LOG_WARNING : LOG_INFO, 0,
                        LOG_FIELDS(.message_id = MESSAGE_REPLAY_REFUSED, .unit = j->job.unit,
                                   .cgroup = j->cgroup, .reason = reason),
                        "%s: %c%s.", j->job.unit, g_ascii_toupper(reason[0]), reason + 1);
}

/* ---- saving */

static void was_saved(Unit *u, const ReplayJob *j, const RecordingSummary *kept) {
        if (u && u->replay)
                show_kept(u->replay, kept);
        log_full_fields(LOG_INFO, 0, LOG_FIELDS(.unit = j->job.unit),
                        "%s: Recorded for its next start that it uses %" PRIu64 " pages of %" PRIu32
                        " files%s.", j->job.unit, kept->n_pages, kept->n_files,
                        j->uses.n_lost > 0 ? "; it used more" : "");
}

bool report_saved(Unit *u, const ReplayJob *j, int error, const ReplayResult *result, bool quiet) {
        const char *unit = j->job.unit, *why = error == -ETIMEDOUT ? "that takes more than a minute" :
                                                                     strerror(abs(error));
        g_autofree char *reason = NULL;

        if (error >= 0) {
                was_saved(u, j, &result->kept);
                return false;
        }
        if (error == -ENODATA && j->uses.n_lost > 0) {
                report_reason(u, "not recorded at this start: it had no room for what it used");
                log_full_fields(LOG_INFO, 0, LOG_FIELDS(.unit = unit),
                                "%s: Not recorded at this start: it had no room for what it used.", unit);
                return false;
        }
        if (error == -ENODATA || error == -EALREADY) {
                log_debug("%s: %s.", unit, error == -ENODATA ?
                                  "It used no files that could be recorded" :
                                  "It ended early, and more is recorded already");
                return false;
        }

        reason = g_strdup_printf("what it read was not kept in '%s': %s", j->job.dir, why);
        report_reason(u, reason);
        if (!quiet)
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = unit, .reason = why),
                                "%s: Cannot keep in '%s' what it read after its start, what was kept before "
                                "stays: %s.", unit, j->job.dir, why);
        return true;
}

/* ---- looking */

void report_looked(Unit *u, const ReplayJob *j, int error, const ReplayResult *result) {
        if (u && u->replay && error >= 0)
                show_kept(u->replay, &result->kept);
}
