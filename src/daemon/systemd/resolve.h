/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "shared/macro.h"

/* Which unit a name means, as systemctl has it: aliases are other names of a unit. systemd loads the unit
 * for that, if it has not yet. */
typedef struct SystemdResolve SystemdResolve;

/* error: 0, then id is the unit's own name; -ESRCH: there is no such unit; -EINVAL: systemd refuses the
 * name, then problem is a sentence; others: systemd cannot be asked. Freeing the question is up to who
 * asked. */
typedef void (*systemd_resolve_reply_t)(int error, const char *id, const char *problem, void *userdata);

/* The reply is not called if the question is freed before. */
int systemd_resolve(sd_bus *bus, const char *name, systemd_resolve_reply_t reply, void *userdata,
                    SystemdResolve **ret);
SystemdResolve *systemd_resolve_free(SystemdResolve *q);
DEFINE_TRIVIAL_CLEANUP_FUNC(SystemdResolve *, systemd_resolve_free);
