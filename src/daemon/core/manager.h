/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

extern const ManagerPaths manager_default_paths;

int manager_new(const ManagerPaths *paths, sd_event *event, PolicyBackend *backend, Manager **ret);
Manager *manager_free(Manager *m);
DEFINE_TRIVIAL_CLEANUP_FUNC(Manager *, manager_free);

/* Reads kernel support, policies, policies.d and the pins; connects nothing. */
int manager_load(Manager *m);
/* SIGHUP: reads policies and policies.d again and has every unit looked at anew. What is attached from an
 * object that has changed is replaced, in place. */
void manager_reload(Manager *m);
