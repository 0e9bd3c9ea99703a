/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* The first to register is the first to hear. The observer stays the caller's, until the end. */
void manager_observe(Manager *m, const ManagerObserver *o, void *userdata);
void manager_unobserve(Manager *m, const ManagerObserver *o, void *userdata);

/* These tell the observers. */
void manager_unit_changed(Manager *m, Unit *u);
void manager_unit_overridden(Manager *m, Unit *u);
void manager_holds_changed(Manager *m);
void manager_reloaded(Manager *m);
void manager_reconciled(Manager *m);

Unit *manager_find_unit(Manager *m, const char *name);
/* Tells the observers as well: the unit is about to be freed. */
void manager_forget_unit(Manager *m, Unit *u);

/* Events call these, and nothing else happens until the reconcile that they put off. */
void manager_mark_dirty(Manager *m, Unit *u);
void manager_mark_all_dirty(Manager *m);
void manager_queue_reconcile(Manager *m);

/* The picture of systemd's units is complete (or it never will be: no bus). */
void manager_set_settled(Manager *m, bool settled);

typedef struct ManagerCounts {
        unsigned configured, attached, failed;
} ManagerCounts;
ManagerCounts manager_count(Manager *m);
