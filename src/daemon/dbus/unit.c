/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* One object for each managed unit on D-Bus: conversion only. */

#include "daemon/core/choice.h"
#include "daemon/core/registry.h"
#include "daemon/core/unit.h"
#include "methods.h"
#include "objects.h"
#include "shared/log.h"

#define UNIT_PATH_PREFIX BUS_PATH "/unit"

int unit_bus_path(const Unit *u, char **ret) {
        return sd_bus_path_encode(UNIT_PATH_PREFIX, u->name, ret);
}

static int find_unit(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                     sd_bus_error *error) {
        Manager *m = ASSERT_PTR(userdata);
        _cleanup_free_ char *name = NULL;
        Unit *u;
        int r;

        r = sd_bus_path_decode(path, UNIT_PATH_PREFIX, &name);
        if (r <= 0)
                return r;

        u = manager_find_unit(m, name);
        if (!u || !unit_is_managed(u))
                return 0;

        *ret_found = u;
        return 1;
}

static int enumerate_units(sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes,
                           sd_bus_error *error) {
        _cleanup_ptr_array_ GPtrArray *units = manager_list_units(userdata, unit_is_managed);
        _cleanup_strv_free_ char **l = g_new0(char *, units->len + 1);
        int r;

        for (guint i = 0; i < units->len; i++) {
                r = unit_bus_path(units->pdata[i], l + i);
                if (r < 0)
                        return r;
        }

        *ret_nodes = TAKE_PTR(l);
        return 1;
}

/* ---- properties */

/* Strings that are there or not; on D-Bus "not" is the empty string. */
BUS_GETTER(get_string, sd_bus_message_append(reply, "s", strempty(*(char *const *) userdata)));
BUS_GETTER(get_state, sd_bus_message_append(reply, "s", unit_state_to_string(*(UnitState *) userdata)));
BUS_GETTER(get_bool, sd_bus_message_append(reply, "b", *(bool *) userdata));
BUS_GETTER(get_holds, hold_bus_append(reply, ((Unit *) userdata)->manager, ((Unit *) userdata)->name));

static int get_revoked(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Unit *u = ASSERT_PTR(userdata);

        return sd_bus_message_append_strv(reply, u->revoked ? (char **) u->revoked->pdata : NULL);
}

static int get_words(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        g_autofree char **texts = policy_words_get_texts(userdata);

        return sd_bus_message_append_strv(reply, texts);
}

static int get_readahead(sd_bus *bus, const char *path, const char *interface, const char *property,
                         sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Unit *u = ASSERT_PTR(userdata);
        g_autofree char *value = policy_setting_get_value(&u->setting, POLICY_KEY_READAHEAD + 1);

        return sd_bus_message_append(reply, "s", strempty(value));
}

static int get_verified(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        _cleanup_kernel_policy_ KernelPolicy k = {};

        return sd_bus_message_append(reply, "s", strempty(unit_read_verified(userdata, &k)));
}

static int get_source(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        g_autofree char *source = unit_source(userdata);

        return sd_bus_message_append(reply, "s", strempty(source));
}

/* ---- what CachePolicy=auto chose */

BUS_GETTER(get_chosen, sd_bus_message_append(reply, "s", strempty(unit_chosen_name(userdata))));

static int get_candidates(sd_bus *bus, const char *path, const char *interface, const char *property,
                          sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const UnitChoice *c = ((const Unit *) userdata)->choice;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(sdub)");
        for (guint i = 0; r >= 0 && c && i < c->candidates.list->len; i++) {
                const PolicyCandidate *x = c->candidates.list->pdata[i];
                const CandidateFigures *f = c->figures + i;

                r = sd_bus_message_append(reply, "(sdub)", x->name, f->known ? f->miss_ratio : -1.0,
                                          f->banned, f->out);
        }

        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* Of its members, those that are a string or a number. */
static int get_choice(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        static const UnitChoice none = {};
        const UnitChoice *c = ((const Unit *) userdata)->choice ?: &none;

        if (streq(property, "Verdict"))
                return sd_bus_message_append(reply, "s", strempty(c->verdict));
        if (streq(property, "SwitchReason"))
                return sd_bus_message_append(reply, "s", strempty(c->because));
        return sd_bus_message_append(reply, "t", streq(property, "Switches") ? c->n_switches :
                                                                               c->switched_at);
}

/* ---- what CacheReplay= did */

/* Of its members, those that are a number. */
static int get_replay(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        static const UnitReplay none = {};
        const UnitReplay *x = ((const Unit *) userdata)->replay ?: &none;
        const struct {
                const char *property;
                uint64_t value;
        } numbers[] = {
                { "ReplayRecordingUntil", x->recording_until },
                { "ReplayRecordedTimestamp", x->recorded_at },
                { "ReplayRecordedBytes", x->recorded_bytes },
                { "ReplayRecordedRanges", x->recorded_ranges },
                { "ReplayTimestamp", x->read_at },
                { "ReplayBytes", x->read_bytes },
                { "ReplayRanges", x->read_ranges },
                { "ReplayBytesTotal", x->read_bytes_total },
        };

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                if (streq(property, numbers[i].property))
                        return sd_bus_message_append(reply, "t", numbers[i].value);

        return -EINVAL;
}

BUS_GETTER(get_replay_wanted, sd_bus_message_append(reply, "b", !!((Unit *) userdata)->replay));
BUS_GETTER(get_replay_reason, sd_bus_message_append(reply, "s", ((Unit *) userdata)->replay ?
                                                    strempty(((Unit *) userdata)->replay->reason) : ""));

/* ---- methods */

static int method_get_stats(sd_bus_message *msg, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = bus_open_array(msg, "{st}", &reply);
        if (r < 0)
                return r;

        /* No control group, no counters: an empty answer, not an error. */
        r = unit_stat_foreach(userdata, bus_append_counter, reply);
        return bus_send_array(reply, IN_ERRNO(r, -ENOENT, -EOPNOTSUPP) ? 0 : r);
}

#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
/* What is another one after each window, which nobody wants to be told of. */
#define INVALIDATED SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION

static const sd_bus_vtable unit_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Unit", "s", get_string, offsetof(Unit, name), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("ControlGroup", "s", get_string, offsetof(Unit, cgroup), CHANGES),
        SD_BUS_PROPERTY("ControlGroupId", "t", NULL, offsetof(Unit, cgroup_id), CHANGES),
        SD_BUS_PROPERTY("ConfiguredPolicy", "s", get_string, offsetof(Unit, setting.policy), CHANGES),
        SD_BUS_PROPERTY("PolicyOptions", "as", get_words, offsetof(Unit, setting.more[POLICY_KEY_OPTIONS]),
                        CHANGES),
        SD_BUS_PROPERTY("ScanThreads", "as", get_words,
                        offsetof(Unit, setting.more[POLICY_KEY_SCAN_THREADS]), CHANGES),
        SD_BUS_PROPERTY("Admission", "as", get_words, offsetof(Unit, setting.more[POLICY_KEY_ADMISSION]),
                        CHANGES),
        SD_BUS_PROPERTY("Readahead", "s", get_readahead, 0, CHANGES),
        SD_BUS_PROPERTY("EffectivePolicy", "s", get_string, offsetof(Unit, effective), CHANGES),
        SD_BUS_PROPERTY("VerifiedPolicy", "s", get_verified, 0, CHANGES),
        SD_BUS_PROPERTY("Chosen", "s", get_chosen, 0, CHANGES),
        SD_BUS_PROPERTY("Candidates", "a(sdub)", get_candidates, 0, /* they change all the time */ 0),
        SD_BUS_PROPERTY("Verdict", "s", get_choice, 0, 0),
        SD_BUS_PROPERTY("SwitchReason", "s", get_choice, 0, CHANGES),
        SD_BUS_PROPERTY("SwitchTimestamp", "t", get_choice, 0, CHANGES),
        SD_BUS_PROPERTY("Switches", "t", get_choice, 0, CHANGES),
        SD_BUS_PROPERTY("Replay", "b", get_replay_wanted, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayRecordingUntil", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayRecordedTimestamp", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayRecordedBytes", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayRecordedRanges", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayTimestamp", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayBytes", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayRanges", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayBytesTotal", "t", get_replay, 0, CHANGES),
        SD_BUS_PROPERTY("ReplayReason", "s", get_replay_reason, 0, CHANGES),
        SD_BUS_PROPERTY("State", "s", get_state, offsetof(Unit, state), CHANGES),
        SD_BUS_PROPERTY("StateReason", "s", get_string, offsetof(Unit, reason), CHANGES),
        SD_BUS_PROPERTY("Source", "s", get_source, 0, CHANGES),
        SD_BUS_PROPERTY("SinceTimestamp", "t", NULL, offsetof(Unit, since), CHANGES),
        SD_BUS_PROPERTY("PolicyId", "t", NULL, offsetof(Unit, policy_id), CHANGES),
        SD_BUS_PROPERTY("Adopted", "b", get_bool, offsetof(Unit, adopted), CHANGES),
        SD_BUS_PROPERTY("RevokedManagers", "as", get_revoked, 0, CHANGES),
        SD_BUS_PROPERTY("Holds", "a" HOLD_BUS_STRUCT, get_holds, 0, CHANGES),
        SD_BUS_METHOD_WITH_ARGS("GetStats", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{st}", counters),
                                method_get_stats, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

/* ---- signals */

struct UnitObjects {
        Manager *manager;
        sd_bus *bus;
        GHashTable *shown; /* set of Unit: the bus knows of them */
};

static void unit_removed(void *userdata, Unit *u) {
        UnitObjects *o = ASSERT_PTR(userdata);
        _cleanup_free_ char *path = NULL;
        int r;

        if (!g_hash_table_remove(o->shown, u))
                return;

        r = unit_bus_path(u, &path);
        if (r >= 0)
                r = sd_bus_emit_interfaces_removed(o->bus, path, BUS_INTERFACE_UNIT, NULL);
        if (r < 0)
                log_debug_errno(r, "%s: Cannot tell the bus that the object went: %m", u->name);
}

static void unit_changed(void *userdata, Unit *u) {
        UnitObjects *o = ASSERT_PTR(userdata);
        _cleanup_free_ char *path = NULL;
        int r;

        if (!unit_is_managed(u)) {
                unit_removed(o, u);
                return;
        }

        r = unit_bus_path(u, &path);
        if (r >= 0) {
                if (g_hash_table_add(o->shown, u))
                        r = sd_bus_emit_interfaces_added(o->bus, path, BUS_INTERFACE_UNIT, NULL);
                else
                        r = sd_bus_emit_properties_changed_strv(o->bus, path, BUS_INTERFACE_UNIT, NULL);
        }
        if (r < 0)
                log_debug_errno(r, "%s: Cannot tell the bus what changed: %m", u->name);
}

static const ManagerObserver observer = {
        .unit_changed = unit_changed,
        .unit_removed = unit_removed,
};

int unit_objects_new(Manager *m, sd_bus *bus, UnitObjects **ret) {
        _cleanup_ptr_array_ GPtrArray *units = manager_list_units(m, unit_is_managed);
        UnitObjects *o;
        int r;

        r = sd_bus_add_fallback_vtable(bus, NULL, UNIT_PATH_PREFIX, BUS_INTERFACE_UNIT, unit_vtable,
                                       find_unit, m);
        if (r >= 0)
                r = sd_bus_add_node_enumerator(bus, NULL, UNIT_PATH_PREFIX, enumerate_units, m);
        if (r < 0)
                return r;

        o = g_new(UnitObjects, 1);
        o->manager = m;
        o->bus = sd_bus_ref(bus);
        o->shown = g_hash_table_new(NULL, NULL);
        for (guint i = 0; i < units->len; i++)
                g_hash_table_add(o->shown, units->pdata[i]);
        manager_observe(m, &observer, o);
        *ret = o;
        return 0;
}

UnitObjects *unit_objects_free(UnitObjects *o) {
        if (!o)
                return NULL;

        manager_unobserve(o->manager, &observer, o);
        g_hash_table_unref(o->shown);
        sd_bus_unref(o->bus);
        return mfree(o);
}
