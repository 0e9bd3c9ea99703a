/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model.h"

/* The first to register is the first to hear. The observer stays the caller's, until the end. */
void manager_observe(Manager *m, const ManagerObserver *o, void *userdata);
void manager_unobserve(Manager *m, const ManagerObserver *o, void *userdata);

/* Tells the observers, by that function of theirs. By number and by value: one may register others. */
#define manager_notify(m, member, ...)                                                          \
        do {                                                                                    \
                for (guint _i = 0; _i < (m)->observers->len; _i++) {                            \
                        Observer _o = g_array_index((m)->observers, Observer, _i);              \
                                                                                                \
                        if (_o.observer->member)                                                \
                                _o.observer->member(_o.userdata __VA_OPT__(, ) __VA_ARGS__);    \
                }                                                                               \
        } while (false)

Unit *manager_find_unit(Manager *m, const char *name);
/* Those that pass the test, in the order of their names. */
GPtrArray *manager_list_units(Manager *m, bool (*test)(const Unit *u));
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
