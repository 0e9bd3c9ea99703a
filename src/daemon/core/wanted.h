/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* What the configuration says of a unit; file_setting is what its own files say, NULL: not known. */
int manager_resolve(Manager *m, const char *unit, const char *cgroup, const PolicySetting *file_setting,
                    PolicySetting *ret);

/* Works out what is wanted for a unit now. Returns 1 if that changed, and then makes it
 * known and forgets earlier failures. */
int unit_resolve_setting(Unit *u);

/* What is set for the unit changed; it need not be loaded. */
void manager_override_unit(Manager *m, const char *unit);

/* From now on, or from now on no more: the unit has the settings after the next reconcile. The hold stays
 * the caller's. */
void manager_add_hold(Manager *m, Hold *h);
void manager_remove_hold(Manager *m, Hold *h);

Hold *manager_find_hold(Manager *m, uint32_t cookie);
/* The settings that clients hold the unit with, for PolicyLayers; NULL: none. */
GPtrArray *manager_list_held(Manager *m, const char *unit);
