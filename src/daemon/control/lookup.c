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
        lookup_reply_t reply;
} Lookup;

static void lookup_free(Pending *p) {
        Lookup *l = (Lookup *) p;

        free(l->name);
        free(l);
}

/* Forgets the question afterwards. */
static void answer(Lookup *l) {
        int r;

        r = l->reply(l->pending.control, l->pending.msg, l->pending.link, l->name);
        if (r < 0) /* most likely the client went away */
                log_debug_errno(r, "%s: Cannot answer a question about the unit: %m", l->name);
        pending_done(&l->pending);
}

/* Too many questions, or nobody to ask: what is known has to do. */
static void refused(Pending *p, int error) {
        answer((Lookup *) p);
}

static const PendingKind lookup_kind = {
        .refused = refused,
        .free = lookup_free,
};

static void on_resolved(int error, const char *id, const char *problem, void *userdata) {
        Lookup *l = ASSERT_PTR(userdata);

        if (error == 0 && free_and_strdup(&l->name, id) < 0)
                log_oom();
        answer(l);
}

int control_lookup(Control *c, uid_t uid, sd_bus_message *msg, sd_varlink *link, const char *name,
                   lookup_reply_t reply) {
        Lookup *l;
        int r;

        if (!c->bus || manager_find_unit(c->manager, name) || !unit_name_is_valid(name))
                return reply(c, msg, link, name);

        l = calloc(1, sizeof(Lookup));
        if (!l)
                return -ENOMEM;
        l->reply = reply;
        l->name = strdup(name);
        if (!l->name) {
                lookup_free(&l->pending);
                return -ENOMEM;
        }
        if (!pending_begin(&l->pending, &lookup_kind, c, uid, msg, link))
                return 0;

        r = systemd_resolve(c->bus, name, on_resolved, l, &l->pending.resolve);
        if (r < 0) {
                log_debug_errno(r, "%s: Cannot ask systemd about the unit: %m", name);
                answer(l);
        }
        return 0;
}
