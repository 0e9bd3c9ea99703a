/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/registry.h"
#include "lookup.h"
#include "pending.h"

typedef struct Lookup {
        Pending pending;
        lookup_reply_t reply;
} Lookup;

static void lookup_free(Pending *p) {
        free(p);
}

/* Forgets the question afterwards. */
static void answer(Pending *p, bool exists) {
        pending_done(p, ((Lookup *) p)->reply(p->control, p->msg, p->link, p->unit, exists));
}

/* A name that systemd refuses is no unit's. */
static void found(Pending *p, int error, const char *problem) {
        answer(p, error != -ESRCH);
}

/* Too many questions, or nobody to ask any more: what is known has to do, if something is. */
static void refused(Pending *p, int error) {
        if (error != -EBUSY || manager_find_unit(p->control->manager, p->unit))
                answer(p, true);
        else
                pending_done(p, error);
}

static const PendingKind lookup_kind = {
        .refused = refused,
        .found = found,
        .free = lookup_free,
};

void control_lookup(Control *c, const LookupArguments *a) {
        Lookup *l = g_new(Lookup, 1);

        *l = (Lookup) {
                .pending = {
                        .kind = &lookup_kind,
                        .unit = g_strdup(a->name),
                        .cgroup = a->cgroup,
                },
                .reply = a->reply,
        };
        if (!pending_begin(&l->pending, c, a->uid, a->msg, a->link))
                return;

        if (!c->bus || !unit_name_is_valid(a->name))
                answer(&l->pending, true);
        else if (manager_find_unit(c->manager, a->name))
                pending_query(&l->pending);
        else
                pending_resolve(&l->pending);
}
