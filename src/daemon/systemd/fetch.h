/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "internal.h"

/* The unit is active; whether it was seen to start, if it was not active before. */
void systemd_unit_is_active(Unit *u, bool started);
/* The unit became active or is active: make sure that what matters of it is known. */
void systemd_fetch_active(SystemdUnit *s);
/* The unit has no control group any more; nothing needs to be asked for that. */
void systemd_fetch_inactive(SystemdUnit *s);
/* Asks, soon, for the unit's files or its control group, or both. The unit becomes dirty with the answer. */
void systemd_fetch_queue(SystemdUnit *s, bool files, bool cgroup);
/* systemd does not have it any more. */
void systemd_fetch_gone(SystemdUnit *s);
/* What became known has been looked at: answers who waits for it. */
void systemd_fetch_answer(SystemdWatch *w);
/* Forgets what was asked, and answers who waits for it. */
void systemd_fetch_forget(SystemdUnit *s);
