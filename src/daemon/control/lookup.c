/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/registry.h"
#include "lookup.h"
#include "pending.h"
#include "shared/log.h"
#include "shared/string-util.h"

typedef struct Lookup {
        Pending pending;
        char *name;
        bool cgroup;
        bool missing; /* systemd has no such unit */
        lookup_reply_t reply;
} Lookup;

static void lookup_free(Pending *p) {
        Lookup *l = (Lookup *) p;

        free(l->name);
        free(l);
}

/* Forgets the question afterwards. */
static int answer(Lookup *l) {
        int r;

        r = l->reply(l->pending.control, l->pending.msg, l->pending.link, l->name, !l->missing);
        if (r < 0)
                pending_failed(&l->pending, r);
        pending_done(&l->pending);
        return r;
}

/* Too many questions, or nobody to ask any more: what is known has to do, if something is. */
static void refused(Pending *p, int error) {
        Lookup *l = (Lookup *) p;

        if (error != -EBUSY || manager_find_unit(p->control->manager, l->name)) {
                (void) answer(l);
                return;
        }

        pending_failed(p, error);
        pending_done(p);
}

static const PendingKind lookup_kind = {
        .refused = refused,
        .free = lookup_free,
};

static void on_queried(void *userdata) {
        Lookup *l = ASSERT_PTR(userdata);

        l->pending.queries = false;
        (void) answer(l);
}

static int query(Lookup *l) {
        return pending_query(&l->pending, l->name, l->cgroup, on_queried) ? 0 : answer(l);
}

static void on_resolved(int error, const char *id, const char *problem, void *userdata) {
        Lookup *l = ASSERT_PTR(userdata);

        if (error == 0)
                error = free_and_strdup(&l->name, id);
        l->missing = error == -ESRCH;
        l->pending.resolve = systemd_resolve_free(l->pending.resolve);
        (void) (error < 0 ? answer(l) : query(l)); /* a name that systemd refuses is no unit's */
}

int control_lookup(Control *c, const LookupArguments *a) {
        Lookup *l = calloc(1, sizeof(Lookup));
        int r;

        if (!l)
                return -ENOMEM;

        l->reply = a->reply;
        l->cgroup = a->cgroup;
        l->name = strdup(a->name);
        if (!l->name) {
                free(l);
                return -ENOMEM;
        }
        if (!pending_begin(&l->pending, &lookup_kind, c, a->uid, a->msg, a->link))
                return 0;

        if (!c->bus || !unit_name_is_valid(l->name))
                return answer(l);
        if (manager_find_unit(c->manager, l->name))
                return query(l);

        r = systemd_resolve(c->bus, l->name, on_resolved, l, &l->pending.resolve);
        return r < 0 ? answer(l) : 0;
}
