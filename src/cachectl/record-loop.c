/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "event-end.h"
#include "exit-codes.h"
#include "record-loop.h"
#include "shared/cleanup.h"
#include "shared/log.h"

#define TICK_USEC UINT64_C(1000000)

typedef struct Loop {
        Recorder *recorder;
        const Cgroup *cgroup;
        bool gone;
        RecordTick tick;
        void *userdata;
} Loop;

int record_find(const char *name, Cgroup *ret) {
        int r;

        r = cgroup_find(name, ret);
        if (r == -ESRCH)
                return EXIT_UNKNOWN;
        if (r < 0)
                return r;

        if (geteuid() != 0)
                return log_error_errno(EPERM, "Only root may record what other processes do.");
        return 0;
}

int record_begin(const Cgroup *cgroup, RecorderSettings settings, Recorder **ret) {
        _cleanup_free_ char *error = NULL;
        int r;

        settings.cgroup_id = cgroup->id;
        settings.level = cgroup->level;
        r = recorder_new(&settings, ret, &error);
        return r < 0 ? log_error_errno(r, "Cannot record: %s.", error ?: strerror(-r)) : 0;
}

static int on_readable(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        const Loop *l = userdata;
        int r;

        r = recorder_process(l->recorder);
        return r < 0 ? sd_event_exit(sd_event_source_get_event(s), r) : 0;
}

static int on_tick(sd_event_source *s, uint64_t usec, void *userdata) {
        Loop *l = userdata;
        int r;

        /* what a unit does after it was started anew is done in another one */
        l->gone = !cgroup_is_there(l->cgroup);
        r = recorder_process(l->recorder);
        if (r < 0 || l->gone || (l->tick && !l->tick(l->userdata)))
                return sd_event_exit(sd_event_source_get_event(s), r);

        r = sd_event_source_set_time_relative(s, TICK_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

int record_until_end(Recorder *recorder, const Cgroup *cgroup, uint64_t duration, RecordTick tick,
                     void *userdata) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        Loop loop = { .recorder = recorder, .cgroup = cgroup, .tick = tick, .userdata = userdata };
        int r;

        r = event_new_with_end(duration, &event);
        if (r >= 0)
                r = sd_event_add_io(event, NULL, recorder_fd(recorder), EPOLLIN, on_readable, &loop);
        if (r >= 0)
                r = sd_event_add_time_relative(event, NULL, CLOCK_MONOTONIC, TICK_USEC, 0, on_tick, &loop);
        if (r < 0)
                return log_error_errno(r, "Cannot set up the event loop: %m");

        r = sd_event_loop(event);
        if (r >= 0)
                r = recorder_stop(recorder);
        return r < 0 ? r : loop.gone;
}

void record_warn_gone(const Cgroup *cgroup) {
        log_warning("%s has ended, or was started anew: it was recorded until then.", cgroup->name);
}
