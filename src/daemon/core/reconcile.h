/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "manager.h"

/* Compares what is configured, pinned and in the kernel for each dirty unit, and acts. Idempotent: calling
 * it once more, or for units where nothing changed, does nothing. */
void manager_reconcile(Manager *m);

/* Works out what configuration says about a unit now. Returns 1 if that changed, and then makes it
 * known and forgets earlier failures. */
int unit_resolve_setting(Unit *u);
