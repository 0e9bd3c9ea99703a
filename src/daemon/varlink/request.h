/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "context.h"
#include "daemon/control/lookup.h"
#include "daemon/control/request.h"

/* GetUnitSettings, SetUnitSettings, ResetUnit and Reload of the varlink interface. */
int config_varlink_bind(sd_varlink_server *s);

/* For other methods that ask for a change: who asks is filled in; answers with an error. */
int config_varlink_request(sd_varlink *link, Varlink *v, const ConfigRequestArguments *arguments);
int config_varlink_refuse(sd_varlink *link, const ConfigReply *reply);

/* Who is at the other end. */
int varlink_get_subject(sd_varlink *link, PolkitSubject *ret);

/* For methods that ask about a unit; cgroup as in LookupArguments. */
int lookup_varlink(sd_varlink *link, Control *c, const char *name, bool cgroup, lookup_reply_t reply);
