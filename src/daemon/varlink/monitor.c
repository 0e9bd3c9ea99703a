/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tells clients of the method Monitor what changes. What they know is kept, for all of them together, so
 * that they hear of differences only: a unit is noted when it may have changed, and compared when everything
 * else is done. */

#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "monitor.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/string-util.h"
#include "shared/varlink-org.cachebpf.Manager.h"
#include "unit.h"

/* What a client does not read is kept for it, up to what libsystemd permits: nobody shall make that add up,
 * and nobody keep others out. Root has no limit. */
#define MONITORS_MAX 64U
#define MONITORS_PER_USER_MAX 8U

struct Monitor {
        Manager *manager;
        GPtrArray *links;      /* of sd_varlink; the clients, which are all in the same picture */
        GHashTable *noted;     /* set of names */
        GHashTable *known;     /* name -> sd_json_variant of the unit; what clients have been told */
        sd_event_source *source;
};

static void link_unref(void *p) {
        sd_varlink_unref(p);
}

static void variant_unref(void *p) {
        sd_json_variant_unref(p);
}

static Monitor *monitor_free(Monitor *o) {
        sd_event_source_disable_unref(o->source);
        g_ptr_array_unref(o->links);
        g_hash_table_unref(o->noted);
        g_hash_table_unref(o->known);
        return mfree(o);
}

static Monitor *monitor_new(Manager *m) {
        Monitor *o = g_new0(Monitor, 1);

        o->manager = m;
        o->links = g_ptr_array_new_with_free_func(link_unref);
        o->noted = g_hash_table_new_full(g_str_hash, g_str_equal, free, NULL);
        o->known = g_hash_table_new_full(g_str_hash, g_str_equal, free, variant_unref);
        return o;
}

/* ---- what is sent */

static int build_change(const char *change, const char *name, sd_json_variant *unit, sd_json_variant **ret) {
        return sd_json_buildo(ret,
                              SD_JSON_BUILD_PAIR_STRING("change", change),
                              VARLINK_PAIR_NULLABLE("name", name),
                              VARLINK_PAIR_NULLABLE_VARIANT("unit", unit));
}

static int send_change(sd_varlink *link, const char *change, const char *name, sd_json_variant *unit) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *v = NULL;
        int r;

        r = build_change(change, name, unit, &v);
        return r < 0 ? r : sd_varlink_notify(link, v);
}

/* To all clients. One that does not read what it is sent (there are megabytes for that) is dropped. */
static void broadcast(Monitor *o, const char *change, const char *name, sd_json_variant *unit) {
        for (guint i = o->links->len; i-- > 0;) {
                sd_varlink *link = o->links->pdata[i];
                int r;

                r = send_change(link, change, name, unit);
                if (r >= 0)
                        continue;

                log_debug_errno(r, "%s: Cannot tell a client that monitors, dropping it: %m", name);
                sd_varlink_ref(link); /* closing it takes it off the list */
                (void) sd_varlink_close(link);
                sd_varlink_unref(link);
        }
}

static void remember(Monitor *o, const char *name, sd_json_variant *unit) {
        g_hash_table_replace(o->known, g_strdup(name), sd_json_variant_ref(unit));
}

static int compare_unit(Monitor *o, const char *name) {
        _cleanup_(sd_json_variant_unrefp) sd_json_variant *unit = NULL;
        sd_json_variant *known = g_hash_table_lookup(o->known, name);
        Unit *u = manager_find_unit(o->manager, name);
        int r;

        if (!u || !unit_is_managed(u)) {
                if (known) {
                        g_hash_table_remove(o->known, name);
                        broadcast(o, "removed", name, NULL);
                }
                return 0;
        }

        r = unit_varlink_build(u, &unit);
        if (r < 0)
                return r;
        if (sd_json_variant_equal(known, unit))
                return 0;

        remember(o, name, unit);
        broadcast(o, known ? "changed" : "added", name, unit);
        return 0;
}

static int on_settled(sd_event_source *s, void *userdata) {
        Monitor *o = ASSERT_PTR(userdata);
        _cleanup_hash_table_ GHashTable *noted = TAKE_PTR(o->noted);
        GHashTableIter it;
        gpointer name;
        int r;

        o->noted = g_hash_table_new_full(g_str_hash, g_str_equal, free, NULL);

        g_hash_table_iter_init(&it, noted);
        while (g_hash_table_iter_next(&it, &name, NULL)) {
                r = compare_unit(o, name);
                if (r < 0)
                        log_warning_errno(r, "%s: Cannot tell clients that monitor what changed: %m",
                                          (char *) name);
        }

        return 0;
}

static void unit_changed(void *userdata, Unit *u) {
        Monitor *o = ASSERT_PTR(userdata);
        int r;

        if (o->links->len == 0)
                return;

        g_hash_table_add(o->noted, g_strdup(u->name));

        if (!o->source) {
                r = sd_event_add_defer(o->manager->event, &o->source, on_settled, o);
                if (r >= 0)
                        r = sd_event_source_set_priority(o->source, PRIORITY_TELL);
        } else
                r = sd_event_source_set_enabled(o->source, SD_EVENT_ONESHOT);
        if (r < 0)
                log_warning_errno(r, "%s: Cannot tell clients that monitor what changed: %m", u->name);
}

/* ---- clients */

/* The first client has everything built, those that come later get what is known. */
static int take_stock(Monitor *o) {
        _cleanup_ptr_array_ GPtrArray *units = NULL;
        int r;

        if (o->links->len > 0)
                return 0;

        g_hash_table_remove_all(o->known);
        units = manager_list_units(o->manager, unit_is_managed);
        for (guint i = 0; i < units->len; i++) {
                _cleanup_(sd_json_variant_unrefp) sd_json_variant *unit = NULL;
                Unit *u = units->pdata[i];

                r = unit_varlink_build(u, &unit);
                if (r < 0)
                        return r;
                remember(o, u->name, unit);
        }

        return 0;
}

static int check_room(Monitor *o, sd_varlink *link) {
        unsigned n = 0, n_mine = 0;
        uid_t uid, other;
        int r;

        r = sd_varlink_get_peer_uid(link, &uid);
        if (r < 0 || uid == 0)
                return r;

        for (guint i = 0; i < o->links->len; i++) {
                if (sd_varlink_get_peer_uid(o->links->pdata[i], &other) < 0 || other == 0)
                        continue;
                n++;
                n_mine += other == uid;
        }

        return n >= MONITORS_MAX || n_mine >= MONITORS_PER_USER_MAX ? -EBUSY : 0;
}

static int method_monitor(sd_varlink *link, sd_json_variant *parameters, sd_varlink_method_flags_t flags,
                          void *userdata) {
        Monitor *o = ASSERT_PTR(((Varlink *) userdata)->monitor);
        GHashTableIter it;
        gpointer name, unit;
        int r;

        r = sd_varlink_dispatch(link, parameters, (const sd_json_dispatch_field[]) { {} }, NULL);
        if (r != 0)
                return r;
        if (!(flags & SD_VARLINK_METHOD_MORE))
                return sd_varlink_error(link, SD_VARLINK_ERROR_EXPECTED_MORE, NULL);

        r = check_room(o, link);
        if (r < 0)
                return sd_varlink_error_errno(link, r);

        r = take_stock(o);
        if (r < 0)
                return r;

        g_hash_table_iter_init(&it, o->known);
        while (g_hash_table_iter_next(&it, &name, &unit)) {
                r = send_change(link, "listed", name, unit);
                if (r < 0)
                        return r;
        }

        r = send_change(link, "complete", NULL, NULL);
        if (r < 0)
                return r;

        g_ptr_array_add(o->links, sd_varlink_ref(link));
        return 0;
}

void monitor_varlink_disconnected(Varlink *v, sd_varlink *link) {
        Monitor *o = v->monitor;

        if (!o || !g_ptr_array_remove(o->links, link))
                return;

        if (o->links->len == 0) { /* nobody is interested: nothing is kept */
                g_hash_table_remove_all(o->known);
                g_hash_table_remove_all(o->noted);
        }
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .unit_removed = unit_changed,
};

int monitor_varlink_bind(Varlink *v) {
        v->monitor = monitor_new(v->control->manager);
        manager_observe(v->control->manager, &observer, v->monitor);
        return sd_varlink_server_bind_method(v->server, CACHEBPF_VARLINK_INTERFACE ".Monitor",
                                             method_monitor);
}

void monitor_varlink_stop(Varlink *v) {
        Monitor *o = TAKE_PTR(v->monitor);

        if (!o)
                return;
        manager_unobserve(o->manager, &observer, o);
        monitor_free(o);
}
