/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-event.h>

#include "shared/macro.h"

/* Deferred work of a policy: what is too much for its callbacks does a program of its own, which the daemon
 * runs when the policy asks for it with an event in its ring buffer. The events' content does not matter.
 * Several events that wait are one run; an event is taken off the ring only when a run that began after it
 * has ended. So a daemon that is killed at any moment loses nothing: the next one finds the event and runs
 * the program, at worst once more. */
typedef struct PolicyEvents PolicyEvents;

/* In a pinned map, mapped by the daemon: they too survive it. */
typedef struct PolicyEventCounts {
        uint64_t asked;  /* events taken off the ring */
        uint64_t done;   /* runs */
        /* runs that failed: the program could not be run, or returned something else than 0 */
        uint64_t failed;
} PolicyEventCounts;

/* Makes the map; returns its file descriptor. */
int policy_events_make_counts(void);

/* Begins to watch; the file descriptors remain the caller's. The name is for messages. */
int policy_events_new(sd_event *event, const char *name, int events_fd, int program_fd, int counts_fd,
                      PolicyEvents **ret);
PolicyEvents *policy_events_free(PolicyEvents *p);
DEFINE_TRIVIAL_CLEANUP_FUNC(PolicyEvents *, policy_events_free);

PolicyEventCounts policy_events_counts(const PolicyEvents *p);
