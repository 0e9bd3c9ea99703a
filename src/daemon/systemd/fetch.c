/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/reconcile.h"
#include "internal.h"
#include "query.h"
#include "shared/log.h"

/* dbus-daemon refuses a connection more than 128 calls without a reply, by default. */
#define IN_FLIGHT_MAX 48U

static void run_queue(SystemdWatch *w);

void systemd_fetch_queue(SystemdWatch *w, Unit *u, bool files, bool cgroup) {
        u->want_files = u->want_files || files;
        u->want_cgroup = u->want_cgroup || cgroup;

        if (!u->fetch_queued) {
                u->fetch_queued = true;
                g_queue_push_tail(&w->queue, u);
        }

        run_queue(w);
}

/* Not only what the last reconcile knew:
 * the files may just have been read, and the unit start at this moment. */
static bool wants_cgroup(const Unit *u) {
        return unit_is_managed(u) || u->file_setting.policy ||
               policy_setting_wants_filter(&u->file_setting) ||
                u->manager->rules.by_cgroup;
}

void systemd_fetch_active(SystemdWatch *w, Unit *u) {
        bool files = !u->files_known && !u->want_files && !u->fetch_slots[UNIT_FETCH_FRAGMENT] &&
                !u->fetch_slots[UNIT_FETCH_DROPINS];

        u->active = true;
        if (files || wants_cgroup(u))
                systemd_fetch_queue(w, u, files, wants_cgroup(u));
}

void systemd_fetch_inactive(Unit *u) {
        u->active = false;
        u->cgroup = mfree(u->cgroup);
        u->cgroup_id = 0;
        if (wants_cgroup(u))
                manager_mark_dirty(u->manager, u);
}

static bool pair_is_done(const Unit *u, UnitFetch a, UnitFetch b) {
        return !u->fetch_slots[a] && !u->fetch_slots[b];
}

/* Both answers about the files are in: read them, and find out whether the control group matters. */
static void files_fetched(SystemdWatch *w, Unit *u) {
        PolicySetting s;
        int r;

        r = unit_file_read_setting(u->name, u->fragment, u->dropins, &s);
        if (r < 0) {
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = u->name),
                                "%s: Cannot read the unit's files, keeping what they said before: %m",
                                u->name);
                return;
        }

        policy_setting_done(&u->file_setting);
        u->file_setting = s;
        u->files_known = true;

        r = unit_resolve_setting(u);
        if (r < 0)
                log_oom();

        if (u->active && wants_cgroup(u))
                systemd_fetch_queue(w, u, /* files= */ false, /* cgroup= */ true);
}

static void cgroup_fetched(Unit *u, uint64_t id) {
        if (u->cgroup_id != id)
                unit_reset_retry(u); /* a new life, new luck */
        u->cgroup_id = id;
}

/* One answer is in. Returns true if it can be used. */
static bool fetch_done(Unit *u, UnitFetch f, sd_bus_message *reply) {
        SystemdWatch *w = ASSERT_PTR(u->manager->watch);
        const sd_bus_error *e;

        u->fetch_slots[f] = sd_bus_slot_unref(u->fetch_slots[f]);
        w->n_in_flight--;

        e = sd_bus_message_get_error(reply);
        if (!e)
                return true;

        if (sd_bus_error_has_names(e, SD_BUS_ERROR_UNKNOWN_OBJECT, SD_BUS_ERROR_UNKNOWN_INTERFACE,
                                   "org.freedesktop.systemd1.NoSuchUnit")) {
                /* Unloaded since; during a reload it only looks so. */
                if (!w->reloading)
                        u->loaded = false;
        } else {
                log_debug("%s: systemd does not answer: %s", u->name, e->message);
                w->incomplete = true;
        }

        return false;
}

/* Common end of all answers: u may not be used afterwards. */
static int fetch_finish(Unit *u) {
        SystemdWatch *w = ASSERT_PTR(u->manager->watch);

        if (!unit_is_fetching(u))
                unit_query_answer(u);

        manager_mark_dirty(u->manager, u);
        run_queue(w);
        systemd_watch_check_settled(w);
        return 0;
}

static int on_fragment(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Unit *u = ASSERT_PTR(userdata);
        const char *s;

        if (fetch_done(u, UNIT_FETCH_FRAGMENT, reply) && sd_bus_message_read(reply, "v", "s", &s) >= 0 &&
            free_and_strdup(&u->fragment, s) < 0)
                log_oom();

        if (u->loaded && pair_is_done(u, UNIT_FETCH_FRAGMENT, UNIT_FETCH_DROPINS))
                files_fetched(u->manager->watch, u);

        return fetch_finish(u);
}

static int on_dropins(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        _cleanup_strv_free_ char **l = NULL;
        Unit *u = ASSERT_PTR(userdata);

        if (fetch_done(u, UNIT_FETCH_DROPINS, reply) &&
            sd_bus_message_enter_container(reply, 'v', "as") >= 0 &&
            sd_bus_message_read_strv(reply, &l) >= 0) {
                strv_free(u->dropins);
                u->dropins = TAKE_PTR(l);
        }

        if (u->loaded && pair_is_done(u, UNIT_FETCH_FRAGMENT, UNIT_FETCH_DROPINS))
                files_fetched(u->manager->watch, u);

        return fetch_finish(u);
}

static int on_cgroup(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Unit *u = ASSERT_PTR(userdata);
        const char *s;

        /* An answer may be older than the signal that the unit stopped. */
        if (fetch_done(u, UNIT_FETCH_CGROUP, reply) && u->active &&
            sd_bus_message_read(reply, "v", "s", &s) >= 0 &&
            free_and_strdup(&u->cgroup, empty_to_null(s)) < 0)
                log_oom();

        return fetch_finish(u);
}

static int on_cgroup_id(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Unit *u = ASSERT_PTR(userdata);
        uint64_t id;

        if (fetch_done(u, UNIT_FETCH_CGROUP_ID, reply) && u->active &&
            sd_bus_message_read(reply, "v", "t", &id) >= 0)
                cgroup_fetched(u, id);

        return fetch_finish(u);
}

static int start_fetch(SystemdWatch *w, Unit *u, UnitFetch f) {
        char type_interface[] = SYSTEMD_SERVICE ".Service"; /* the longest of the three */
        const struct {
                const char *interface, *property;
                sd_bus_message_handler_t callback;
        } table[] = {
                [UNIT_FETCH_FRAGMENT] = { SYSTEMD_UNIT_INTERFACE, "FragmentPath", on_fragment },
                [UNIT_FETCH_DROPINS] = { SYSTEMD_UNIT_INTERFACE, "DropInPaths", on_dropins },
                [UNIT_FETCH_CGROUP] = { type_interface, "ControlGroup", on_cgroup },
                [UNIT_FETCH_CGROUP_ID] = { type_interface, "ControlGroupId", on_cgroup_id },
        };
        int r;

        static_assert(ELEMENTSOF(table) == _UNIT_FETCH_MAX, "each property needs its handler");

        (void) snprintf(type_interface, sizeof(type_interface), SYSTEMD_SERVICE ".%s",
                        unit_name_to_section(u->name));

        r = sd_bus_call_method_async(w->manager->bus, &u->fetch_slots[f], SYSTEMD_SERVICE, u->path,
                                     "org.freedesktop.DBus.Properties", "Get", table[f].callback, u,
                                     "ss", table[f].interface, table[f].property);
        if (r < 0)
                return r;

        w->n_in_flight++;
        return 0;
}

static int start_unit(SystemdWatch *w, Unit *u) {
        int r = 0;

        if (u->want_files) {
                u->want_files = false;
                u->files_asked = w->n_rescans;
                r = start_fetch(w, u, UNIT_FETCH_FRAGMENT);
                if (r >= 0)
                        r = start_fetch(w, u, UNIT_FETCH_DROPINS);
        }

        if (r >= 0 && u->want_cgroup) {
                u->want_cgroup = false;
                r = start_fetch(w, u, UNIT_FETCH_CGROUP);
                if (r >= 0)
                        r = start_fetch(w, u, UNIT_FETCH_CGROUP_ID);
        }

        return r;
}

/* Asks about waiting units while there is room. One that is being asked about already keeps its place:
 * answers that are on their way may be older than the event that put it here. */
static void run_queue(SystemdWatch *w) {
        for (guint n = g_queue_get_length(&w->queue); n > 0 && w->n_in_flight < IN_FLIGHT_MAX; n--) {
                Unit *u = g_queue_pop_head(&w->queue);
                int r;

                u->fetch_queued = false;
                if (unit_is_fetching(u)) {
                        u->fetch_queued = true;
                        g_queue_push_tail(&w->queue, u);
                        continue;
                }

                r = start_unit(w, u);
                if (r < 0) {
                        log_debug_errno(r, "%s: Cannot ask systemd: %m", u->name);
                        w->incomplete = true;
                        break;
                }
        }
}
