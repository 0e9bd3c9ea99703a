/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "pending.h"
#include "shared/cleanup.h"
#include "shared/log.h"

/* More requests than this of one user do not wait at the same time, so that nobody keeps others out. Root,
 * whom nobody has to be asked about, has no limit. */
#define PENDING_PER_USER_MAX 16U
/* The bus limits how many calls wait for answers; systemd is asked over the same connection. */
#define POLKIT_CALLS_MAX 64U

GPtrArray *pending_list(Control *c, const PendingKind *kind) {
        GPtrArray *l = g_ptr_array_new();
        GHashTableIter it;
        gpointer p;

        g_hash_table_iter_init(&it, c->pending);
        while (g_hash_table_iter_next(&it, &p, NULL))
                if (!kind || ((Pending *) p)->kind == kind)
                        g_ptr_array_add(l, p);

        return l;
}

static unsigned count(Control *c, bool (*test)(const Pending *p, const Pending *like), const Pending *like) {
        GHashTableIter it;
        unsigned n = 0;
        gpointer p;

        g_hash_table_iter_init(&it, c->pending);
        while (g_hash_table_iter_next(&it, &p, NULL))
                n += test(p, like);

        return n;
}

static bool is_of_same_user(const Pending *p, const Pending *like) {
        return p->uid == like->uid;
}

static bool waits_for_polkit(const Pending *p, const Pending *like) {
        return p->polkit;
}

bool pending_begin(Pending *p, Control *c, uid_t uid, sd_bus_message *msg, sd_varlink *link) {
        bool too_many;

        p->control = c;
        p->uid = uid;
        p->msg = sd_bus_message_ref(msg);
        p->link = sd_varlink_ref(link);

        too_many = uid != 0 && count(c, is_of_same_user, p) >= PENDING_PER_USER_MAX;
        g_hash_table_add(c->pending, p);
        if (too_many)
                p->kind->refused(p, -EBUSY);
        return !too_many;
}

void pending_done(Pending *p, int result) {
        if (result < 0) {
                log_debug_errno(result, "Cannot answer a client: %m");

                if (p->link)
                        (void) sd_varlink_error_errno(p->link, result);
                else if (p->msg)
                        (void) sd_bus_reply_method_errno(p->msg, result, NULL);
        }

        g_hash_table_remove(p->control->pending, p);
        if (p->queries && p->control->watch)
                systemd_query_cancel(p->control->watch, p);
        sd_bus_slot_unref(p->polkit);
        systemd_resolve_free(p->resolve);
        sd_bus_message_unref(p->msg);
        sd_varlink_unref(p->link);
        free(p->unit);
        p->kind->free(p);
}

static int on_polkit(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        Pending *p = ASSERT_PTR(userdata);
        int r;

        r = polkit_read_reply(msg);
        p->polkit = sd_bus_slot_unref(p->polkit);

        if (r > 0)
                p->kind->permitted(p);
        else
                p->kind->refused(p, r == -ENOKEY ? -ENOKEY : -EACCES);
        return 0;
}

void pending_authorize(Pending *p, const PolkitSubject *subject, const char *action, bool interactive) {
        int r;

        if (p->uid == 0) {
                p->kind->permitted(p);
                return;
        }

        if (count(p->control, waits_for_polkit, NULL) >= POLKIT_CALLS_MAX) {
                p->kind->refused(p, -EBUSY);
                return;
        }

        r = polkit_check(p->control->bus, subject, action, interactive, on_polkit, p, &p->polkit);
        if (r < 0) {
                log_debug_errno(r, "Cannot ask polkit: %m");
                p->kind->refused(p, -EACCES);
        }
}

static void on_queried(void *userdata) {
        Pending *p = ASSERT_PTR(userdata);

        p->queries = false;
        p->kind->found(p, 0, NULL);
}

void pending_query(Pending *p) {
        p->queries = p->control->watch &&
                systemd_query(p->control->watch, p->unit, p->cgroup, on_queried, p);
        if (!p->queries)
                p->kind->found(p, 0, NULL);
}

static void on_resolved(int error, const char *id, const char *problem, void *userdata) {
        Pending *p = ASSERT_PTR(userdata);

        if (error >= 0)
                g_set_str(&p->unit, id);
        p->resolve = systemd_resolve_free(p->resolve);

        if (error >= 0)
                pending_query(p);
        else
                p->kind->found(p, error, problem);
}

void pending_resolve(Pending *p) {
        int r;

        r = systemd_resolve(p->control->bus, p->unit, on_resolved, p, &p->resolve);
        if (r < 0)
                p->kind->found(p, r, NULL);
}

bool pending_is_asking(const Pending *p) {
        return p->polkit || p->resolve || p->queries;
}

void pending_disconnected(Control *c, sd_varlink *link) {
        _cleanup_ptr_array_ GPtrArray *l = pending_list(c, NULL);

        for (guint i = 0; i < l->len; i++)
                if (((Pending *) l->pdata[i])->link == link)
                        pending_done(l->pdata[i], 0);
}

void pending_free_all(Control *c) {
        _cleanup_ptr_array_ GPtrArray *l = pending_list(c, NULL);

        for (guint i = 0; i < l->len; i++)
                pending_done(l->pdata[i], 0);
}
