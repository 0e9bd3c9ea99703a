/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "backend.h"
#include "daemon/core/model.h"
#include "daemon/helper/jobs.h"

/* CacheReplay=: which pages a service uses in the first minute after its start is recorded, and
 * read ahead at its next start. It follows the units of the manager by itself. */
typedef struct Replay Replay;

/* The backend is done when the replay is freed. */
Replay *replay_new(Manager *m, const ReplayBackend *backend);
Replay *replay_free(Replay *r);
DEFINE_TRIVIAL_CLEANUP_FUNC(Replay *, replay_free);

/* What happens every minute: what has hung for one is given up. */
void replay_minute(Replay *r);
/* A unit's first minute is over: its recording is kept. */
void replay_minute_over(Replay *r, Unit *u);
/* Something is being read or saved, or will be. */
bool replay_is_busy(const Replay *r);

/* Removes the recording of a unit, and one in the making. The unit need not be there any more. Calls
 * forgotten() later, unless replay_disown() comes first; file is what was removed, NULL if there was
 * nothing. */
void replay_forget(Replay *r, const char *unit, job_forgotten_t forgotten, void *userdata);
void replay_disown(Replay *r, const void *userdata);
