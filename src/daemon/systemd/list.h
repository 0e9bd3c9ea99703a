/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "internal.h"

/* Makes or finds the unit; NULL if it is of no type of ours. */
SystemdUnit *systemd_list_get_unit(SystemdWatch *w, const char *name, const char *path);
/* A unit was announced: find out, a little later and together with others, whether it is active already. */
void systemd_list_note_new(SystemdWatch *w, const char *name);
/* Asks for all units and all their files again. */
void systemd_list_rescan(SystemdWatch *w);
void systemd_list_schedule_rescan(SystemdWatch *w);
void systemd_list_stop(SystemdWatch *w);
bool systemd_active_state(const char *s);
