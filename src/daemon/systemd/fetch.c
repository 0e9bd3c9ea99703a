/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config/unit-file.h"
#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "daemon/core/wanted.h"
#include "fetch.h"
#include "shared/log.h"
#include "shared/string-util.h"

/* dbus-daemon refuses a connection more than 128 calls without a reply, by default. */
#define IN_FLIGHT_MAX 48U

static void run_queue(SystemdWatch *w);

static bool is_asked_about(const SystemdUnit *s) {
        for (UnitFetch i = 0; i < _UNIT_FETCH_MAX; i++)
                if (s->slots[i])
                        return true;

        return false;
}

static void update_fetching(SystemdUnit *s) {
        s->unit->fetching = s->queued || is_asked_about(s);
        s->unit->refused = false;
        for (UnitFetch i = 0; i < _UNIT_FETCH_MAX; i++)
                s->unit->refused = s->unit->refused || s->refused[i];
}

void systemd_fetch_queue(SystemdUnit *s, bool files, bool cgroup) {
        s->want_files = s->want_files || files;
        s->want_cgroup = s->want_cgroup || cgroup;

        if (!s->queued) {
                s->queued = true;
                g_queue_push_tail(&s->watch->queue, s);
        }

        run_queue(s->watch);
        update_fetching(s);
}

/* It may be a manager, and is known as one by its control group. */
static bool has_files(const PolicySetting *s) {
        return s->more[POLICY_KEY_FILES].set || s->more[POLICY_KEY_LEVELS].set;
}

/* systemd makes the file of a unit that is made at run time, as by systemd-run, and removes it. */
#define TRANSIENT_DIRECTORY "/run/systemd/transient/"

/* Not only what the last reconcile knew:
 * the files may just have been read, and the unit start at this moment. */
static bool wants_cgroup(const Unit *u) {
        return unit_is_managed(u) || u->file_setting.policy ||
                policy_setting_wants_filter(&u->file_setting) ||
                policy_setting_wants_readahead(&u->file_setting) ||
                policy_setting_wants_replay(&u->setting) ||
                policy_setting_wants_replay(&u->file_setting) || has_files(&u->file_setting) ||
                has_files(&u->setting) || u->manager->rules.by_cgroup;
}

void systemd_unit_is_active(Unit *u, bool started) {
        if (!u->active)
                u->started_at = started ? (uint64_t) g_get_monotonic_time() : 0;
        u->active = true;
}

void systemd_fetch_active(SystemdUnit *s) {
        Unit *u = s->unit;
        bool files = !u->files_known && !s->want_files && !s->slots[UNIT_FETCH_FRAGMENT] &&
                !s->slots[UNIT_FETCH_DROPINS];

        systemd_unit_is_active(u, /* started= */ true);
        if (files || wants_cgroup(u))
                systemd_fetch_queue(s, files, wants_cgroup(u));
}

void systemd_fetch_inactive(SystemdUnit *s) {
        Unit *u = s->unit;

        u->active = u->stopping = false;
        u->cgroup = mfree(u->cgroup);
        u->cgroup_id = 0;
        if (wants_cgroup(u))
                manager_mark_dirty(u->manager, u);
}

static void leave_queue(SystemdUnit *s) {
        if (s->queued)
                g_queue_remove(&s->watch->queue, s);
        s->queued = s->want_files = s->want_cgroup = false;
}

void systemd_fetch_gone(SystemdUnit *s) {
        s->unit->loaded = false;
        if (!s->queries) /* to ask about it would have systemd load it */
                leave_queue(s);
        update_fetching(s);
        if (!s->unit->fetching && s->queries)
                g_hash_table_add(s->watch->answered, s);
        manager_mark_dirty(s->unit->manager, s->unit);
}

static bool pair_is_done(const SystemdUnit *s, UnitFetch a, UnitFetch b) {
        return !s->slots[a] && !s->slots[b];
}

/* Both answers about the files are in: read them, and find out whether the control group matters. */
static void files_fetched(SystemdUnit *s) {
        PolicySetting setting;
        Unit *u = s->unit;
        int r;

        r = unit_file_read_setting(u->name, s->fragment, s->dropins, &setting);
        if (r < 0) {
                log_full_fields(LOG_WARNING, r, LOG_FIELDS(.unit = u->name),
                                "%s: Cannot read the unit's files, keeping what they said before: %m",
                                u->name);
                return;
        }

        policy_setting_done(&u->file_setting);
        u->file_setting = setting;
        u->files_known = true;

        (void) unit_resolve_setting(u);

        if (u->active && wants_cgroup(u))
                systemd_fetch_queue(s, /* files= */ false, /* cgroup= */ true);
}

static void cgroup_fetched(Unit *u, uint64_t id) {
        if (u->cgroup_id != id)
                unit_reset_retry(u); /* a new life, new luck */
        if (u->cgroup_id != 0 && id != 0 && u->cgroup_id != id) /* no signal told the end of the old one */
                u->started_at = (uint64_t) g_get_monotonic_time();
        u->cgroup_id = id;
}

/* systemd will say the same the next time, for example of a unit with a drop-in whose name is not UTF-8. */
static void refused(SystemdUnit *s, UnitFetch f, const sd_bus_error *e) {
        if (!s->refused[f])
                log_full_fields(LOG_WARNING, 0, LOG_FIELDS(.unit = s->unit->name),
                                "%s: systemd cannot tell the unit's properties, keeping what they were "
                                "before: %s", s->unit->name, e->message);
        s->refused[f] = true;
}

/* One answer is in. Returns true if it can be used. */
static bool fetch_done(SystemdUnit *s, UnitFetch f, sd_bus_message *reply) {
        SystemdWatch *w = s->watch;
        const sd_bus_error *e;

        s->slots[f] = sd_bus_slot_unref(s->slots[f]);
        w->n_in_flight--;

        e = sd_bus_message_get_error(reply);
        if (!e) {
                s->refused[f] = false;
                return true;
        }
        s->files_failed = s->files_failed || f == UNIT_FETCH_FRAGMENT || f == UNIT_FETCH_DROPINS;

        if (sd_bus_error_has_names(e, SD_BUS_ERROR_UNKNOWN_OBJECT, SD_BUS_ERROR_UNKNOWN_INTERFACE,
                                   "org.freedesktop.systemd1.NoSuchUnit")) {
                /* Unloaded since; during a reload it only looks so. */
                if (!w->reloading)
                        systemd_fetch_gone(s);
        } else if (sd_bus_error_has_names(e, SYSTEMD_SILENCE)) {
                log_debug("%s: systemd does not answer: %s", s->unit->name, e->message);
                w->incomplete = true;
        } else
                refused(s, f, e);

        return false;
}

static void answer_queries(SystemdUnit *s) {
        GArray *queries = TAKE_PTR(s->queries);

        g_hash_table_remove(s->watch->answered, s);
        s->unit->asked = false;

        for (guint i = 0; queries && i < queries->len; i++) {
                UnitQuery *q = &g_array_index(queries, UnitQuery, i);

                q->func(q->userdata);
        }

        if (queries)
                g_array_unref(queries);
}

/* Common end of all answers. */
static int fetch_finish(SystemdUnit *s) {
        SystemdWatch *w = s->watch;

        update_fetching(s);
        if (!s->unit->fetching && s->queries)
                g_hash_table_add(w->answered, s);

        manager_mark_dirty(w->manager, s->unit);
        run_queue(w);
        (void) sd_event_source_set_enabled(w->settled_source, SD_EVENT_ONESHOT);
        return 0;
}

/* With half of the answer a unit would have no files, or too few, and lose its policy. It may be unloaded by
 * now, if it was loaded for the question only. */
static int files_answered(SystemdUnit *s) {
        if (pair_is_done(s, UNIT_FETCH_FRAGMENT, UNIT_FETCH_DROPINS)) {
                if (!s->files_failed && (s->unit->loaded || s->queries))
                        files_fetched(s);
                s->files_failed = false;
        }

        return fetch_finish(s);
}

static int on_fragment(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdUnit *s = ASSERT_PTR(userdata);
        const char *path;

        if (fetch_done(s, UNIT_FETCH_FRAGMENT, reply) && sd_bus_message_read(reply, "v", "s", &path) >= 0) {
                g_set_str(&s->fragment, path);
                s->unit->transient = startswith(path, TRANSIENT_DIRECTORY);
        }

        return files_answered(s);
}

static int on_dropins(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        _cleanup_strv_free_ char **l = NULL;
        SystemdUnit *s = ASSERT_PTR(userdata);

        if (fetch_done(s, UNIT_FETCH_DROPINS, reply) &&
            sd_bus_message_enter_container(reply, 'v', "as") >= 0 &&
            sd_bus_message_read_strv(reply, &l) >= 0) {
                strv_free(s->dropins);
                s->dropins = TAKE_PTR(l);
        }

        return files_answered(s);
}

static int on_cgroup(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdUnit *s = ASSERT_PTR(userdata);
        const char *path;

        /* An answer may be older than the signal that the unit stopped. */
        if (fetch_done(s, UNIT_FETCH_CGROUP, reply) && s->unit->active &&
            sd_bus_message_read(reply, "v", "s", &path) >= 0)
                g_set_str(&s->unit->cgroup, empty_to_null(path));

        return fetch_finish(s);
}

static int on_cgroup_id(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdUnit *s = ASSERT_PTR(userdata);
        uint64_t id;

        if (fetch_done(s, UNIT_FETCH_CGROUP_ID, reply) && s->unit->active &&
            sd_bus_message_read(reply, "v", "t", &id) >= 0)
                cgroup_fetched(s->unit, id);

        return fetch_finish(s);
}

static int start_fetch(SystemdUnit *s, UnitFetch f) {
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
                        unit_name_to_section(s->unit->name));

        r = sd_bus_call_method_async(s->watch->bus, &s->slots[f], SYSTEMD_SERVICE, s->path,
                                     "org.freedesktop.DBus.Properties", "Get", table[f].callback, s,
                                     "ss", table[f].interface, table[f].property);
        if (r < 0)
                return r;

        s->watch->n_in_flight++;
        return 0;
}

static int start_unit(SystemdUnit *s) {
        int r = 0;

        if (s->want_files) {
                s->want_files = false;
                s->files_asked = s->watch->n_rescans;
                r = start_fetch(s, UNIT_FETCH_FRAGMENT);
                if (r >= 0)
                        r = start_fetch(s, UNIT_FETCH_DROPINS);
        }

        if (r >= 0 && s->want_cgroup) {
                s->want_cgroup = false;
                r = start_fetch(s, UNIT_FETCH_CGROUP);
                if (r >= 0)
                        r = start_fetch(s, UNIT_FETCH_CGROUP_ID);
        }

        return r;
}

/* Asks about waiting units while there is room. One that is being asked about already keeps its place:
 * answers that are on their way may be older than the event that put it here. */
static void run_queue(SystemdWatch *w) {
        for (guint n = g_queue_get_length(&w->queue); n > 0 && w->n_in_flight < IN_FLIGHT_MAX; n--) {
                SystemdUnit *s = g_queue_pop_head(&w->queue);
                int r;

                if (is_asked_about(s)) {
                        g_queue_push_tail(&w->queue, s);
                        continue;
                }

                s->queued = false;
                r = start_unit(s);
                update_fetching(s);
                if (r < 0) {
                        log_debug_errno(r, "%s: Cannot ask systemd: %m", s->unit->name);
                        w->incomplete = true;
                        break;
                }
        }
}

void systemd_fetch_answer(SystemdWatch *w) {
        _cleanup_ptr_array_ GPtrArray *l = g_hash_table_get_keys_as_ptr_array(w->answered);

        for (guint i = 0; i < l->len; i++)
                if (!((SystemdUnit *) l->pdata[i])->unit->fetching) { /* not asked about again */
                        Unit *u = ((SystemdUnit *) l->pdata[i])->unit;

                        answer_queries(l->pdata[i]);
                        if (!u->loaded)
                                manager_mark_dirty(w->manager, u); /* nobody needs it any more */
                }
}

void systemd_fetch_forget(SystemdUnit *s) {
        for (UnitFetch i = 0; i < _UNIT_FETCH_MAX; i++)
                if (s->slots[i]) {
                        s->slots[i] = sd_bus_slot_unref(s->slots[i]);
                        s->watch->n_in_flight--;
                }

        leave_queue(s);
        if (s->unit->fetching) /* it was passed over for that */
                manager_mark_dirty(s->unit->manager, s->unit);
        update_fetching(s);
        answer_queries(s);
}
