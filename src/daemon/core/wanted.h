/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "config/resolve.h"
#include "model.h"

/* All that says something about a unit now. The holds are the caller's, as manager_list_held() has them. */
PolicyLayers manager_layers(Manager *m, const char *unit, GPtrArray *holds);

/* Works out what is wanted for a unit, whose files are known. Returns whether that changed, and then makes
 * it known and forgets earlier failures. */
bool unit_resolve_setting(Unit *u);

/* What is set for the unit changed; it need not be loaded. */
void manager_override_unit(Manager *m, const char *unit);

/* From now on, or from now on no more: the unit has the settings after the next reconcile. The hold stays
 * the caller's. */
void manager_add_hold(Manager *m, Hold *h);
void manager_remove_hold(Manager *m, Hold *h);

Hold *manager_find_hold(Manager *m, uint32_t cookie);
/* The settings that clients hold the unit with, for PolicyLayers. */
GPtrArray *manager_list_held(Manager *m, const char *unit);
