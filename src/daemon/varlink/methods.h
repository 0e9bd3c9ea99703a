/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"
#include "daemon/control/authorize.h"
#include "daemon/control/lookup.h"

/* The methods of the interface, but for Monitor, by the files that have them: ListUnits, GetStats,
 * ListFiles, ListPolicies and GetStatus; SetThreadClass and ListThreads; those about settings and holds, and
 * Reload. */
int manager_varlink_bind(sd_varlink_server *s);
int threads_varlink_bind(sd_varlink_server *s);
/* request.c */
int config_varlink_bind(sd_varlink_server *s);

/* Who is at the other end. */
int varlink_get_subject(sd_varlink *link, PolkitSubject *ret);

/* For methods that ask about a unit; cgroup as in LookupArguments. */
int lookup_varlink(sd_varlink *link, Control *c, const char *name, bool cgroup, lookup_reply_t reply);
